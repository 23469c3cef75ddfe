"""A strip: a few whole rows or columns of a matrix, cut along the grid.

Strips are what travels between the driver and the blocks: ``k`` rows of a
matrix come to the driver as a strip, and a centred update goes out as two, one
upright (``rows x k``, a slice for each block row) and one lying
(``k x columns``, a slice for each block column). Slices that are zero are
absent, so a strip costs what its entries cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.grid import Axis, as_array
from dyntc_spark.blocks.rings import Coordinates, Ring
from dyntc_spark.errors import ShapeMismatchError
from dyntc_spark.kernels import codec
from dyntc_spark.kernels.block import Block, Ints


@dataclass(frozen=True, slots=True)
class Strip:
    """``count`` lines of length ``axis.length`` over ``ring``.

    ``slices[b]`` is a block of ``count x extent`` entries, or of
    ``extent x count`` when the strip is ``upright``.
    """

    ring: Ring
    axis: Axis
    count: int
    upright: bool
    slices: Mapping[int, Block | None]

    @classmethod
    def from_array(cls, lines: npt.ArrayLike, axis: Axis, ring: Ring, *, upright: bool) -> Strip:
        """Cut a dense array into a strip.

        ``lines`` has the shape of the strip itself: ``count x length``, or
        ``length x count`` when upright; a single line may be one-dimensional,
        and residues may have a leading axis, one layer a prime.
        """
        array = as_array(lines)
        if array.ndim == 1:
            array = array[:, None] if upright else array[None, :]
        if array.ndim not in {2, 3} or array.shape[-2 if upright else -1] != axis.length:
            raise ShapeMismatchError(
                f"lines of length {axis.length}",
                f"an array of shape {np.shape(lines)}",
                "Columns stand upright (length x count), rows lie (count x length).",
            )
        flat = array if array.ndim == 2 else array.any(axis=0)
        rows, columns = np.nonzero(flat)
        entries = rows, columns, ring.values(array[..., rows, columns], len(rows))
        return cls.from_coordinates(entries, axis, array.shape[-1] if upright else array.shape[-2], ring, upright)

    @classmethod
    def from_coordinates(cls, entries: Coordinates, axis: Axis, count: int, ring: Ring, upright: bool) -> Strip:
        """Make a strip of the entries ``(row, column, values[plane, entry])`` of its own shape."""
        rows, columns = (np.asarray(ids, np.int64) for ids in entries[:2])
        slices: dict[int, Block] = {}
        for block, places, inside in axis.cut(rows if upright else columns):
            extent = axis.extent(block)
            shape = (extent, count) if upright else (count, extent)
            values = entries[2][:, places] if ring.planes else None
            at = (inside, columns[places]) if upright else (rows[places], inside)
            piece = ring.from_coordinates(*at, values, shape)
            if piece is not None:
                slices[block] = piece
        return cls(ring, axis, count, upright, slices)

    def coordinates(self) -> Coordinates:
        """The entries that are not zero, in the strip's own shape: rows, columns, ``values[plane, entry]``."""
        parts = []
        for block, piece in sorted(self.slices.items()):
            rows, columns, values = self.ring.coordinates(piece)
            shift = block * self.axis.step
            parts.append((rows + shift, columns, values) if self.upright else (rows, columns + shift, values))
        if not parts:
            return self.ring.coordinates(None)
        found = [np.concatenate(side, axis=-1) for side in zip(*parts, strict=True)]
        return found[0], found[1], found[2]

    def array(self) -> Ints:
        """The strip as a dense array: bool, int64 counts, or residues with one layer a prime."""
        shape = (self.axis.length, self.count) if self.upright else (self.count, self.axis.length)
        rows, columns, values = self.coordinates()
        if not self.ring.planes:
            flags = np.zeros(shape, bool)
            flags[rows, columns] = True
            return flags
        layers = np.zeros((self.ring.planes, *shape), np.int64)
        layers[:, rows, columns] = values
        return layers if self.ring.modulus else layers[0]

    def require_along(self, axis: Axis, *, upright: bool) -> None:
        """Refuse a strip that does not run along ``axis`` in that direction."""
        if self.axis != axis or self.upright != upright:
            raise ShapeMismatchError(
                f"{'columns' if upright else 'rows'} of length {axis.length} in blocks of {axis.step}",
                f"{'columns' if self.upright else 'rows'} of length {self.axis.length}, blocks of {self.axis.step}",
                "Take them from a matrix with the same grid, or pass an array.",
            )

    def hollow(self) -> Strip:
        """The same strip without its slices: it only knows where it is not zero."""
        return Strip(self.ring, self.axis, self.count, self.upright, dict.fromkeys(self.slices))

    @property
    def stored_bytes(self) -> int:
        """Bytes of the slices as payloads."""
        return sum(codec.stored_size(piece) for piece in self.slices.values() if piece is not None)

    @property
    def touched(self) -> frozenset[int]:
        """The blocks along the strip in which it is not zero."""
        return frozenset(self.slices)
