"""``BlockMatrix``: one matrix over a ring, cut into blocks, in this process or on Spark.

The same methods and the same code serve both backends; what differs is where
the blocks of the state live. A matrix is a value: methods give new matrices.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.grid import Axis, Grid, as_array, block_size
from dyntc_spark.blocks.local import LocalBackend, entry_arrays
from dyntc_spark.blocks.operations import (
    ClearEntries,
    Combine,
    CountDifferences,
    CountEntries,
    Gather,
    Lookup,
    RankUpdate,
    SetEntries,
    VectorProduct,
)
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING, Ring
from dyntc_spark.blocks.state import Backend, BlockRow, Entries, State
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.superstep import Kind, Operation, Result
from dyntc_spark.blocks.where import Lines, Places
from dyntc_spark.errors import EntryValueError, ShapeMismatchError
from dyntc_spark.kernels.block import Ints

_NAME = "matrix"


class BlockMatrix:
    """A matrix over a ring, cut into blocks.

    The constructor takes a matrix of a state and starts no job; most matrices
    are made by ``from_entries``, ``from_blocks`` or ``identity``.

    Examples
    --------
    >>> a = BlockMatrix.from_entries(([0, 1, 2], [1, 2, 3]), shape=(4, 4))
    >>> a.multiply(a).to_entries().rows.tolist(), a.multiply(a).to_entries().columns.tolist()
    ([0, 1], [2, 3])
    >>> a
    BlockMatrix(4 x 4 in blocks of 64 x 64, the Boolean ring, in process)
    """

    def __init__(self, state: State, name: str) -> None:
        self.state = state
        self.name = name

    # --- making ------------------------------------------------------------------------------

    @classmethod
    def from_entries(
        cls,
        entries: Any,  # noqa: ANN401  (arrays, or a Spark DataFrame)
        shape: tuple[int, int],
        ring: Ring = BOOLEAN,
        *,
        size: int | None = None,
        backend: Backend | None = None,
    ) -> BlockMatrix:
        """Make a matrix out of its entries; entries at one place are added up.

        Parameters
        ----------
        entries
            ``(rows, columns)`` or ``(rows, columns, values)`` as arrays; on Spark also a DataFrame
            with the columns ``row``, ``column`` and optionally ``value``.
        shape
            Number of rows and columns; it is never guessed.
        ring
            What the entries are.
        size
            Side of the blocks; by default about a mebibyte a dense block.
        backend
            Where the matrix lives; by default in this process.
        """
        kind = _kind(shape, ring, size)
        return cls((backend or LocalBackend()).from_entries(entries, kind, _NAME), _NAME)

    @classmethod
    def from_blocks(
        cls,
        blocks: Iterable[BlockRow] | Any,  # noqa: ANN401  (rows, or a Spark DataFrame)
        shape: tuple[int, int],
        ring: Ring = BOOLEAN,
        *,
        size: int | None = None,
        backend: Backend | None = None,
    ) -> BlockMatrix:
        """Make a matrix out of stored blocks ``(bi, bj, payload)``; every payload is checked."""
        kind = _kind(shape, ring, size)
        return cls((backend or LocalBackend()).from_blocks(blocks, kind, _NAME), _NAME)

    @classmethod
    def identity(
        cls, n: int, ring: Ring = BOOLEAN, *, size: int | None = None, backend: Backend | None = None
    ) -> BlockMatrix:
        """Make the identity matrix of ``n`` rows."""
        return cls.from_entries((np.arange(n), np.arange(n)), (n, n), ring, size=size, backend=backend)

    # --- looking -----------------------------------------------------------------------------

    @property
    def grid(self) -> Grid:
        """How the matrix is cut into blocks."""
        return self.state.kinds[self.name].grid

    @property
    def ring(self) -> Ring:
        """What the entries are."""
        return self.state.kinds[self.name].ring

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.grid.shape

    def to_entries(self) -> Entries:
        """The entries that are not zero, sorted by row and column: one job."""
        return self.state.entries(self.name)

    def rows(self, ids: npt.ArrayLike) -> Strip:
        """The rows ``ids``, as a strip of ``len(ids) x columns``: one job, which reads only their blocks."""
        return self._gather(ids, upright=False)

    def columns(self, ids: npt.ArrayLike) -> Strip:
        """The columns ``ids``, as a strip of ``rows x len(ids)``: one job, which reads only their blocks."""
        return self._gather(ids, upright=True)

    def lookup(self, pairs: npt.ArrayLike) -> Ints:
        """Entries at the places ``pairs[q] = (row, column)``: one job.

        Gives bool for Boolean matrices, int64 counts, or residues ``[plane, q]``.
        """
        places = as_array(pairs)
        if places.size and (places.ndim not in {1, 2} or places.shape[-1] != 2):
            raise ShapeMismatchError("pairs (row, column)", f"an array of shape {places.shape}", "Pass q x 2 numbers.")
        places = places.reshape(-1, 2)
        rows = self.grid.down.ids(places[:, 0], "row")
        columns = self.grid.across.ids(places[:, 1], "column")
        return self._read(Lookup(self.name, self.ring, Places(self.grid, rows, columns)))

    def nnz(self) -> int:
        """Number of entries that are not zero: one job."""
        return self._read(CountEntries(self.name))

    def equals(self, other: BlockMatrix) -> bool:
        """Whether both matrices have the same entries: one job."""
        self.ring.require(other.ring)
        self.grid.require_same(other.grid)
        state, mine, theirs = self._beside(other)
        _, (different,) = state.run(CountDifferences(mine, theirs))
        return bool(different == 0)

    def validate(self) -> None:
        """Read every block; raise an error that names one that is damaged, misplaced or there twice: one job."""
        self.state.validate()

    # --- algebra -----------------------------------------------------------------------------

    def add(self, other: BlockMatrix) -> BlockMatrix:
        """Sum; for Boolean matrices the union: one job."""
        return self._combine(other, 1)

    def subtract(self, other: BlockMatrix) -> BlockMatrix:
        """Difference; for Boolean matrices the entries that ``other`` does not have: one job."""
        return self._combine(other, -1)

    def transpose(self) -> BlockMatrix:
        """Rows become columns: one job."""
        return BlockMatrix(self.state.transpose(self.name), self.name)

    def multiply(self, other: BlockMatrix, *, counts: bool = False) -> BlockMatrix:
        """Product: one job.

        With ``counts`` the product of two Boolean matrices over the counting
        ring: entry ``(x, z)`` is the number of witnesses ``y``.

        Examples
        --------
        >>> a = BlockMatrix.from_entries(([0, 0, 1, 2], [1, 2, 3, 3]), shape=(4, 4))
        >>> a.multiply(a, counts=True).lookup([(0, 3)])
        array([2])
        """
        state, mine, theirs = self._beside(other)
        return BlockMatrix(state.multiply(mine, theirs, "product", counts=counts, keep=False), "product")

    def power(self, exponent: int) -> BlockMatrix:
        """Power of a square matrix, by repeated squaring: at most ``2 log2(exponent)`` jobs.

        Examples
        --------
        >>> path = BlockMatrix.from_entries(([0, 1, 2], [1, 2, 3]), shape=(4, 4))
        >>> path.power(3).lookup([(0, 3), (0, 2)])
        array([ True, False])
        """
        if self.shape[0] != self.shape[1] or not isinstance(exponent, int | np.integer) or exponent < 0:
            raise ShapeMismatchError(
                "a square matrix and an exponent of at least 0",
                f"{self.shape[0]} x {self.shape[1]} and {exponent}",
                "Use multiply for other products.",
            )
        result, square = None, self
        while exponent:
            if exponent & 1:
                result = square if result is None else result.multiply(square)
            exponent >>= 1
            square = square.multiply(square) if exponent else square
        if result is None:
            n, size = self.shape[0], self.grid.down.step
            return BlockMatrix.identity(n, self.ring, size=size, backend=self.state.backend)
        return result

    def left_multiply(self, lines: npt.ArrayLike | Strip, *, counts: bool = False) -> Strip:
        """``lines · X`` for a row vector, or several: one job.

        With ``counts`` Boolean lines times a Boolean matrix are counted.
        """
        return self._vector_product(lines, upright=False, counts=counts)

    def right_multiply(self, lines: npt.ArrayLike | Strip, *, counts: bool = False) -> Strip:
        """``X · lines`` for a column vector, or several side by side: one job."""
        return self._vector_product(lines, upright=True, counts=counts)

    def rank_update(self, u: npt.ArrayLike | Strip, v: npt.ArrayLike | Strip, sign: Literal[1, -1] = 1) -> BlockMatrix:
        """``X + sign · u·v``, where ``u`` is ``rows x k`` and ``v`` is ``k x columns``: one job.

        Only blocks in which both ``u`` and ``v`` have entries are touched. For
        Boolean matrices the sum is a union and ``sign`` must be 1.

        Examples
        --------
        >>> x = BlockMatrix.from_entries(([], []), shape=(3, 3))
        >>> x.rank_update([True, False, True], [False, True, True]).to_entries().rows
        array([0, 0, 2, 2])
        """
        upright, lying = self._strip(u, upright=True), self._strip(v, upright=False)
        if sign not in {1, -1}:
            raise EntryValueError("a sign of 1 or -1", f"{sign!r}", "Put a factor into u or v.")
        if sign == -1 and not self.ring.planes:
            COUNTING.require(self.ring)
        return self._write(RankUpdate(self.name, upright, lying, sign))

    # --- entries -----------------------------------------------------------------------------

    def set_entries(
        self, rows: npt.ArrayLike, columns: npt.ArrayLike, values: npt.ArrayLike | None = None
    ) -> BlockMatrix:
        """Set entries to ``values`` (by default to 1); where a place is named twice the last counts: one job."""
        given = (rows, columns) if values is None else (rows, columns, values)
        down, across, checked = entry_arrays(given, self.state.kinds[self.name])
        return self._write(SetEntries(self.name, Places(self.grid, down, across), checked))

    def clear_entries(self, rows: npt.ArrayLike, columns: npt.ArrayLike) -> BlockMatrix:
        """Set entries to zero: one job."""
        down, across, _ = entry_arrays((rows, columns), self.state.kinds[self.name])
        return self._write(ClearEntries(self.name, Places(self.grid, down, across)))

    # --- helpers -----------------------------------------------------------------------------

    def _read(self, operation: Operation[Result]) -> Result:
        result: Result = self.state.run(operation)[1][0]
        return result

    def _write(self, operation: Operation[None]) -> BlockMatrix:
        return BlockMatrix(self.state.run(operation)[0], self.name)

    def _gather(self, ids: npt.ArrayLike, *, upright: bool) -> Strip:
        side, what = (self.grid.across, "column") if upright else (self.grid.down, "row")
        return self._read(Gather(self.name, self.ring, Lines(self.grid, side.ids(ids, what), upright)))

    def _strip(self, lines: npt.ArrayLike | Strip, *, upright: bool, along: Axis | None = None) -> Strip:
        axis = along or (self.grid.down if upright else self.grid.across)
        if not isinstance(lines, Strip):
            return Strip.from_array(lines, axis, self.ring, upright=upright)
        self.ring.require(lines.ring)
        lines.require_along(axis, upright=upright)
        return lines

    def _vector_product(self, lines: npt.ArrayLike | Strip, *, upright: bool, counts: bool) -> Strip:
        along = self.grid.across if upright else self.grid.down
        strip = self._strip(lines, upright=upright, along=along)
        if counts:
            BOOLEAN.require(self.ring)
        return self._read(VectorProduct(self.name, self.grid, COUNTING if counts else self.ring, strip))

    def _beside(self, other: BlockMatrix) -> tuple[State, str, str]:
        """A state that holds both matrices, and their names in it."""
        if other.state is self.state:
            return self.state, self.name, other.name
        mine = self.state.select({self.name: "left"})
        return mine.join(other.state.select({other.name: "right"})), "left", "right"

    def _combine(self, other: BlockMatrix, sign: Literal[1, -1]) -> BlockMatrix:
        self.ring.require(other.ring)
        self.grid.require_same(other.grid)
        state, mine, theirs = self._beside(other)
        state = state.select({name: name for name in (mine, theirs)})
        after, _ = state.run(Combine(mine, theirs, mine, sign))
        return BlockMatrix(after.select({mine: _NAME}), _NAME)

    def __repr__(self) -> str:
        where = "in process" if isinstance(self.state.backend, LocalBackend) else "on Spark"
        return f"BlockMatrix({self.grid}, {self.ring}, {where})"


def _kind(shape: tuple[int, int], ring: Ring, size: int | None) -> Kind:
    sides = as_array(shape)
    if sides.shape != (2,):
        raise ShapeMismatchError("a shape (rows, columns)", f"{shape!r}", "Give the number of rows and of columns.")
    rows, columns = sides.tolist()
    grid = Grid.square(rows, columns, 1 if size is None else size)
    if size is None:
        grid = Grid.square(rows, columns, block_size(max(rows, columns), ring.entry_bits))
    return Kind(grid, ring)
