"""What an engine whose state is on Spark may have at the driver: bounds in bytes, kept before memory is taken."""

import numpy as np
import pytest

from dyntc_spark.blocks.rings import Modular
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.edges import Edges
from dyntc_spark.engines import transfer
from dyntc_spark.engines.abilities import changes_of
from dyntc_spark.engines.algebraic import build as algebraic_build
from dyntc_spark.engines.algebraic import woodbury
from dyntc_spark.engines.algebraic.engine import Algebraic
from dyntc_spark.engines.algebraic.path_counting import PathCounting
from dyntc_spark.engines.deterministic import centres
from dyntc_spark.engines.deterministic.centres import Centres
from dyntc_spark.engines.deterministic.centres_records import Records
from dyntc_spark.engines.deterministic.divide_conquer import DivideConquer
from dyntc_spark.engines.deterministic.logarithmic import Logarithmic
from dyntc_spark.errors import OutgrownError
from dyntc_spark.matrices.lazy.lazy_matrix import LazyMatrix
from dyntc_spark.matrices.lazy.sizes import entry_bytes, exceeds
from tests.engines.kleene_backends import Failing, hand_over
from tests.engines.kleene_scripts import Plain, compare, draw, run

NOWHERE = SparkBackend(None)  # a backend that no job can be asked of: whoever asks fails
NONE = Edges.of()


# --- the deterministic engines, without Spark --------------------------------------------------


def test_divide_conquer_refuses_leaves_that_the_driver_cannot_hold():
    engine = DivideConquer(NOWHERE)
    with pytest.raises(OutgrownError, match=r"got 4097 vertices.*'lanes' or 'centres'"):
        engine.init(NONE, 4097)
    assert engine.vertices == 0
    here = DivideConquer(depth=0)
    here.init(NONE, 5)
    here._room = 10**6
    with pytest.raises(OutgrownError, match=r"backend='local'"):
        here.moved(NOWHERE)


def test_centres_cuts_the_vertices_until_the_leaves_are_small():
    depths = [centres._depth_on_spark(n) for n in (100, 1000, 32_000, 33_000, 100_000)]
    assert depths == [0, 1, 2, 3, 6]
    assert all(centres._leaf_bytes(n, centres._depth_on_spark(n)) <= centres.LEAF_BYTES for n in (10**5, 10**6))
    with pytest.raises(OutgrownError, match="Leave depth out"):
        Centres(NOWHERE, depth=0).init(NONE, 40_000)


def test_leaf_bytes_are_those_of_the_leaves():
    engine = Centres(depth=2)
    engine.init(NONE, 1024)
    held = sum(words.nbytes + closure.nbytes for words, closure in engine._d0.leaves.values())
    assert held == centres._leaf_bytes(1024, 2)


def test_records_tell_beforehand_what_one_more_takes():
    records, counts = Records(70), np.zeros(70, np.int64)
    for centre in range(70):
        expected = records.bytes_of_one_more
        records.add(centre, np.array([1]), np.array([2]), counts, counts)
        assert records.bytes == expected


@pytest.mark.long
def test_a_phase_ends_before_its_records_take_too_much(monkeypatch):
    """Of a state on Spark, also where so many records are asked for."""
    n, plain, script = 9, Plain(9), []
    monkeypatch.setattr(Centres, "backend", "spark")
    monkeypatch.setattr(centres, "fits_one_task", lambda *_: True)
    monkeypatch.setattr(centres, "RECORD_BYTES", Records(n).bytes_of_one_more)
    engine = Centres(size=4, depth=1, most_records=10**6)
    engine.init(NONE, n)
    for seed in range(70):
        step = draw(np.random.default_rng(seed), plain, 0.2)
        script.append(step)
        plain.run(step)
        run(engine, step, n)
        assert engine.records.bytes <= centres.RECORD_BYTES
    compare(engine, plain, script)
    engine.init(NONE, n)
    for _ in range(65):  # there is room for 64
        engine.set(0, row=[1])
    assert engine.records.used == 0  # the last one began another phase


@pytest.mark.long
@pytest.mark.parametrize("make", [Logarithmic, DivideConquer, Centres])
def test_a_reset_that_would_read_too_much_begins_again(make, monkeypatch):
    hand_over(monkeypatch)
    n, plain, script = 9, Plain(9), []
    monkeypatch.setattr(transfer, "DRIVER_BYTES", n * transfer.NUMBER_BYTES)  # one line
    backend, inits = Failing(), []
    engine = make(backend, size=4, distributed_init=False)
    engine.init(NONE, n)
    for seed in range(25):
        step = draw(np.random.default_rng(seed), plain, 0.25)
        script.append(step)
        plain.run(step)
        with backend.jobs.watch() as started:
            run(engine, step, n)
        inits.append(step.kind == "reset" and any("this process" in job for job in started))
        compare(engine, plain, script)
    assert any(inits)


