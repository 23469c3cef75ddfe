"""The stripes of an acyclic graph: which numbers its components get, and who builds which stripes.

Two numberings are tried on a few blocks of stripes. Then the others are built, by as many threads as there
are cores where that pays: a stripe never asks another stripe.
"""

from __future__ import annotations

import os
import weakref
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

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


class Begun(NamedTuple):
    """Numbers for components, and a few blocks of stripes: those that were built to choose the numbers."""

    plan: build.Plan
    sweep: build.Sweep
    blocks: Offsets  #: the first stripe of each block
    held: Stripes  #: all stripes; those of other blocks are empty
    used: tuple[int, int]  #: of their pools
    looks: int  #: words that were looked at


def numbered(offsets: Offsets, targets: Ids, width: int) -> Begun:
    """Return an acyclic graph with numbers that take little room, by a sample."""
    count = len(offsets) - 1
    cover = _plan(offsets, targets, numbering.tree_cover(offsets, targets))
    if count < WORTH_A_SAMPLE:
        return _begun(cover, width)
    search = build.Plan(offsets, targets, *[np.arange(count, dtype=np.int32)] * 2)
    total = -(-count // (width * build.TOGETHER))
    samples = min(SAMPLES, 2 + total // 16)
    blocks = (2 * np.arange(samples) + 1) * total // (2 * samples) * build.TOGETHER
    chosen = _continued(_begun(cover, width), blocks, UNBOUNDED)
    most = int(CLEARLY_LESS * _bytes(*chosen.used))
    pool, sweep = (chosen.held.numbers, chosen.held.words), chosen.sweep
    nothing = build.no_stripes(len(chosen.held.starts), width, *pools(0, 0))
    other = _continued(Begun(search, sweep, blocks[:0], nothing, (0, 0), 0), blocks, most)
    if other.looks < 0 or _bytes(*other.used) >= most:
        return chosen
    return other._replace(held=stripes.compacted(other.held, *pool))


def _begun(plan: build.Plan, width: int) -> Begun:
    """Return a build of which nothing is done yet."""
    count = len(plan.indices)
    room = min(ROOM_EACH * count, MOST_ROOM) + LEAST_ROOM
    held = build.no_stripes(-(-count // width), width, np.empty(room, np.int32), np.empty(room, np.uint64))
    return Begun(plan, build.new_sweep(plan), np.zeros(0, np.int64), held, (0, 0), 0)


def _continued(begun: Begun, blocks: Offsets, budget: int) -> Begun:
    """Build more blocks; where they do not fit ``budget`` bytes, the number of looks is -1."""
    held, used, looks = build.build_into(begun.plan, begun.sweep, begun.held, begun.used, 0, blocks, budget)
    looks = looks if looks < 0 else begun.looks + looks
    return begun._replace(blocks=np.append(begun.blocks, blocks), held=held, used=used, looks=looks)


def _plan(offsets: Offsets, targets: Ids, number: Ids) -> build.Plan:
    index = np.empty(len(number), np.int32)
    index[number] = np.arange(len(number), dtype=np.int32)
    return build.Plan(offsets, targets, number, index)


def built(plan: build.Plan, width: int, budget: int, begun: Begun | None = None) -> tuple[Stripes, int]:
    """Build all stripes, by several threads where they are many; return also how many words were looked at.

    ``begun``: what is built of them already.
    """
    begun, cores = begun or _begun(plan, width), os.cpu_count() or 1
    left = np.setdiff1d(np.arange(0, len(begun.held.starts), build.TOGETHER), begun.blocks)
    if len(plan.indices) < MANY or cores == 1:
        done = _continued(begun, left, budget)
        made, used = done.held, done.used
        _ensure_fits(done.looks, *used, budget)
        if len(made.numbers) < ENOUGH_ROOM * used[0] or len(made.words) < ENOUGH_ROOM * used[1]:
            made = stripes.compacted(made, *pools(*used))
        return made, done.looks
    parts = [begun, *_by_threads(begun, left, budget, cores)]
    numbers, words = (sum(part.used[kind] for part in parts) for kind in range(2))
    _ensure_fits(min(part.looks for part in parts), numbers, words, budget)
    return _joined(parts, *pools(numbers, words)), sum(part.looks for part in parts)


def _by_threads(begun: Begun, blocks: Offsets, budget: int, cores: int) -> list[Begun]:
    """Build blocks by so many threads, each of which takes another range when it has finished one."""
    ranges = deque(np.array_split(blocks, RANGES * cores))

    def work(sweep: build.Sweep) -> list[Begun]:
        found: list[Begun] = []
        while True:
            try:
                mine = ranges.popleft()
            except IndexError:  # nothing is left
                return found
            nothing = build.no_stripes(len(begun.held.starts), begun.held.width, *pools(0, 0))
            part = Begun(begun.plan, sweep, mine[:0], nothing, (0, 0), 0)
            found.append(_continued(part, mine, budget))

    with ThreadPoolExecutor(cores) as threads:
        sweeps = [begun.sweep, *(build.new_sweep(begun.plan) for _ in range(cores - 1))]
        return [part for found in threads.map(work, sweeps) for part in found]


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


def _joined(parts: list[Begun], numbers: Ids, words: Words) -> Stripes:
    """Put the stripes of several parts one behind the other into pools; each has the others empty."""
    made = build.no_stripes(len(parts[0].held.starts), parts[0].held.width, numbers, words)
    end = word_end = 0
    for part in parts:
        held, (n_numbers, n_words) = part.held, part.used
        mine = np.flatnonzero(held.lengths)
        numbers[end : end + n_numbers] = held.numbers[:n_numbers]
        words[word_end : word_end + n_words] = held.words[:n_words]
        made.starts[mine], made.lengths[mine] = held.starts[mine] + end, held.lengths[mine]
        made.places[mine] = np.where(held.places[mine] < 0, held.places[mine], held.places[mine] + word_end)
        end, word_end = end + n_numbers, word_end + n_words
    return made
