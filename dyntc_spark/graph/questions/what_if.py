"""What a batch would change: worked out beside the closure, which stays as it is.

An engine in lanes tries the batch on a copy of its graph, with the stripes that it has, and what the batch writes is
thrown away (`TriesBatches`): that costs what the batch costs, and a copy of vertices and edges. Beside any other
engine the closure after the batch is built in lanes, and compared with the one that there is.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.edges import Edges, EdgeSet, edges_of, keys_of
from dyntc_spark.engines.abilities import Selective, TriesBatches, changes_of, changes_on_spark, rows_on_spark
from dyntc_spark.engines.base import Engine, Reachability
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.engines.row_changes import rows_compared
from dyntc_spark.errors import InputError, OptionError
from dyntc_spark.graph.changes.difference_on_spark import DifferenceOnSpark
from dyntc_spark.graph.changes.net_effect import Planned, naming_cycles, planned
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.inputs.numbering import ChangesHere
from dyntc_spark.graph.inputs.read import Ends, Table, read_changes
from dyntc_spark.graph.tables.walk import key
from dyntc_spark.graph.version import Difference, Graph
from dyntc_spark.graph.vertices.in_process import VertexTable
from dyntc_spark.graph.vertices.names import Vertices
from dyntc_spark.kernels.components import without
from dyntc_spark.kernels.ids import Flags
from dyntc_spark.session import session_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def what_if(
    door: Door,
    changes: Table,
    names: tuple[str, str, str],
    timestamp: str,
    *,
    strict: bool,
    spark: SparkSession | None = None,
) -> tuple[int, Difference | DifferenceOnSpark]:
    """Return the version that a batch would make, and the pairs that it would change.

    ``names`` and ``timestamp`` are what the columns of ``changes`` are called.
    """
    counted = door.now.graph.copies is not None
    ends, inserting = read_changes(changes, names, timestamp, ordered=not counted)
    return door.ask(
        lambda version, closure: (
            version.number + 1,
            difference_after(version.graph, closure, ends, inserting, strict=strict, spark=spark),
        )
    )


def difference_after(
    graph: Graph, closure: Reachability, ends: Ends, inserting: Flags, *, strict: bool, spark: SparkSession | None
) -> Difference | DifferenceOnSpark:
    """Return the pairs that changes would make reachable or unreachable: on Spark where the closure is there.

    Examples
    --------
    >>> closure = Lanes()
    >>> inserting = np.array([True])
    >>> ends = Ends(pa.array([1]), pa.array([2]))
    >>> found = difference_after(Graph(), closure, ends, inserting, strict=False, spark=None)
    >>> found.gained, closure.vertices
    (Edges(sources=array([0]), targets=array([1])), 0)
    """
    batch = planned(graph, ChangesHere(ends, inserting), strict=strict)
    after = Graph(_with_new(graph.vertices, batch), graph.edges.replaced(batch.inserted, batch.deleted))
    if not len(batch.inserted) and not len(batch.deleted):
        return Difference(after, Edges.of(), Edges.of())
    vertices = max(closure.vertices, batch.extent)
    with naming_cycles(graph.vertices.names, batch.added, batch.new):
        if isinstance(closure, Selective):
            closure.require(after.edges.edges, vertices)
    trial = closure.trial() if isinstance(closure, TriesBatches) else None
    if closure.backend == "spark":
        return _on_spark(after, closure, trial, batch, vertices, session_for(spark))
    if trial is None:
        return _rebuilt(graph, after, closure, vertices)
    trial.grow(vertices)
    trial.apply(batch.inserted, batch.deleted)
    return Difference(after, *(changes_of(trial) or (Edges.of(), Edges.of())))


def what_if_among(steps: list[tuple[Any, Any]], changes: list[tuple[str, Any, Any]]) -> list[tuple[Any, Any, str]]:
    """Return the pairs that changes would change in a graph of some edges: ``src``, ``dst``, ``op``.

    So Spark's workers answer the SQL function ``<prefix>_what_if``.

    Examples
    --------
    >>> what_if_among([("a", "b"), ("b", "c"), ("a", "c")], [("delete", "b", "c"), ("insert", "c", "d")])
    [('a', 'd', 'insert'), ('c', 'd', 'insert'), ('b', 'c', 'delete')]
    """
    names: dict[Any, Any] = {}  # by what the dict knows a vertex by; its place is its number
    for tail, head in chain(steps, ((tail, head) for _, tail, head in changes)):
        names.setdefault(key(tail), tail)
        names.setdefault(key(head), head)
    if None in names:
        raise InputError("changes of edges between two vertices", "a null", "Leave out the rows without a vertex.")
    number = {known: at for at, known in enumerate(names)}
    tails, heads = ([number[key(step[end])] for step in steps] for end in (0, 1))
    vertices = np.arange(len(names))
    graph = Graph(VertexTable.of(pa.array(vertices), vertices, len(names)), EdgeSet.of(Edges.of(tails, heads)))
    rows = [(op, number[key(tail)], number[key(head)]) for op, tail, head in changes]
    batch = planned(graph, ChangesHere(*read_changes(rows)), strict=False)
    closure = Lanes()
    closure.init(graph.edges.edges, len(names))
    closure.apply(batch.inserted, batch.deleted)
    gained, lost = changes_of(closure) or (Edges.of(), Edges.of())
    named = list(names.values())
    return [
        (named[src], named[dst], op)
        for op, pairs in (("insert", gained), ("delete", lost))
        for src, dst in zip(pairs.sources.tolist(), pairs.targets.tolist(), strict=True)
    ]


def _on_spark(
    after: Graph, closure: Reachability, trial: Engine | None, batch: Planned, vertices: int, spark: SparkSession
) -> DifferenceOnSpark:
    """Compare closures on Spark."""
    if trial is not None:
        trial.grow(vertices)
        trial.apply(batch.inserted, batch.deleted)
        found = changes_on_spark(trial, spark)
    else:
        rows = rows_on_spark(closure, spark, look=True)
        trial = Lanes(SparkBackend(spark))
        trial.init(after.edges.edges, vertices)
        others = trial.rows(spark)
        found = None if rows is None or others is None else rows_compared(rows, others)
    if found is None:
        came, remedy = f"the engine {closure.name!r}", "Call in_process() first, or use the engine 'lanes'."
        raise OptionError("an engine that can say on Spark what a batch would change", came, remedy)
    return DifferenceOnSpark(after, found, trial)


def _rebuilt(before: Graph, after: Graph, closure: Reachability, vertices: int) -> Difference:
    """Build the closure after a batch in this process, and compare the rows that can differ.

    These are the rows of what reaches the tail of a changed edge: the first changed edge on a path, new or lost, is
    reached by edges that are there before and after.
    """
    new = Lanes()
    new.init(after.edges.edges, vertices)
    tails = np.concatenate([before.edges.minus(after.edges).sources, after.edges.minus(before.edges).sources])
    rows = np.unique(new.ancestors(tails).sources)
    known, fresh = rows[rows < closure.vertices], rows[rows >= closure.vertices]
    were = np.concatenate([keys_of(closure.descendants(known)), keys_of(Edges(fresh, fresh))])
    are = keys_of(new.descendants(rows))
    return Difference(after, edges_of(without(are, were)), edges_of(without(were, are)))


def _with_new(table: Vertices, batch: Planned) -> Vertices:
    """Return a new table with the vertices that a batch brings; nothing is shared with later ones."""
    if not len(batch.added):
        return table
    if table.on_spark:  # whose tables share nothing that changes
        return table.added(batch.added, batch.new)
    names = pa.concat_arrays([table.names(), batch.added]) if len(table) else batch.added
    numbers = np.concatenate([table.used, batch.new])
    return VertexTable.of(names, numbers, max(table.extent, batch.extent))
