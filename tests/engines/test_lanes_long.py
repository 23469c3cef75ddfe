"""The engine ``lanes`` in long scripts on small graphs: every answer and every change after every batch.

Each script has a short form, which always runs, and a long one, which is slow.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numba
import numpy as np
import pytest

from dyntc_spark.engines.lanes import engine as lanes_engine
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.lanes.in_process import InProcess
from dyntc_spark.kernels.compile import compiled
from tests.engines.lanes_oracle import Watched, as_pairs, powers, reached

ROOT = Path(__file__).parents[2]
WIDTHS = range(1, 65)
MOST = 41  # vertices at the beginning of most scripts


def drawn(rng, n, degree):
    """Draw a matrix of edges, loops included."""
    return rng.random((n, n)) < degree / max(n, 1)


def pairs_of(matrix):
    return [tuple(pair) for pair in np.argwhere(matrix).tolist()]


def some(rng, pairs, most):
    """Draw up to so many of some pairs."""
    count = min(int(rng.choice([0, 1, 1, 2, most])), len(pairs))
    return [pairs[k] for k in rng.permutation(len(pairs))[:count]]


def in_parts(rng, pairs):
    """Yield pairs in random order, in parts of one or a few."""
    left = [pairs[k] for k in rng.permutation(len(pairs))]
    while left:
        size = int(rng.choice([1, 1, 1, 2, 5]))
        yield left[:size]
        left = left[size:]


def cycle(rng, n):
    """Draw an order of all vertices; give the edges of the ring."""
    order = rng.permutation(n).tolist()
    return [(order[k], order[(k + 1) % n]) for k in range(n)]


# --- scripts: each plays some batches and returns how many -------------------------------------


def random_batches(seed, width, batches):
    """Edges come and go at random, sparse and dense, one or many at a time."""
    rng = np.random.default_rng((seed, width))
    watched = Watched(Lanes(width=width), drawn(rng, n := int(rng.integers(1, MOST)), rng.choice([0, 0.5, 1, 2, 4])))
    while watched.batches < batches:
        if rng.random() < 0.05 and n < 2 * MOST:
            watched.grow(n := n + int(rng.integers(0, 5)))
        absent = pairs_of(drawn(rng, n, 0.5) & ~watched.edges)
        watched.apply(some(rng, absent, 12), some(rng, pairs_of(watched.edges), 12))
    return watched.batches


def rings(seed, width, rounds):
    """A ring through all vertices is built edge by edge in random order, among other edges, and taken down again."""
    rng, n = np.random.default_rng((seed, width)), MOST
    watched = Watched(Lanes(width=width), drawn(rng, n, rng.choice([0, 0.3])))
    for _ in range(rounds):
        ring = cycle(rng, n)
        for part in in_parts(rng, ring):
            watched.insert(*part)
        assert watched.engine.stats()["largest_component"] == n
        for part in in_parts(rng, ring):
            watched.delete(*part)
    return watched.batches


def paths(seed, width, rounds):
    """A path through all vertices is built and taken down in random order, and turned round by one batch on the way."""
    rng, n = np.random.default_rng((seed, width)), MOST
    watched = Watched(Lanes(width=width), np.zeros((n, n), bool))
    for _ in range(rounds):
        path = cycle(rng, n)[:-1]
        for part in in_parts(rng, path):
            watched.insert(*part)
        assert watched.engine.stats()["pairs"] == n * (n - 1) // 2
        back = [(w, v) for v, w in path]
        watched.apply(back, path)
        for part in in_parts(rng, back):
            watched.delete(*part)
        assert watched.engine.stats()["pairs"] == 0
    return watched.batches


def one_edge_makes_a_giant_component(seed, width, rounds):
    """A path with shortcuts and the edge that closes it, which comes and goes, alone and beside other changes."""
    rng, n = np.random.default_rng((seed, width)), 2 * MOST
    ring = cycle(rng, n)
    place = {v: k for k, (v, _) in enumerate(ring)}
    edges = np.zeros((n, n), bool)
    for v, w in ring[:-1]:
        edges[v, w] = True
    watched = Watched(Lanes(width=width), edges)
    for _ in range(rounds):
        drawn_pairs = rng.integers(0, n, (6, 2)).tolist()
        shortcuts = [tuple(sorted(pair, key=place.__getitem__)) for pair in drawn_pairs if pair[0] != pair[1]]
        watched.apply([ring[-1], *some(rng, shortcuts, 6)], ())
        assert watched.engine.stats()["largest_component"] == n
        kept = set(ring)
        others = [pair for pair in pairs_of(watched.edges) if pair not in kept]
        watched.apply((), [ring[-1], *some(rng, others, 6)])
        assert watched.engine.stats()["components"] == n
    return watched.batches


def vertices_come_and_go(seed, width, batches):
    """A vertex loses all its edges, or gets some, or is new; so do several at once."""
    rng = np.random.default_rng((seed, width))
    watched = Watched(Lanes(width=width), drawn(rng, n := int(rng.integers(0, 6)), 2))
    while watched.batches < batches:
        if n < 2 or (n < 2 * MOST and rng.random() < 0.3):
            watched.grow(n := n + int(rng.integers(1, 4)))
        near = np.zeros((n, n), bool)
        chosen = rng.permutation(n)[: int(rng.integers(1, 4))]
        near[chosen] = near[:, chosen] = True
        gone = pairs_of(near & watched.edges)
        watched.apply(() if len(gone) > 4 else pairs_of(near & drawn(rng, n, 3)), gone)
    return watched.batches


# --- short and long ----------------------------------------------------------------------------

SCRIPTS = {
    random_batches: (4, 160),
    rings: (1, 4),
    paths: (1, 4),
    one_edge_makes_a_giant_component: (2, 30),
    vertices_come_and_go: (5, 100),
}
SOME_WIDTHS = {random_batches: WIDTHS}


@pytest.mark.parametrize(
    ("script", "width"), [(script, width) for script in SCRIPTS for width in SOME_WIDTHS.get(script, (1, 7, 33, 64))]
)
def test_short(script, width):
    assert script(1, width, SCRIPTS[script][0]) > 0


@pytest.mark.slow  # 64 widths, 160 batches each: ten thousand
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_long(script, width):
    long = SCRIPTS[script][1]
    assert script(2, width, long) >= long


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("rounds", [1, pytest.param(30, marks=pytest.mark.slow)])
def test_stripes_are_built_where_a_batch_looks_at_many_words(script, rounds, monkeypatch):
    monkeypatch.setattr(lanes_engine, "InProcess", partial(InProcess, least_looks=3))
    for seed in range(rounds):
        assert script(100 + seed, 1 + (7 * seed) % 64, SCRIPTS[script][0]) > 0


def test_two_ways_to_close_a_graph_agree():
    rng = np.random.default_rng(4)
    for n in (0, 1, 2, 9, 23):
        edges = drawn(rng, n, 1.2)
        assert set(pairs_of(powers(edges))) == reached(pairs_of(edges), n)


def test_a_wrong_change_would_be_seen(monkeypatch):
    watched = Watched(Lanes(), np.zeros((3, 3), bool))
    right = Lanes.changes
    monkeypatch.setattr(Lanes, "changes", lambda self: right(self)[::-1])
    with pytest.raises(AssertionError):
        watched.insert((0, 1))
    assert as_pairs(watched.engine.edges) == {(0, 1)}


# --- kernels that check their indices ----------------------------------------------------------


def beyond(array):
    """Read behind the end."""
    return array[len(array)]


def under_bounds_checks(batches):
    """Play the scripts in a process whose kernels check every index; a kernel that reads beyond an array must fail."""
    assert numba.config.BOUNDSCHECK == 1
    with pytest.raises(IndexError):
        compiled(beyond)(np.zeros(3))
    played = seed = 0
    while played < batches:
        for script, (short, _) in SCRIPTS.items():
            played += script(seed, 1 + (17 * seed) % 64, 5 * short)
        seed += 1
    print(f"{played} batches")


@pytest.mark.slow  # minutes: all kernels are compiled again
def test_no_kernel_reads_or_writes_beyond_its_arrays(tmp_path):
    play = "from tests.engines.test_lanes_long import under_bounds_checks; under_bounds_checks(600)"
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", play], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "batches" in done.stdout
