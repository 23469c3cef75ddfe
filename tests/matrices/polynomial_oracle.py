"""Slow twins of section 4.1: the paper's loops, its printed mistakes as switches, and the guarantee itself.

- ``Degree2`` and ``DegreeK`` are the pseudo-code, loop for loop, one copy of a variable for
  each place where the paper keeps one, a clock of its own for each product.
- ``History`` knows no stamps: it keeps the set of triples that the guarantee speaks of.
"""

from __future__ import annotations

from itertools import product as tuples

import numpy as np

from dyntc_spark.matrices.polynomial.layout import bits

PRINTED = {
    "reset_scans_x1": "Reset, lines 5 and 10: z with X1[y,z] = 1",
    "reset_line_4": "Reset, line 4: without LastRow of X2 (b = 2: LastCol of X1)",
    "setcol_line_11": "SetCol, line 11: LastCol of X1, whatever b is",
    "one_list": "Reset, line 10: one list for SetRow(z) and SetCol(z)",
}
PRINTED_K = {
    "line_10": "SetCol, line 10: to j = b - 2 only",
    "no_alias": "SetCol, lines 9 and 10: from j = 1, so that R_{b-1,0} is never set",
}


class Degree2:
    """Data Structure 1: P = sum of X1^a · X2^a, rectangular."""

    def __init__(self, shapes, mistakes=()):
        self.mistakes = mistakes
        self.time = 0
        (m, _), (_, n) = shapes[0]
        self.x = [[np.zeros(shape, bool) for shape in pair] for pair in shapes]
        self.flip = [[np.zeros(shape, int) for shape in pair] for pair in shapes]
        self.row = [[np.zeros(shape[0], int) for shape in pair] for pair in shapes]
        self.col = [[np.zeros(shape[1], int) for shape in pair] for pair in shapes]
        self.recent = [[list(range(n)), list(range(m))] for _ in shapes]  # the list of line 10, for b = 1 and b = 2
        self.prod = [np.zeros((m, n), int) for _ in shapes]
        self.s = np.zeros((m, n), int)

    def holds(self, a, x, y, z):
        (f1, f2), (r1, r2), (c1, c2) = self.flip[a], self.row[a], self.col[a]
        return max(f1[x, y], f2[y, z]) <= max(r1[x], c1[y], r2[y], c2[z])

    def lookup(self):
        return self.s > 0

    def init(self, values):
        self.time += 1
        self.s[:] = 0
        for a, pair in enumerate(values):
            for b, value in enumerate(pair):
                self.x[a][b][:] = value
                self.flip[a][b][:] = np.where(value, self.time, 0)
                self.row[a][b][:] = self.col[a][b][:] = self.time
            self.prod[a][:] = self.x[a][0].astype(int) @ self.x[a][1].astype(int)
            self.s += self.prod[a] > 0

    def count(self, a, x, z, step):
        before = self.prod[a][x, z] > 0
        self.prod[a][x, z] += step
        self.s[x, z] += int(self.prod[a][x, z] > 0) - int(before)

    def lazy_set(self, a, b, delta):
        self.time += 1
        self.flip[a][b][delta & ~self.x[a][b]] = self.time
        self.x[a][b] |= delta

    def set_row(self, a, b, i, row):
        delta = np.zeros_like(self.x[a][b])
        delta[i] = row
        self.lazy_set(a, b, delta)
        self.through(a, 0 if b == 0 else 1, i)
        self.row[a][b][i] = self.time
        if b == 0 or "one_list" in self.mistakes:
            self.to_front(a, 1, i)

    def set_col(self, a, b, i, column):
        delta = np.zeros_like(self.x[a][b])
        delta[:, i] = column
        self.lazy_set(a, b, delta)
        self.through(a, 1 if b == 0 else 2, i)
        self.col[a][0 if "setcol_line_11" in self.mistakes else b][i] = self.time
        if b == 1 or "one_list" in self.mistakes:
            self.to_front(a, 0, i)

    def to_front(self, a, which, i):
        if i in self.recent[a][which]:
            self.recent[a][which].remove(i)
            self.recent[a][which].insert(0, i)

    def through(self, a, side, i):
        """Reveal the triples whose x (side 0), y (1) or z (2) is i."""
        x1, x2 = self.x[a]
        ranges = [range(x1.shape[0]), range(x1.shape[1]), range(x2.shape[1])]
        ranges[side] = [i]
        for x, y, z in tuples(*ranges):
            if x1[x, y] and x2[y, z] and not self.holds(a, x, y, z):
                self.count(a, x, z, 1)

    def reset(self, a, b, delta):
        self.time += 1
        (x1, x2), (f1, f2), (r1, r2), (c1, c2) = self.x[a], self.flip[a], self.row[a], self.col[a]
        wrong = "reset_line_4" in self.mistakes
        delta = delta & self.x[a][b]
        for u, v in np.argwhere(delta):
            if b == 0:
                x, y = u, v
                scanned = x1 if "reset_scans_x1" in self.mistakes else x2
                early = max(r1[x], c1[y], 0 if wrong else r2[y]) >= f1[x, y]
                others = self.candidates(a, 0, early, c2, f1[x, y])
                lost = [(x, z) for z in others if scanned[y, z] and self.holds(a, x, y, z)]
            else:
                y, z = u, v
                scanned = x2 if "reset_scans_x1" in self.mistakes else x1
                early = max(c2[z], r2[y], 0 if wrong else c1[y]) >= f2[y, z]
                others = self.candidates(a, 1, early, r1, f2[y, z])
                lost = [(x, z) for x in others if scanned[x, y] and self.holds(a, x, y, z)]
            for x, z in lost:
                self.count(a, x, z, -1)
        self.x[a][b][delta] = False

    def candidates(self, a, which, early, last, flip):
        """Lines 5 and 10: all indices, or the front of the list up to the first that is too old."""
        if early:
            return range(len(last))
        front = []
        for index in self.recent[a][which]:
            if last[index] <= flip:
                break
            front.append(index)
        return front


