"""The engine ``lanes`` on real graphs against independent libraries, on all pairs.

Strong components by scipy, then a closure of bits in plain numpy; searches by igraph and networkx.
DYNTC_LITERATURE may name a folder with graphs of the literature (`benchmarks.lanes_graphs`), for the slow tests.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

from benchmarks.lanes_graphs import LITERATURE, debian, grid, layered, literature
from dyntc_spark.edges import Edges
from dyntc_spark.engines.lanes.engine import Lanes

pytestmark = pytest.mark.long

FOLDER = os.environ.get("DYNTC_LITERATURE")
MOST_TARGETS, MOST_PAIRS = 8_192, 2 * 10**7  # targets whose columns are closed at once, and pairs at once


class Bits:
    """The closure of a digraph: for some targets at a time, which of them a component reaches."""

    def __init__(self, edges, vertices):
        ones = np.ones(len(edges), np.int8)
        matrix = sparse.csr_array((ones, (edges.sources, edges.targets)), shape=(vertices, vertices))
        self.count, self.component = csgraph.connected_components(matrix, connection="strong")
        ends = self.component[edges.sources].astype(np.int64), self.component[edges.targets]
        keys = np.unique((ends[0] * self.count + ends[1])[ends[0] != ends[1]])
        self._parts = list(self._sorted(*np.divmod(keys, self.count)))

    def _sorted(self, tails, heads):
        """Yield the edges in parts: each tail once in a part, and its heads are no tails in this or later ones."""
        height, left = np.zeros(self.count, np.int64), np.bincount(tails, minlength=self.count)
        by_head, ready = np.argsort(heads, kind="stable"), np.flatnonzero(left == 0)
        starts = np.searchsorted(heads[by_head], np.arange(self.count + 1))
        level = 0
        while len(ready):
            height[ready] = level
            lengths = starts[ready + 1] - starts[ready]
            within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            before = tails[by_head[np.repeat(starts[ready], lengths) + within]]
            np.subtract.at(left, before, 1)
            ready, level = np.unique(before[left[before] == 0]), level + 1
        assert not left.any()
        rank = np.arange(len(tails)) - np.searchsorted(tails, tails)  # among the edges with the same tail
        order = np.lexsort((rank, height[tails]))
        step = np.diff(height[tails[order]]) | np.diff(rank[order])
        for part in np.split(order, np.flatnonzero(step) + 1):
            yield tails[part], heads[part]

    def columns(self, targets):
        """Return for each component which of the targets it reaches, as bits of words."""
        rows = np.zeros((self.count, -(-len(targets) // 64)), np.uint64)
        places = np.arange(len(targets))
        np.bitwise_or.at(rows, (self.component[targets], places >> 6), bit(places))
        for tails, heads in self._parts:
            rows[tails] |= rows[heads]
        return rows


def bit(places):
    return np.uint64(1) << (places & 63).astype(np.uint64)


def keys(pairs):
    return (pairs.sources << 32) | pairs.targets


def turned(pairs):
    return Edges(pairs.targets, pairs.sources)


def require_all_pairs(engine, edges, vertices):
    """Require the pairs of an engine to be those of the bits, and its answers too: all rows, and some columns."""
    forward, backward = Bits(edges, vertices), Bits(turned(edges), vertices)
    total, known = 0, engine.stats()["pairs"]
    step = min(MOST_TARGETS, 1 + MOST_PAIRS * vertices // max(known, 1))
    for first in range(0, vertices, step):
        sources = np.arange(first, min(first + step, vertices))
        total += require_columns(backward, sources, turned(engine.descendants(sources)), turned_query(engine))
    assert known == total - vertices
    some = np.arange(vertices // 200, vertices, max(vertices // 100, 1))
    require_columns(forward, some, engine.ancestors(some), engine.query)


def turned_query(engine):
    return lambda sources, targets: engine.query(targets, sources)


def require_columns(bits, targets, pairs, query):
    """Require pairs to be those that lead to some targets: as many, each of them there, none twice; return how many."""
    columns = bits.columns(targets)
    counted = int(np.bitwise_count(columns).sum(axis=1, dtype=np.int64) @ np.bincount(bits.component))
    place = np.full(len(bits.component), -1, np.int32)
    place[targets] = np.arange(len(targets))
    places = place[pairs.targets]
    assert len(pairs) == counted
    assert places.min(initial=0) == 0
    assert (columns[bits.component[pairs.sources], places >> 6] & bit(places)).all()
    assert (np.diff((pairs.targets << 32) | pairs.sources) > 0).all()
    assert query(pairs.sources, pairs.targets).all()
    asked = np.random.default_rng(1).integers(0, len(bits.component), 20_000)
    at = np.resize(np.arange(len(targets)), len(asked))
    expected = columns[bits.component[asked], at >> 6] & bit(at) != 0
    assert np.array_equal(query(asked, targets[at]), expected)
    return counted


def changed(edges, inserted, deleted):
    """The edges after a batch."""
    kept = np.setdiff1d(keys(edges), keys(deleted))
    return Edges.of(*np.divmod(np.union1d(kept, keys(inserted)), 1 << 32))


def built(graph):
    engine = Lanes()
    engine.init(graph.edges, graph.vertices)
    return engine


@pytest.fixture(scope="module")
def packages():
    """Debian's dependencies, with the real batch and others."""
    return debian()


