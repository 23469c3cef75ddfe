"""Numbers for components, such that few entries describe what they reach.

A component and what it reaches should have neighbouring numbers. Two numberings are tried on a sample, and the one that
takes less room is used:

- the order in which a depth-first search finishes, which the search for components yields anyway;
- the post-order of a *tree cover* (Agrawal, Borgida and Jagadish, "Efficient management of transitive relationships in
  large data and knowledge bases", SIGMOD 1989): the parent of a component is its predecessor with the most
  ancestors, so that a subtree, which has neighbouring numbers, is most of what its root reaches. How many
  ancestors there are is estimated by minima of random numbers (Cohen, "Size-estimation framework with
  applications to transitive closure and reachability", JCSS 1997).

The condensation is given by ``offsets`` and ``targets``, with edges that lead to smaller indices.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dyntc_spark.kernels.compile import compiled, inner
from dyntc_spark.kernels.ids import Ids, Offsets
from dyntc_spark.kernels.lanes.line import LINE, least_line

#: Random numbers for each component; the minima over its ancestors estimate how many these are.
SAMPLES = LINE
#: Odd and without a pattern, as many as there are samples. The bytes of a grid vary by a third with the seed; this one
#: took the fewest of four on grids of 150 and 250.
_FACTORS = np.random.default_rng(3).integers(2**62, 2**63, SAMPLES, np.uint64) * np.uint64(2) + np.uint64(1)


@inner
def _few_ancestors(offsets: Offsets, targets: Ids, least: npt.NDArray[np.uint32]) -> npt.NDArray[np.float32]:
    """Return a number for each component that is small where it has many ancestors: one pass over the edges.

    ``least`` is space for the minima. Random numbers of one component are multiples of one: a random number
    that is made of the one before has to wait for it.
    """
    count = len(offsets) - 1
    state, factor = np.uint64(0x9E3779B97F4A7C15), np.uint64(6364136223846793005)
    for c in range(count):
        state = state * factor + np.uint64(1442695040888963407)
        for k in range(SAMPLES):
            least[c, k] = (state * _FACTORS[k]) >> np.uint64(40)
    sums = np.empty(count, np.float32)
    for c in range(count - 1, -1, -1):
        total = np.uint32(0)  # of numbers below 2**24
        for k in range(SAMPLES):
            total += least[c, k]
        sums[c] = total
        for place in range(offsets[c], offsets[c + 1]):
            least_line(least, np.int64(targets[place]), c)
    return sums


@compiled
def tree_cover(offsets: Offsets, targets: Ids) -> Ids:
    """Return the number of each component: its place in the post-order of a tree cover.

    Examples
    --------
    >>> tree_cover(np.array([0, 0, 1, 1, 3]), np.array([0, 1, 2], np.int32))  # 3 to 1 and 2, 1 to 0
    array([0, 1, 2, 3], dtype=int32)
    """
    count = len(offsets) - 1
    least = np.empty((count + 1, SAMPLES), np.uint32)
    sums = _few_ancestors(offsets, targets, least)
    # The space of the minima is used again: memory that was never written is slow.
    spare = least.reshape(-1).view(np.int32)
    parent, child, sibling, order = (
        spare[0:count],
        spare[count : 2 * count],
        spare[2 * count : 3 * count],
        spare[3 * count : 4 * count],
    )
    for d in range(count):
        parent[d] = child[d] = -1
    for c in range(count):
        for place in range(offsets[c], offsets[c + 1]):
            d = targets[place]
            if parent[d] < 0 or sums[c] < sums[parent[d]]:
                parent[d] = c
    _most_last(sums, order)
    for d in order:  # so that siblings with the same ancestors are neighbours
        if parent[d] >= 0:
            sibling[d] = child[parent[d]]
            child[parent[d]] = d
    number = _post_order(parent, child, sibling)
    _put_roots_last(offsets, targets, sums, parent, child, number, spare[4 * count :])
    return number


@inner
def _most_last(sums: npt.NDArray[np.float32], found: Ids) -> None:
    """Write the indices by falling sums, roughly: one pass with 65,536 buckets."""
    most = np.float32(1)
    for value in sums:
        most = max(most, value)
    scale = np.float32(65535) / most
    ends = np.zeros(65537, np.int32)
    for value in sums:
        ends[65536 - np.int64(value * scale)] += 1
    for bucket in range(65536):
        ends[bucket + 1] += ends[bucket]
    for d in range(len(sums)):
        bucket = 65535 - np.int64(sums[d] * scale)
        found[ends[bucket]] = d
        ends[bucket] += 1


@inner
def _post_order(parent: Ids, child: Ids, sibling: Ids) -> Ids:
    number = np.empty(len(parent), np.int32)
    given = 0
    for root in range(len(parent)):
        if parent[root] >= 0:
            continue
        node = root
        while True:
            while child[node] >= 0:
                node = child[node]
            while node != root and sibling[node] < 0:
                number[node] = given
                given += 1
                node = parent[node]
            number[node] = given
            given += 1
            if node == root:
                break
            node = sibling[node]
    return number


@inner
def _put_roots_last(
    offsets: Offsets, targets: Ids, sums: npt.NDArray[np.float32], parent: Ids, child: Ids, number: Ids, spare: Ids
) -> None:
    """Give the last numbers to roots without children, in the order of the successors that have fewest ancestors.

    Their own columns are empty, so that they may have any numbers. Roots with a common successor are in one stripe
    then, and reach fewer components together. ``spare`` is space for three numbers for each, and three more.
    """
    count = len(number)
    before = spare[: count + 1]  # by number: how many that are no such roots have a smaller one
    keys, ends = spare[count + 1 : 2 * count + 1], spare[2 * count + 1 : 3 * count + 3]
    for c in range(count):
        before[c] = ends[c] = 0
        keys[c] = -1
    before[count] = ends[count] = ends[count + 1] = 0
    for c in range(count):
        if parent[c] >= 0 or child[c] >= 0:
            before[number[c] + 1] = 1
            continue
        rarest = -1
        for place in range(offsets[c], offsets[c + 1]):
            d = targets[place]
            if rarest < 0 or sums[d] > sums[rarest]:
                rarest = d
        keys[c] = number[rarest] if rarest >= 0 else count
        ends[keys[c] + 1] += 1
    for k in range(count):
        before[k + 1] += before[k]
        ends[k + 1] += ends[k]
    for c in range(count):
        if keys[c] < 0:
            number[c] = before[number[c]]
        else:
            number[c] = before[count] + ends[keys[c]]
            ends[keys[c]] += 1
