"""Scripts of the paper's operations for the deterministic engines, and a plain matrix that they are compared with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dyntc_spark.edges import Edges


class Step(NamedTuple):
    """One operation: init, set, reset or apply, with its arguments as plain lists that can be pasted."""

    kind: str
    arguments: tuple[Any, ...]


class Plain:
    """X as a Boolean matrix, and its closure by Warshall's algorithm."""

    def __init__(self, n):
        self.x = np.zeros((n, n), bool)

    def run(self, step):
        """Do a step."""
        if step.kind == "init":
            self.x = np.zeros_like(self.x)
            self.x[step.arguments] = True
        elif step.kind == "set":
            i, row, column = step.arguments
            self.x[i, row] = True
            self.x[column, i] = True
        elif step.kind == "reset":
            self.x[step.arguments] = False
        else:
            inserted, deleted = step.arguments
            self.x[deleted] = False
            self.x[inserted] = True

    @property
    def closure(self):
        """X*."""
        y = self.x | np.eye(len(self.x), dtype=bool)
        for k in range(len(y)):
            y |= np.outer(y[:, k], y[k])
        return y


def run(engine, step, n):
    """Do a step on an engine."""
    if step.kind == "init":
        engine.init(Edges.of(*step.arguments), n)
    elif step.kind == "set":
        engine.set(*step.arguments)
    elif step.kind == "reset":
        engine.reset(step.arguments)
    else:
        engine.apply(*(Edges.of(*edges) for edges in step.arguments))


def value(engine):
    """The whole closure as an engine sees it."""
    n = engine.vertices
    found = engine.descendants(np.arange(n))
    y = np.zeros((n, n), bool)
    y[found.sources, found.targets] = True
    return y


def compare(engine, plain, script):
    """Fail with what is needed to repeat it, and the two differences."""
    found, expected = value(engine), plain.closure
    if not np.array_equal(found, expected):
        missing, extra = np.argwhere(expected & ~found).tolist(), np.argwhere(found & ~expected).tolist()
        steps = "\n".join(f"  {step}" for step in script)
        raise AssertionError(f"{engine.name}, n = {engine.vertices}: missing {missing}, extra {extra} after\n{steps}")


def draw(rng, plain, density):
    """A random step that suits the graph as it is."""
    n, x = len(plain.x), plain.x
    kind = rng.choice(["init", "set", "reset", "apply"], p=[0.05, 0.4, 0.35, 0.2])
    if kind == "init":
        return Step("init", _places(rng.random((n, n)) < density))
    if kind == "set":
        row, column = (np.flatnonzero(rng.random(n) < 0.7 * density).tolist() for _ in range(2))
        return Step("set", (int(rng.integers(n)), row, column))
    if kind == "reset":
        there = np.argwhere(x)
        some = 1 if rng.random() < 0.6 else int(rng.integers(1, len(there) + 1)) if len(there) else 0
        gone = there[rng.permutation(len(there))[:some]]
        return Step("reset", (gone[:, 0].tolist(), gone[:, 1].tolist()))
    inserted = ~x & (rng.random((n, n)) < 0.4 * density)
    return Step("apply", (_places(inserted), _places(x & (rng.random((n, n)) < 0.2))))


def play(make, seed, sizes, length=25, check=None):
    """Run one random script and compare after each step."""
    rng, n, density = _setting(seed, sizes)
    engine, plain, script = make(), Plain(n), []
    engine.init(Edges.of(), n)
    for _ in range(length):
        script.append(draw(rng, plain, density))
        plain.run(script[-1])
        run(engine, script[-1], n)
        compare(engine, plain, script)
        if check is not None:
            check(engine)


def play_shortly(make, seed, sizes, length):
    """Run one random script from a random graph on, and compare in the middle and at the end: few jobs on Spark."""
    rng, n, density = _setting(seed, sizes)
    plain, script = Plain(n), [Step("init", _places(rng.random((n, n)) < density))]
    plain.run(script[0])
    while len(script) <= length:
        step, before = draw(rng, plain, density), plain.x.copy()
        plain.run(step)
        if not np.array_equal(before, plain.x):
            script.append(step)
    follow(make(), script, n, every=max(2, (length + 1) // 2))


def _setting(seed, sizes):
    rng = np.random.default_rng(seed)
    n = int(rng.choice(sizes))
    return rng, n, (1.2 / n, 2.5 / n, 0.4)[seed % 3]


def path_script(seed, n, *, cycle=False, delete=True):
    """A Hamiltonian path (or cycle) inserted edge by edge in random order by a random endpoint, and then deleted."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    edges = [(int(u), int(v)) for u, v in zip(order, [*order[1:], order[0]], strict=True)]
    edges = edges if cycle else edges[:-1]
    script = []
    for k in rng.permutation(len(edges)):
        u, v = edges[k]
        script.append(Step("set", (u, [v], []) if rng.random() < 0.5 else (v, [], [u])))
    if delete:
        script += [Step("reset", ([edges[k][0]], [edges[k][1]])) for k in rng.permutation(len(edges))]
    return script


def follow(engine, script, n, every=1):
    """Run a given script from the empty graph and compare after each step."""
    engine.init(Edges.of(), n)
    plain, done = Plain(n), []
    for number, step in enumerate(script):
        done.append(step)
        plain.run(step)
        run(engine, step, n)
        if number % every == 0 or number == len(script) - 1:
            compare(engine, plain, done)


def fails(engine, script, n):
    """Whether an engine gives a wrong answer somewhere on the way."""
    try:
        follow(engine, script, n)
    except AssertionError:
        return True
    return False


def _places(flags):
    rows, columns = np.nonzero(flags)
    return rows.tolist(), columns.tolist()
