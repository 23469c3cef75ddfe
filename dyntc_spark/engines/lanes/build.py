"""The stripes of an acyclic graph: which numbers its components get, and who builds which stripes.

Two numberings are tried on a few blocks of stripes. Then all are built, by as many threads as there
are cores where that pays: a stripe never asks another stripe.
"""

from __future__ import annotations

import os
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dyntc_spark.errors import OutgrownError
from dyntc_spark.kernels.ids import Ids, Offsets, Words
from dyntc_spark.kernels.lanes import build, numbering, stripes
from dyntc_spark.kernels.lanes.stripes import ENTRY_BYTES, NUMBER_BYTES, Stripes

UNBOUNDED = 2**62
#: Ranges of stripes that threads build side by side, for each core; and components from which on that pays.
RANGES, MANY = 4, 1 << 14
#: Most blocks of stripes that are built by both numberings, to see which takes less room; and components from which on.
SAMPLES, WORTH_A_SAMPLE = 8, 1 << 10
#: What the depth-first numbers have to take beside those of the tree cover, for a sample is not exact.
CLEARLY_LESS = 0.9
#: Room for stripes that batches write, in parts of what a small closure takes, and of what a large one takes, from so
#: many numbers on; and numbers at least. It is memory only once it is used.
SMALL_ROOM, LARGE_ROOM, LARGE, LEAST_ROOM = 2.0, 0.5, 1 << 20, 1024
#: Room in which a build begins to write, in numbers and words for each component, and at most. Pools that are longer
#: than what is used by this factor have room enough for batches.
ROOM_EACH, MOST_ROOM, ENOUGH_ROOM = 64, 1 << 22, 1.5
#: Bytes of pools up to which they are kept to be used again.
MOST_RECYCLED = 1 << 25


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
    taken, total, sweep = 0, -(-len(plan.indices) // width), build.new_sweep(plan)
    numbers, words = pools(0, 0)
    for begin in begins:
        end = min(begin + build.TOGETHER, total)
        _, used, _ = build.build_into(plan, sweep, width, begin, end, UNBOUNDED, numbers, words)
        taken += _bytes(*used)
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
        room = min(ROOM_EACH * count, MOST_ROOM) + LEAST_ROOM
        pool, sweep = (np.empty(room, np.int32), np.empty(room, np.uint64)), build.new_sweep(plan)
        made, used, looks = build.build_into(plan, sweep, width, 0, total, budget, *pool)
        _ensure_fits(looks, *used, budget)
        if len(made.numbers) < ENOUGH_ROOM * used[0] or len(made.words) < ENOUGH_ROOM * used[1]:
            made = stripes.compacted(made, *pools(*used))
        return made, looks
    step = -(-total // (RANGES * cores * build.TOGETHER)) * build.TOGETHER
    with ThreadPoolExecutor(cores) as threads:
        ranges = [(begin, min(begin + step, total)) for begin in range(0, total, step)]
        found = list(threads.map(lambda ends: build.build(plan, width, ends[0], ends[1], budget), ranges))
    numbers, words = sum(len(part.numbers) for part, _ in found), sum(len(part.words) for part, _ in found)
    _ensure_fits(min(looks for _, looks in found), numbers, words, budget)
    return _joined([part for part, _ in found], *pools(numbers, words)), sum(looks for _, looks in found)


def _ensure_fits(looks: int, numbers: int, words: int, budget: int) -> None:
    """Raise an error where a build was given up, or has made more than ``budget`` bytes."""
    if looks < 0 or _bytes(numbers, words) > budget:
        raise OutgrownError(
            f"a closure of at most {budget} bytes in this process",
            "one that outgrows this budget",
            "Use the backend 'spark' or 'auto', or give it more.",
        )


def _bytes(numbers: int, words: int) -> int:
    return NUMBER_BYTES * numbers + (ENTRY_BYTES - NUMBER_BYTES) * words


def pools(numbers: int, words: int) -> tuple[Ids, Words]:
    """Return pools with room for so many numbers and words, and for what batches write."""
    part = 1 + (LARGE_ROOM if numbers > LARGE else SMALL_ROOM)
    most, most_words = (int(part * count) + LEAST_ROOM for count in (numbers, words))
    return np.empty(most, np.int32), np.empty(most_words, np.uint64)


class _Lease:
    """Memory that arrays are made of: it is gone when the last of them, and of their parts, is gone."""

    def __init__(self, memory: Ids | Words) -> None:
        self._memory = memory  # has to stay as long as this
        self.__array_interface__ = memory.__array_interface__


class _Pool:
    """Memory for numbers and words that is lent again and again, each time as other arrays."""

    def __init__(self, numbers: int, words: int) -> None:
        self._memory = pools(numbers, words)
        self._leases: list[weakref.ref[_Lease]] = []

    def has_room(self, numbers: int, words: int) -> bool:
        """Return whether nobody has arrays of it, and so many numbers and words fit."""
        free = all(lease() is None for lease in self._leases)
        return free and numbers <= len(self._memory[0]) and words <= len(self._memory[1])

    def lend(self) -> tuple[Ids, Words]:
        """Return arrays that lie in it."""
        numbers, words = (_Lease(memory) for memory in self._memory)
        self._leases = [weakref.ref(numbers), weakref.ref(words)]
        return np.asarray(numbers), np.asarray(words)


class Recycled:
    """The last two pools, to be used again when nobody has arrays of them: new memory is slow to write.

    It is a `kernels.lanes.steps.Pools`.
    """

    def __init__(self) -> None:
        self._pools: list[_Pool] = []

    def enlarged(self, held: Stripes, numbers: int, words: int) -> tuple[Stripes, tuple[int, int]]:
        """Return stripes in pools with room for so many more numbers and words, and what they use of these."""
        used = stripes.sizes(held)
        return stripes.compacted(held, *self._room(used[0] + numbers, used[1] + words)), used

    def _room(self, numbers: int, words: int) -> tuple[Ids, Words]:
        """Return pools with room for so many numbers and words."""
        for pool in self._pools:
            if pool.has_room(numbers, words):
                return pool.lend()
        if _bytes(numbers, words) > MOST_RECYCLED:
            return pools(numbers, words)
        self._pools = [*self._pools[-1:], _Pool(numbers, words)]
        return self._pools[-1].lend()


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