@pytest.fixture(scope="module")
def engine(packages):
    """An engine that has closed them; nobody changes it."""
    return built(packages)


def test_packages(packages, engine):
    assert engine.stats()["pairs"] == 3_853_939
    require_all_pairs(engine, packages.edges, packages.vertices)


def test_packages_after_batches(packages):
    engine, edges = built(packages), packages.edges
    after = keys(engine.descendants(np.arange(packages.vertices)))
    for inserted, deleted in packages.batches.values():
        engine.apply(inserted, deleted)
        edges = changed(edges, inserted, deleted)
        before, after = after, keys(engine.descendants(np.arange(packages.vertices)))
        came, went = (keys(part) for part in engine.changes())
        assert np.array_equal(came, np.setdiff1d(after, before, assume_unique=True))
        assert np.array_equal(went, np.setdiff1d(before, after, assume_unique=True))
    require_all_pairs(engine, edges, packages.vertices)


def test_packages_by_igraph(packages, engine):
    igraph = pytest.importorskip("igraph", reason="igraph is not installed")
    ends = np.stack([packages.edges.sources, packages.edges.targets], axis=1)
    graph = igraph.Graph(n=packages.vertices, edges=ends, directed=True)
    rows = graph.neighborhood(order=packages.vertices, mode="out")
    lengths = [len(row) for row in rows]
    heads = np.fromiter(itertools.chain.from_iterable(rows), np.int64, sum(lengths))
    expected = np.sort((np.repeat(np.arange(packages.vertices), lengths) << 32) | heads)
    assert np.array_equal(keys(engine.descendants(np.arange(packages.vertices))), expected)


@pytest.mark.parametrize("make", [lambda: grid(11), lambda: layered(5, 37)], ids=["grid", "layered"])
def test_meshes_by_networkx(make):
    require_as_networkx(make())


@pytest.mark.slow  # a minute or two
def test_packages_by_networkx(packages):
    require_as_networkx(packages)


def require_as_networkx(graph):
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    digraph = networkx.DiGraph()
    digraph.add_nodes_from(range(graph.vertices))
    digraph.add_edges_from(zip(graph.edges.sources.tolist(), graph.edges.targets.tolist(), strict=True))
    down = built(graph).descendants(np.arange(graph.vertices))
    rows = np.split(down.targets, np.searchsorted(down.sources, np.arange(1, graph.vertices)))
    for v, row in enumerate(rows):
        assert set(row.tolist()) == networkx.descendants(digraph, v) | {v}


@pytest.mark.parametrize("k", [30, pytest.param(150, marks=pytest.mark.slow)])
def test_grids(k):
    graph = grid(k)
    engine = built(graph)
    assert engine.stats()["pairs"] == graph.pairs
    require_all_pairs(engine, graph.edges, graph.vertices)


@pytest.mark.slow  # minutes each: up to 1.7 thousand million pairs
@pytest.mark.skipif(FOLDER is None, reason="DYNTC_LITERATURE names no folder with graphs of the literature")
@pytest.mark.parametrize("name", LITERATURE)
def test_graphs_of_the_literature(name):
    graph = literature(Path(FOLDER), name)
    engine = built(graph)
    assert graph.pairs in {None, engine.stats()["pairs"]}
    require_all_pairs(engine, graph.edges, graph.vertices)
    (batch,) = graph.batches.values()
    engine.apply(*batch)
    engine.apply(*batch[::-1])
    assert graph.pairs in {None, engine.stats()["pairs"]}
    assert engine.verify().holds
