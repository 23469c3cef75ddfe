"""Section 6 on one pair of halves: Data Structure 4 of the paper, and the leaves below it.

X is cut into ``A B / C D``. The paper's equations, line by line, with P = D*, E1 = Q*,
H2 = R* as closures of half the size:

    Q  = A + B P² C        E2 = E1 B H2² C E1     E = E1 + E2
    F1 = E1² B P           F2 = E1 B H2²          F = F1 + F2
    G1 = P C E1²           G2 = H2² C E1          G = G1 + G2
    H1 = P C E1² B P       R  = D + C E1² B       H = H1 + H2

and X* is ``E F / G H``. The last column is never stored: a lookup reads both summands.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dyntc_spark.blocks.grid import block_size
from dyntc_spark.blocks.local import LocalBackend, LocalState
from dyntc_spark.blocks.operations import Gather, Lookup
from dyntc_spark.blocks.rings import COUNTING
from dyntc_spark.blocks.single_task import Made
from dyntc_spark.blocks.state import Backend, State
from dyntc_spark.blocks.superstep import Operation
from dyntc_spark.blocks.where import Lines, Places, Tile
from dyntc_spark.engines.deterministic.divide_conquer_leaf import Leaf, Pairs, SubClosure, places_of
from dyntc_spark.engines.deterministic.kleene_rows import Part
from dyntc_spark.engines.transfer import fits_one_task, made_by_one_process, numbers_read, transferred
from dyntc_spark.kernels.bits import pack, unpack
from dyntc_spark.kernels.ids import Flags, Indices, Words
from dyntc_spark.matrices.counted_product import TooManyLinesError
from dyntc_spark.matrices.last_flip import checked_places
from dyntc_spark.matrices.polynomial.init import evaluate, start
from dyntc_spark.matrices.polynomial.layout import Boundary, Layout, bits
from dyntc_spark.matrices.polynomial.system import Changing
from dyntc_spark.matrices.tile_operations import ReadTile

#: The eight polynomials of degree above 1, as the paper writes them.
POLYNOMIALS = {
    "Q": "A + B*P^2*C",
    "R": "D + C*E1^2*B",
    "F1": "E1^2*B*P",
    "G1": "P*C*E1^2",
    "H1": "P*C*E1^2*B*P",
    "E2": "E1*B*H2^2*C*E1",
    "F2": "E1*B*H2^2",
    "G2": "H2^2*C*E1",
}
#: The two summands of each quarter; P, E1 and H2 are closures, the others polynomials.
QUARTERS = {"E": ("E1", "E2"), "F": ("F1", "F2"), "G": ("G1", "G2"), "H": ("H1", "H2")}
ENTRY_BYTES = 90  # where everything is dense: 162 counts, 8 sums, 7 stamps and bits of a quarter of n² each
LINES = 2**27  # numbers that one step of a Reset* may read; beyond that Init* is cheaper


class Halves(SubClosure):
    """Data Structure 4: eight polynomials with shared variables, and the closures P, E1 and H2.

    ``stale`` says that LazySet* came since the last Init*: P, Q and R do not know these
    entries (erratum 12), so that the next Set* is Init*.
    """

    def __init__(
        self, size: int, depth: int, backend: Backend, block: int | None = None, *, inner: bool = False
    ) -> None:
        self.n, self.n1 = size, (size + 1) // 2
        self.backend, self.inner, self.stale = backend, inner, False
        n1, n2 = self.n1, size - self.n1
        shapes = {"A": (n1, n1), "B": (n1, n2), "C": (n2, n1), "D": (n2, n2)}
        shapes |= {"P": (n2, n2), "E1": (n1, n1), "H2": (n2, n2)}
        local = isinstance(backend, LocalBackend)
        default = min(1024, max(64, -(-n1 // 64) * 64)) if local else block_size(n1, 8 * 4 * ENTRY_BYTES)
        self.layout = Layout({total(name): text for name, text in POLYNOMIALS.items()}, shapes, block or default)
        self.closures = {
            name: self._below(side, depth - 1, block) for name, side in (("P", n2), ("E1", n1), ("H2", n2))
        }

    def _below(self, size: int, depth: int, block: int | None) -> SubClosure:
        if depth > 0 and size > 1:
            return type(self)(size, depth, self.backend, block, inner=True)
        return Leaf(size, self.backend)

    # --- Init* -------------------------------------------------------------------------------

    def init(self, x: Flags, *, here: bool | None = None) -> None:
        """Init*(Z): P = D*, Q, E1 = Q*, R, H2 = R*, and then every product of the polynomials."""
        self.x, self.stale = x.copy(), False
        a, b, c, d = self._quarters(x)
        p, e1, h2 = (self.closures[name] for name in ("P", "E1", "H2"))
        p.init(d)
        e1.init(a | _product(b, p.y, c))
        h2.init(d | _product(c, e1.y, b))
        values = {"A": a, "B": b, "C": c, "D": d, "P": p.y, "E1": e1.y, "H2": h2.y}
        if fits_one_task(self.n, ENTRY_BYTES) if here is None else here:
            made = partial(_made, self.layout, {name: pack(value) for name, value in values.items()})
            state = made_by_one_process(self.backend, "Init*", self.layout.kinds, made)[0]
        else:
            state = _evaluated(self.layout, self.backend, values)
        self.held = Changing.begun(self.layout, state)
        self._assemble()

    # --- Set* --------------------------------------------------------------------------------

    def set(self, i: int, row: Flags, column: Flags) -> Pairs:
        """Set*(i, ΔX), in the paper's order; what is only LazySet needs no more than that the variable is written."""
        self.x[i] |= row
        self.x[:, i] |= column
        before = self.y
        if self.stale:
            self.init(self.x)
        elif i < self.n1:
            self._set_first(i, row, column)
        else:
            self._set_second(i - self.n1, row, column)
        return self._changed(before, grown=True)

    def _set_first(self, i: int, row: Flags, column: Flags) -> None:
        """The centre lies in the first half: X1 = E1, F1, G1, H1 is revealed, H2, E2, F2, G2 follow lazily."""
        n1, e1, h2 = self.n1, self.closures["E1"], self.closures["H2"]
        new = {"A": _cross(i, row[:n1], column[:n1]), "B": _cross(i, row[n1:]), "C": _cross(i, None, column[n1:])}
        # line 4: Q.Set of ΔA, ΔB and ΔC
        through = self._through("Q", A="rc", B="r", C="c")
        self.held, lines = self.held.set(i, new, through, [*self._line("Q", i)])
        # line 5: E1.Set* of ΔQ
        q_row, q_column = (strip.array().ravel() > 0 for strip in lines)
        new = {"E1": e1.set(i, q_row, q_column)}
        # lines 6 to 9: F1.Set of ΔE1 and ΔB, G1.Set of ΔC and ΔE1, H1.Set and R.Set of ΔC, ΔE1 and ΔB
        through = self._through("F1", E1="rc", B="r") + self._through("G1", C="c", E1="rc")
        through += self._through("H1", C="c", E1="rc", B="r") + self._through("R", C="c", E1="rc", B="r")
        self.held, (r, *rest) = self.held.set(i, new, through, [self._whole("R"), *self._reads()])
        # lines 10 to 13: H2.LazySet* of ΔR; LazySet in G2, F2 and E2 is done, as ΔB, ΔC and ΔE1 are written
        _grow(h2, unpack(r, self.n - n1))
        self._assemble(rest)

    def _set_second(self, i: int, row: Flags, column: Flags) -> None:
        """The centre lies in the second half: P, Q, R and X2 = E2, F2, G2, H2 are revealed, the rest follows lazily."""
        n1, p, e1, h2 = self.n1, self.closures["P"], self.closures["E1"], self.closures["H2"]
        new = {"D": _cross(i, row[n1:], column[n1:]), "C": _cross(i, row[:n1]), "B": _cross(i, None, column[:n1])}
        # line 16: P.Set* of ΔD
        new["P"] = p.set(i, row[n1:], column[n1:])
        # line 17, R.Set of ΔB, ΔC and ΔD, and line 22, Q.Set of ΔB, ΔP and ΔC: neither needs the other
        through = self._through("R", B="c", C="r", D="rc") + self._through("Q", B="c", P="rc", C="r")
        self.held, (r_row, r_column, q) = self.held.set(i, new, through, [*self._line("R", i), self._whole("Q")])
        # line 18: H2.Set* of ΔR
        new = {"H2": h2.set(i, r_row.array().ravel() > 0, r_column.array().ravel() > 0)}
        # lines 19 to 21: G2.Set of ΔH2 and ΔC, F2.Set of ΔB and ΔH2, E2.Set of ΔB, ΔH2 and ΔC
        through = self._through("G2", H2="rc", C="r") + self._through("F2", B="c", H2="rc")
        through += self._through("E2", B="c", H2="rc", C="r")
        self.held, rest = self.held.set(i, new, through, self._reads())
        # lines 23 to 26: E1.LazySet* of ΔQ; LazySet in F1, G1 and H1 is done, as ΔB, ΔC and ΔP are written
        _grow(e1, unpack(q, n1))
        self._assemble(rest)

    def lazy_set(self, entries: Pairs) -> None:
        """LazySet*(ΔX), repaired: the printed one leaves P, Q and R behind, see ``divide_conquer``."""
        self.x[entries] = True
        self.stale = self.stale or bool(len(entries[0]))

    # --- Reset* ------------------------------------------------------------------------------

    def reset(self, entries: Pairs) -> Pairs:
        """Reset*(ΔX): P, Q, E1, R, H2 and then the others, each when all that it depends on is known."""
        self.x[entries] = False
        before, p, e1, h2 = self.y, self.closures["P"], self.closures["E1"], self.closures["H2"]
        gone = dict(zip("ABCD", self._cut(entries), strict=True))
        lost = self.held.reset(numbers_read(self.backend, LINES))
        try:
            # line 3: P.Reset* of ΔD
            lost.delete({**gone, "P": p.reset(gone["D"])})
            # lines 4 and 5: Q.Reset of ΔA, ΔB, ΔP and ΔC, E1.Reset* of ΔQ
            (q,) = lost.polynomial(total("Q"))
            lost.delete({"E1": e1.reset((q.rows, q.columns))})
            # lines 6 and 7: R.Reset of ΔD, ΔC, ΔE1 and ΔB, H2.Reset* of ΔR
            (r,) = lost.polynomial(total("R"))
            lost.delete({"H2": h2.reset((r.rows, r.columns))})
            # lines 8 and 9: F1.Reset of ΔE1, ΔB and ΔP, and similarly for the others
            lost.polynomial(*map(total, ("F1", "G1", "H1", "E2", "F2", "G2")))
        except TooManyLinesError:
            self.init(self.x)
        else:
            self.held = lost.finish()
            self._assemble()
        return self._changed(before, grown=False)

    # --- Lookup* -----------------------------------------------------------------------------

    def lookup(self, rows: Indices, columns: Indices) -> Flags:
        """Y at many places: one superstep."""
        asked: list[tuple[Flags, str]] = []
        operations: list[Operation[Any]] = []
        found = np.zeros(len(rows), bool)
        for (down, across), names in zip(((0, 0), (0, 1), (1, 0), (1, 1)), QUARTERS.values(), strict=True):
            here = ((rows >= self.n1) == down) & ((columns >= self.n1) == across)
            x, y = rows[here] - down * self.n1, columns[here] - across * self.n1
            for name in names if len(x) else ():
                if name in self.closures:
                    found[here] |= self.closures[name].y[x, y]
                else:
                    grid = self.layout.kinds[total(name)].grid
                    operations.append(Lookup(total(name), COUNTING, Places(grid, x, y)))
                    asked.append((here, name))
        for (here, _), counts in zip(asked, self.held.state.run(*operations)[1] if operations else (), strict=True):
            found[here] |= counts > 0
        return found

    def lines(self, ids: Indices, *, upright: bool) -> Flags:
        """Rows (upright: columns) of Y: one superstep."""
        found = np.zeros((self.n, len(ids)) if upright else (len(ids), self.n), bool)
        spans = slice(0, self.n1), slice(self.n1, self.n)
        operations, targets = [], []
        for (down, across), names in zip(((0, 0), (0, 1), (1, 0), (1, 1)), QUARTERS.values(), strict=True):
            side, other = (across, spans[down]) if upright else (down, spans[across])
            here = np.flatnonzero((ids >= self.n1) == side)
            inside = ids[here] - side * self.n1
            for name in names if len(here) else ():
                if name in self.closures:
                    y = self.closures[name].y
                    part = y[:, inside] if upright else y[inside]
                    self._join(found, here, other, part, upright)
                else:
                    grid = self.layout.kinds[total(name)].grid
                    operations.append(Gather(total(name), COUNTING, Lines(grid, inside, upright)))
                    targets.append((here, other))
        for (here, other), strip in zip(
            targets, self.held.state.run(*operations)[1] if operations else (), strict=True
        ):
            self._join(found, here, other, strip.array() > 0, upright)
        return found

    def parts(self) -> tuple[Part, ...]:
        """The matrices that Y is the union of; P, E1 and H2 are variables, so that their values are there too."""
        corners = ((0, 0), (0, self.n1), (self.n1, 0), (self.n1, self.n1))
        return tuple(
            Part(bits(name) if name in self.closures else total(name), *corner)
            for corner, names in zip(corners, QUARTERS.values(), strict=True)
            for name in names
        )

    @staticmethod
    def _join(found: Flags, here: Indices, other: slice, part: Flags, upright: bool) -> None:
        if upright:
            found[other, here] |= part
        else:
            found[here, other] |= part

    # --- how ---------------------------------------------------------------------------------

    def _quarters(self, m: Flags) -> tuple[Flags, Flags, Flags, Flags]:
        k = self.n1
        return m[:k, :k], m[:k, k:], m[k:, :k], m[k:, k:]

    def _cut(self, entries: Pairs) -> list[Pairs]:
        k, found = self.n1, []
        for down, across in ((False, False), (False, True), (True, False), (True, True)):
            here = ((entries[0] >= k) == down) & ((entries[1] >= k) == across)
            found.append((entries[0][here] - k * down, entries[1][here] - k * across))
        return found

    def _through(self, polynomial: str, **variables: str) -> list[Boundary]:
        """The boundaries of SetRow ("r") and SetCol ("c") of some variables."""
        found: list[Boundary] = []
        for name, sides in variables.items():
            found += self.layout.rows_of(total(polynomial), name) if "r" in sides else []
            found += self.layout.columns_of(total(polynomial), name) if "c" in sides else []
        return found

    def _line(self, polynomial: str, i: int) -> list[Operation[Any]]:
        name, at = total(polynomial), np.array([i])
        grid = self.layout.kinds[name].grid
        return [Gather(name, COUNTING, Lines(grid, at, upright)) for upright in (False, True)]

    def _whole(self, polynomial: str) -> ReadTile:
        grid = self.layout.kinds[total(polynomial)].grid
        return ReadTile(total(polynomial), Tile(grid))

    def _reads(self) -> list[Operation[Any]]:
        """What a closure inside another one reads of its value, for the one around it."""
        names = [name for pair in QUARTERS.values() for name in pair if name not in self.closures]
        return [self._whole(name) for name in names] if self.inner else []

    def _assemble(self, found: Any = None) -> None:  # noqa: ANN401  (what the reads gave, if they are done)
        """Bring Y to the driver, if this closure is inside another one."""
        if not self.inner:
            self.y = np.zeros((0, 0), bool)
            return
        words = iter(found or self.held.state.run(*self._reads())[1])
        y = np.zeros((self.n, self.n), bool)
        for quarter, names in zip(self._quarters(y), QUARTERS.values(), strict=True):
            for name in names:
                value = self.closures[name].y if name in self.closures else unpack(next(words), quarter.shape[1])
                np.logical_or(quarter, value, out=quarter)
        self.y = y

    def _changed(self, before: Flags, *, grown: bool) -> Pairs:
        if not self.inner:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return places_of(self.y & ~before if grown else before & ~self.y)

    def copy(self) -> Halves:
        """A copy; the values of the polynomials are immutable and shared."""
        other = copy(self)
        other.x = self.x.copy()
        other.closures = {name: closure.copy() for name, closure in self.closures.items()}
        return other

    @property
    def bytes(self) -> int:
        """What is held at the driver, here and below."""
        return super().bytes + sum(closure.bytes for closure in self.closures.values())

    def moved(self, backend: Backend) -> Halves:
        """A copy on another backend, with all that is below it."""
        other, held = self.copy(), self.held
        other.backend = backend
        other.closures = {name: closure.moved(backend) for name, closure in self.closures.items()}
        other.held = replace(held, state=transferred(held.state, backend))
        return other


