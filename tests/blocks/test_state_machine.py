"""Random sequences of operations: the local backend against numpy, and Spark against both."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from tests.blocks.oracle import RINGS, Plain, assert_same, lines

SIZE = 8
SIDES = st.sampled_from([1, 7, 8, 9, 19])
DENSITIES = st.sampled_from([0.0, 0.05, 0.4, 1.0])
SEEDS = st.integers(0, 2**16)


class Matrices(RuleBasedStateMachine):
    """One matrix that changes, its plain twin, and now and then an older one to combine it with."""

    backends = ()

    @initialize(ring=st.sampled_from(RINGS), rows=SIDES, columns=SIDES, density=DENSITIES, seed=SEEDS)
    def start(self, ring, rows, columns, density, seed):
        self.ring = ring
        self.become(Plain.random(self.ring, (rows, columns), density, seed))
        self.older = self.plain, self.blocks

    def become(self, plain):
        self.plain = plain
        self.blocks = [plain.blocks(backend, SIZE) for backend in self.backends]

    def apply(self, change, *others):
        """Change the twin and every block matrix in the same way; start again before the twin's counts overflow."""
        if self.ring == COUNTING and np.abs(self.plain.layers).max(initial=0) > 2**10:
            self.become(Plain.random(self.ring, self.plain.shape, 0.2, 1))
            self.older = self.plain, self.blocks
            return
        self.plain = change(self.plain, *(plain for plain, _ in others))
        self.blocks = [change(each, *(blocks[i] for _, blocks in others)) for i, each in enumerate(self.blocks)]

    @rule()
    def remember(self):
        self.older = self.plain, self.blocks

    @rule(minus=st.booleans())
    def combine(self, minus):
        if self.older[0].shape == self.plain.shape:
            self.apply(lambda x, y: x.subtract(y) if minus else x.add(y), self.older)

    @rule()
    def transpose(self):
        self.apply(lambda x: x.transpose())

    @rule(after=st.booleans())
    def multiply(self, after):
        older = self.older[0]
        if after and older.shape[0] == self.plain.shape[1]:
            self.apply(lambda x, y: x.multiply(y), self.older)
        elif older.shape[1] == self.plain.shape[0]:
            self.apply(lambda x, y: y.multiply(x), self.older)

    @rule(exponent=st.integers(0, 4))
    def power(self, exponent):
        if self.plain.shape[0] == self.plain.shape[1]:
            self.apply(lambda x: x.power(exponent))

    @rule(k=st.integers(1, 4), density=DENSITIES, seed=SEEDS, sign=st.sampled_from([1, -1]))
    def rank_update(self, k, density, seed, sign):
        rows, columns = self.plain.shape
        u, v = lines(self.ring, (rows, k), seed, density), lines(self.ring, (k, columns), seed + 1, density)
        self.apply(lambda x: x.rank_update(u, v, 1 if self.ring == BOOLEAN else sign))

    @rule(count=st.integers(0, 30), seed=SEEDS)
    def set_entries(self, count, seed):
        draw = np.random.default_rng(seed)
        rows, columns = (draw.integers(0, side, count) for side in self.plain.shape)
        values = None if self.ring == BOOLEAN else draw.integers(-3, 4, count)
        self.apply(lambda x: x.set_entries(rows, columns, values))

    @rule(count=st.integers(0, 30), seed=SEEDS)
    def clear_entries(self, count, seed):
        draw = np.random.default_rng(seed)
        rows, columns = (draw.integers(0, side, count) for side in self.plain.shape)
        self.apply(lambda x: x.clear_entries(rows, columns))

    @rule(seed=SEEDS)
    def look(self, seed):
        draw = np.random.default_rng(seed)
        rows, columns = (draw.integers(0, side, 3) for side in self.plain.shape)
        left = lines(self.ring, (2, self.plain.shape[0]), seed)
        for blocks in self.blocks:
            assert_same(blocks.rows(rows), Plain(self.ring, self.plain.layers[:, rows]))
            assert_same(blocks.columns(columns), Plain(self.ring, self.plain.layers[:, :, columns]))
            found = np.atleast_2d(blocks.lookup(np.stack([rows, columns], axis=1)))
            np.testing.assert_array_equal(found, self.plain.layers[:, rows, columns])
            layers = np.asarray(left, np.int64) if self.ring.modulus else np.asarray(left, np.int64)[None]
            assert_same(blocks.left_multiply(left), Plain(self.ring, layers @ self.plain.layers))
            assert blocks.nnz() == self.plain.nnz()

    @invariant()
    def same(self):
        for blocks in getattr(self, "blocks", ()):
            assert_same(blocks, self.plain)


def run(*backends, examples, steps):
    chosen = type("Matrices", (Matrices,), {"backends": backends})
    slow = list(HealthCheck)
    run_state_machine_as_test(
        chosen,
        settings=settings(max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=slow),
    )


@pytest.mark.long
def test_the_local_backend_against_numpy(local_backend):
    run(local_backend, examples=50, steps=30)


@pytest.mark.parametrize(("examples", "steps"), [(3, 6), pytest.param(20, 12, marks=pytest.mark.slow)])
def test_spark_against_the_local_backend(local_backend, spark_backend, examples, steps):
    run(local_backend, spark_backend, examples=examples, steps=steps)
