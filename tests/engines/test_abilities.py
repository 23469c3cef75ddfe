"""What only some engines can do: who can do it, and what follows where one cannot."""

from __future__ import annotations

import numpy as np
import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.engines import abilities
from dyntc_spark.engines.auto_backend import AutoBackend
from dyntc_spark.engines.base import Engine
from dyntc_spark.engines.registry import ENGINES
from dyntc_spark.errors import OptionError
from tests.engines.lanes_oracle import as_edges, reached

EVERYBODY = {"Movable", "Certifies", "ShowsBlocks", "RowsOnSpark"}
LANES = EVERYBODY | {
    "CountsChanges",
    "InLanes",
    "LoadsClosures",
    "RemembersChanges",
    "ChangesOnSpark",
    "TakesSnapshots",
    "TriesBatches",
    "CountsReached",
}
CAN = {
    "lanes": LANES,
    "recompute": LANES,
    "algebraic": EVERYBODY | {"RemembersChanges"},
    "path_counting": EVERYBODY | {"Selective", "CountsPaths"},
    "logarithmic": EVERYBODY,
    "divide_conquer": EVERYBODY,
    "centres": EVERYBODY,
}
PROTOCOLS = {name: kind for name, kind in vars(abilities).items() if getattr(kind, "_is_runtime_protocol", False)}


class Plain(Engine):
    """An engine that can do what it must, and no more: it searches."""

    name = "plain"
    exact = True

    def __init__(self, backend=None):
        super().__init__(backend)
        self._set, self._n = EdgeSet.of(Edges.of()), 0

    backend = "local"
    bytes = 0
    vertices = property(lambda self: self._n)
    edges = property(lambda self: self._set.edges)

    def init(self, edges, vertices):
        self._set, self._n = EdgeSet.of(edges), vertices

    def apply(self, inserted, deleted):
        self._set = self._set.replaced(inserted, deleted)

    def grow(self, vertices):
        self._n = vertices

    def _pairs(self):
        edges = self._set.edges
        return reached(set(zip(edges.sources.tolist(), edges.targets.tolist(), strict=True)), self._n)

    def query(self, sources, targets):
        pairs = self._pairs()
        return np.array([pair in pairs for pair in zip(sources.tolist(), targets.tolist(), strict=True)], np.bool_)

    def descendants(self, vertices):
        wanted = set(np.atleast_1d(vertices).tolist())
        return as_edges({(u, v) for u, v in self._pairs() if u in wanted})

    def ancestors(self, vertices):
        wanted = set(np.atleast_1d(vertices).tolist())
        found = sorted((v, u) for u, v in self._pairs() if v in wanted)
        return Edges.of([u for _, u in found], [v for v, _ in found])

    def stats(self):
        return {}


@pytest.mark.parametrize("name", ENGINES)
def test_which_engine_can_do_what(name):
    engine = ENGINES[name]()
    assert {ability for ability, kind in PROTOCOLS.items() if isinstance(engine, kind)} == CAN[name]


def test_an_engine_that_can_do_only_what_it_must():
    c, twin = DynamicClosure(Plain()), DynamicClosure.from_edges([])
    for side in (c, twin):
        side.apply([("insert", *edge) for edge in ["ab", "bc", "ca", "cd", "ef"]])
        side.delete([("c", "a")])
    for question in (
        lambda side: side.arrow.pairs(),
        lambda side: side.arrow.query([("a", "d"), ("d", "a")]),
        lambda side: side.arrow.changes(),
        lambda side: side.arrow.impact(top=6),
        lambda side: side.arrow.what_if([("insert", "d", "e"), ("delete", "a", "b")]),
        lambda side: side.arrow.explain("a", "d"),
        lambda side: side.arrow.between("a", "d"),
    ):
        found, right = (sorted(map(str, question(side).to_pylist())) for side in (c, twin))
        assert found == right
    assert c.stats()["pairs"] == twin.stats()["pairs"]
    for refused in (c.verify, c.in_process):
        with pytest.raises(OptionError, match="the engine 'plain'"):
            refused()
    assert c.reaches("a", "d")


def test_a_state_that_cannot_move_stays():
    engine = AutoBackend(Plain, lambda: 1 / 0, 0)
    engine.current.bytes = 10**6
    engine.init(Edges.of([0], [1]), 2)
    assert engine.backend == "local"
