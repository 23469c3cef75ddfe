"""Lists of targets, one for each of some consecutive vertices, and their stored form.

A graph is stored as a few of these. All little endian:

======  =====  ==============================================
offset  bytes  field
======  =====  ==============================================
0       4      magic, ``DTCS``
4       4      format version, 1
8       4      first vertex
12      4      number of lists
16      8      number of targets in all lists
24      4      0
28      4      CRC-32 of the 28 bytes before it and the body
======  =====  ==============================================

The body is the length of each list, then the lists one behind the other, 4 bytes a number.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dyntc_spark.kernels.header import Header
from dyntc_spark.kernels.ids import Ids, Offsets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

HEADER = Header(b"DTCS", 1, struct.Struct("<4sIIIQI"), "Read it from another copy.")
HEADER_SIZE = HEADER.size


class TargetLists(NamedTuple):
    """The targets of vertex ``first + k`` are ``targets[offsets[k] : offsets[k + 1]]``."""

    first: int
    offsets: Offsets
    targets: Ids

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, first: int, lengths: Ids, targets: Ids) -> TargetLists:
        """Return lists by their lengths."""
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(first, offsets, targets)

    def encode(self) -> bytes:
        """Return the stored form.

        >>> TargetLists.decode(TargetLists(7, np.array([0, 2, 3]), np.array([1, 7, 8], np.int32)).encode()).targets
        array([1, 7, 8], dtype=int32)
        """
        body = [np.ascontiguousarray(part, "<i4").view(np.uint8).data for part in (np.diff(self.offsets), self.targets)]
        return HEADER.sealed([self.first, len(self), len(self.targets), 0], *body)

    @classmethod
    def decode(cls, payload: Buffer) -> TargetLists:
        """Return what was encoded, as read-only views, or refuse what is damaged."""
        view, (first, count, total, _) = HEADER.opened(payload, lambda _, count, total, __: 4 * (count + total))
        lengths = np.frombuffer(view, "<i4", count, HEADER_SIZE)
        targets = np.frombuffer(view, "<i4", total, HEADER_SIZE + 4 * count)
        filled = lengths.min(initial=0) >= 0 and int(lengths.sum(dtype=np.int64)) == total
        HEADER.require(filled, f"lists of {total} targets", "others")
        return cls.of(first, lengths, targets)

    def cut(self, size: int) -> Iterator[TargetLists]:
        """Cut into parts of about ``size`` targets each; a longer list is one part."""
        if not len(self):
            return
        which = self.offsets[1:] // max(size, 1)
        begins = np.append(np.flatnonzero(np.diff(which, prepend=-1)), len(self))
        for begin, end in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True):
            offsets = self.offsets[begin : end + 1]
            yield TargetLists(self.first + begin, offsets - offsets[0], self.targets[offsets[0] : offsets[-1]])
