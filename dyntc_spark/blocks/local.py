"""Block matrices in the calling process: a dictionary of blocks for each matrix.

It serves graphs that fit this process, the leaves of a recursion inside an
executor, and the tests of everything above it. No Spark is needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.state import Backend, BlockRow, Entries, EntryArrays, JobCounter, State, check_name
from dyntc_spark.blocks.superstep import Cell, Kind, Kinds, Operation, Reports, check_names
from dyntc_spark.errors import DuplicateBlockError, DyntcError, IndexOutsideError, ShapeMismatchError
from dyntc_spark.kernels import codec
from dyntc_spark.kernels.block import Block

Blocks = dict[tuple[int, int], Block]


class LocalState(State):
    """A state whose blocks are objects of this process."""

    def __init__(self, backend: LocalBackend, kinds: Mapping[str, Kind], blocks: Mapping[str, Blocks]) -> None:
        self._backend = backend
        self.kinds = Kinds(kinds)
        self.blocks = dict(blocks)

    @property
    def backend(self) -> LocalBackend:
        """The local backend."""
        return self._backend

    def run(self, *operations: Operation[Any]) -> tuple[State, tuple[Any, ...]]:
        """Run a superstep over the blocks that it touches."""
        check_names(operations, self.kinds)
        reports = Reports(operations)
        changed = {name for operation in operations for name in operation.writes}
        blocks = {name: dict(found) if name in changed else found for name, found in self.blocks.items()}
        touched = [operation.where for operation in operations]
        for bi, bj in self._touched(operations):
            cell = Cell(bi, bj, self.kinds, lambda name, at=(bi, bj): self.blocks[name].get(at), reports)  # type: ignore[misc]
            for number, operation in enumerate(operations):
                if touched[number].holds(bi, bj) and self.kinds[operation.name].grid.holds(bi, bj):
                    u, v = operation.by_row, operation.by_column
                    cell.run(number, operation, u.slices.get(bi) if u else None, v.slices.get(bj) if v else None)
            for name in cell.written:
                block = cell[name]
                if block is None:
                    blocks[name].pop((bi, bj), None)
                else:
                    blocks[name][bi, bj] = block
        after = LocalState(self._backend, self.kinds, blocks) if changed else self
        return after, reports.results()

    def _touched(self, operations: tuple[Operation[Any], ...]) -> list[tuple[int, int]]:
        """Cells in which some operation has work to do, in the order of the grid."""
        found: set[tuple[int, int]] = set()
        for operation in operations:
            where, grid = operation.where, self.kinds[operation.name].grid
            if operation.fills:
                found.update(where.cells if where.cells is not None else _all_cells(grid, where.rows, where.columns))
            else:
                few = where.rows is not None and len(where.rows) * grid.blocks[1] < len(self.blocks[operation.name])
                near = list(_all_cells(grid, where.rows, where.columns)) if few else None
                for name in operation.reads:
                    cells = self.blocks[name] if near is None else (at for at in near if at in self.blocks[name])
                    found.update(at for at in cells if where.holds(*at))
        return sorted(found)

    def multiply(self, left: str, right: str, into: str, *, counts: bool = False, keep: bool = True) -> State:
        """Multiply block row by block column; absent blocks are never looked at."""
        kind = self.product_kind(left, right, counts=counts)
        by_inner: dict[int, list[tuple[int, Block]]] = defaultdict(list)
        for (bk, bj), block in self.blocks[right].items():
            by_inner[bk].append((bj, block))
        sums: dict[tuple[int, int], Any] = {}
        for (bi, bk), a in sorted(self.blocks[left].items()):
            for bj, b in by_inner.get(bk, ()):
                if (bi, bj) not in sums:
                    sums[bi, bj] = kind.ring.accumulator(kind.grid.extent(bi, bj))
                sums[bi, bj].add_product(a, b)
        product = {at: block for at, total in sums.items() if (block := total.block()) is not None}
        kinds = {**(self.kinds if keep else {}), check_name(into): kind}
        return LocalState(self._backend, kinds, {**(self.blocks if keep else {}), into: product})

    def transpose(self, name: str) -> State:
        """Transpose each block and swap its coordinates."""
        kind = self.kinds[name]
        turned = {(bj, bi): kind.ring.transpose(block) for (bi, bj), block in self.blocks[name].items()}
        blocks = {at: block for at, block in turned.items() if block is not None}
        return LocalState(self._backend, {name: Kind(kind.grid.transposed, kind.ring)}, {name: blocks})

    def join(self, other: State) -> State:
        """Hold the matrices of both states."""
        kinds = self.joined_kinds(other)
        if not isinstance(other, LocalState):
            raise ShapeMismatchError(
                "two states of one backend", "one local and one on Spark", "Move one of them first."
            )
        return LocalState(self._backend, kinds, {**self.blocks, **other.blocks})

    def select(self, names: Mapping[str, str]) -> State:
        """Keep some matrices, under new names."""
        kinds = self.selected_kinds(names)
        return LocalState(self._backend, kinds, {new: self.blocks[old] for old, new in names.items()})

    def entries(self, name: str) -> Entries:
        """Entries of all blocks, sorted."""
        kind, parts = self.kinds[name], []
        for (bi, bj), block in self.blocks[name].items():
            rows, columns, values = kind.ring.coordinates(block)
            down, across = bi * kind.grid.down.step, bj * kind.grid.across.step
            parts.append((rows.astype(np.int64) + down, columns.astype(np.int64) + across, values))
        return sorted_entries(parts, kind)

    def validate(self) -> None:
        """Write and read every block as a payload and compare its shape with the grid."""
        for name, blocks in self.blocks.items():
            kind = self.kinds[name]
            for (bi, bj), block in blocks.items():
                check_block(name, kind, bi, bj, kind.ring.decode(kind.ring.encode(block)))

    def stored_bytes(self, name: str) -> int:
        """Bytes that the blocks would take as payloads."""
        self.kinds[name]  # refuses a name that is not there
        return sum(codec.stored_size(block) for block in self.blocks[name].values())


class LocalBackend(Backend):
    """Matrices in this process. Its job counter stays at zero."""

    def __init__(self) -> None:
        self.jobs = JobCounter()

    def from_entries(self, entries: EntryArrays, kind: Kind, name: str) -> LocalState:
        """Sort the entries into blocks."""
        rows, columns, values = entry_arrays(entries, kind)
        blocks: Blocks = {}
        for at, places in kind.grid.by_cell(rows, columns).items():
            inside = rows[places] % kind.grid.down.step, columns[places] % kind.grid.across.step
            chosen = values[:, places] if kind.ring.planes else None
            block = kind.ring.from_coordinates(*inside, chosen, kind.grid.extent(*at))
            if block is not None:
                blocks[at] = block
        return LocalState(self, {check_name(name): kind}, {name: blocks})

    def from_local(self, state: LocalState) -> LocalState:
        """Return the state back: it is here already."""
        return state

    def close(self) -> None:
        """Do nothing: there is nothing outside this process."""

    def from_blocks(self, blocks: Iterable[BlockRow], kind: Kind, name: str) -> LocalState:
        """Take stored blocks, each checked."""
        found: Blocks = {}
        seen: set[tuple[int, int]] = set()
        for bi, bj, payload in blocks:
            if (bi, bj) in seen:
                raise duplicate(name, bi, bj)
            seen.add((bi, bj))
            try:
                block = kind.ring.decode(payload)
            except DyntcError as error:
                raise in_block(error, name, bi, bj) from error
            check_block(name, kind, bi, bj, block)
            if block is not None:
                found[bi, bj] = block
        return LocalState(self, {check_name(name): kind}, {name: found})


def entry_arrays(entries: EntryArrays, kind: Kind) -> tuple[Any, Any, Any]:
    """Return checked int64 rows and columns and ``values[plane, entry]``."""
    if not isinstance(entries, Sequence | np.ndarray) or len(entries) not in {2, 3}:
        raise ShapeMismatchError(
            "(rows, columns) or (rows, columns, values)",
            f"{len(entries)} arrays" if isinstance(entries, Sequence | np.ndarray) else f"a {type(entries).__name__}",
            "Pass parallel arrays; DataFrames need the Spark backend.",
        )
    rows = kind.grid.down.ids(entries[0], "row")
    columns = kind.grid.across.ids(entries[1], "column")
    given = entries[2] if len(entries) == 3 else None
    if len(rows) != len(columns):
        raise ShapeMismatchError("as many rows as columns", f"{len(rows)} and {len(columns)}", "Pass parallel arrays.")
    return rows, columns, kind.ring.values(given, len(rows))


def sorted_entries(parts: list[tuple[Any, Any, Any]], kind: Kind) -> Entries:
    """Join the entries of many blocks, sorted by row and column."""
    if not parts:
        none = np.zeros(0, np.int64)
        empty = np.zeros(0, bool) if not kind.ring.planes else np.zeros((kind.ring.planes, 0), np.int64)
        return Entries(none, none, empty if kind.ring.modulus or not kind.ring.planes else empty[0])
    rows, columns, values = (np.concatenate(side, axis=-1) for side in zip(*parts, strict=True))
    order = np.lexsort((columns, rows))
    if not kind.ring.planes:
        return Entries(rows[order], columns[order], np.ones(len(order), bool))
    sorted_values = values[:, order].astype(np.int64)
    return Entries(rows[order], columns[order], sorted_values if kind.ring.modulus else sorted_values[0])


def in_block(error: DyntcError, name: str, bi: int, bj: int) -> DyntcError:
    """Return an error about a payload that says which block it is."""
    return type(error)(f"{error.expected} in block ({bi}, {bj}) of {name!r}", error.came, error.remedy)


def check_block(name: str, kind: Kind, bi: int, bj: int, block: Block | None) -> None:
    """Refuse a block that lies outside the grid or has another shape than the grid says."""
    numbers = isinstance(bi, int | np.integer) and isinstance(bj, int | np.integer)
    if not (numbers and kind.grid.holds(bi, bj)):
        raise IndexOutsideError(
            f"blocks of {name!r} inside {kind.grid.blocks[0]} x {kind.grid.blocks[1]} blocks",
            f"block ({bi}, {bj})",
            "Give the shape and block size that the blocks were made with.",
        )
    if block is not None and block.shape != kind.grid.extent(bi, bj):
        raise ShapeMismatchError(
            f"block ({bi}, {bj}) of {name!r} to have {kind.grid.extent(bi, bj)} entries",
            f"{block.shape}",
            "Give the shape and block size that the blocks were made with.",
        )


def duplicate(name: str, bi: int, bj: int) -> DuplicateBlockError:
    """Return the error for two blocks at one coordinate."""
    return DuplicateBlockError(
        f"one block of {name!r} at each coordinate", f"two at ({bi}, {bj})", "Add them up or drop one before."
    )


def _all_cells(grid: Grid, rows: frozenset[int] | None, columns: frozenset[int] | None) -> Iterator[tuple[int, int]]:
    for bi in range(grid.blocks[0]) if rows is None else rows:
        for bj in range(grid.blocks[1]) if columns is None else columns:
            yield bi, bj
