"""The dependencies of Debian's packages, cycles broken, against scipy's breadth-first search."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph

from benchmarks.debian import Debian
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.edges import Edges
from dyntc_spark.engines.algebraic.path_counting import PathCounting
from dyntc_spark.engines.recompute import Recompute
from dyntc_spark.errors import CycleError

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def debian():
    return Debian.load()


def changed(edges, inserted, deleted):
    """The edges after a batch, as a set of pairs would have them."""
    keys = {tuple(pair) for pair in np.stack([edges.sources, edges.targets], axis=1).tolist()}
    keys -= set(zip(deleted.sources.tolist(), deleted.targets.tolist(), strict=True))
    keys |= set(zip(inserted.sources.tolist(), inserted.targets.tolist(), strict=True))
    return Edges.of(*zip(*sorted(keys), strict=True))


def compare_with_scipy(engine, edges, n, sample):
    """Rows and columns of ``sample``, each found by a search of its own."""
    graph = sp.csr_array((np.ones(len(edges)), (edges.sources, edges.targets)), shape=(n, n))
    for found, matrix in ((engine.descendants(sample), graph), (engine.ancestors(sample), graph.T.tocsr())):
        near, far = (found.sources, found.targets) if matrix is graph else (found.targets, found.sources)
        for v in sample.tolist():
            wanted = np.sort(csgraph.breadth_first_order(matrix, v, return_predecessors=False))
            assert np.array_equal(far[near == v], wanted), v


def test_all_of_it_in_process(debian):
    n = debian.vertices
    engine = PathCounting(seed=1)
    engine.init(debian.edges, n)
    sample = np.unique(np.append(np.random.default_rng(2).integers(n, size=400), debian.inserted.targets))
    compare_with_scipy(engine, debian.edges, n, sample)
    engine.apply(debian.inserted, debian.deleted)
    after = changed(debian.edges, debian.inserted, debian.deleted)
    compare_with_scipy(engine, after, n, sample)
    engine.matrix.rebuild()
    exact = Recompute()  # every pair, not only the sample
    exact.init(after, n)
    ours, theirs = engine.descendants(np.arange(n)), exact.descendants(np.arange(n))
    assert np.array_equal(ours.sources, theirs.sources)
    assert np.array_equal(ours.targets, theirs.targets)


def test_changes_one_by_one(debian):
    """Insertions and deletions of single edges lead to what one batch leads to."""
    n = debian.vertices
    one, many = PathCounting(seed=1), PathCounting(seed=1)
    for engine in (one, many):
        engine.init(debian.edges, n)
    one.apply(debian.inserted, debian.deleted)
    none = Edges.of()
    for edges, how in ((debian.deleted, -1), (debian.inserted, 1)):
        for x, y in zip(edges.sources.tolist(), edges.targets.tolist(), strict=True):
            edge = Edges.of([x], [y])
            many.apply(*((edge, none) if how == 1 else (none, edge)))
    for found in ("descendants", "ancestors"):
        sample = np.unique(np.append(debian.inserted.sources, debian.inserted.targets))
        first, second = (getattr(engine, found)(sample) for engine in (one, many))
        assert np.array_equal(first.sources, second.sources)
        assert np.array_equal(first.targets, second.targets)
    x, y = debian.inserted.sources, np.random.default_rng(1).permutation(debian.inserted.targets)
    assert one.count_paths(x, y).counts == many.count_paths(x, y).counts


def test_a_cycle_among_packages(debian):
    engine = PathCounting(seed=1)
    engine.init(debian.edges, debian.vertices)
    below = engine.descendants(debian.edges.sources[:1])
    with pytest.raises(CycleError) as caught:
        engine.apply(Edges.of(below.targets[-1:], below.sources[:1]), Edges.of())
    assert {int(below.targets[-1]), int(below.sources[0])} <= set(caught.value.cycle)


def test_part_of_it_on_spark(spark):
    part = Debian.load(part=12_000)
    engine = PathCounting(SparkBackend(spark), seed=1)
    engine.init(part.edges, part.vertices)
    sample = np.unique(np.append(np.random.default_rng(2).integers(part.vertices, size=100), part.inserted.targets))
    compare_with_scipy(engine, part.edges, part.vertices, sample)
    engine.apply(part.inserted, part.deleted)
    engine.matrix.rebuild()
    compare_with_scipy(engine, changed(part.edges, part.inserted, part.deleted), part.vertices, sample)


@pytest.mark.slow
def test_all_of_it_on_spark(debian, spark):
    n = debian.vertices
    engine = PathCounting(SparkBackend(spark), seed=1)
    engine.init(debian.edges, n)
    sample = np.unique(np.append(np.random.default_rng(2).integers(n, size=200), debian.inserted.targets))
    compare_with_scipy(engine, debian.edges, n, sample)
    engine.apply(debian.inserted, debian.deleted)
    engine.matrix.rebuild()
    compare_with_scipy(engine, changed(debian.edges, debian.inserted, debian.deleted), n, sample)
