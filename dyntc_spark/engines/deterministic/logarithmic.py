"""The engine ``logarithmic``: section 5, O(n² log n) amortised for an update, one lookup for a query.

The paper keeps ``P_k = P_{k-1} + P_{k-1}² + P_{k-1}³`` as polynomials of section 4.1, and
Set* gives each of them LazySet of everything and SetRow and SetCol of line i. Of
what these reveal only paths whose middle is a centre are needed, which leaves a
matrix form of King's algorithm. For each of ``K = ⌈log₂(n-1)⌉`` levels, with T[i] the
time of the last Set*(i) or Init*:

- ``V``: reflexive, V_0 = I + X; ``F[x,y]``: the time at which V[x,y] became 1;
- ``L[x,i] = |{u : V[x,u], V[u,i], max(F[x,u], F[u,i]) <= T[i]}|``;
- ``R[i,y] = |{u : V[i,u], V[u,y], max(F[i,u], F[u,y]) <= T[i]}|``;
- ``C[x,y] = |{i : L[x,i] > 0, R[i,y] > 0}|``, and V_{k+1} = [C_k > 0].

*Complete.* V_k holds every path of at most 2^k edges. Given a path of 2^{k+1}
edges, let i be its vertex with the latest time T[i]. All its edges were there at T[i].
On either side of i it has two pieces, each of at most 2^k edges and complete
at that time, so L_k[x,i] and R_k[i,y] count it. *Sound.* Every count is of
witnesses that are there now.

Set*(i) reveals at every level the lines through i. Job k needs only V_k as it was and vectors
that the driver has: the entries that V_k gains are an outer product of the lines
found at level k - 1. So it is one job that reads lines, one a level, and one that writes
all levels. Reset* reads two products a level (``matrices.counted_product``) and then writes once.

References
----------
Demetrescu and Italiano, "Maintaining Dynamic Matrices for Fully Dynamic
Transitive Closure", Algorithmica 51 (2008), section 5.
King, "Fully dynamic algorithms for maintaining all-pairs shortest paths and
transitive closure in digraphs", FOCS 1999.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.grid import Grid, block_size
from dyntc_spark.blocks.local import LocalBackend, LocalState
from dyntc_spark.blocks.operations import ClearEntries, Gather, Lookup, RankUpdate, VectorProduct
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.blocks.single_task import Made
from dyntc_spark.blocks.state import Backend, State
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Kind, Operation
from dyntc_spark.blocks.where import Lines, Places, Tile
from dyntc_spark.edges import Edges
from dyntc_spark.engines.deterministic.kleene import KleeneClosure
from dyntc_spark.engines.deterministic.kleene_rows import Part
from dyntc_spark.engines.deterministic.logarithmic_operations import Exchange, Halfway, Passed, Raise
from dyntc_spark.engines.transfer import fits_one_task, made_by_one_process, numbers_read, transferred
from dyntc_spark.kernels.block import Ints
from dyntc_spark.kernels.ids import Flags, Indices
from dyntc_spark.matrices.bundle import run_together
from dyntc_spark.matrices.counted_product import CountedProduct, Entries, Factor, Last, TooManyLinesError, init_product
from dyntc_spark.matrices.last_flip import Flip, erased
from dyntc_spark.matrices.triples import STAMP, count_dtype
from dyntc_spark.progress import progress

LARGEST_STAMP = 2**31 - 1
LINES = 2**27  # numbers that one step of a Reset* may read; beyond that Init* is cheaper
HALF = "Half"  # where L is positive: exists during Init* only


class Logarithmic(KleeneClosure):
    """The closure of any digraph by ``⌈log₂(n-1)⌉`` levels of counted products.

    Parameters
    ----------
    backend
        Where the matrices live; by default in this process.
    size
        Side of the blocks.
    distributed_init
        Whether Init* multiplies on the backend, or in this process and then moves
        the blocks there; by default what is likely to be faster.

    Notes
    -----
    Jobs on Spark: Set* ``K + 2``, Reset* at most ``2 K + 2``, a query 1. Each level
    keeps one matrix of bits, one of 32-bit stamps and three of counts (8 bits up to
    n = 127, 16 up to 32,767, else 32): about ``10 K`` bytes an entry where they are dense.

    Examples
    --------
    >>> engine = Logarithmic()
    >>> engine.init(Edges.of([0, 1, 2], [1, 2, 1]), vertices=4)
    >>> engine.query([0, 2, 2, 3], [2, 1, 0, 3])
    array([ True,  True, False,  True])
    >>> engine.apply(inserted=Edges.of([2], [3]), deleted=Edges.of([2], [1]))
    >>> engine.descendants([1]).targets
    array([1, 2, 3])
    >>> engine.set(3, row=[0])
    >>> engine.lookup([3, 1], [1, 0])
    array([ True,  True])
    """

    name: ClassVar[str] = "logarithmic"
    exact: ClassVar[bool] = True

    def __init__(
        self, backend: Backend | None = None, *, size: int | None = None, distributed_init: bool | None = None
    ) -> None:
        super().__init__(backend)
        self._size = size
        self._distributed_init = distributed_init
        self._levels = 1
        self._kinds: dict[str, Kind] = {}
        self._state: State | None = None
        self._time = 0
        self._last = np.zeros(0, STAMP)

    # --- Init* -------------------------------------------------------------------------------

    def _init(self, edges: Edges, room: int) -> None:
        levels = _levels_for(room)
        grid = Grid.square(room, room, self._size or self._block_size(room, levels))
        kinds = {f"V{k}": Kind(grid, BOOLEAN) for k in range(levels + 1)}
        kinds |= {f"{name}{k}": Kind(grid, COUNTING) for k in range(levels) for name in "FLRC"}
        one = self._distributed_init is False or (
            self._distributed_init is None and fits_one_task(room, self.entry_bytes(room)) and self.backend == "spark"
        )
        if one:
            made = partial(_made, edges, kinds, levels)
            self._state = made_by_one_process(self._where, "Init*", kinds, made)[0]
        else:
            state = _evaluated(self._where.from_local(_first(edges, kinds)), levels, count_dtype(room))
            self._state = state.select({name: name for name in kinds})
        self._levels, self._kinds, self._time = levels, kinds, 1
        self._last = np.ones(room, STAMP)

    def _block_size(self, room: int, levels: int) -> int:
        if isinstance(self._where, LocalBackend):
            return min(1024, max(64, -(-room // 64) * 64))
        return block_size(room, 81 * levels)

    @classmethod
    def entry_bytes(cls, room: int) -> float:
        """A bit, a stamp and three counts a level."""
        return _levels_for(room) * (1 / 8 + STAMP.itemsize + 3 * count_dtype(room).itemsize)

    # --- Set* --------------------------------------------------------------------------------

    def _set(self, i: int, row: Indices, column: Indices) -> None:
        if self._time == LARGEST_STAMP:
            self._init(self._edges.edges, self._room)
            return
        time, state = self._time + 1, self._held
        old = _Lines.read(self, i)
        writes: list[Operation[Any]] = []
        places = np.concatenate([np.full(len(row), i), column]), np.concatenate([row, np.full(len(column), i)])
        writes.append(Flip("V0", "F0", Places(self._grid, *places), time))
        v, w = old.columns[0].copy(), old.rows[0].copy()  # column and row i of V_k
        v[column], w[row] = True, True
        left: Flags | None = None  # column i of L_{k-1} and row i of R_{k-1}, as they are now
        right: Flags | None = None
        for k in range(self._levels):
            if left is None or right is None:
                found_l, found_r = self._first_lines(state, v, w, old)
            else:
                found_l, found_r = self._next_lines(state, k, v, w, left, right)
                writes.append(Raise(f"V{k}", self._upright(left), self._lying(right), f"F{k}", time))
            ls, rs, _ = self._counted(k)
            writes += [ls.line(i, found_l, upright=True), rs.line(i, found_r, upright=False)]
            left, right = found_l > 0, found_r > 0
            new_old = (np.stack([left, old.left[k]], 1), np.stack([right, old.right[k]]))
            writes.append(Exchange(f"C{k}", self._upright(new_old[0]), self._lying(new_old[1]), self._dtype))
            v, w = old.columns[k + 1] | left, old.rows[k + 1] | right
        assert left is not None  # noqa: S101  (there is at least one level)
        assert right is not None  # noqa: S101
        writes.append(RankUpdate(f"V{self._levels}", self._upright(left), self._lying(right)))
        self._state = run_together(state, writes)[0]
        self._time = time
        self._last = self._last.copy()
        self._last[i] = time

    def _first_lines(self, state: State, v: Flags, w: Flags, old: _Lines) -> tuple[Ints, Ints]:
        """``V_0 · v`` and ``w · V_0`` with V_0 as it is now: what is new lies in row i and column i."""
        i = old.i
        l, r = (found.ravel() for found in self._products(state, 0, v[:, None], w[None, :]))  # noqa: E741
        new_column, new_row = v & ~old.columns[0], w & ~old.rows[0]
        l = l + new_column  # (x, i) is new, and V[i,i] = 1  # noqa: E741
        l[i] += int((new_row & v).sum())
        r = r + new_row
        r[i] += int((new_column & w).sum())
        return l, r

    def _next_lines(self, state: State, k: int, v: Flags, w: Flags, left: Flags, right: Flags) -> tuple[Ints, Ints]:
        """``V_k · v`` and ``w · V_k`` with V_k as it is now, which is what it was or ``left ⊗ right``."""
        a, b = right & v, left & w
        ls, rs = self._products(state, k, np.stack([v, a], 1), np.stack([w, b]))
        return ls[:, 0] + left * (int(a.sum()) - ls[:, 1]), rs[0] + right * (int(b.sum()) - rs[1])

    def _products(self, state: State, k: int, columns: Flags, rows: Flags) -> tuple[Ints, Ints]:
        """A matrix with some columns and some rows: one job."""
        name, grid = f"V{k}", self._grid
        _, (ls, rs) = state.run(
            VectorProduct(name, grid, COUNTING, Strip.from_array(columns, grid.across, BOOLEAN, upright=True)),
            VectorProduct(name, grid, COUNTING, Strip.from_array(rows, grid.down, BOOLEAN, upright=False)),
        )
        return ls.array(), rs.array()

    def _upright(self, flags: Flags) -> Strip:
        return Strip.from_array(flags, self._grid.down, BOOLEAN, upright=True)

    def _lying(self, flags: Flags) -> Strip:
        return Strip.from_array(flags, self._grid.across, BOOLEAN, upright=False)

    # --- Reset* ------------------------------------------------------------------------------

    def _reset(self, edges: Edges) -> None:
        off = edges.sources != edges.targets  # V is reflexive
        rows, columns = edges.sources[off], edges.targets[off]
        if not len(rows):
            return
        try:
            state, (stamps,) = self._held, self._held.run(Lookup("F0", COUNTING, Places(self._grid, rows, columns)))[1]
            gone, writes = Entries.of(rows, columns, stamps), list[Operation[Any]]()
            for k in range(self._levels):
                writes.append(erased(f"V{k}", f"F{k}", Places(self._grid, *gone[:2]), gone.stamps))
                gone = self._level(state, k, gone, writes)
                if not gone:
                    break
            else:
                writes.append(ClearEntries(f"V{self._levels}", Places(self._grid, *gone[:2])))
            self._state = run_together(state, writes)[0]
        except TooManyLinesError:
            self._init(self._edges.edges, self._room)

    def _level(self, state: State, k: int, gone: Entries, writes: list[Operation[Any]]) -> Entries:
        """What level k + 1 loses when ``gone`` goes from V_k: two reading jobs."""
        budget = numbers_read(self._where, LINES)
        ls, rs, cs = self._counted(k)
        asked = [product.lost(gone, gone, budget=budget) for product in (ls, rs)]
        results = iter(state.run(*(each for lost in asked for each in lost.operations()))[1])
        left, right = (lost.answer(results) for lost in asked)
        writes += left.writes + right.writes
        after = f"F{k + 1}"
        also = (after,) if k + 1 < self._levels else ()
        lost = cs.lost(left.gone, right.gone, also=also, budget=budget)
        if not lost:
            return left.gone
        found = lost.answer(iter(state.run(*lost.operations())[1]))
        writes += found.writes
        return Entries.of(*found.gone[:2], found.read[after] if also and found.gone else None)

    def _counted(self, k: int) -> tuple[CountedProduct, CountedProduct, CountedProduct]:
        """The three products of a level: L = V·V revealed by columns, R = V·V by rows, and C = L·R."""
        grid, dtype = self._grid, self._dtype
        v, left, right = Factor(f"F{k}", grid, stamps=True), Factor(f"L{k}", grid), Factor(f"R{k}", grid)
        return (
            CountedProduct(f"L{k}", Tile(grid), v, v, dtype, Last(columns=self._last)),
            CountedProduct(f"R{k}", Tile(grid), v, v, dtype, Last(rows=self._last)),
            CountedProduct(f"C{k}", Tile(grid), left, right, dtype),
        )

    # --- Lookup* -----------------------------------------------------------------------------

    def _lookup(self, rows: Indices, columns: Indices) -> Flags:
        found: Flags = self._held.run(Lookup(f"V{self._levels}", BOOLEAN, Places(self._grid, rows, columns)))[1][0]
        return found

    def _lines(self, ids: Indices, *, upright: bool) -> Flags:
        found: Flags = self._held.run(Gather(f"V{self._levels}", BOOLEAN, Lines(self._grid, ids, upright)))[1][
            0
        ].array()
        return found

    def _parts(self) -> tuple[Part, ...]:
        return (Part(f"V{self._levels}"),)

    # --- looking -----------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """All matrices that are kept: V, F, L, R and C with the number of their level."""
        self._ready()
        return self._held

    @property
    def last(self) -> npt.NDArray[np.int32]:
        """T: the time of the last Set* at each vertex, or of Init*."""
        return self._last

    def moved(self, backend: Backend) -> Logarithmic:
        """Return the same engine with the same state on another backend, itself when it is there; no rebuild."""
        if backend is self._where:
            return self
        self._ready()
        other: Logarithmic = copy(self)
        other._where, other._done = backend, dict(self._done)
        other._state = transferred(self._held, backend)
        return other

    def stats(self) -> Mapping[str, Any]:
        """Sizes, levels, the clock, and how many of the paper's operations were done."""
        return {**super().stats(), "levels": self._levels, "time": self._time}

    @property
    def _held(self) -> State:
        assert self._state is not None  # noqa: S101  (every operation inits first)
        return self._state

    @property
    def _grid(self) -> Grid:
        return self._kinds["V0"].grid

    @property
    def _dtype(self) -> np.dtype[Any]:
        return count_dtype(self._grid.shape[0])

    def _saved(self) -> Callable[[], None]:
        saved = self._state, self._levels, self._kinds, self._time, self._last

        def put_back() -> None:
            self._state, self._levels, self._kinds, self._time, self._last = saved

        return put_back


