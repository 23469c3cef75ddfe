"""The certificate of a closure in lanes: every word is what its predecessors ask for.

On an acyclic condensation the equations of the package's header have one solution. So it is enough to
look whether they hold: each word contains those of its predecessors (nothing is missing), and has no bit but
its own and theirs (nothing is there without a path). One pass over the words, times the edges at them.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.kernels.bits import lowest
from dyntc_spark.kernels.compile import compiled, inner
from dyntc_spark.kernels.ids import Offsets, Words
from dyntc_spark.kernels.lanes.answers import Version
from dyntc_spark.kernels.lanes.graph import Graph
from dyntc_spark.kernels.lanes.stripes import bit_of, entries

_ZERO, _ONE = np.uint64(0), np.uint64(1)


@compiled
def wrong(graph: Graph, version: Version) -> tuple[Offsets, int]:  # noqa: C901  (a stripe, its words, then the edges)
    """Return keys of missing pairs, one at least for each wrong lane, and how many words have a bit too many."""
    stripes, members = version.stripes, version.members
    width, size = stripes.width, len(members.size)
    words = np.zeros(size + 1, np.uint64)
    missing, n_missing, extra = np.empty(len(stripes.starts) * width, np.int64), np.int64(0), 0
    for s in range(len(stripes.starts)):
        if stripes.lengths[s] < 0:  # it is somewhere else
            continue
        firsts, kept = entries(stripes, s)
        count = len(firsts)
        for k in range(count - 1):
            _fill(words, firsts[k], firsts[k + 1], kept[k])
        for c in range(s * width, min((s + 1) * width, size)):
            if members.size[c]:
                words[c] |= bit_of(c, s * width, width)
        lacking = _ZERO
        for k in range(count - 1):
            for d in range(np.int64(firsts[k]), np.int64(firsts[k + 1] if kept[k] else firsts[k])):
                bits, n_missing = _after(graph, version, words, d, s, lacking, missing, n_missing)
                lacking |= bits
                extra += _has_extra(graph, words, d, bit_of(d, s * width, width))
        for c in range(s * width, min((s + 1) * width, size)):
            bits, n_missing = _after(graph, version, words, c, s, lacking, missing, n_missing)
            lacking |= bits
        for k in range(count - 1):
            _fill(words, firsts[k], firsts[k + 1], _ZERO)
        for c in range(s * width, min((s + 1) * width, size)):
            words[c] = _ZERO
    return missing[:n_missing], extra


@inner
def _fill(words: Words, begin: int, end: int, word: np.uint64) -> None:
    for d in range(begin, end):
        words[d] = word


@inner
def _after(
    graph: Graph, version: Version, words: Words, c: int, s: int, known: np.uint64, missing: Offsets, count: int
) -> tuple[np.uint64, int]:
    """Look whether the successors of a component have its word; note a pair for each lane that is not ``known``."""
    members, out = version.members, graph.out
    lacking = _ZERO
    v = members.first[c]
    for _ in range(members.size[c]):
        for place in range(out.starts[v], out.starts[v] + out.lengths[v]):
            w = out.values[place]
            bits = words[c] & ~words[members.component[w]] & ~known & ~lacking
            lacking |= bits
            while bits:
                lane = s * version.stripes.width + lowest(bits)
                missing[count] = (np.int64(members.first[lane]) << 32) | w
                count += 1
                bits &= bits - _ONE
        v = members.after[v]
    return lacking, count


@inner
def _has_extra(graph: Graph, words: Words, d: int, own: np.uint64) -> bool:
    """Return whether a word has a bit that is neither its own nor one of its predecessors'."""
    members, into = graph.members, graph.into
    if members.size[d] == 0:
        return True
    word = own
    v = members.first[d]
    for _ in range(members.size[d]):
        for place in range(into.starts[v], into.starts[v] + into.lengths[v]):
            c = members.component[into.values[place]]
            if c != d:
                word |= words[c]
        v = members.after[v]
    return bool(words[d] & ~word)