class DegreeK:
    """Data Structure 2: chains L and R below an instance Y; LazySet on every copy comes first."""

    def __init__(self, terms, shapes, mistakes=()):
        self.terms, self.shapes, self.mistakes = terms, shapes, mistakes
        self.var = {name: np.zeros(shapes[name], bool) for term in terms for name in term}
        self.chain, self.tops, pairs = {}, [], []
        for a, term in enumerate(terms):
            k, d = len(term), [shapes[term[0]][0], *(shapes[name][1] for name in term)]
            for b in range(k + 1):
                for j in range(1, b):
                    self.chain[a, "L", b, j] = Degree2([((d[b - j - 1], d[b - j]), (d[b - j], d[b]))])
                for j in range(1, k - b):
                    self.chain[a, "R", b, j] = Degree2([((d[b], d[b + j]), (d[b + j], d[b + j + 1]))])
                pairs.append(((d[0], d[b]), (d[b], d[k])))
            self.tops.append(len(pairs) - k - 1)
        self.y = Degree2(pairs)
        self.init({})

    def copies(self, a, b):
        """Each (structure, its term, factor, alias) that stores a copy of factor b of term a."""
        k = len(self.terms[a])
        for j in range(1, k - b + 1):
            yield self.chain[a, "L", b + j, j], 0, 0, ("L", b + j, j)
        for j in range(1, b):
            yield self.chain[a, "R", b - 1 - j, j], 0, 1, ("R", b - 1 - j, j)
        yield (self.chain[a, "L", b, 1], 0, 1, "L0") if b > 1 else (self.y, self.tops[a] + 1, 0, "L0")
        yield (self.chain[a, "R", b - 1, 1], 0, 0, "R0") if b < k else (self.y, self.tops[a] + k - 1, 1, "R0")

    def occurrences(self, name):
        return [(a, b) for a, term in enumerate(self.terms) for b, other in enumerate(term, 1) if other == name]

    def lookup(self):
        return self.y.lookup()

    def init(self, values):
        self.var = {name: np.array(values.get(name, np.zeros_like(old))) for name, old in self.var.items()}
        pairs = []
        for a, term in enumerate(self.terms):
            k, x = len(term), [None, *(self.var[name] for name in term)]
            for b in range(k + 1):
                left = x[b] if b else np.eye(x[1].shape[0], dtype=bool)
                for j in range(1, b):
                    self.chain[a, "L", b, j].init([(x[b - j], left)])
                    left = self.chain[a, "L", b, j].lookup()
                right = x[b + 1] if b < k else np.eye(x[k].shape[1], dtype=bool)
                for j in range(1, k - b):
                    self.chain[a, "R", b, j].init([(right, x[b + 1 + j])])
                    right = self.chain[a, "R", b, j].lookup()
                pairs.append((left, right))
        self.y.init(pairs)

    def lazy_set(self, name, delta):
        self.var[name] |= delta
        for a, b in self.occurrences(name):
            for structure, t, f, _ in self.copies(a, b):
                structure.lazy_set(t, f, delta)

    def set_row(self, name, i, row):
        delta = np.zeros(self.shapes[name], bool)
        delta[i] = row
        self.spread(name, delta, mirrored=True)
        for a, b in self.occurrences(name):
            self.boundary(a, b - 1, i)

    def set_col(self, name, i, column):
        delta = np.zeros(self.shapes[name], bool)
        delta[:, i] = column
        self.spread(name, delta, mirrored=False)
        for a, b in self.occurrences(name):
            self.boundary(a, b, i)

    def spread(self, name, delta, *, mirrored):
        """Lines 9 and 10 of SetCol (of SetRow, mirrored)."""
        self.var[name] |= delta
        for a, b in self.occurrences(name):
            last = ("L", len(self.terms[a]), len(self.terms[a]) - b) if mirrored else ("R", 0, b - 1)
            for structure, t, f, place in self.copies(a, b):
                if "no_alias" in self.mistakes and place == ("L0" if mirrored else "R0"):
                    continue
                if "line_10" in self.mistakes and place == last:
                    continue
                structure.lazy_set(t, f, delta)

    def boundary(self, a, b, i):
        """Lines 3 to 8: both chains at i, always, and then Y."""
        k, top = len(self.terms[a]), self.tops[a] + b
        column = self.stored(a, b, "L0")[:, i].copy() if b else np.zeros(self.y.x[top][0].shape[0], bool)
        for j in range(1, b):
            self.chain[a, "L", b, j].set_col(0, 1, i, column)
            column = self.chain[a, "L", b, j].lookup()[:, i]
        row = self.stored(a, b + 1, "R0")[i].copy() if b < k else np.zeros(self.y.x[top][1].shape[1], bool)
        for j in range(1, k - b):
            self.chain[a, "R", b, j].set_row(0, 0, i, row)
            row = self.chain[a, "R", b, j].lookup()[i]
        self.y.set_col(top, 0, i, column)
        self.y.set_row(top, 1, i, row)

    def stored(self, a, b, alias):
        return next(s.x[t][f] for s, t, f, place in self.copies(a, b) if place == alias)

    def reset(self, name, delta):
        delta = delta & self.var[name]
        self.var[name] &= ~delta
        for a, term in enumerate(self.terms):
            k = len(term)
            for b in range(k + 1):
                d = delta if b and term[b - 1] == name else np.zeros_like(self.y.x[self.tops[a] + b][0])
                for j in range(1, b):
                    d = self.reset_pair(self.chain[a, "L", b, j], delta if term[b - j - 1] == name else None, d)
                self.y.reset(self.tops[a] + b, 0, d) if b else None
                d = delta if b < k and term[b] == name else np.zeros_like(self.y.x[self.tops[a] + b][1])
                for j in range(1, k - b):
                    d = self.reset_pair(self.chain[a, "R", b, j], d, delta if term[b + j] == name else None)
                self.y.reset(self.tops[a] + b, 1, d) if b < k else None

    @staticmethod
    def reset_pair(structure, first, second):
        """Reset both factors, one after the other; give what was 1 before and is not after."""
        before = structure.lookup()
        for b, delta in enumerate((first, second)):
            if delta is not None and delta.any():
                structure.reset(0, b, delta)
        return before & ~structure.lookup()


