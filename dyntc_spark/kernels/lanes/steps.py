"""The steps of a batch, each one call: edges go, stripes shrink, edges come, stripes grow.

The package's header has the algorithm. Between the steps the caller copies what other versions still use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.lanes.adjacency import delete
from dyntc_spark.kernels.lanes.batch import COPY, EDGE, JOIN, LOOK, Events, Scratch, concerned, revise
from dyntc_spark.kernels.lanes.graph import Graph, Marks, Merges, broken
from dyntc_spark.kernels.lanes.stripes import Stripes, has_bit
from dyntc_spark.kernels.reach import Ids, Offsets

#: Edges of a tail that are tried to show that the loss of one of them changes nothing.
FEW_EDGES = 64
_LOW = 2**32 - 1


class Lost(NamedTuple):
    """Edges between components that are gone, and components that may have fallen apart."""

    keys: Offsets
    tails: Ids  #: numbers of the tails' components in G
    broken: Ids


class Revised(NamedTuple):
    """Stripes that were written anew."""

    altered: Ids
    stripes: Stripes  #: those, in pools of their own
    complete: bool  #: whether the work was done within its budget


@compiled
def lose(graph: Graph, keys: Offsets, turned: Offsets) -> Lost:
    """Delete edges, given as ascending keys by tail, and by head."""
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
    return Lost(between[:n_between], tails[:n_between], broken(graph, within[:n_within]))


@compiled
def _reaches(stripes: Stripes, c: int, d: int) -> bool:
    """Return whether a component reaches another one by what the stripes say."""
    return c == d or has_bit(stripes, c // stripes.width, c % stripes.width, d)


@compiled
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


@compiled
def shrink(graph: Graph, stripes: Stripes, lost: Lost, parts: Merges, scratch: Scratch, budget: int) -> Revised:
    """Shrink the stripes that the loss of edges, and of ``parts`` of components, concerns."""
    component = graph.members.component
    most = len(lost.keys) + len(parts.gone)
    tails, heads, kinds = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.int8)
    starts, fresh = np.empty(most, np.int32), np.empty(len(parts.gone), np.int32)
    n = n_fresh = 0
    for k in range(len(lost.keys)):
        u, d = lost.keys[k] >> 32, component[lost.keys[k] & _LOW]
        if not _is_covered(graph, stripes, u, lost.tails[k], d):
            tails[n], heads[n], kinds[n], starts[n] = lost.tails[k], d, LOOK, component[u]
            n += 1
    for k in range(len(parts.gone)):
        part, whole = parts.gone[k], parts.kept[k]
        tails[n], heads[n], kinds[n], starts[n] = whole, part, LOOK, part
        if part != whole:
            kinds[n] = COPY
            fresh[n_fresh] = part
            n_fresh += 1
        n += 1
    ignored = np.sort(fresh[:n_fresh])
    which = _which(graph, stripes, starts[:n], ignored[:0])
    events = _sorted(tails[:n], heads[:n], kinds[:n])
    return Revised(*revise(graph, stripes, which, events, ignored, True, scratch, budget))


@compiled
def grow(
    graph: Graph,
    stripes: Stripes,
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
    ignored = np.sort(merges.gone)
    which = _which(graph, stripes, starts[:n], ignored)
    events = _sorted(begins[:n], heads[:n], kinds[:n])
    return Revised(*revise(graph, stripes, which, events, ignored, False, scratch, budget))


@compiled
def _sorted(tails: Ids, heads: Ids, kinds: Marks) -> Events:
    if len(tails) == 1:
        return Events(tails, heads, kinds)
    order = np.argsort(tails)
    return Events(tails[order], heads[order], kinds[order])


@compiled
def _which(graph: Graph, stripes: Stripes, numbers: Ids, lanes: Ids) -> Ids:
    """Return the stripes that reach one of ``numbers``, and those of ``lanes``: all, if that is cheaper."""
    count, width = len(stripes.starts), stripes.width
    flags = np.zeros(count, np.bool_)
    if concerned(graph, numbers, width, count, flags):
        for lane in lanes:
            flags[lane // width] = True
        return np.flatnonzero(flags).astype(np.int32)
    return np.arange(count).astype(np.int32)


@compiled
def with_stripes(stripes: Stripes, revised: Revised, numbers: int, words: int) -> Stripes:
    """Return the stripes with the revised ones, which are written to the pools from ``numbers`` and ``words`` on."""
    starts, lengths, places = stripes.starts.copy(), stripes.lengths.copy(), stripes.places.copy()
    made = revised.stripes
    stripes.numbers[numbers : numbers + len(made.numbers)] = made.numbers
    stripes.words[words : words + len(made.words)] = made.words
    for k in range(len(revised.altered)):
        s = revised.altered[k]
        starts[s], lengths[s] = made.starts[k] + numbers, made.lengths[k]
        places[s] = made.places[k] + words if made.places[k] >= 0 else made.places[k]
    return Stripes(starts, lengths, places, stripes.numbers, stripes.words, stripes.width)
