"use strict";
// The drawing: a vertex in the middle, what reaches it on the left, what it reaches on the right.
// Everything that comes from the graph is set by textContent, so that no name becomes markup.
const drawing = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const ROW = 30, BOX = 24, WIDTH = 158, GAP = 50, LETTERS = 19, FIRST = 12, MORE = 25, MEMBERS = 40;
  const svg = document.getElementById("drawing");
  const { data, members } = model;

  function element(parent, kind, attributes, text) {
    const made = document.createElementNS(SVG, kind);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }

  // A long name loses its middle: names often begin alike, and end with what tells them apart.
  function short(name, most = LETTERS) {
    const letters = [...name], begin = Math.floor((most - 1) / 3);
    return letters.length <= most
      ? name
      : letters.slice(0, begin).join("") + "…" + letters.slice(letters.length - (most - 1 - begin)).join("");
  }

  // Neighbours of a component, edges that the batch deleted included: they are drawn as well.
  function neighbours(component, forwards, batch) {
    const found = new Set();
    for (const v of members[component]) {
      for (const w of forwards ? model.out[v] : model.into[v]) found.add(data.component[w]);
    }
    const gone = batch && (forwards ? batch.gone.out : batch.gone.into).get(component);
    if (gone) gone.forEach((d) => found.add(d));
    found.delete(component);
    return found;
  }

  // Components by their distance from that of the vertex: negative ones reach it.
  function layers(vertex, depth, batch) {
    const at = new Map([[data.component[vertex], 0]]);
    for (const forwards of [true, false]) {
      let frontier = [data.component[vertex]];
      for (let hop = 1; hop <= depth; hop++) {
        const next = [];
        for (const c of frontier) {
          for (const d of neighbours(c, forwards, batch)) {
            if (!at.has(d)) { at.set(d, forwards ? hop : -hop); next.push(d); }
          }
        }
        frontier = next;
      }
    }
    return at;
  }

  // What the batch did for the vertex in the middle: whether it reaches, or is reached by, one of these, or no longer.
  function mark(vertex, others, batch) {
    if (!batch) return "";
    for (const kind of ["won", "lost"]) {
      if (others.some((w) => batch.has(kind, vertex, w) || batch.has(kind, w, vertex))) return kind;
    }
    return "";
  }

  // Whether the batch has changed something between the vertex and one of these.
  function touched(vertex, others, batch) {
    const between = (kind, w) => batch.has(kind, vertex, w) || batch.has(kind, w, vertex);
    const joined = (w) => between("inserted", w) || between("deleted", w);
    return batch !== null && (mark(vertex, others, batch) !== "" || others.some(joined));
  }

  function columns(state) {
    const at = layers(state.vertex, state.depth, state.batch);
    const found = new Map();
    for (const [component, column] of at) {
      if (!found.has(column)) found.set(column, []);
      found.get(column).push(component);
    }
    const first = (c) => (touched(state.vertex, members[c], state.batch) ? 1e12 : 0);
    const heavy = (c) => first(c) + Math.max(...members[c].map(model.weight));
    for (const [column, components] of found) {
      const weights = new Map(components.map((c) => [c, heavy(c)]));
      components.sort((a, b) => weights.get(b) - weights.get(a));
      const limit = FIRST + MORE * (state.more.get(column) || 0);
      found.set(column, { components: components.slice(0, limit), hidden: Math.max(components.length - limit, 0) });
    }
    return found;
  }

  // Boxes with places, column by column from the middle outwards; each near those that it is joined with.
  function placed(state) {
    const boxes = [], frames = [], height = new Map();
    const all = columns(state);
    const order = [...all.keys()].sort((a, b) => Math.abs(a) - Math.abs(b));
    const left = Math.min(...all.keys());
    for (const column of order) {
      const { components, hidden } = all.get(column);
      const wanted = (c) => {
        const near = [...neighbours(c, column < 0, state.batch)].filter((d) => height.has(d)).map((d) => height.get(d));
        return near.length ? near.reduce((a, b) => a + b) / near.length : 0;
      };
      const by = new Map(components.map((c) => [c, wanted(c)]));
      components.sort((a, b) => by.get(a) - by.get(b));
      const rows = components.flatMap((c) => rowsOf(c, state));
      if (hidden) rows.push({ kind: "more", column, text: `${hidden.toLocaleString("en")} more` });
      const x = (column - left) * (WIDTH + GAP);
      const total = rows.reduce((sum, row) => sum + ROW + (row.first ? 8 : 0) + (row.last ? 8 : 0), 0);
      let y = -total / 2;
      let frame = null;
      for (const row of rows) {
        if (row.first) { y += 8; frame = { x: x - 7, y: y - 2, component: row.component }; }
        boxes.push({ ...row, x, y: y + ROW / 2, column });
        if (row.component !== undefined && !height.has(row.component)) height.set(row.component, y + ROW / 2);
        y += ROW;
        if (row.last) { frames.push({ ...frame, height: y - frame.y + 2 }); y += 8; }
      }
    }
    return { boxes, frames };
  }

  // The rows of a component: one, or when it is open one for each vertex.
  function rowsOf(component, state) {
    const inside = members[component], size = data.sizes[component];
    if (size === 1) return [{ kind: "vertex", component, vertices: inside }];
    const first = inside.includes(state.vertex) ? state.vertex : inside[0];
    const head = { kind: "component", component, vertices: inside, vertex: first, size };
    if (!state.open.has(component)) return [head];
    const shown = inside.slice(0, MEMBERS).map((v) => ({ kind: "vertex", component, vertices: [v] }));
    const rest = size - shown.length;
    const note = rest ? [{ kind: "note", text: `${rest.toLocaleString("en")} more in this component` }] : [];
    const rows = [{ ...head, first: true, open: true }, ...shown, ...note];
    rows[rows.length - 1].last = true;
    return rows;
  }

  function edges(boxes, state) {
    const at = new Map();
    for (const box of boxes) {
      for (const v of box.vertices || []) if (!at.has(v) || box.kind === "vertex") at.set(v, box);
    }
    const found = new Map();
    const add = (a, b, kind) => {
      const tail = at.get(a), head = at.get(b);
      if (!tail || !head || tail === head) return;
      const key = `${boxes.indexOf(tail)} ${boxes.indexOf(head)}`;
      if (!found.has(key) || kind !== "edge") found.set(key, { tail, head, kind });
    };
    for (const a of at.keys()) {
      for (const b of model.out[a]) add(a, b, state.batch && state.batch.has("inserted", a, b) ? "inserted" : "edge");
    }
    if (state.batch) {
      for (const [a, targets] of state.batch.sets.deleted) for (const b of targets) add(a, b, "deleted");
    }
    return [...found.values()];
  }

  // An arrow between two boxes, which ends before the second one.
  function curve(tail, head) {
    const forwards = tail.x < head.x, same = tail.x === head.x;
    const x1 = tail.x + (forwards || same ? WIDTH : 0), x2 = head.x + (forwards ? -9 : WIDTH + 9);
    const bend = same ? 26 : (x2 - x1) / 2;
    return `M${x1},${tail.y}C${x1 + bend},${tail.y} ${x2 + (same ? bend : -bend)},${head.y} ${x2},${head.y}`;
  }

  function arrowheads() {
    const defs = element(svg, "defs", {});
    for (const kind of ["edge", "inserted", "deleted", "way"]) {
      const marker = element(defs, "marker", {
        id: `tip-${kind}`, viewBox: "0 0 8 8", refX: 1, refY: 4, markerWidth: 8, markerHeight: 8,
        markerUnits: "userSpaceOnUse", orient: "auto",
      });
      element(marker, "path", { d: "M0,0L8,4L0,8z", class: `tip ${kind}` });
    }
  }

  function box(group, row, state, go) {
    const vertex = row.vertices.includes(state.vertex) ? state.vertex : row.vertices[0];
    const name = data.names[row.vertex === undefined ? vertex : row.vertex];
    const kind = mark(state.vertex, row.vertices, state.batch);
    const centre = row.kind !== "component" || !row.open ? row.vertices.includes(state.vertex) : false;
    const said = { won: ", new since the batch", lost: ", lost by the batch", "": "" }[kind];
    const many = row.size ? ` and ${(row.size - 1).toLocaleString("en")} more` : "";
    const made = element(group, "g", {
      class: `box ${row.kind} ${kind} ${centre ? "centre" : ""}`, tabindex: 0, role: "button",
      "aria-label": `${name}${many}${said}`, transform: `translate(${row.x},${row.y - BOX / 2})`,
    });
    element(made, "title", {}, `${name}${many}${said}`);
    element(made, "rect", { width: WIDTH, height: BOX, rx: 5 });
    const sign = { won: "+ ", lost: "− ", "": "" }[kind];
    const taken = sign.length + (row.size ? 5 + String(row.size).length : 0) + (centre ? 2 : 0);  // bold is wider
    const room = LETTERS - taken;
    element(made, "text", { x: 8, y: 16 }, sign + (row.open ? "component" : short(name, room)));
    made.addEventListener("click", () => go(row.vertex === undefined ? vertex : row.vertex));
    row.group = made;
    if (row.size) toggle(group, row, state, go);
  }

  // The part of a component's box that opens and closes it.
  function toggle(group, row, state, go) {
    const width = 26 + 7 * String(row.size).length;
    const button = element(group, "g", {
      class: "toggle", tabindex: 0, role: "button", "aria-expanded": String(Boolean(row.open)),
      "aria-label": `${row.open ? "close" : "open"} the component of ${row.size} vertices`,
      transform: `translate(${row.x + WIDTH - width},${row.y - BOX / 2})`,
    });
    element(button, "rect", { width, height: BOX, rx: 5 });
    element(button, "text", { x: 7, y: 16 }, `${row.open ? "▾" : "▸"} ${row.size}`);
    row.toggle = button;
    button.addEventListener("click", () => {
      if (state.open.has(row.component)) state.open.delete(row.component);
      else state.open.add(row.component);
      go(state.vertex, row.component);
    });
  }

  // Draws what `state` says; `go` is called with a vertex that somebody chose.
  function draw(state, go) {
    svg.replaceChildren();
    arrowheads();
    const { boxes, frames } = state.path ? alongPath(state.path) : placed(state);
    const lines = element(svg, "g", {}), group = element(svg, "g", {});
    for (const frame of frames) {
      const { x, y, height } = frame;
      element(lines, "rect", { class: "frame", x, y, width: WIDTH + 14, height, rx: 8 });
    }
    for (const row of boxes) {
      if (row.kind === "more") {
        const made = element(group, "g", {
          class: "box more", tabindex: 0, role: "button", transform: `translate(${row.x},${row.y - BOX / 2})`,
          "aria-label": `show more: ${row.text}`,
        });
        element(made, "rect", { width: WIDTH, height: BOX, rx: 5 });
        element(made, "text", { x: 8, y: 16 }, row.text);
        made.addEventListener("click", () => {
          state.more.set(row.column, (state.more.get(row.column) || 0) + 1);
          go(state.vertex);
        });
        row.group = made;
      } else if (row.kind === "note") {
        element(group, "text", { class: "note", x: row.x + 8, y: row.y + 4 }, row.text);
      } else {
        box(group, row, state, go);
      }
    }
    const steps = state.path ? pathEdges(boxes) : edges(boxes, state);
    for (const { tail, head, kind } of steps) {
      const look = { class: `line ${kind}`, "marker-end": `url(#tip-${kind})` };
      const line = element(lines, "path", { d: curve(tail, head), ...look });
      for (const end of [tail, head]) {
        for (const [event, on] of [["mouseenter", true], ["focus", true], ["mouseleave", false], ["blur", false]]) {
          end.group.addEventListener(event, () => line.classList.toggle("strong", on));
        }
      }
    }
    fit(boxes, frames);
    arrowKeys(boxes);
    return boxes;
  }

  function alongPath(path) {
    const boxes = path.map((v, hop) => ({ kind: "vertex", vertices: [v], x: hop * (WIDTH + GAP), y: 0, column: hop }));
    return { boxes, frames: [] };
  }

  const pathEdges = (boxes) => boxes.slice(1).map((head, i) => ({ tail: boxes[i], head, kind: "way" }));

  function fit(boxes, frames) {
    const top = Math.min(...boxes.map((b) => b.y - ROW), ...frames.map((f) => f.y - 6));
    const bottom = Math.max(...boxes.map((b) => b.y + ROW), ...frames.map((f) => f.y + f.height + 6));
    const right = Math.max(...boxes.map((b) => b.x + WIDTH));
    const [x, y, width, height] = [-14, top, right + 28 + 26, bottom - top];
    svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
    svg.style.setProperty("--full", `${width}px`);
  }

  // Enter and space press a button; arrow keys go to the nearest box in that direction.
  function arrowKeys(boxes) {
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    svg.onkeydown = (event) => {
      const button = event.target.closest("[role=button]");
      if (!button) return;
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        button.dispatchEvent(new MouseEvent("click", { bubbles: true }));
        return;
      }
      const way = ways[event.key], from = boxes.find((b) => b.group === button || b.toggle === button);
      if (!way || !from) return;
      event.preventDefault();
      let best = null;
      for (const other of boxes) {
        const [dx, dy] = [other.x - from.x, other.y - from.y];
        const ahead = dx * way[0] + dy * way[1], aside = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
        if (other.group && ahead > 0 && (!way[1] || dx === 0)) {
          const far = ahead + aside;
          if (!best || far < best.far) best = { far, other };
        }
      }
      if (best) best.other.group.focus();
    };
  }

  return { draw };
})();
