"""A closure in lanes out of its runs: the same as the one that was built, and no other is taken."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from dyntc_spark.edges import EdgeSet
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.lanes.load import StoredClosure
from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.kernels.row_hash import checksum, row_hashes
from tests.engines.lanes_oracle import as_edges, drawing, require_right


def drawn(seed, n, edges):
    draw = drawing(seed)
    found = {(draw.randrange(n), draw.randrange(n)) for _ in range(edges)} | {(v, v + 1) for v in range(3, n // 3)}
    return found if seed % 2 else found | {(n // 4, 3)}


def stored(engine, numbers=None, change=lambda table: table, **other):
    """What a checkpoint has of the closure of an engine, of all numbers or some."""
    numbers = np.arange(engine.vertices) if numbers is None else numbers
    runs = engine.run_table()
    hashes = row_hashes([column.to_numpy() for column in runs.columns])
    component = engine.version.members.component[numbers]
    made = StoredClosure(numbers, component, 64, runs.num_rows, checksum(hashes), lambda: change(runs))
    return made._replace(**other)


def built(edges, n, width=64):
    engine = Lanes(width=width)
    engine.init(as_edges(edges), n)
    return engine


@pytest.mark.parametrize(("seed", "n", "count"), [(1, 40, 30), (2, 150, 170), (3, 150, 90), (4, 7, 0)])
def test_it_is_the_closure_that_was_built_and_goes_on_as_one(seed, n, count):
    edges, draw = drawn(seed, n, count), drawing(seed)
    engine, other = Lanes(), built(edges, n)
    for step in range(4):
        assert engine.load(EdgeSet.of(as_edges(edges)), n, stored(other))
        assert engine.stats()["rebuilds"] == 0
        assert engine.run_table().equals(other.run_table())
        require_right(engine, edges, n)
        if step % 2:
            n += 30
            engine.grow(n)
        deleted = set(draw.sample(sorted(edges), min(len(edges), 8)))
        inserted = {(draw.randrange(n), draw.randrange(n)) for _ in range(8)} - edges
        engine.apply(as_edges(inserted), as_edges(deleted))
        edges = (edges - deleted) | inserted
        require_right(engine, edges, n)
        engine, other = Lanes(), engine  # after batches, numbers are free


def test_runs_in_another_order_and_in_many_pieces():
    n = 200
    edges = drawn(5, n, 260)
    other, engine = built(edges, n), Lanes()

    def mixed(runs):
        order = np.random.default_rng(5).permutation(runs.num_rows)
        return pa.concat_tables([runs.take(order[k : k + 7]) for k in range(0, len(order), 7)])

    assert engine.load(EdgeSet.of(as_edges(edges)), n, stored(other, change=mixed))
    require_right(engine, edges, n)


def test_numbers_that_no_vertex_has():
    """A checkpoint has rows for vertices only; to the engine each number is a vertex."""
    n = 30
    edges = {(v, v + 1) for v in range(10, 20)}
    numbers = np.array([v for v in range(n) if v % 7])
    edges = {edge for edge in edges if set(edge) <= set(numbers.tolist())}
    engine = Lanes()
    assert engine.load(EdgeSet.of(as_edges(edges)), n, stored(built(edges, n), numbers))
    require_right(engine, edges, n)


def test_what_it_leaves_to_a_build():
    edges = {(v, v + 1) for v in range(100)}
    engine, other = Lanes(), built(edges, 101, width=16)
    assert not engine.load(EdgeSet.of(as_edges(edges)), 101, stored(other)._replace(width=16))
    engine.budget = 100
    assert not engine.load(EdgeSet.of(as_edges(edges)), 101, stored(built(edges, 101)))
    assert (engine.vertices, engine.stats()["rebuilds"]) == (0, 0)


def changed(name, row, by):
    """Another number in one row."""

    def change(runs):
        values = runs[name].to_numpy().copy()
        values[row] += by
        return runs.set_column(runs.column_names.index(name), name, pa.array(values))

    return change


DAMAGES = {
    "a word": changed("word", 0, 1),
    "a range": changed("last", 0, 1),
    "a number outside": changed("last", -1, 10_000),
    "a negative number": changed("first", 0, -10_000),
    "another stripe": changed("stripe", -1, 1),
    "a stripe that is not there": changed("stripe", -1, 1000),
    "a row less": lambda runs: runs.slice(1),
    "a row twice": lambda runs: pa.concat_tables([runs.slice(1), runs.slice(1, 1)]),
    "no rows": lambda runs: runs.slice(0, 0),
    "null": lambda runs: runs.set_column(3, "word", pa.array([None, *runs["word"].to_pylist()[1:]], pa.int64())),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_damage_is_found_and_changes_nothing(what):
    n = 150
    edges = drawn(2, n, 170)
    other, engine = built(edges, n), built({(0, 1)}, 2)
    with pytest.raises(DamagedBlockError, match="in the table 'runs'"):
        engine.load(EdgeSet.of(as_edges(edges)), n, stored(other, change=DAMAGES[what]))
    require_right(engine, {(0, 1)}, 2)


@pytest.mark.parametrize("seed", range(40))
def test_forged_runs_reach_no_kernel(seed):
    """Any numbers, with a checksum that fits: they are refused, or do no harm."""
    draw, n = np.random.default_rng(seed), 150
    edges = drawn(2, n, 170)
    other = built(edges, n)
    runs = other.run_table()
    name = ("stripe", "first", "last", "word")[seed % 4]
    values = runs[name].to_numpy().copy()
    rows = draw.integers(0, len(values), 3)
    values[rows] = draw.integers(-5, 200, 3) if name != "word" else draw.integers(-(2**62), 2**62, 3)
    forged = runs.set_column(runs.column_names.index(name), name, pa.array(values))
    told = checksum(row_hashes([column.to_numpy() for column in forged.columns]))
    engine = Lanes()
    try:
        engine.load(EdgeSet.of(as_edges(edges)), n, stored(other, change=lambda _: forged, checksum=told))
    except DamagedBlockError:
        return
    engine.descendants(np.arange(n))  # of numbers that are all inside
    engine.verify()  # and this sets it right
    require_right(engine, edges, n)


def test_components_outside_the_graph_are_refused():
    edges = {(0, 1), (1, 2)}
    told = stored(built(edges, 3))
    for wrong in (3, -1):
        with pytest.raises(DamagedBlockError, match="components below"):
            Lanes().load(EdgeSet.of(as_edges(edges)), 3, told._replace(component=np.array([0, 1, wrong], np.int32)))


def test_a_certificate_finds_other_components():
    """With runs that are right for them: nothing but the edges tells."""
    edges = {(v, v + 1) for v in range(6)}
    other, engine = built(edges | {(3, 2)}, 7), Lanes()
    assert engine.load(EdgeSet.of(as_edges(edges)), 7, stored(other))
    assert engine.verify().repaired
    require_right(engine, edges, 7)