class History:
    """The guarantee: triples complete at some Set or Init through them, and complete ever since."""

    def __init__(self, layout):
        self.layout = layout
        self.var = {name: np.zeros(layout.shapes[name], bool) for name in layout.variables}
        self.revealed = {p.name: np.zeros_like(self.complete(p, {})) for p in layout.products}

    def factor(self, name, values):
        if name is None:
            return None
        if name in values:
            return values[name]
        shape = self.layout.kinds[name].grid.shape
        return next((self.var[v] for v in self.var if bits(v) == name), np.zeros(shape, bool))

    def complete(self, p, values):
        second = self.factor(p.second, values)
        first = np.eye(len(second), dtype=bool) if p.first is None else self.factor(p.first, values)
        return first[:, :, None] & second[None]

    def step(self, boundaries=(), index=0, *, everything=False):
        """Let the variables be as they are now, after a Set through ``index`` of some boundaries, or an Init."""
        values = {}
        for p in self.layout.products:
            full, kept = self.complete(p, values), self.revealed[p.name]
            for axis, boundary in enumerate((p.rows, p.middle, p.columns)):
                if boundary in boundaries:
                    at = tuple(index if side == axis else slice(None) for side in range(3))
                    kept[at] = full[at]
            self.revealed[p.name] = full if everything else kept & full
            values[p.name] = self.revealed[p.name].any(axis=1)

    def counts(self):
        return {name: triples.sum(axis=1) for name, triples in self.revealed.items()}

    def lookup(self):
        shape = self.layout.kinds["S"].grid.shape
        value = np.zeros(shape, bool)
        for p in self.layout.products:
            if p.summand:
                value |= self.revealed[p.name].any(axis=1)
        return value

    def value(self):
        """P itself."""
        total = np.zeros(self.layout.kinds["S"].grid.shape, bool)
        for term in self.layout.polynomials["S"].terms:
            product = self.var[term[0]]
            for name in term[1:]:
                product = (product.astype(int) @ self.var[name].astype(int)) > 0
            total |= product
        return total
