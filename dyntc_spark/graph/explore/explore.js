"use strict";
// The panels beside the drawing, and what the keyboard does.
(() => {
  const { data } = model;
  const $ = (id) => document.getElementById(id);
  const say = (number) => number.toLocaleString("en");
  const edges = (many) => `${say(many)} edge${many === 1 ? "" : "s"}`;
  const MOST = 100;
  const state = { vertex: 0, depth: 2, batch: model.batches[0] || null, open: new Set(), more: new Map(), path: null };
  const before = [];

  function node(kind, attributes, ...children) {
    const made = document.createElement(kind);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children); // strings become text, never markup
    return made;
  }

  const link = (v, sign = "", kind = "") => {
    const made = node("button", { class: `link ${kind}` }, sign + data.names[v]);
    made.addEventListener("click", () => go(v));
    return made;
  };

  // Lists the first of many, and says how many there are more.
  function list(items, make, kind = "ul") {
    const made = node(kind, {}, ...items.slice(0, MOST).map((item) => node("li", {}, make(item))));
    if (items.length > MOST) made.append(node("li", { class: "note" }, `${say(items.length - MOST)} more`));
    return made;
  }

  // --- the vertex ------------------------------------------------------------------------

  function go(vertex, opened) {
    if (vertex !== state.vertex) {
      before.push(state.vertex);
      state.more.clear();
    }
    state.vertex = vertex;
    state.path = null;
    show(opened);
  }

  function show(opened) {
    const focused = document.activeElement && document.activeElement.closest("#drawing");
    const boxes = drawing.draw(state, go);
    const centre = boxes.find((b) => b.vertices && b.vertices.includes(state.vertex)) || boxes[0];
    const toggled = boxes.find((b) => opened !== undefined && b.component === opened && b.size);
    if (toggled) toggled.toggle.focus();
    else if (focused) centre.group.focus({ preventScroll: true });
    if (!toggled) centre.group.scrollIntoView({ block: "center", inline: "center" });
    $("back").disabled = !before.length;
    vertexPanel();
    batchPanel();
    $("from").value = data.names[state.vertex];
    picked.from = state.vertex;
  }

  function vertexPanel() {
    const v = state.vertex, component = data.component[v];
    const below = model.descendants(v), above = model.ancestors(v);
    $("name").textContent = data.names[v];
    const size = data.sizes[component];
    $("about").textContent =
      size > 1 ? `It and ${say(size - 1)} more reach each other: a component.` : "It is on no cycle with others.";
    const near = $("near");
    near.replaceChildren();
    const sides = [
      ["is reached by", above, data.reaching, (w) => [w, v]],
      ["reaches", below, data.reached, (w) => [v, w]],
    ];
    for (const [words, found, counts, pair] of sides) {
      const total = counts === null ? found.length : counts[v];
      const shown = found.length < total ? `, ${say(found.length)} of them on this page` : "";
      near.append(node("h3", {}, `${words} ${say(total)}${shown}`));
      const gone = state.batch ? lost(pair, new Set(found)) : [];
      near.append(list([...gone, ...found], (w) => link(w, ...marked(...pair(w)))));
    }
    const told = `reached by ${say(above.length)}, reaches ${say(below.length)}`;
    $("said").textContent = `${data.names[v]}: ${told} on this page.`;
  }

  // The vertices that the batch took from the vertex, in the direction that `pair` tells, and that did not come back.
  function lost(pair, back) {
    const found = [];
    for (let w = 0; w < model.count; w++) if (state.batch.has("lost", ...pair(w)) && !back.has(w)) found.push(w);
    return found;
  }

  function marked(a, b) {
    if (state.batch && state.batch.has("won", a, b)) return ["+ ", "won"];
    if (state.batch && state.batch.has("lost", a, b)) return ["− ", "lost"];
    return ["", ""];
  }

  // --- search ----------------------------------------------------------------------------

  const picked = {};

  // An input that offers vertices by their names; arrow keys choose one, Enter takes it.
  function picker(id, take) {
    const input = $(id), found = $(`${id}-found`);
    let at = -1, offered = [];
    const close = () => { found.hidden = true; at = -1; input.setAttribute("aria-expanded", "false"); };
    const roles = { role: "combobox", "aria-controls": found.id, "aria-expanded": "false", "aria-autocomplete": "list" };
    for (const [name, value] of Object.entries(roles)) input.setAttribute(name, value);
    found.setAttribute("role", "listbox");
    found.setAttribute("aria-label", "vertices");
    const choose = (v) => { picked[id] = v; input.value = data.names[v]; input.select(); close(); take(v); };
    const highlight = () => {
      [...found.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === at)));
      input.setAttribute("aria-activedescendant", at >= 0 ? `${id}-${at}` : "");
      if (at >= 0) found.children[at].scrollIntoView({ block: "nearest" });
    };
    input.addEventListener("input", () => {
      const result = model.search(input.value, 30);
      delete picked[id];
      offered = result.found;
      found.replaceChildren(...offered.map((v, i) => {
        const item = node("li", { role: "option", id: `${id}-${i}`, "aria-selected": "false" }, data.names[v]);
        item.addEventListener("mousedown", (event) => { event.preventDefault(); choose(v); });
        return item;
      }));
      const words = result.more ? `${say(result.more)} more` : offered.length ? "" : "no such vertex on this page";
      if (words) found.append(node("li", { class: "note", role: "presentation" }, words));
      found.hidden = !input.value;
      at = offered.length ? 0 : -1;
      input.setAttribute("aria-expanded", String(!found.hidden));
      highlight();
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") close();
      else if (event.key === "Enter" && at >= 0) choose(offered[at]);
      else if (["ArrowDown", "ArrowUp"].includes(event.key) && offered.length) {
        at = (at + (event.key === "ArrowDown" ? 1 : offered.length - 1)) % offered.length;
        highlight();
        event.preventDefault();
      }
    });
    input.addEventListener("blur", close);
    // After a click the browser places the cursor: what is typed next is to replace the name nevertheless.
    for (const event of ["focus", "click"]) input.addEventListener(event, () => setTimeout(() => input.select()));
  }

  // --- why -------------------------------------------------------------------------------

  function why() {
    const [a, b] = [picked.from, picked.to], told = $("why");
    told.replaceChildren();
    if (a === undefined || b === undefined) {
      told.append(node("p", {}, "Choose two vertices."));
      return;
    }
    const path = model.path(a, b);
    if (path === null) {
      const words = model.reaches(a, b)
        ? "There is a path, over vertices that are not on this page: explain() tells it."
        : `No path leads from ${data.names[a]} to ${data.names[b]}.`;
      told.append(node("p", {}, words));
      return;
    }
    const hops = path.length - 1;
    told.append(node("p", {}, hops === 0 ? "Every vertex reaches itself." : `A path of ${edges(hops)}:`));
    told.append(list(path, (v) => link(v), "ol"));
    state.path = path;
    drawing.draw(state, go);
    $("said").textContent = `The path from ${data.names[a]} to ${data.names[b]}.`;
  }

  // --- what is the same for all vertices -------------------------------------------------

  function batchPanel() {
    const part = $("batches"), batch = state.batch;
    part.replaceChildren();
    $("legend").replaceChildren();
    if (!batch) return;
    const { counts } = batch;
    part.append(node("p", {}, `Version ${say(batch.version)}: `,
      `${edges(counts.inserted)} inserted, ${say(counts.deleted)} deleted; `,
      `${say(counts.won)} pairs won, ${say(counts.lost)} lost.`));
    const cut = "These are more than the page has room for: only some are in colour.";
    if (batch.cut) part.append(node("p", { class: "note" }, cut));
    for (const [kind, sign, words] of [["inserted", "+ ", "won"], ["deleted", "− ", "lost"]]) {
      const flat = batch[kind], pairs = [];
      for (let i = 0; i < flat.length; i += 2) pairs.push([flat[i], flat[i + 1]]);
      const elsewhere = counts[kind] - pairs.length;
      const shown = elsewhere ? `, ${say(pairs.length)} of them on this page` : "";
      if (counts[kind]) part.append(node("h3", {}, `${say(counts[kind])} edges ${kind}${shown}`));
      part.append(list(pairs, ([a, b]) => node("span", { class: words }, sign, link(a), " → ", link(b))));
    }
    const [won, gone] = [["won", "+ new"], ["lost", "− lost"]].map(([kind, words]) => node("span", { class: kind }, words));
    $("legend").append(`version ${say(batch.version)}: `, won, ", ", gone);
  }

  function impactPanel() {
    if (data.uncounted) {
      $("impact").append(node("p", { class: "note" }, data.uncounted));
      return;
    }
    const titles = { ancestors: "Most reached", descendants: "Reach most" };
    for (const [by, title] of Object.entries(titles)) {
      const rows = data.impact[by];
      $("impact").append(node("h3", {}, title));
      const most = rows.length ? rows[0][2] : 1;
      $("impact").append(list(rows, ([name, place, count]) => {
        const bar = node("span", { class: "bar" });
        bar.style.width = `${Math.round((100 * count) / most)}%`;
        const words = place >= 0 ? link(place) : node("span", {}, name);
        return node("span", { class: "rank" }, bar, words, node("b", {}, say(count)));
      }, "ol"));
      if (!rows.length) $("impact").append(node("p", { class: "note" }, "Nothing to count."));
    }
  }

  function componentPanel() {
    const found = data.sizes.map((size, c) => [size, c]).filter(([size]) => size > 1).sort((a, b) => b[0] - a[0]);
    $("components").append(found.length
      ? list(found, ([size, c]) => {
        const made = node("button", { class: "link" }, `${data.names[model.members[c][0]]} and ${say(size - 1)} more`);
        made.addEventListener("click", () => { state.open.add(c); go(model.members[c][0]); });
        return made;
      })
      : node("p", {}, data.whole ? "There are none: no two vertices reach each other." : "There are none on this page."));
  }

  function header() {
    const { graph } = data;
    const pairs = graph.pairs === null ? "" : `, ${say(graph.pairs)} pairs of vertices of which the first reaches the second`;
    const sizes = `${say(graph.vertices)} vertices, ${edges(graph.edges)}${pairs}`;
    $("sizes").textContent = `${sizes}; version ${say(graph.version)}`;
    if (data.whole) {
      $("left-out").textContent = "The whole graph is on this page.";
      return;
    }
    const start = data.around
      ? data.names[data.starts[0]]
      : "the vertices that most others reach and those that the last batch changed";
    const [they, them] = data.around ? ["it reaches", "it"] : ["they reach", "them"];
    const far = data.complete === null ? `everything that ${they} and that reaches ${them}`
      : data.complete === 0 ? "some of what is near"
        : `everything up to ${edges(data.complete)} away`;
    const all = data.complete === null || data.complete === data.depth;
    const further = all ? "" : ", and of what is further away the vertices with most edges";
    $("left-out").textContent =
      `On this page: ${say(model.count)} of the vertices: ${start}, ${far}${further}. ` +
      `The other ${say(graph.vertices - model.count)} are left out. ` +
      "Counts, and whether one vertex reaches another, are those of the whole graph.";
  }

  function start() {
    header();
    impactPanel();
    componentPanel();
    const choice = $("batch");
    model.batches.forEach((batch, i) => choice.append(node("option", { value: i }, `version ${batch.version}`)));
    choice.append(node("option", { value: -1 }, "none"));
    if (!model.batches.length) $("batches").append(node("p", {}, "No batch is known."));
    choice.addEventListener("change", () => { state.batch = model.batches[choice.value] || null; show(); });
    $("depth").addEventListener("change", () => { state.depth = Number($("depth").value); state.path = null; show(); });
    $("back").addEventListener("click", () => {
      if (!before.length) return;
      state.vertex = before.pop();
      state.path = null;
      show();
    });
    $("ask").addEventListener("click", why);
    $("swap").addEventListener("click", () => {
      [picked.from, picked.to] = [picked.to, picked.from];
      for (const id of ["from", "to"]) $(id).value = picked[id] === undefined ? "" : data.names[picked[id]];
      why();
    });
    picker("search", (v) => go(v));
    picker("from", () => {});
    picker("to", why);
    document.addEventListener("keydown", (event) => {
      const typing = ["INPUT", "SELECT"].includes(event.target.tagName);
      if (event.key === "/" && !typing) { event.preventDefault(); $("search").focus(); }
      if (event.key === "Backspace" && !typing) { event.preventDefault(); $("back").click(); }
    });
    if (!model.count) {
      $("said").textContent = "The graph has no vertices.";
      return;
    }
    state.vertex = data.starts.length ? data.starts[0] : 0;
    show();
  }

  start();
})();
