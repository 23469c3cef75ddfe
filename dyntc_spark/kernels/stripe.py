"""A stripe: the rows of components with consecutive numbers, and its stored form.

Rows are those of ``kernels.reach``: the row of component ``c`` lists the components
that ``c`` reaches, ascending. A stripe holds the rows ``first … first + n - 1``; a
number that no component has is an empty row. All little endian:

======  =====  ==============================================
offset  bytes  field
======  =====  ==============================================
0       4      magic, ``DTCS``
4       4      format version, 1
8       4      first row
12      4      rows
16      8      numbers in all rows
24      4      0
28      4      CRC-32 of the 28 bytes before it and the body
======  =====  ==============================================

The body is the length of each row, then the rows one behind the other, 4 bytes a
number: a pair of components costs four bytes, however many vertices these have.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.reach import Flags, Ids, Offsets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

MAGIC, VERSION = b"DTCS", 1
_FIELDS = struct.Struct("<4sIIIQI")
_CHECKSUM = struct.Struct("<I")
HEADER_SIZE = _FIELDS.size + _CHECKSUM.size
#: What `examined` says about rows.
NO_FAULT, OUTSIDE, UNORDERED, WITHOUT_ITSELF = range(4)
_REMEDY = "Read the stripe from another copy, or build the closure again."


class Stripe(NamedTuple):
    """Rows with consecutive numbers: row ``first + r`` is ``heads[offsets[r] : offsets[r + 1]]``."""

    first: int
    offsets: Offsets
    heads: Ids

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    @classmethod
    def of(cls, first: int, lengths: Ids, heads: Ids) -> Stripe:
        """Give rows by their lengths."""
        return cls(first, offsets_of(lengths), heads)

    def encode(self) -> bytes:
        """Give the stored form.

        >>> Stripe.decode(Stripe(7, np.array([0, 2, 3]), np.array([1, 7, 8], np.int32)).encode()).heads
        array([1, 7, 8], dtype=int32)
        """
        fields = _FIELDS.pack(MAGIC, VERSION, self.first, self.rows, len(self.heads), 0)
        body = [np.ascontiguousarray(part, "<i4").view(np.uint8).data for part in (np.diff(self.offsets), self.heads)]
        return b"".join([fields, _CHECKSUM.pack(_checksum(fields, *body)), *body])

    @classmethod
    def decode(cls, payload: Buffer) -> Stripe:
        """Give back what was encoded, as read-only views, or refuse what is damaged."""
        view = memoryview(payload).toreadonly().cast("B")
        _require(view.nbytes >= HEADER_SIZE, f"a header of {HEADER_SIZE} bytes", f"{view.nbytes} bytes")
        magic, version, first, rows, numbers, _ = _FIELDS.unpack_from(view)
        _require(magic == MAGIC, f"the magic {MAGIC!r}", f"{magic!r}")
        _require(version == VERSION, f"format version {VERSION}", f"{version}")
        whole = HEADER_SIZE + 4 * (rows + numbers)
        _require(view.nbytes == whole, f"{whole} bytes by the header", f"{view.nbytes} bytes")
        (written,) = _CHECKSUM.unpack_from(view, _FIELDS.size)
        found = _checksum(view[: _FIELDS.size], view[HEADER_SIZE:])
        _require(found == written, f"the checksum {written:#010x}", f"{found:#010x}")
        lengths = np.frombuffer(view, "<i4", rows, HEADER_SIZE)
        heads = np.frombuffer(view, "<i4", numbers, HEADER_SIZE + 4 * rows)
        filled = lengths.min(initial=0) >= 0 and int(lengths.sum(dtype=np.int64)) == numbers
        _require(filled, f"rows of {numbers} numbers", "others")
        return cls.of(first, lengths, heads)

    def cut(self, numbers: int) -> Iterator[Stripe]:
        """Cut into stripes of about so many numbers each; a longer row is a stripe of its own."""
        if not self.rows:
            return
        which = self.offsets[1:] // max(numbers, 1)
        begins = np.append(np.flatnonzero(np.diff(which, prepend=-1)), self.rows)
        for begin, end in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True):
            offsets = self.offsets[begin : end + 1]
            yield Stripe(self.first + begin, offsets - offsets[0], self.heads[offsets[0] : offsets[-1]])

    def replaced(self, numbers: Ids, offsets: Offsets, heads: Ids) -> Stripe:
        """Give the stripe with other rows for ``numbers``, which ascend; it is longer when these go beyond its end."""
        rows = max(self.rows, int(numbers[-1]) + 1 - self.first) if len(numbers) else self.rows
        lengths = np.zeros(rows, np.int64)
        lengths[: self.rows] = np.diff(self.offsets)
        lengths[numbers - self.first] = np.diff(offsets)
        merged = np.append(0, np.cumsum(lengths))
        new = _merged(self.offsets, self.heads, numbers - np.int32(self.first), offsets, heads, merged)
        return Stripe(self.first, merged, new)


def offsets_of(lengths: Ids) -> Offsets:
    """Give where rows of these lengths begin and end.

    >>> offsets_of(np.array([2, 0, 3], np.int32))
    array([0, 2, 2, 5])
    """
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


@compiled
def taken(offsets: Offsets, heads: Ids, which: Ids) -> tuple[Offsets, Ids]:
    """Give some of the rows, in the order of ``which``, as offsets and heads."""
    ends = np.zeros(len(which) + 1, np.int64)
    for k in range(len(which)):
        ends[k + 1] = ends[k] + offsets[which[k] + 1] - offsets[which[k]]
    found = np.empty(ends[-1], np.int32)
    for k in range(len(which)):
        found[ends[k] : ends[k + 1]] = heads[offsets[which[k]] : offsets[which[k] + 1]]
    return ends, found


@compiled
def examined(first: int, offsets: Offsets, heads: Ids, sizes: Ids) -> tuple[int, int]:
    """Tell what is wrong with the rows of components from ``first`` on, and how many pairs of vertices they hold.

    Components have these ``sizes``; a row of none is passed over. One pass over the rows.
    """
    pairs = 0
    for r in range(len(offsets) - 1):
        own = first + r
        if sizes[own] == 0:
            continue
        before, held, reached = -1, False, 0
        for d in heads[offsets[r] : offsets[r + 1]]:
            if d < 0 or d >= len(sizes):
                return OUTSIDE, 0
            if d <= before:
                return UNORDERED, 0
            held |= d == own
            before = d
            reached += sizes[d]
        if not held:
            return WITHOUT_ITSELF, 0
        pairs += sizes[own] * reached
    return NO_FAULT, pairs


@compiled
def holders(offsets: Offsets, heads: Ids, wanted: Flags) -> tuple[Ids, Ids]:
    """Give the rows that hold a wanted number, with that number: a pass over the rows."""
    count = 0
    for d in heads:
        count += wanted[d]
    rows, numbers = np.empty(count, np.int32), np.empty(count, np.int32)
    count = 0
    for r in range(len(offsets) - 1):
        for d in heads[offsets[r] : offsets[r + 1]]:
            if wanted[d]:
                rows[count], numbers[count] = r, d
                count += 1
    return rows, numbers


@compiled
def lacking(
    numbers: Ids, offsets: Offsets, heads: Ids, edge_offsets: Offsets, edge_targets: Ids, count: int
) -> tuple[Ids, Ids]:
    """Give the components whose rows lack something, with one that is missing there.

    ``numbers`` says whose rows these are, and the edges between ``count`` components are given by
    ``edge_offsets`` and ``edge_targets``. A row that holds its own component, and with each component
    the ends of its edges, holds everything that is in reach. One pass over the edges from each row.
    """
    wrong, missing = np.empty(len(numbers), np.int32), np.empty(len(numbers), np.int32)
    marks = np.full(count, -1, np.int32)
    found = 0
    for r in range(len(numbers)):
        for d in heads[offsets[r] : offsets[r + 1]]:
            marks[d] = r
        lost = -1 if marks[numbers[r]] == r else numbers[r]
        for d in heads[offsets[r] : offsets[r + 1]]:
            for e in edge_targets[edge_offsets[d] : edge_offsets[d + 1]]:
                if marks[e] != r:
                    lost = e
            if lost >= 0:
                break
        if lost >= 0:
            wrong[found], missing[found] = numbers[r], lost
            found += 1
    return wrong[:found], missing[:found]


@compiled
def _merged(offsets: Offsets, heads: Ids, rows: Ids, new_offsets: Offsets, new_heads: Ids, merged: Offsets) -> Ids:
    """Give the heads of all rows, those of ``rows`` from ``new_heads``; ``merged`` says where each is to begin."""
    found = np.empty(merged[-1], np.int32)
    k = 0
    for r in range(len(merged) - 1):
        if k < len(rows) and rows[k] == r:
            found[merged[r] : merged[r + 1]] = new_heads[new_offsets[k] : new_offsets[k + 1]]
            k += 1
        elif r < len(offsets) - 1:
            found[merged[r] : merged[r + 1]] = heads[offsets[r] : offsets[r + 1]]
    return found


def _checksum(*parts: Buffer) -> int:
    found = 0
    for part in parts:
        found = zlib.crc32(part, found)
    return found


def _require(condition: bool, expected: str, came: str) -> None:
    if not condition:
        raise DamagedBlockError(expected, came, _REMEDY)