class _Lines:
    """Row i and column i of every level, read in one job."""

    def __init__(self, i: int, rows: list[Flags], columns: list[Flags], left: list[Flags], right: list[Flags]) -> None:
        self.i, self.rows, self.columns, self.left, self.right = i, rows, columns, left, right

    @classmethod
    def read(cls, engine: Logarithmic, i: int) -> _Lines:
        grid, levels = engine._grid, engine._levels  # noqa: SLF001  (a part of it)
        row, column = (Lines(grid, np.array([i]), upright) for upright in (False, True))
        bits = [f"V{k}" for k in range(levels + 1)]
        asked: list[Operation[Any]] = [Gather(name, BOOLEAN, row) for name in bits]
        asked += [Gather(name, BOOLEAN, column) for name in bits]
        asked += [Gather(f"L{k}", COUNTING, column) for k in range(levels)]
        asked += [Gather(f"R{k}", COUNTING, row) for k in range(levels)]
        found = [strip.array().ravel() > 0 for strip in engine._held.run(*asked)[1]]  # noqa: SLF001
        first, second = levels + 1, 2 * (levels + 1)
        return cls(i, found[:first], found[first:second], found[second : second + levels], found[second + levels :])


def _levels_for(room: int) -> int:
    """How many levels reach every simple path: ⌈log₂(n-1)⌉, and one at least."""
    return max(1, (room - 2).bit_length())


