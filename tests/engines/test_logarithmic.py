"""Section 5, simplified: its state by definition, and beside it the printed form over polynomials of degree 3."""

import math

import numpy as np
import pytest

from dyntc_spark.edges import Edges
from dyntc_spark.engines.deterministic import logarithmic
from dyntc_spark.engines.deterministic.logarithmic import Logarithmic
from dyntc_spark.matrices.polynomial.boolean_polynomial import BooleanPolynomial
from tests.engines.kleene_scripts import Plain, Step, compare, draw, fails, follow, path_script, play, run, value


class Literal:
    """Section 5 as printed: ``P_k = V + V² + V³`` over P_{k-1}, with LazySet, SetRow and SetCol at each level.

    ⌈log₂ n⌉ - 1 levels are enough: level k reaches paths of 2^(k+1) - 1 edges (erratum 11).
    """

    name = "literal"

    def __init__(self, levels=None):
        self.given = levels

    @property
    def vertices(self):
        return len(self.x)

    def init(self, edges, n):
        self.x = np.zeros((n, n), bool)
        self.x[edges.sources, edges.targets] = True
        levels = self.given or max(1, math.ceil(math.log2(max(n, 2))) - 1)
        self.p = [BooleanPolynomial("V + V^2 + V^3", n) for _ in range(levels)]
        y = self.x
        for p in self.p:
            p.init({"V": y})
            y = _array(p, n)

    def set(self, i, row, column):
        n = self.vertices
        change = np.zeros((n, n), bool)  # restricted to row and column i (erratum 10)
        change[i, row] = True
        change[column, i] = True
        self.x |= change
        for p in self.p:
            p.lazy_set("V", change)
            p.set_row("V", i, change[i])
            p.set_col("V", i, change[:, i])
            change = _array(p, n)

    def reset(self, edges):
        change = np.zeros_like(self.x)
        change[edges] = True
        change &= self.x
        self.x &= ~change
        for p in self.p:
            before = _array(p, self.vertices)
            p.reset("V", change)
            change = before & ~_array(p, self.vertices)

    def descendants(self, _):
        return Edges.of(*np.nonzero(_array(self.p[-1], self.vertices) | np.eye(self.vertices, dtype=bool)))


def _array(p, n):
    found = p.lookup().to_entries()
    y = np.zeros((n, n), bool)
    y[found.rows, found.columns] = True
    return y


def matrices(engine):
    """All matrices of an engine's state as arrays."""
    found = {}
    for name in engine.state.kinds:
        rows, columns, values = engine.state.entries(name)
        found[name] = np.zeros((engine.vertices, engine.vertices), np.int64)
        found[name][rows, columns] = values
    return found


def check_definitions(engine):
    """Every matrix is what the module's definition says, from V, F and T."""
    held, times, k = matrices(engine), engine.last, 0
    while f"C{k}" in held:
        v, f = held[f"V{k}"] > 0, held[f"F{k}"]
        assert np.array_equal(f > 0, v), f"F{k}"
        there = v[:, :, None] & v[None, :, :]
        flips = np.maximum(f[:, :, None], f[None, :, :])
        left = (there & (flips <= times[None, None, :])).sum(axis=1)
        right = (there & (flips <= times[:, None, None])).sum(axis=1)
        assert np.array_equal(held[f"L{k}"], left), f"L{k}"
        assert np.array_equal(held[f"R{k}"], right), f"R{k}"
        assert np.array_equal(held[f"C{k}"], (left > 0).astype(int) @ (right > 0).astype(int)), f"C{k}"
        assert np.array_equal(held[f"V{k + 1}"] > 0, held[f"C{k}"] > 0), f"V{k + 1}"
        k += 1
    assert k == max(1, math.ceil(math.log2(max(1, engine.vertices - 1))))


def test_the_state_is_what_its_definition_says():
    for seed in range(6):
        play(lambda: Logarithmic(size=3), seed, (1, 2, 3, 5, 8), length=12, check=check_definitions)


@pytest.mark.parametrize("seed", range(4))
def test_beside_the_printed_form(seed):
    """After every step both have the same closure, and no level of the printed one says more than the closure."""
    rng, n = np.random.default_rng(seed), (4, 6, 7, 9)[seed]
    ours, printed, plain, script = Logarithmic(size=4), Literal(), Plain(n), []
    for engine in (ours, printed):
        engine.init(Edges.of(), n)
    for _ in range(10):
        step = draw(rng, plain, 1.8 / n)
        if step.kind == "apply":
            continue
        script.append(step)
        plain.run(step)
        for engine in (ours, printed):
            run(engine, step, n)
            compare(engine, plain, script)
        levels = [_array(p, n) for p in printed.p]
        assert all((a <= b).all() for a, b in zip([plain.x, *levels], [*levels, value(ours)], strict=True))


def test_one_level_fewer_is_too_few_on_paths(monkeypatch):
    """The number of levels is tight, in both forms: Hamiltonian paths show it where random graphs hardly do."""
    scripts = [path_script(seed, 9, delete=False) for seed in range(5)]
    assert not any(fails(Logarithmic(size=8), script, 9) for script in scripts)
    monkeypatch.setattr(logarithmic, "_levels_for", lambda room: (room - 2).bit_length() - 1)
    assert any(fails(Logarithmic(size=8), script, 9) for script in scripts)
    assert any(fails(Literal(levels=2), script, 9) for script in scripts)


def test_a_clock_at_its_end_starts_again(monkeypatch):
    monkeypatch.setattr(logarithmic, "LARGEST_STAMP", 4)
    engine = Logarithmic(size=4)
    script = [Step("set", (k % 6, [(k + 1) % 6], [])) for k in range(9)] + [Step("reset", ([2], [3]))]
    follow(engine, script, 6)
    assert engine.stats()["time"] <= 4
    check_definitions(engine)


def test_a_reset_that_would_read_too_much_builds_again(monkeypatch):
    monkeypatch.setattr(logarithmic, "LINES", 0)
    engine = Logarithmic(size=4)
    follow(engine, [Step("set", (0, [1, 2], [])), Step("set", (2, [3], [])), Step("reset", ([0], [1]))], 5)
    assert engine.stats()["time"] == 1
