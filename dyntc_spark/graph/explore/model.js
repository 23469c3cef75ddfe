"use strict";
// The part of the graph that is on the page. Vertices are places in `names`.
const model = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const count = data.names.length;
  const out = [], into = [];
  for (let v = 0; v < count; v++) into.push([]);
  for (let v = 0; v < count; v++) {
    out.push(data.targets.slice(data.offsets[v], data.offsets[v + 1]));
    for (const w of out[v]) into[w].push(v);
  }
  const members = data.sizes.map(() => []);
  data.component.forEach((c, v) => members[c].push(v));
  const lower = data.names.map((name) => name.toLowerCase());

  // Where vertices are left out, paths may lead over them: then a bit for each pair says what is reached.
  const bits = data.bits === null ? null : bytes(atob(data.bits));
  const rowBytes = (count + 7) >> 3;
  const bit = (a, b) => (bits[a * rowBytes + (b >> 3)] >> (b & 7)) & 1;

  function bytes(text) {
    const made = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) made[i] = text.charCodeAt(i);
    return made;
  }

  // All that can be reached from `start` over `next`, each with the vertex before it.
  function walked(start, next) {
    const before = new Map([[start, start]]);
    for (const v of before.keys()) for (const w of next[v]) if (!before.has(w)) before.set(w, v);
    return before;
  }

  function all(v, next, reached) {
    const found = [];
    if (bits === null) {
      for (const w of walked(v, next).keys()) if (w !== v) found.push(w);
    } else {
      for (let w = 0; w < count; w++) if (w !== v && reached(w)) found.push(w);
    }
    return found.sort((a, b) => weight(b) - weight(a) || a - b);
  }

  function weight(v) {
    return data.reached === null ? out[v].length + into[v].length : data.reached[v] + data.reaching[v];
  }

  // A shortest path among the vertices of the page, or null.
  function path(a, b) {
    const before = walked(a, out);
    if (!before.has(b)) return null;
    const found = [b];
    while (found[0] !== a) found.unshift(before.get(found[0]));
    return found;
  }

  // Names that begin with the text, then those that have it inside.
  function search(text, most) {
    const wanted = text.trim().toLowerCase();
    const first = [], second = [];
    for (let v = 0; v < count && wanted; v++) {
      const at = lower[v].indexOf(wanted);
      if (at === 0) first.push(v);
      else if (at > 0) second.push(v);
    }
    const short = (a, b) => lower[a].length - lower[b].length || weight(b) - weight(a);
    const found = first.sort(short).concat(second.sort(short));
    return { found: found.slice(0, most), more: Math.max(found.length - most, 0) };
  }

  // What a batch changed, by vertex: pairs that it won and lost as their source, edges by their ends.
  const batches = data.batches.map((batch) => {
    const sets = {};
    for (const kind of ["won", "lost", "inserted", "deleted"]) {
      sets[kind] = new Map();
      const flat = batch[kind];
      for (let i = 0; i < flat.length; i += 2) {
        if (!sets[kind].has(flat[i])) sets[kind].set(flat[i], new Set());
        sets[kind].get(flat[i]).add(flat[i + 1]);
      }
    }
    const gone = { out: new Map(), into: new Map() }; // components that a deleted edge joined
    for (const [a, targets] of sets.deleted) {
      for (const b of targets) {
        for (const [side, one, other] of [["out", a, b], ["into", b, a]]) {
          const [c, d] = [data.component[one], data.component[other]];
          gone[side].set(c, (gone[side].get(c) || new Set()).add(d));
        }
      }
    }
    const has = (kind, a, b) => sets[kind].has(a) && sets[kind].get(a).has(b);
    return { ...batch, sets, gone, has };
  });

  return {
    data, count, out, into, members, batches, path, search, weight,
    reaches: (a, b) => (bits === null ? walked(a, out).has(b) : bit(a, b) === 1),
    descendants: (v) => all(v, out, (w) => bit(v, w)),
    ancestors: (v) => all(v, into, (w) => bit(w, v)),
  };
})();