def _first(edges: Edges, kinds: Mapping[str, Kind]) -> LocalState:
    """Return V_0, and zero for all the rest."""
    every = np.arange(kinds["V0"].grid.shape[0])
    places = np.concatenate([edges.sources, every]), np.concatenate([edges.targets, every])
    first = LocalBackend().from_entries(places, kinds["V0"], "V0")
    empty = {**kinds, HALF: kinds["V0"]}
    del empty["V0"]
    return LocalState(first.backend, {**first.kinds, **empty}, {**first.blocks, **{name: {} for name in empty}})


def _made(edges: Edges, kinds: Mapping[str, Kind], levels: int) -> Made:
    """Multiply out all levels in this process."""
    state = _evaluated(_first(edges, kinds), levels, count_dtype(kinds["V0"].grid.shape[0]))
    found = state.select({name: name for name in kinds})
    assert isinstance(found, LocalState)  # noqa: S101  (of the local backend)
    return found, {}


def _evaluated(state: State, levels: int, dtype: np.dtype[Any]) -> State:
    """Multiply out all levels: two products and two supersteps a level."""
    with progress("logarithmic: Init*", 2 * levels) as shown:
        for k in range(levels):
            state = init_product(state, (f"V{k}", f"V{k}"), f"L{k}")
            state, _ = state.run(Halfway(f"L{k}", f"R{k}", f"F{k}", f"V{k}", HALF, 1, dtype))
            shown.advance()
            state = init_product(state, (HALF, HALF), f"C{k}")
            state, _ = state.run(Passed(f"C{k}", f"V{k + 1}", HALF, dtype))
            shown.advance()
    return state
