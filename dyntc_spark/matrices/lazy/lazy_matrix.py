"""``LazyMatrix``: section 4.2, an integer matrix under updates ``M ← M + J·I`` that are logged and applied late.

The invariant of the paper, at any time::

    M = Lazy + Buf_J⟨t⟩ · Buf_I⟨t⟩

*Lazy* lives in stripes of rows and, transposed, in stripes of columns, in this
process or on Spark (``layers``); the buffers are sparse lines at the driver.
``Update`` appends; it starts no job unless the buffers are full. Reading rows,
columns or entries is one job on *Lazy*, however many they are, and the driver
adds what the buffers hold.

When ``t`` would pass ``n^ε``, or the buffers a budget of bytes, *Lazy* is rebuilt
first: one superstep that multiplies in the stripes which *Buf_J* (*Buf_I*)
touches. The printed ``Update`` drops the pair (J, I) that arrives at full
buffers (errata 9); here the buffers are folded and the pair is then stored.

The worst-case variant of the paper's proof ("two copies of the data structures:
one is used for queries and the other is updated by performing matrix
multiplication in the background") freezes full buffers and folds them into a
second copy, a share at each of the following updates; meanwhile reads add what
both pairs of buffers hold.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.columns import checked_columns
from dyntc_spark.blocks.local import LocalBackend, LocalState, entry_arrays
from dyntc_spark.blocks.rings import COUNTING, Ring
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.state import Backend, Entries, EntryArrays, State
from dyntc_spark.blocks.superstep import Kind, Operation
from dyntc_spark.blocks.where import Lines
from dyntc_spark.errors import EntryValueError, RingMismatchError, SessionError, ShapeMismatchError
from dyntc_spark.kernels.block import Ints, Sparse
from dyntc_spark.lazy_pyspark import F, is_frame
from dyntc_spark.matrices.lazy import sparse_lines
from dyntc_spark.matrices.lazy.buffers import Buffers, bytes_of
from dyntc_spark.matrices.lazy.costs import Costs
from dyntc_spark.matrices.lazy.layered_state import LayeredState
from dyntc_spark.matrices.lazy.operations import ReadEntries, ReadLines
from dyntc_spark.matrices.lazy.rebuild import BY_COLUMN, BY_ROW, Rebuild, grown, stripes_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

THEORY = 0.575  #: the ε that balances update and rebuild with the best known rectangular product
BUDGET = 32 * 2**20  #: bytes of the buffers; they travel to every task of a rebuild
DONE_AT = 0.95  #: a spread rebuild is done when the next buffers are this full
HEIGHT = 64  #: rows of a stripe


class LazyMatrix:
    """A matrix of integers, or of residues modulo primes, under updates of small rank.

    Cost of an update of rank one: the entries of ``J`` and ``I``, and amortised
    (with ``worst_case``: each time) a share of the rebuild. Cost of reading a line:
    its entries, and those of the buffered lines that it meets.

    Parameters
    ----------
    shape
        Number of rows and columns.
    ring
        ``COUNTING`` (exact; an overflow is an error) or ``Modular(primes)``.
    backend
        Where *Lazy* lives; by default in this process.
    epsilon
        The buffers hold ``n^ε`` updates. By default 0.575, the theory's value, until a rebuild has been timed; from
        then on the value for which reading through the buffers costs as much as rebuilding.
    budget
        Bytes that the buffers may hold, whatever ``ε``.
    worst_case
        Spread each rebuild over the updates that follow it.
    height
        Rows of a stripe.

    Examples
    --------
    >>> m = LazyMatrix((3, 3))
    >>> m.init(([0, 1, 2], [0, 1, 2]))
    >>> m.update([1, 2, 0], [0, 0, 5])
    >>> m.lookup([(1, 2), (1, 1), (2, 0)])
    array([10,  1,  0])
    >>> m.rows([0, 1])
    array([[ 1,  0,  5],
           [ 0,  1, 10]])
    """

    def __init__(
        self,
        shape: tuple[int, int],
        ring: Ring = COUNTING,
        *,
        backend: Backend | None = None,
        epsilon: float | None = None,
        budget: int = BUDGET,
        worst_case: bool = False,
        height: int = HEIGHT,
    ) -> None:
        if not ring.planes:
            raise RingMismatchError("a ring of integers", f"{ring}", "Use COUNTING or Modular(primes).")
        if epsilon is not None and not 0 <= epsilon <= 1:
            raise EntryValueError(
                "an epsilon from 0 to 1",
                f"{epsilon}",
                "The buffers hold n^epsilon updates; 0.575 is the theory's value.",
            )
        self.shape = shape
        self.ring = ring
        self.backend = backend or LocalBackend()
        self.worst_case = worst_case
        self._epsilon = epsilon
        self._budget = budget
        self._kinds = stripes_of(shape, height, ring)
        self._state: State | None = None
        self._buffers = Buffers(shape, ring)
        self._rebuild: Rebuild | None = None
        self._frozen_at = 0.0  # how full the buffers were after the update that froze the ones before
        self._costs = Costs()

    # --- Init --------------------------------------------------------------------------------

    def init(self, entries: EntryArrays | DataFrame = ((), ())) -> None:
        """Start again with these entries.

        Parameters
        ----------
        entries
            ``(rows, columns)`` or ``(rows, columns, values)``, on Spark one job; or, on Spark, a DataFrame with
            the columns ``row``, ``column`` and, unless all are 1, ``value``: a job for rows, one for columns,
            and one that asks for their sizes. Entries at one place are added up.
        """
        self._start(self._from_frame(entries) if is_frame(entries) else self._from_arrays(entries))

    def _from_arrays(self, entries: EntryArrays) -> State:
        rows, columns, values = entry_arrays(entries, self._kinds[BY_ROW])
        local = LocalBackend()
        by_row = local.from_entries((rows, columns, values), self._kinds[BY_ROW], BY_ROW)
        by_column = local.from_entries((columns, rows, values), self._kinds[BY_COLUMN], BY_COLUMN)
        return self._placed(LocalState(local, self._kinds, by_row.blocks | by_column.blocks))

    def _from_frame(self, entries: DataFrame) -> State:
        if not isinstance(self.backend, SparkBackend):
            raise SessionError("arrays (rows, columns, values)", "a DataFrame", "Make the matrix on a SparkBackend.")
        entries = checked_columns(entries, self._kinds[BY_ROW])
        turned = entries.select(F.col("column").alias("row"), F.col("row").alias("column"), "value")
        return LayeredState.of(
            self.backend.from_entries(entries, self._kinds[BY_ROW], BY_ROW),
            self.backend.from_entries(turned, self._kinds[BY_COLUMN], BY_COLUMN),
        )

    def fill(self, *operations: Operation[Any]) -> tuple[Any, ...]:
        """Start again with what ``operations`` write into ``by_row`` and ``by_column``: on Spark one job.

        Return the result of each operation.
        """
        state, results = self._zero().run(*operations)
        self._start(state)
        return results

    def _start(self, state: State) -> None:
        self._state, self._rebuild = state, None
        self._buffers = Buffers(self.shape, self.ring)

    def moved(self, backend: Backend) -> LazyMatrix:
        """Return the same matrix on another backend, itself when it is there: one job, and no rebuild.

        The two go their own ways afterwards; a rebuild that is under way here starts again there.
        """
        here = isinstance(self.backend, LocalBackend)
        if here == isinstance(backend, LocalBackend) and getattr(self.backend, "spark", None) is getattr(
            backend, "spark", None
        ):
            return self
        height = self._kinds[BY_ROW].grid.down.step
        other = LazyMatrix(
            self.shape, self.ring, backend=backend, epsilon=self._epsilon, budget=self._budget,
            worst_case=self.worst_case, height=height,
        )  # fmt: skip
        state = self.state.to_local() if isinstance(self.state, LayeredState) else self.state
        assert isinstance(state, LocalState)  # noqa: S101  (there are two backends)
        other._state = other._placed(state)
        for buffers in self.pending:
            other._buffers.append(buffers.columns_j, buffers.rows_i)
        return other

    def grow(self, shape: tuple[int, int]) -> None:
        """Let the matrix have more rows and columns, all of them zero: stripes are appended, without a job.

        Stripes that are there stay as they are. A rebuild that is spread over updates is finished first.
        """
        if min(new - old for new, old in zip(shape, self.shape, strict=True)) < 0:
            raise ShapeMismatchError(f"at least {self.shape} rows and columns", f"{shape}", "Make another matrix.")
        self._advance(1)
        kinds = stripes_of(shape, self._kinds[BY_ROW].grid.down.step, self.ring)
        if isinstance(self._state, LayeredState):
            self._state = self._state.grown(kinds)
        elif isinstance(self._state, LocalState):
            self._state = grown(self._state, kinds)
        self._buffers.grow(shape)
        self.shape, self._kinds = shape, kinds

    # --- Update ------------------------------------------------------------------------------

    def update(self, columns: npt.ArrayLike | Sparse, rows: npt.ArrayLike | Sparse) -> None:
        """The paper's ``Update(J, I)``, of any rank: ``M ← M + J·I``.

        Parameters
        ----------
        columns
            ``J``: ``n x k`` or one column; or the columns as a stack of ``k`` sparse lines.
        rows
            ``I``: ``k x n`` or one row; or a stack of ``k`` sparse lines.
        """
        j, i = self._stack(columns, 0), self._stack(rows, 1)
        if j.shape[0] != i.shape[0]:
            came = f"{j.shape[0]} and {i.shape[0]}"
            raise ShapeMismatchError("as many columns J as rows I", came, "They share the rank k.")
        self._costs.work = 0
        if self._buffers.rank and self._fill_with(j, i) > 1:
            self._make_room()
            self._frozen_at = self._fill_with(j, i)
        elif self._rebuild is not None:
            left = DONE_AT - self._frozen_at
            self._advance(min(1.0, (self._fill_with(j, i) - self._frozen_at) / left) if left > 0 else 1.0)
        self._buffers.append(j, i)  # nothing is stored before all that can fail is done

    def rebuild(self) -> None:
        """Fold the buffers into *Lazy* now: on Spark one job."""
        self._advance(1)
        if self._buffers.rank:
            self._freeze()
            self._advance(1)

    def _make_room(self) -> None:
        """Empty the buffers: at once, or (worst case) by freezing them for a rebuild over the next updates."""
        self._advance(1)
        self._freeze()
        if not self.worst_case:
            self._advance(1)

    def _freeze(self) -> None:
        self._rebuild = Rebuild(self.state, self._buffers)
        self._buffers = Buffers(self.shape, self.ring)

    def _advance(self, share: float) -> None:
        if self._rebuild is None:
            return
        frozen, started = self._rebuild, time.perf_counter()
        try:
            self._costs.work += frozen.advance(share)
        except BaseException:
            if not self.worst_case:  # as before: what was frozen is active again
                self._rebuild, self._buffers = None, frozen.buffers
            raise
        self._costs.rebuilding += time.perf_counter() - started
        if frozen.done:
            self._state, self._rebuild = frozen.state, None
            self._costs.close_period(frozen.buffers.rank)

    # --- Lookup ------------------------------------------------------------------------------

    def gather(self, rows: npt.ArrayLike = (), columns: npt.ArrayLike = ()) -> tuple[Sparse, Sparse]:
        """Rows and columns of M as two stacks of sparse lines: one job for both."""
        down = self._kinds[BY_ROW].grid.down.ids(rows, "row")
        across = self._kinds[BY_COLUMN].grid.down.ids(columns, "column")
        lines = {name: Lines(self._kinds[name].grid, ids) for name, ids in ((BY_ROW, down), (BY_COLUMN, across))}
        operations = (ReadLines(name, self.ring, each) for name, each in lines.items())
        lazy_rows, lazy_columns = self.state.run(*operations)[1]
        started = time.perf_counter()
        for buffers in self.pending:
            lazy_rows = buffers.add_rows(lazy_rows, down)
            lazy_columns = buffers.add_columns(lazy_columns, across)
        self._costs.note_reading(time.perf_counter() - started)
        return lazy_rows, lazy_columns

    def rows(self, ids: npt.ArrayLike) -> Ints:
        """The rows ``ids`` as ``counts[k, column]`` or ``residues[plane, k, column]``: one job."""
        return self._array(self.gather(rows=ids)[0])

    def columns(self, ids: npt.ArrayLike) -> Ints:
        """The columns ``ids`` as ``counts[row, k]`` or ``residues[plane, row, k]``: one job."""
        return np.asarray(self._array(self.gather(columns=ids)[1]).swapaxes(-1, -2))

    def lookup(self, pairs: npt.ArrayLike) -> Ints:
        """The paper's ``Lookup`` at ``pairs[q] = (x, y)``: counts ``[q]`` or residues ``[plane, q]``; one job."""
        places = np.asarray(pairs)
        if places.size and (places.ndim > 2 or places.shape[-1] != 2):
            raise ShapeMismatchError("pairs (row, column)", f"an array of shape {places.shape}", "Pass q x 2 numbers.")
        places = places.reshape(-1, 2)
        grid = self._kinds[BY_ROW].grid
        rows, columns = grid.down.ids(places[:, 0], "row"), grid.across.ids(places[:, 1], "column")
        (found,) = self.state.run(ReadEntries(BY_ROW, self.ring, Lines(grid, rows), columns))[1]
        for buffers in self.pending:
            found = found + buffers.entries(rows, columns)
        if self.ring.modulus is None:
            return np.asarray(found[0])
        return np.asarray(found % np.array(self.ring.modulus)[:, None])

    def entries(self) -> Entries:
        """All entries that are not zero, at the driver, sorted: one job."""
        lines = self.gather(rows=np.arange(self.shape[0]))[0]
        values = lines.values.astype(np.int64)
        shown = values if self.ring.modulus else values[0]
        return Entries(lines.rows.astype(np.int64), lines.columns.astype(np.int64), shown)

    # --- looking -----------------------------------------------------------------------------

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Grid and ring of ``by_row`` and of ``by_column``."""
        return self._kinds

    @property
    def state(self) -> State:
        """The blocks of *Lazy*: ``by_row`` and, transposed, ``by_column``; they start at zero."""
        if self._state is None:
            self._state = self._zero()
        return self._state

    @property
    def rank(self) -> int:
        """Updates that *Lazy* lacks: ``t``, and in the worst-case variant those being folded."""
        return sum(buffers.rank for buffers in self.pending)

    @property
    def capacity(self) -> int:
        """``n^ε``: the rank at which the buffers are full, at least 1."""
        n = max(2, *self.shape)
        if self._epsilon is not None:
            return max(1, int(n**self._epsilon))
        theory, balance = int(n**THEORY), self._costs.balance(n)
        if balance is None or (self.worst_case and balance > theory):
            return theory  # freezing the buffers, which nothing spreads, must not take long
        return balance

    @property
    def pending(self) -> tuple[Buffers, ...]:
        """The buffers that reads have to add: the active ones and those being folded."""
        frozen = (self._rebuild.buffers,) if self._rebuild is not None else ()
        return tuple(buffers for buffers in (*frozen, self._buffers) if buffers.rank)

    def stats(self) -> Mapping[str, Any]:
        """What the matrix can say about its size and its work."""
        return {
            "rank": self.rank,
            "capacity": self.capacity,
            "epsilon": math.log(self.capacity) / math.log(max(2, *self.shape)),
            "buffer_bytes": sum(buffers.stored_bytes for buffers in self.pending),
            "rebuilds": self._costs.rebuilds,
            "rebuilding": self._rebuild is not None,
            "products_last_update": self._costs.work,
        }

    # --- helpers -----------------------------------------------------------------------------

    def _zero(self) -> State:
        if isinstance(self.backend, SparkBackend):
            return LayeredState.zero(self.backend, self._kinds)
        return LocalState(LocalBackend(), self._kinds, {BY_ROW: {}, BY_COLUMN: {}})

    def _placed(self, state: LocalState) -> State:
        if isinstance(self.backend, SparkBackend):
            return LayeredState.from_local(self.backend, state)
        return self.backend.from_local(state)

    def _fill_with(self, j: Sparse, i: Sparse) -> float:
        """How full the active buffers would be with these lines: 1 is full."""
        rank, held = self._buffers.rank + j.shape[0], self._buffers.stored_bytes + bytes_of(j) + bytes_of(i)
        return max(rank / self.capacity, held / self._budget)

    def _stack(self, lines: npt.ArrayLike | Sparse, side: int) -> Sparse:
        length = self.shape[side]
        if isinstance(lines, Sparse):
            found = lines
        else:
            array = np.asarray(lines)
            array = array[None, :] if array.ndim == 1 else array.swapaxes(-1, -2) if side == 0 else array
            found = sparse_lines.from_array(array, self.ring)
        if found.shape[1] != length or len(found.values) != self.ring.planes:
            came = f"lines of {found.shape[1]} entries in {len(found.values)} planes"
            raise ShapeMismatchError(f"lines of {length} entries over {self.ring}", came, "J stands upright, I lies.")
        return found

    def _array(self, lines: Sparse) -> Ints:
        layers = np.zeros((self.ring.planes, *lines.shape), np.int64)
        layers[:, lines.rows, lines.columns] = lines.values
        return layers if self.ring.modulus else layers[0]
