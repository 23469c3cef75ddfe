"""What the right answers are: a search from every vertex, in plain code that shares nothing with the engines.

It stores no closure, only its digest and the answers to the questions, so that it serves closures of any size.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from benchmarks.suite.digest import PRIME, A, B, Digest
from benchmarks.suite.workloads import Workload, replaced
from dyntc_spark.edges import Edges


def digest(edges: Edges, vertices: int) -> Digest:
    """Digest the closure of a graph."""
    none = np.zeros(0, np.int64)
    return _searched(edges, vertices, none, none)[0]


def expected(workload: Workload) -> tuple[list[Digest], npt.NDArray[np.bool_]]:
    """Digest the closure at the start and after each group of batches, and answer the questions at the end."""
    found, edges = [digest(workload.edges, workload.vertices)], workload.edges
    for group in workload.groups:
        for inserted, deleted in group.batches:
            edges = changed(edges, inserted, deleted, workload.vertices)
        found.append(digest(edges, workload.vertices))
    return found, _searched(edges, workload.vertices, *workload.questions)[1]


def tried(workload: Workload) -> Digest:
    """Digest the closure that there would be after all groups and the batch that is only tried."""
    edges = workload.edges
    for inserted, deleted in (*(batch for group in workload.groups for batch in group.batches), workload.trial):
        edges = changed(edges, inserted, deleted, workload.vertices)
    return digest(edges, workload.vertices)


def changed(edges: Edges, inserted: Edges, deleted: Edges, vertices: int) -> Edges:
    """Return the edges after a batch, sorted."""
    codes = replaced(np.sort(coded(edges, vertices)), coded(inserted, vertices), coded(deleted, vertices))
    return Edges(codes // vertices, codes % vertices)


def coded(edges: Edges, vertices: int) -> npt.NDArray[np.int64]:
    """Number the pairs, so that a set of edges is a set of numbers."""
    return edges.sources * vertices + edges.targets


def _searched(
    edges: Edges, vertices: int, sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int64]
) -> tuple[Digest, npt.NDArray[np.bool_]]:
    order = np.lexsort((edges.targets, edges.sources))
    starts = np.searchsorted(edges.sources[order], np.arange(vertices + 1))
    by_source = np.argsort(sources, kind="stable")
    answers = np.zeros(len(sources), np.bool_)
    pairs, total, found = _search(
        starts, edges.targets[order], np.append(sources[by_source], vertices), targets[by_source]
    )
    answers[by_source] = found
    return Digest(int(pairs), int(total)), answers


@numba.njit(cache=True)
def _search(starts, heads, asked, targets):
    n = len(starts) - 1
    seen, queue = np.full(n, -1, np.int64), np.empty(n, np.int64)
    answers = np.zeros(len(targets), np.bool_)
    pairs = total = question = 0
    for root in range(n):
        seen[root], queue[0], length, at = root, root, 1, 0
        while at < length:
            v = queue[at]
            at += 1
            for e in range(starts[v], starts[v + 1]):
                if seen[heads[e]] != root:
                    seen[heads[e]] = root
                    queue[length] = heads[e]
                    length += 1
        pairs += length - 1
        for k in range(1, length):
            mixed = (root * A + queue[k] * B) % PRIME
            total += mixed * mixed % PRIME * mixed % PRIME
        while asked[question] == root:
            answers[question] = seen[targets[question]] == root
            question += 1
    return pairs, total, answers