def total(polynomial: str) -> str:
    """The matrix that counts the positive summands of a polynomial."""
    return f"S_{polynomial}"


def _evaluated(layout: Layout, backend: Backend, values: Mapping[str, Flags]) -> State:
    """Evaluate the polynomials for these values of the variables."""
    places = {name: checked_places(name, layout.kinds[bits(name)].grid, value) for name, value in values.items()}
    state = evaluate(layout, start(backend, layout, places, {}), 1)
    return state.select({name: name for name in layout.kinds})


def _made(layout: Layout, packed: Mapping[str, Words]) -> Made:
    """Evaluate the polynomials in this process, for variables as packed rows."""
    values = {name: unpack(words, layout.shapes[name][1]) for name, words in packed.items()}
    found = _evaluated(layout, LocalBackend(), values)
    assert isinstance(found, LocalState)  # noqa: S101  (of the local backend)
    return found, {}


def _grow(closure: SubClosure, value: Flags) -> None:
    """LazySet* of what a closure's matrix has gained."""
    new = places_of(value & ~closure.x)
    if len(new[0]):
        closure.lazy_set(new)


def _product(*factors: Flags) -> Flags:
    found = factors[0].astype(np.float32)
    for factor in factors[1:]:
        found = (found @ factor.astype(np.float32) > 0).astype(np.float32)
    return found > 0


def _cross(i: int, row: Flags | None = None, column: Flags | None = None) -> Pairs:
    """The entries of row i and of column i."""
    across = np.zeros(0, np.int64) if row is None else np.flatnonzero(row)
    down = np.zeros(0, np.int64) if column is None else np.flatnonzero(column)
    return np.concatenate([np.full(len(across), i), down]), np.concatenate([across, np.full(len(down), i)])
