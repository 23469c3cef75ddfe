"""The stripes of an acyclic graph: which numbers its components get, and who builds which stripes.

Two numberings are tried on a few blocks of stripes. Then all are built, by as many threads as there
are cores where that pays: a stripe never asks another stripe.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dyntc_spark.errors import OutgrownError
from dyntc_spark.kernels.block import Words
from dyntc_spark.kernels.lanes import build, numbering
from dyntc_spark.kernels.lanes.stripes import ENTRY_BYTES, NUMBER_BYTES, Stripes
from dyntc_spark.kernels.reach import Ids, Offsets

UNBOUNDED = 2**62
#: Ranges of stripes that threads build side by side, for each core; and components from which on that pays.
RANGES, MANY = 4, 1 << 14
#: Most blocks of stripes that are built by both numberings, to see which takes less room; and components from which on.
SAMPLES, WORTH_A_SAMPLE = 8, 1 << 10
#: What the depth-first numbers have to take beside those of the tree cover, for a sample is not exact.
CLEARLY_LESS = 0.9
#: Room for stripes that batches write, in parts of what a closure takes. It is memory only once it is used.
POOL_PART = 2
#: Bytes of pools up to which they are kept to be used again.
MOST_RECYCLED = 1 << 26


def numbered(offsets: Offsets, targets: Ids, width: int) -> build.Plan:
    """Return an acyclic graph with numbers that take little room, by a sample."""
    count = len(offsets) - 1
    cover = _plan(offsets, targets, numbering.tree_cover(offsets, targets))
    if count < WORTH_A_SAMPLE:
        return cover
    search = _plan(offsets, targets, np.arange(count, dtype=np.int32))
    total = -(-count // width)
    samples = min(SAMPLES, 2 + total // (16 * build.TOGETHER))
    begins = [(2 * k + 1) * total // (2 * samples) for k in range(samples)]
    most = CLEARLY_LESS * _sampled(cover, width, begins, UNBOUNDED)
    return search if _sampled(search, width, begins, most) < most else cover


def _sampled(plan: build.Plan, width: int, begins: list[int], most: float) -> int:
    """Return how many bytes some blocks of stripes take, or a number above ``most`` if there are more."""
    taken, total = 0, -(-len(plan.indices) // width)
    for begin in begins:
        made, _ = build.build(plan, width, begin, min(begin + build.TOGETHER, total), UNBOUNDED)
        taken += made.numbers.nbytes + made.words.nbytes
        if taken > most:
            break
    return taken


def _plan(offsets: Offsets, targets: Ids, number: Ids) -> build.Plan:
    index = np.empty(len(number), np.int32)
    index[number] = np.arange(len(number), dtype=np.int32)
    return build.Plan(offsets, targets, number, index)


def built(plan: build.Plan, width: int, budget: int) -> tuple[Stripes, int]:
    """Build all stripes, by several threads where they are many; return also how many words were looked at."""
    count = len(plan.indices)
    total, cores = -(-count // width), os.cpu_count() or 1
    if count < MANY or cores == 1:
        found = [build.build(plan, width, 0, total, budget)]
    else:
        step = -(-total // (RANGES * cores * build.TOGETHER)) * build.TOGETHER
        with ThreadPoolExecutor(cores) as threads:
            ranges = [(begin, min(begin + step, total)) for begin in range(0, total, step)]
            found = list(threads.map(lambda ends: build.build(plan, width, ends[0], ends[1], budget), ranges))
    numbers, words = sum(len(part.numbers) for part, _ in found), sum(len(part.words) for part, _ in found)
    if min(looks for _, looks in found) < 0 or ENTRY_BYTES * words + NUMBER_BYTES * (numbers - words) > budget:
        raise OutgrownError(
            f"a closure of at most {budget} bytes in this process",
            "one that outgrows this budget",
            "Use the backend 'spark' or 'auto', or give it more.",
        )
    return _joined([part for part, _ in found], *pools(numbers, words)), sum(looks for _, looks in found)


def pools(numbers: int, words: int) -> tuple[Ids, Words]:
    """Return pools with room for so many numbers and words, and for what batches write."""
    return (
        np.empty(numbers + numbers // POOL_PART + 1024, np.int32),
        np.empty(words + words // POOL_PART + 1024, np.uint64),
    )


class Recycled:
    """Pools that nobody uses any more, to be used again: memory that is new to a process is slow to write."""

    def __init__(self) -> None:
        self._pools: tuple[Ids, Words] | None = None

    def instead(self, used: tuple[Ids, Words], numbers: int, words: int) -> tuple[Ids, Words]:
        """Return pools with room for so many numbers and words, in the place of those that are in use now."""
        free, self._pools = self._pools, None
        if used[0].nbytes + used[1].nbytes <= MOST_RECYCLED:
            self._pools = used
        if free is not None and numbers <= len(free[0]) and words <= len(free[1]) and not _is_held(free):
            return free
        return pools(numbers, words)


def _is_held(arrays: tuple[Ids, Words]) -> bool:
    """Return whether anybody has an array or a part of it: references beside the tuple, the loop and the call."""
    return any(sys.getrefcount(array) > 3 for array in arrays)


def _joined(parts: list[Stripes], numbers: Ids, words: Words) -> Stripes:
    """Put ranges of stripes one behind the other into pools."""
    starts, lengths, places, end, word_end = [], [], [], 0, 0
    for part in parts:
        numbers[end : end + len(part.numbers)] = part.numbers
        words[word_end : word_end + len(part.words)] = part.words
        starts.append(part.starts + end)
        lengths.append(part.lengths)
        places.append(np.where(part.places < 0, part.places, part.places + word_end))
        end, word_end = end + len(part.numbers), word_end + len(part.words)
    width = parts[0].width
    return Stripes(np.concatenate(starts), np.concatenate(lengths), np.concatenate(places), numbers, words, width)