# --- the engines of residues -------------------------------------------------------------------


def test_in_this_process_no_lines_are_too_large():
    matrix = LazyMatrix((8, 8), Modular((101,)))
    matrix.init(([0], [1], [5]))
    assert not exceeds(matrix, 0, rows=[0])


def test_lines_are_weighed_before_they_are_read(spark):
    backend = SparkBackend(spark)
    matrix = LazyMatrix((200, 200), Modular((101, 103)), backend=backend)
    places = np.nonzero(np.tri(200, k=-1, dtype=bool))
    matrix.init((*places, np.ones((2, len(places[0])), np.int64)))
    matrix.update(np.eye(200, dtype=int)[0], np.ones(200, int))  # row 0 gets 200 entries from the buffers
    entry = entry_bytes(matrix)
    with backend.jobs.watch() as started:
        assert not exceeds(matrix, 10**9, rows=np.arange(200), columns=[5])
    assert started == []  # the bytes of the stripes are enough to know
    with backend.jobs.watch() as started:
        assert not exceeds(matrix, 50 * entry, rows=[50])  # its stripe alone has more
        assert exceeds(matrix, 50 * entry - 1, rows=[50])
        assert exceeds(matrix, 200 * entry - 1, rows=[0])
        assert exceeds(matrix, 194 * entry - 1, columns=[5])
    assert len(started) == 4


def layered(layers, width, seed):
    """A DAG in which every vertex has two successors in the next layer."""
    rng = np.random.default_rng(seed)
    sources = np.repeat(np.arange((layers - 1) * width), 2)
    edges = np.unique(
        np.stack([sources, (sources // width + 1) * width + rng.integers(width, size=len(sources))]), axis=1
    )
    return Edges(*edges)


@pytest.mark.parametrize("make", [PathCounting, Algebraic])
def test_a_batch_whose_lines_are_too_large_is_built_again(spark, make, monkeypatch):
    """What it reads at the driver is bounded, and the answers are those of the engine in this process."""
    edges, n = layered(5, 12, 1), 60
    there, here = make(SparkBackend(spark), seed=1), make(seed=1)
    for engine in (there, here):
        engine.init(edges, n)
    for module in ("woodbury", "touched", "engine"):
        monkeypatch.setattr(f"dyntc_spark.engines.algebraic.{module}.DRIVER_BYTES", 100)
    read = []
    gather = LazyMatrix.gather
    monkeypatch.setattr(
        LazyMatrix, "gather", lambda self, *a, **b: (read.append(self.backend), gather(self, *a, **b))[1]
    )
    batch = Edges.of([0, 1, 14], [30, 41, 59]), Edges(edges.sources[:5], edges.targets[:5])
    for engine in (there, here):
        engine.apply(*batch)
    assert there.matrix.backend not in read
    assert here.matrix.backend in read
    assert changes_of(there) is None
    every = np.divmod(np.arange(n * n), n)
    assert np.array_equal(there.query(*every), here.query(*every))
    assert there.stats()["pairs"] == here.query(*every).sum() - n
    assert there.verify().holds


def test_edges_that_close_a_large_cycle_are_put_in_by_parts(monkeypatch):
    """Without Spark: the lines are too large as long as there are several edges."""
    n = 90
    edges = Edges.of([*range(n), 40, 60], [*range(1, n), 0, 10, 20])
    gathered, parts = algebraic_build.gathered, []

    def few(matrix, late):
        if len(late) > 1:
            raise woodbury.WideUpdate
        parts.append(len(late))
        return gathered(matrix, late)

    monkeypatch.setattr(algebraic_build, "gathered", few)
    engine = Algebraic(seed=3)
    engine.init(edges, n)
    assert len(parts) > 1
    assert len(engine.descendants(np.arange(n))) == n * n


def test_a_component_whose_inverse_is_too_large_is_refused():
    lengths = np.zeros(5000, np.int64)
    matrix = LazyMatrix((5000, 5000), Modular((101,)), backend=NOWHERE)
    algebraic_build._require_inverse(matrix, np.arange(1000), (lengths, lengths))
    with pytest.raises(OutgrownError, match=r"one of 6000 vertices.*'lanes' or 'centres'"):
        algebraic_build._require_inverse(matrix, np.arange(6000), (np.zeros(6000, np.int64),) * 2)
