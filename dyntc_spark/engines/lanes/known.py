"""Blocks that questions have brought to the driver, so that the next question about them starts no job.

A block never changes: what is known of it is right for every version of the closure that has it. Several threads may
ask at the same time. Each reads one dict, and puts another one in its place: a block is there as a whole or not at all.
When two do so at the same time, what one of them has brought may be forgotten. Then it is brought once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dyntc_spark.kernels.lanes.payload import Block


class Known:
    """Blocks at the driver, by their first stripes, the oldest first.

    >>> from dyntc_spark.kernels.lanes.payload import absent
    >>> known = Known({first: Block(first, absent(1, 64)) for first in (0, 1, 2)})
    >>> list(known.without([1]).blocks)
    [0, 2]
    """

    def __init__(self, blocks: Mapping[int, Block] | None = None) -> None:
        self.blocks: Mapping[int, Block] = blocks or {}  #: replaced, never changed

    def add(self, found: Mapping[int, Block], most: int) -> None:
        """Take further blocks, and drop the oldest ones until all take at most ``most`` bytes."""
        blocks = {**self.blocks, **found}
        taken = {first: block.stripes.numbers.nbytes + block.stripes.words.nbytes for first, block in blocks.items()}
        total = sum(taken.values())
        for first, size in taken.items():
            if total <= most:
                break
            total -= size
            del blocks[first]
        self.blocks = blocks

    def without(self, firsts: Iterable[int]) -> Known:
        """Return what is known after the blocks with these first stripes were replaced."""
        gone = set(firsts)
        return Known({first: block for first, block in self.blocks.items() if first not in gone})
