"""Threads on Spark: answers while the state moves between this process and Spark, and batches come."""

from __future__ import annotations

import pytest

from dyntc_spark import DynamicClosure
from tests.graph.schedule import Askers, drawn, edges_of, played


@pytest.mark.connect
def test_answers_while_the_state_moves(spark):
    """Long questions run beside batches and moves."""
    seed = 11
    start, script, versions = drawn(seed, batches=4)
    c = DynamicClosure.from_edges(start, spark=spark)
    asked = ("pairs", "repr", "stats", "changes", "edges", "descendants"), ("query", "networkx", "html", "explain")
    with Askers(c, seed, versions, *asked, pause=0.02):
        for number, move in enumerate((c.on_spark, c.in_process)):
            move()
            played(c, script[2 * number : 2 * number + 2])
    c.on_spark()
    last = versions[-1]
    assert c.stats()["backend"] == "spark"
    frame = c.pairs()
    blocks = c.blocks()
    c.insert([(900, 901)])
    assert {tuple(row) for row in frame.collect()} == last.pairs  # as it was asked for
    assert blocks.count()
    assert edges_of(c.arrow.pairs()) == last.pairs | {(900, 901)}
