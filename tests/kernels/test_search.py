"""Searches for paths, against networkx."""

from __future__ import annotations

import pickle
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.kernels.search import Searcher


@pytest.mark.parametrize("seed", range(4))
def test_paths_are_shortest(seed):
    chance = np.random.default_rng(seed)
    n = 23
    edges = EdgeSet.of(Edges(*chance.integers(0, n, (2, 10 * seed + 5))))
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(zip(edges.edges.sources.tolist(), edges.edges.targets.tolist(), strict=True))
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    searcher = pickle.loads(pickle.dumps(Searcher(*edges.adjacency(n))))  # noqa: S301
    for _ in range(2):  # nothing is left behind by the first
        sources, targets = chance.integers(0, n, (2, 60))
        for source, target, path in zip(sources, targets, searcher.paths(sources, targets), strict=True):
            if target not in lengths[source]:
                assert path is None
                continue
            assert (path[0], path[-1], len(path) - 1) == (source, target, lengths[source][target])
            assert all(graph.has_edge(*step) for step in pairwise(path))


def test_nothing_to_search():
    nothing = np.zeros(0, np.int64)
    assert Searcher(np.zeros(1, np.int64), nothing.astype(np.int32)).paths(nothing, nothing) == []
