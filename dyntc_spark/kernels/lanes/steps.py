"""The steps of a batch, each one call: edges go, stripes shrink, edges come, stripes grow.

The package's header has the algorithm. Between the steps the caller copies what other versions still use.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from dyntc_spark.kernels.compile import compiled, lean_inner
from dyntc_spark.kernels.ids import Ids, Offsets
from dyntc_spark.kernels.lanes.adjacency import delete
from dyntc_spark.kernels.lanes.arrays import copy
from dyntc_spark.kernels.lanes.batch import revise
from dyntc_spark.kernels.lanes.graph import Graph, Merges, broken
from dyntc_spark.kernels.lanes.shrink_grow import COPY, EDGE, JOIN, LOOK, Events
from dyntc_spark.kernels.lanes.slots import Scratch
from dyntc_spark.kernels.lanes.stripes import Stripes, has_bit

#: Edges of a tail that are tried to show that the loss of one of them changes nothing.
FEW_EDGES = 64
_LOW = 2**32 - 1


class Lost(NamedTuple):
    """Edges between components that are gone, and components that may have fallen apart."""

    keys: Offsets
    tails: Ids  #: numbers of the tails' components in G
    broken: Ids


class Told(NamedTuple):
    """What stripes are told."""

    starts: Ids  #: numbers; only stripes that reach one of them can change
    events: Events
    ignored: Ids  #: lanes that are left out


class Pools(Protocol):
    """Who has memory for the pools of stripes."""

    def enlarged(self, stripes: Stripes, numbers: int, words: int) -> tuple[Stripes, tuple[int, int]]:
        """Return the stripes in pools with room for so many more numbers and words, and what they use of these."""


class Held(NamedTuple):
    """Stripes, what is used of their pools, and who has more room."""

    stripes: Stripes
    used: tuple[int, int]  #: numbers and words, those of older versions included; what lies behind is free
    pools: Pools


class Revised(NamedTuple):
    """Stripes of which some were written anew."""

    altered: Ids
    held: Held
    complete: bool  #: whether the work was done within its budget


def lose(graph: Graph, keys: Offsets, turned: Offsets) -> Lost:
    """Delete edges, given as ascending keys by tail, and by head."""
    between, tails, within = _lose(graph, keys, turned)
    return Lost(between, tails, broken(graph, within))


@compiled
def _lose(graph: Graph, keys: Offsets, turned: Offsets) -> tuple[Offsets, Ids, Offsets]:
    """Delete edges; return those between components, the components of their tails, and those within one."""
    component = graph.members.component
    between, within = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    tails = np.empty(len(keys), np.int32)
    n_between = n_within = 0
    for key in keys:
        u, v = key >> 32, key & _LOW
        if component[u] != component[v]:
            between[n_between], tails[n_between] = key, component[u]
            n_between += 1
        elif u != v:  # a loop matters to no component
            within[n_within] = key
            n_within += 1
    delete(graph.out, keys, graph.marks)
    delete(graph.into, turned, graph.marks)
    return between[:n_between], tails[:n_between], within[:n_within]


@lean_inner
def _reaches(stripes: Stripes, c: int, d: int) -> bool:
    """Return whether a component reaches another one by what the stripes say."""
    return c == d or has_bit(stripes, c // stripes.width, c % stripes.width, d)


@lean_inner
def _is_covered(graph: Graph, stripes: Stripes, u: int, c: int, d: int) -> bool:
    """Return whether one of the first edges of vertex ``u`` leaves its component ``c`` of G for one that reached ``d``.

    Then the loss of an edge from ``u`` to ``d`` is no reason to look at ``d``. For suppose there is no other reason: no
    word of a predecessor of ``d`` got smaller. On the path by way of the other edge, the last step to ``d`` comes
    from a component that has all lanes of ``u``. If this step is left, ``d`` has its bits from there. If not,
    its loss is covered, too, by a component further down; and that cannot go on for ever.
    """
    component, out = graph.members.component, graph.out
    begin = out.starts[u]
    for place in range(begin, begin + min(out.lengths[u], FEW_EDGES)):
        e = component[out.values[place]]
        if e != c and e != component[u] and _reaches(stripes, e, d):
            return True
    return False


def shrink(graph: Graph, held: Held, lost: Lost, parts: Merges, scratch: Scratch, budget: int) -> Revised:
    """Shrink the stripes that the loss of edges, and of ``parts`` of components, concerns."""
    told = _losses(graph, held.stripes, lost, parts, budget)
    return _revised(graph, held, told, True, scratch, budget)


def grow(
    graph: Graph,
    held: Held,
    keys: Offsets,
    tails: Ids,
    parts: Merges,
    merges: Merges,
    scratch: Scratch,
    budget: int,
) -> Revised:
    """Grow the stripes that new edges, ``parts`` of components with new lanes, and merged components concern.

    ``tails`` has the components of the tails of ``keys`` before the merges. An edge along a path changes nothing.
    """
    return _revised(graph, held, _gains(graph, held.stripes, keys, tails, parts, merges), False, scratch, budget)


def _revised(graph: Graph, held: Held, told: Told, shrinking: bool, scratch: Scratch, budget: int) -> Revised:
    """Sort the events by their tails, and revise the stripes, in larger pools where these are full."""
    starts, events, ignored = told
    if len(starts) > 1:
        order = np.argsort(events.tails)
        events = Events(events.tails[order], events.heads[order], events.kinds[order])
    ignored = np.sort(ignored) if len(ignored) > 1 else ignored
    stripes, used, pools = held
    begin, every = 0, []
    while True:
        some, stripes, (*ends, begin, numbers, words) = revise(
            graph, stripes, starts, events, ignored, shrinking, scratch, budget, begin, used
        )
        used = ends[0], ends[1]
        every.append(some)
        if not numbers:
            break
        stripes, used = pools.enlarged(stripes, numbers, words)
    altered = np.concatenate(every) if len(every) > 1 else some
    return Revised(altered, Held(stripes, used, pools), begin == len(stripes.starts))


@compiled
def _losses(graph: Graph, stripes: Stripes, lost: Lost, parts: Merges, budget: int) -> Told:
    """Return the events of a loss; new lanes are ignored.

    Some are missing when those that are there take more than ``budget`` (see `batch.revise`).
    """
    component = graph.members.component
    own, n_own = np.zeros(len(stripes.starts), np.bool_), 0  # stripes here with a lane at which something happened
    most = len(lost.keys) + len(parts.gone)
    tails, heads, kinds = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.int8)
    starts, fresh = np.empty(most, np.int32), np.empty(len(parts.gone), np.int32)
    n = n_fresh = 0
    for k in range(len(lost.keys)):
        u, d = lost.keys[k] >> 32, component[lost.keys[k] & _LOW]
        if not _is_covered(graph, stripes, u, lost.tails[k], d):
            tails[n], heads[n], kinds[n], starts[n] = lost.tails[k], d, LOOK, component[u]
            n += 1
            s = component[u] // stripes.width
            if stripes.lengths[s] >= 0 and not own[s]:
                own[s] = True
                n_own += 1
            if n * n_own > budget:
                break
    for k in range(len(parts.gone)):
        part, whole = parts.gone[k], parts.kept[k]
        tails[n], heads[n], kinds[n], starts[n] = whole, part, LOOK, part
        if part != whole:
            kinds[n] = COPY
            fresh[n_fresh] = part
            n_fresh += 1
        n += 1
    return Told(starts[:n], Events(tails[:n], heads[:n], kinds[:n]), fresh[:n_fresh])


@compiled
def _gains(graph: Graph, stripes: Stripes, keys: Offsets, tails: Ids, parts: Merges, merges: Merges) -> Told:
    """Return the events of a gain; merged lanes are ignored."""
    component, size = graph.members.component, graph.members.size
    most = len(keys) + len(parts.gone) + 2 * len(merges.gone)
    begins, heads, kinds = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.int8)
    starts = np.empty(most, np.int32)
    n = 0
    for k in range(len(keys)):
        c, d = component[keys[k] >> 32], component[keys[k] & _LOW]
        if c != d and not _reaches(stripes, tails[k], d):
            begins[n], heads[n], kinds[n], starts[n] = tails[k], d, EDGE, c
            n += 1
    for k in range(len(parts.gone)):
        part = parts.gone[k]
        if part != parts.kept[k] and size[part]:
            begins[n], heads[n], kinds[n], starts[n] = part, part, LOOK, part
            n += 1
    for k in range(len(merges.gone)):
        kept = merges.kept[k]
        begins[n], heads[n], kinds[n], starts[n] = merges.gone[k], kept, JOIN, kept
        begins[n + 1], heads[n + 1], kinds[n + 1], starts[n + 1] = kept, kept, LOOK, kept
        n += 2
    return Told(starts[:n], Events(begins[:n], heads[:n], kinds[:n]), merges.gone)


def brought(held: Held, which: Ids, made: Stripes) -> Held:
    """Put stripes that come from elsewhere in the places ``which``, behind the others in the pools."""
    stripes, used, pools = held
    more = len(made.numbers), len(made.words)
    if used[0] + more[0] > len(stripes.numbers) or used[1] + more[1] > len(stripes.words):
        stripes, used = pools.enlarged(stripes, *more)
    return Held(_behind(stripes, which, made, *used), (used[0] + more[0], used[1] + more[1]), pools)


@compiled
def _behind(stripes: Stripes, which: Ids, made: Stripes, numbers: int, words: int) -> Stripes:
    """Return the stripes with others, which are copied behind so much of the pools."""
    starts, lengths, places = stripes.starts.copy(), stripes.lengths.copy(), stripes.places.copy()
    copy(made.numbers, np.int64(0), len(made.numbers), stripes.numbers, numbers)
    copy(made.words, np.int64(0), len(made.words), stripes.words, words)
    for k in range(len(which)):
        s = which[k]
        starts[s], lengths[s] = made.starts[k] + numbers, made.lengths[k]
        places[s] = made.places[k] + words if made.places[k] >= 0 else made.places[k]
    return Stripes(starts, lengths, places, stripes.numbers, stripes.words, stripes.width)
