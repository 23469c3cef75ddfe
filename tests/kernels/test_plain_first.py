"""Small work is interpreted while there is no machine code: with the same results, and not for ever."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dyntc_spark.kernels import compile as compile_module
from dyntc_spark.kernels import plain_first

WORD = 0xF000_0000_0000_0001


@compile_module.compiled
def _turned(words, at):
    return ~words[at] * np.uint64(3), words[at] > np.uint64(1)


def _summed(words, at):
    word, above = _turned(words, at)
    return word & ~words[at], above, words


@pytest.fixture
def summed(tmp_path, monkeypatch):
    """Return a kernel that calls another one, with a cache of its own that is empty."""
    monkeypatch.setattr(compile_module, "_cache_folder", lambda: str(tmp_path))
    monkeypatch.setattr(plain_first, "_told", [])
    return compile_module.compiled(_summed)


def test_interpreted_and_compiled_results_are_the_same(summed, monkeypatch, caplog):
    words = np.array([0, WORD], np.uint64)
    interpreted = summed(words, 1)
    assert not summed.signatures
    assert not caplog.text
    monkeypatch.setattr(plain_first, "PATIENCE", 0)
    found = summed(words, 1)
    assert len(summed.signatures) == 1
    expected = (~WORD * 3) & ~WORD & (2**64 - 1)
    assert interpreted[:2] == found[:2] == (expected, True)
    assert [type(value) for value in interpreted] == [type(value) for value in found] == [int, bool, np.ndarray]
    assert caplog.text.count("Compiling kernels") == 1
    assert "dyntc warm-up" in caplog.text


def test_large_work_is_compiled_at_once(summed):
    summed(np.zeros(plain_first.SMALL // 8, np.uint64), 1)
    assert not summed.signatures
    summed(np.zeros(plain_first.SMALL // 8 + 1, np.uint64), 1)
    assert len(summed.signatures) == 1


def test_work_that_takes_long_altogether_is_compiled(summed, monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr(plain_first.time, "thread_time", lambda: next(clock) / 10)  # a tenth of a second a call
    for _ in range(3):
        summed(np.zeros(2, np.uint64), 1)
        assert not summed.signatures
    summed(np.zeros(2, np.uint64), 1)
    assert len(summed.signatures) == 1


def test_what_is_in_the_cache_is_loaded_at_once(summed, monkeypatch):
    monkeypatch.setattr(plain_first, "PATIENCE", 0)
    summed(np.zeros(2, np.uint64), 1)
    monkeypatch.undo()
    monkeypatch.setattr(compile_module, "_cache_folder", lambda: str(Path(summed.stats.cache_path).parent))
    again = compile_module.compiled(_summed)
    again(np.zeros(2, np.uint64), 1)
    assert sum(again.stats.cache_hits.values()) == 1


def test_an_interrupt_leaves_no_copy_that_is_not_whole(summed, monkeypatch):
    monkeypatch.setattr(plain_first, "_copies", {})

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(plain_first, "setattr", interrupted, raising=False)
        with pytest.raises(KeyboardInterrupt):
            summed(np.array([0, WORD], np.uint64), 1)
    assert plain_first._copies == {}
    assert summed(np.array([0, WORD], np.uint64), 1)[1]


CLOSURES = """
import random
from concurrent.futures import ThreadPoolExecutor
import networkx as nx
from numba.core import event
from dyntc_spark import DynamicClosure
from dyntc_spark.kernels import plain_first

def closed(graph):
    return {(a, b) for a in graph for b in nx.descendants(graph, a)}

def listed(table):
    return set(zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True))

plain_first.PATIENCE = plain_first.SMALL = float("inf")
random.seed(5)
with event.install_recorder("numba:compile") as compiled:
    with ThreadPoolExecutor(4) as threads:  # all at once, when nothing has been interpreted yet
        for c in threads.map(DynamicClosure.from_edges, [[(1, 2), (2, 3)]] * 4):
            assert c.reaches(1, 3)
    for size, edges in ((8, 12), (30, 45), (90, 100)):
        pairs = {(random.randrange(size), random.randrange(size)) for _ in range(edges)}
        graph = nx.DiGraph(pairs)
        c = DynamicClosure.from_edges(list(pairs))
        for _ in range(25):
            gone = set(random.sample(sorted(graph.edges), 2))
            new = {(random.randrange(size), random.randrange(size)) for _ in range(2)} - set(graph.edges)
            before = closed(graph)
            c.apply([("delete", *edge) for edge in gone] + [("insert", *edge) for edge in new])
            graph.remove_edges_from(gone)
            graph.add_edges_from(new)
            expected = closed(graph)
            assert listed(c.arrow.pairs()) == expected
            assert listed(c.arrow.changes()) == before ^ expected
            a, b = random.choice(sorted(graph)), random.choice(sorted(graph))
            assert c.reaches(a, b) is (a == b or (a, b) in expected)
            assert c.arrow.descendants(a).num_rows == len(nx.descendants(graph, a))
        assert not c.verify().missing
assert not compiled.buffer
"""


@pytest.mark.long
def test_closures_that_are_interpreted_are_right(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    ran = subprocess.run([sys.executable, "-W", "error", "-c", CLOSURES], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
