"""An index of columns: which stripes may reach a number, so that whoever asks for a column looks at few of them.

Neighbouring numbers are one *block*, and a bit says that a stripe reaches one of the numbers of a block. A bit may be
there in vain, it is never missing. So the versions of a closure share an index: a batch adds bits for the
stripes that it wrote, and whoever reads an older version meanwhile looks at a stripe too many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.compile import lean
from dyntc_spark.kernels.ids import Ids, Words
from dyntc_spark.kernels.lanes.stripes import Stripes, number_of

#: There are at most two to this power of blocks, or as many with 64 numbers each as it takes: four bytes a component.
BLOCK_BITS, LEAST_SHIFT = 11, 6
_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Columns(NamedTuple):
    """For each block of numbers the stripes that may reach one of them."""

    bits: Words  #: a row for each block, a bit for each stripe
    shift: int  #: number ``d`` is in block ``d >> shift``


def every(stripes: Stripes) -> Columns:
    """Return an index that names all stripes for all numbers: it takes no time to make."""
    return Columns(np.full((1, (len(stripes.starts) >> 6) + 1), ~_ZERO), 31)


def columns(stripes: Stripes, numbers: int) -> Columns:
    """Return the index of stripes that reach numbers below ``numbers``: a pass over their entries."""
    shift = max(LEAST_SHIFT, numbers.bit_length() - BLOCK_BITS)
    found = Columns(np.zeros(((numbers >> shift) + 1, (len(stripes.starts) >> 6) + 1), np.uint64), shift)
    add(found, stripes, np.arange(len(stripes.starts), dtype=np.int32))
    return found


@lean
def add(columns: Columns, stripes: Stripes, which: Ids) -> None:
    """Add what the stripes ``which`` reach: a pass over their entries."""
    bits, shift = columns.bits, columns.shift
    for stripe in which:
        s = np.int64(stripe)
        start, length, place = stripes.starts[s], np.int64(stripes.lengths[s]), stripes.places[s]
        at, bit, known = s >> 6, _ONE << np.uint64(s & 63), np.int64(-1)
        if place < 0:
            for k in range(start + 1, start + length):
                block = (stripes.numbers[start] + number_of(np.int64(stripes.numbers[k]), stripes.width)) >> shift
                if block != known:
                    bits[block, at] |= bit
                    known = block
            continue
        for k in range(length - 1):
            if stripes.words[place + k]:
                for block in range(
                    np.int64(stripes.numbers[start + k]) >> shift,
                    (np.int64(stripes.numbers[start + k + 1]) - 1 >> shift) + 1,
                ):
                    if block != known:
                        bits[block, at] |= bit
                        known = block
