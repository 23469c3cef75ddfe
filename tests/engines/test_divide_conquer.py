"""Section 6: the twelve polynomials, and the mistake in the printed LazySet*."""

import numpy as np
import pytest

from dyntc_spark.edges import Edges
from dyntc_spark.engines.deterministic.divide_conquer import DivideConquer
from dyntc_spark.engines.deterministic.divide_conquer_halves import POLYNOMIALS, Halves, total
from dyntc_spark.matrices.polynomial.expression import Polynomial
from dyntc_spark.matrices.polynomial.invariant import _counted
from dyntc_spark.matrices.polynomial.layout import bits, flips
from tests.engines.kleene_scripts import fails, follow, path_script, play, value


class PrintedHalves(Halves):
    """LazySet* as printed: the polynomials and P get the entries, and nothing remembers that they are pending."""

    def lazy_set(self, entries):
        self.x[entries] = True
        parts = dict(zip("ABCD", self._cut(entries), strict=True))
        self.held, _ = self.held.lazy_set(parts)
        self.closures["P"].lazy_set(parts["D"])


class Printed(DivideConquer):
    division = PrintedHalves


def five_vertices(engine_class, depth):
    engine = engine_class(depth=depth)
    engine.init(Edges.of(), 5)
    engine.set(3, row=[1], column=[0])
    engine.set(2, row=[0])
    return engine


def test_the_printed_lazy_set_misses_a_path_of_five_vertices():
    assert not five_vertices(Printed, depth=3).lookup([2], [1])[0]  # wrong: 2 -> 0 -> 3 -> 1
    assert five_vertices(DivideConquer, depth=3).lookup([2], [1])[0]
    assert five_vertices(Printed, depth=1).lookup([2], [1])[0]  # leaves do not mind


def test_the_printed_lazy_set_misses_a_path_of_eight_vertices():
    for engine_class, right in ((Printed, False), (DivideConquer, True)):
        engine = engine_class(depth=3)
        engine.init(Edges.of(), 8)
        engine.set(4, row=[3], column=[2])
        engine.set(0, row=[2])
        assert engine.lookup([0], [3])[0] == right


@pytest.mark.slow
def test_deeper_recursion_is_right_by_another_init():
    for seed in range(2):
        play(lambda: DivideConquer(depth=3), seed, (5, 6, 7), length=8)
        follow(DivideConquer(depth=3), path_script(seed, 7, delete=False), 7)


@pytest.mark.slow
def test_paths_in_random_order_find_the_printed_mistake():
    wrong = sum(fails(Printed(depth=2), path_script(seed, 12, delete=False), 12) for seed in range(20))
    assert wrong >= 3
    for seed in range(20):
        follow(DivideConquer(depth=2), path_script(seed, 12), 12)


def test_the_polynomials_evaluate_to_the_closure():
    """The equations of the lemma, over plain matrices and unequal halves."""
    rng = np.random.default_rng(0)
    for n in (2, 5, 7):
        x = rng.random((n, n)) < 1.5 / n
        k = (n + 1) // 2
        value_of = {"A": x[:k, :k], "B": x[:k, k:], "C": x[k:, :k], "D": x[k:, k:]}
        value_of["P"] = _closure(value_of["D"])
        for name, closed in (("Q", "E1"), ("R", "H2"), ("F1", None), ("G1", None), ("H1", None)):
            value_of[name] = _evaluate(POLYNOMIALS[name], value_of)
            if closed:
                value_of[closed] = _closure(value_of[name])
        for name in ("E2", "F2", "G2"):
            value_of[name] = _evaluate(POLYNOMIALS[name], value_of)
        y = np.block(
            [
                [value_of["E1"] | value_of["E2"], value_of["F1"] | value_of["F2"]],
                [value_of["G1"] | value_of["G2"], value_of["H1"] | value_of["H2"]],
            ]
        )
        assert np.array_equal(y, _closure(x))


def check_products(engine):
    """Each product counts exactly the triples with the property, and each S its positive products."""
    if engine.state is None:
        return
    held, system = engine._closure.held, engine._closure.layout
    arrays = {name: _array(engine.state, name) for name in system.kinds}
    for name in system.variables:
        assert np.array_equal(arrays[bits(name)] > 0, arrays[flips(bits(name))] > 0), name
    for product in system.products:
        assert np.array_equal(arrays[product.name], _counted(product, arrays, held.last)), product.name
    for name, summands in system.totals.items():
        assert np.array_equal(arrays[name], sum((arrays[s] > 0).astype(int) for s in summands)), name


@pytest.mark.long
def test_every_product_counts_what_it_should():
    for seed in range(3):
        play(lambda: DivideConquer(size=2), seed, (2, 4, 5), length=8, check=check_products)


def test_lazy_set_shows_nothing_before_the_next_set():
    for depth in (0, 1, 2):
        engine = DivideConquer(depth=depth)
        engine.init(Edges.of([0], [1]), 5)
        engine.lazy_set(([1], [2]))
        assert engine.lookup([0, 0], [1, 2]).tolist() == [True, False]
        engine.reset(([0], [1]))
        assert engine.lookup([0, 1], [1, 2]).tolist() == [False, False]
        engine.set(2, row=[3])
        assert engine.lookup([1, 1, 0], [2, 3, 3]).tolist() == [True, True, False]


def test_a_reset_that_would_read_too_much_builds_again(monkeypatch):
    monkeypatch.setattr("dyntc_spark.engines.deterministic.divide_conquer_halves.LINES", 0)
    engine = DivideConquer()
    engine.init(Edges.of([0, 1, 2, 3], [1, 2, 3, 0]), 5)
    engine.reset(([1], [2]))
    assert value(engine).sum() == 5 + 6


def test_twelve_polynomials():
    assert set(POLYNOMIALS) == {"Q", "R", "F1", "G1", "H1", "E2", "F2", "G2"}  # E, F, G and H are sums of two
    assert [Polynomial.parse(POLYNOMIALS[name]).degree for name in ("Q", "R", "H1", "E2")] == [4, 4, 6, 6]
    engine = DivideConquer()
    engine.init(Edges.of(), 4)
    kinds = engine.state.kinds
    counts = [name for name in kinds if name.split("_")[0] in {"L", "R", "Prod"}]
    assert len(counts) == 2 * (1 + 15) + 4 * 15 + 2 * 35
    assert sum(name.startswith("F_") for name in kinds) == 7
    assert total("Q") in kinds


def _array(state, name):
    rows, columns, values = state.entries(name)
    array = np.zeros(state.kinds[name].grid.shape, np.int64)
    array[rows, columns] = values
    return array


def _closure(x):
    y = x | np.eye(len(x), dtype=bool)
    for k in range(len(y)):
        y |= np.outer(y[:, k], y[k])
    return y


def _evaluate(text, value_of):
    found = None
    for term in Polynomial.parse(text).terms:
        product = value_of[term[0]].astype(int)
        for name in term[1:]:
            product = (product @ value_of[name].astype(int) > 0).astype(int)
        found = product if found is None else found | product
    return found > 0
