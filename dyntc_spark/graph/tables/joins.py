"""Questions of a DataFrame about a closure on Spark, as joins: lazy, and nothing comes to the driver.

The asked DataFrame is joined with the tables of the closure (``relations``). Its columns stay as they are, whatever
they are called: the joins have names of their own, and only the columns with vertices are mentioned. It is read
once, so that rows that are drawn at random are answered as they are.

Few questions are about a stripe, and many runs are in it. So runs are joined by stripe *and* by bucket, that is by
64 neighbouring components, and only within these each run is looked at.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from dyntc_spark.errors import MissingColumnError, OptionError, VertexTypeError
from dyntc_spark.graph.inputs.spark_columns import column_kinds, quoted, selected
from dyntc_spark.graph.inputs.vertex_types import spark_type
from dyntc_spark.graph.tables.relations import Tables
from dyntc_spark.kernels.search import Searcher
from dyntc_spark.lazy_pyspark import F, pyspark_module

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: What a question about a vertex that the graph does not have gets.
UnknownRow: TypeAlias = Literal["null", "false", "raise"]

#: The stripe, and the component, of a vertex that the graph does not have.
_NOWHERE = -1


class Search(NamedTuple):
    """What tasks need to search for paths."""

    searcher: Searcher
    exact: bool  #: whether the closure can be asked first which pairs a path joins


class Names:
    """Names of columns that no other DataFrame has: ``names("x")`` is always the same one."""

    def __init__(self) -> None:
        self._mark = uuid.uuid4().hex[:12]
        self.used: list[str] = []

    def __call__(self, name: str) -> str:
        """Return a name for a column."""
        called = f"dyntc_{name}_{self._mark}"
        if called not in self.used:
            self.used.append(called)
        return called


def query(asked: DataFrame, tables: Tables, unknown: UnknownRow, ends: tuple[str, str]) -> DataFrame:
    """Return the asked rows with ``reachable``, and with ``paths`` where these are counted."""
    _require_unknown(unknown)
    answers = ("reachable", "paths") if tables.counted else ("reachable",)
    _require(asked, tables.kind, ends, answers, has_vertices=tables.has_vertices)
    n, found = _placed(asked, tables, ends, joined=True)
    absent = _unknown(n, unknown, ends, F.lit(False).cast("boolean"))
    known = F.expr(_known(n))
    found = found.withColumn("reachable", F.when(known, F.expr(_joined(n))).otherwise(absent))
    if tables.counted:
        paths = (
            F.when(F.expr(f"{n('s_number')} = {n('d_number')}"), F.lit(1))
            .when(F.col(n("r_stripe")).isNull(), F.lit(0))
            .otherwise(F.col(n("r_paths")))
        )
        found = found.withColumn("paths", F.when(known, paths).cast("decimal(38,0)"))
    return found.drop(*n.used)


def descendants(asked: DataFrame, tables: Tables, unknown: UnknownRow, vertex: str, *, reflexive: bool) -> DataFrame:
    """Return the asked rows, each once for every vertex that its vertex reaches, with ``descendant``."""
    n, found = _asked(asked, tables, unknown, vertex, "descendant")
    runs = _renamed(_runs(tables, reflexive=reflexive), n, "r_", ("stripe", "first", "last", "word"))
    found = found.join(_joinable(runs, tables), F.expr(f"{n('stripe')} = {n('r_stripe')} AND {_has_bit(n, 'lane')}"))
    found = found.select("*", F.expr(f"explode(sequence({n('r_first')}, {n('r_last')}))").alias(n("reached")))
    found = found.join(_others(tables, n), F.expr(f"{n('reached')} = {n('o_component')}"))
    return _answered(found, n, unknown, vertex, "descendant", reflexive=reflexive)


def ancestors(asked: DataFrame, tables: Tables, unknown: UnknownRow, vertex: str, *, reflexive: bool) -> DataFrame:
    """Return the asked rows, each once for every vertex that reaches its vertex, with ``ancestor``."""
    n, found = _asked(asked, tables, unknown, vertex, "ancestor")
    runs = _bucketed(_runs(tables, reflexive=reflexive), n)
    covers = f"{n('component')} BETWEEN {n('r_first')} AND {n('r_last')}"
    found = found.join(
        _joinable(runs, tables), F.expr(f"shiftright({n('component')}, 6) = {n('r_bucket')} AND {covers}")
    )
    found = found.join(_others(tables, n), F.expr(f"{n('r_stripe')} = {n('o_stripe')} AND {_has_bit(n, 'o_lane')}"))
    return _answered(found, n, unknown, vertex, "ancestor", reflexive=reflexive)


def distances(
    asked: DataFrame, tables: Tables, search: Search, unknown: UnknownRow, ends: tuple[str, str]
) -> DataFrame:
    """Return the asked rows with ``distance``: how many edges a shortest path has, null where there is none."""
    _require_unknown(unknown)
    _require(asked, tables.kind, ends, ["distance"], has_vertices=tables.has_vertices)
    n, found = _searched(asked, tables, search, ends)
    hops = F.when(F.col(n("path")).isNotNull(), F.size(n("path")) - 1)
    if unknown == "raise":
        hops = F.when(F.expr(_known(n)), hops).otherwise(_either_refusal(n, ends))
    return found.withColumn("distance", hops).drop(*n.used)


def explained(asked: DataFrame, tables: Tables, search: Search, ends: tuple[str, str]) -> DataFrame:
    """Return a shortest path for each pair: ``src``, ``dst``, ``reachable``, ``hop``, ``hop_src``, ``hop_dst``."""
    _require(asked, tables.kind, ends, [], has_vertices=tables.has_vertices)
    n, found = _searched(selected(asked, ends), tables, search, ends)
    refusal = _either_refusal(n, ends)
    path = n("path")
    hops = (
        f"CASE WHEN size({path}) > 1 THEN transform(sequence(1, size({path}) - 1), "
        f"hop -> named_struct('hop', hop, 'src', {path}[hop - 1], 'dst', {path}[hop])) END"
    )
    found = found.select(
        F.col(n("s")).alias("src"),
        F.col(n("d")).alias("dst"),
        F.when(F.expr(_known(n)), F.col(path).isNotNull()).otherwise(refusal).alias("reachable"),
        F.explode_outer(F.expr(hops)).alias(n("hop")),
    )
    for end in ("src", "dst"):
        names = _renamed(tables.vertices, n, f"{end}_", ("number", "vertex"))
        found = found.join(_beside(names, tables), F.expr(f"{n('hop')}.{end} = {n(f'{end}_number')}"), "left")
    return found.selectExpr(
        "src",
        "dst",
        "reachable",
        f"{n('hop')}.hop AS hop",
        *(f"{n(f'{end}_vertex')} AS hop_{end}" for end in ("src", "dst")),
    )


def _placed(asked: DataFrame, tables: Tables, ends: tuple[str, str], *, joined: bool) -> tuple[Names, DataFrame]:
    """Return the asked rows with the places of both vertices; ``joined``: and with the run that joins them, if any."""
    n = Names()
    found = asked.select("*", *(_vertex(name, tables.kind).alias(n(end)) for name, end in zip(ends, "sd", strict=True)))
    for end in "sd":
        found = found.join(_places(tables, n, f"{end}_"), F.expr(f"{n(end)} = {n(f'{end}_vertex')}"), "left")
    if not joined:
        return n, found
    covers = (
        f"{n('s_stripe')} = {n('r_stripe')} AND shiftright({n('d_component')}, 6) = {n('r_bucket')}"
        f" AND {n('d_component')} BETWEEN {n('r_first')} AND {n('r_last')} AND {_has_bit(n, 's_lane')}"
    )
    return n, found.join(_joinable(_bucketed(tables.runs, n), tables), F.expr(covers), "left")


def _searched(asked: DataFrame, tables: Tables, search: Search, ends: tuple[str, str]) -> tuple[Names, DataFrame]:
    """Return the asked rows with a shortest path as numbers of vertices, null where there is none.

    Tasks search, among the edges that are sent with them. An exact closure says first which pairs a path joins.
    """
    n, found = _placed(asked, tables, ends, joined=search.exact)
    wanted = F.expr(f"{_known(n)} AND ({_joined(n)})" if search.exact else _known(n))
    numbers = (F.when(wanted, F.col(n(f"{end}_number"))).otherwise(_NOWHERE) for end in "sd")
    return n, found.withColumn(n("path"), _searching(search.searcher)(*numbers))


def _searching(searcher: Searcher) -> Callable[..., Column]:
    """Return the function of two columns of numbers that searches for paths; -1 stands for nothing to search."""
    series = pyspark_module("pandas").Series

    def search(sources, targets):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  (given below, as Spark asks for)
        asked = np.flatnonzero(sources.to_numpy() >= 0)
        found = np.full(len(sources), None, object)
        paths = searcher.paths(*(each.to_numpy().astype(np.int64)[asked] for each in (sources, targets)))
        for row, path in zip(asked.tolist(), paths, strict=True):
            found[row] = path
        return type(sources)(found)

    search.__annotations__ = dict.fromkeys(("sources", "targets", "return"), series)
    made: Callable[..., Column] = pyspark_module("pyspark.sql.functions").pandas_udf(search, "array<int>")
    return made


def _known(n: Names) -> str:
    """Return the condition that the graph has both vertices."""
    return f"{n('s_number')} IS NOT NULL AND {n('d_number')} IS NOT NULL"


def _joined(n: Names) -> str:
    """Return the condition that the first of two known vertices reaches the second."""
    return f"{n('s_component')} = {n('d_component')} OR {n('r_stripe')} IS NOT NULL"


def _asked(asked: DataFrame, tables: Tables, unknown: UnknownRow, vertex: str, answer: str) -> tuple[Names, DataFrame]:
    """Return the asked rows with the place of their vertex in the closure."""
    _require_unknown(unknown)
    _require(asked, tables.kind, [vertex], [answer], has_vertices=tables.has_vertices)
    n = Names()
    found = asked.select("*", _vertex(vertex, tables.kind).alias(n("v")))
    how = "inner" if unknown == "false" else "left"
    found = found.join(_places(tables, n, "v_"), F.expr(f"{n('v')} = {n('v_vertex')}"), how)
    place = {"stripe": _NOWHERE, "component": _NOWHERE, "lane": 0}
    return n, found.select(
        "*", *(F.coalesce(F.col(n(f"v_{name}")), F.lit(value)).alias(n(name)) for name, value in place.items())
    )


def _answered(
    found: DataFrame, n: Names, unknown: UnknownRow, vertex: str, answer: str, *, reflexive: bool
) -> DataFrame:
    """Return the caller's columns and the answer."""
    if not reflexive:
        found = found.where(f"{n('o_number')} IS NULL OR {n('o_number')} <> {n('v_number')}")
    other = F.col(n("o_vertex"))
    if unknown == "raise":
        other = F.when(F.col(n("v_number")).isNotNull(), other).otherwise(_refusal(n, "v", vertex))
    return found.withColumn(answer, other).drop(*n.used)


def _runs(tables: Tables, *, reflexive: bool) -> DataFrame:
    """Return the runs, and one that leads nowhere for unknown vertices; with ``reflexive`` each vertex reaches itself.

    A component of several members has a run with its own bit.
    """
    runs = tables.runs.select("stripe", "first", "last", "word")
    nowhere = runs.sparkSession.range(1).selectExpr(
        *(f"{_NOWHERE} AS {name}" for name in ("stripe", "first", "last")), "1L AS word"
    )
    runs = runs.unionAll(nowhere)
    if reflexive:
        single = tables.vertices.groupBy("stripe", "component", "lane").count().where("count = 1")
        runs = runs.unionAll(
            single.selectExpr("stripe", "component", "component AS last", "shiftleft(1L, lane) AS word")
        )
    return runs


def _joinable(runs: DataFrame, tables: Tables) -> DataFrame:
    """Return runs that Spark does not broadcast because it takes those that tasks make for few."""
    return runs.hint("merge") if tables.of_tasks else runs


def _bucketed(runs: DataFrame, n: Names) -> DataFrame:
    """Return each run once for each bucket that it has a part of."""
    bucket = F.expr("explode(sequence(shiftright(first, 6), shiftright(last, 6)))").alias("bucket")
    found = runs.select("*", bucket)
    return _renamed(found, n, "r_", found.columns)


def _places(tables: Tables, n: Names, prefix: str) -> DataFrame:
    """Return where vertices are; the asked DataFrame may be larger than all of them."""
    return _beside(_renamed(tables.vertices, n, prefix, ("vertex", "number", "component", "stripe", "lane")), tables)


def _others(tables: Tables, n: Names) -> DataFrame:
    """Return the vertices that are an answer, and none for an unknown vertex."""
    columns = ("vertex", "number", "component", "stripe", "lane")
    nowhere = tables.vertices.sparkSession.range(1).selectExpr(
        f"CAST(NULL AS {spark_type(tables.kind)}) AS vertex",
        "CAST(NULL AS INT) AS number",
        f"{_NOWHERE} AS component",
        f"{_NOWHERE} AS stripe",
        "0 AS lane",
    )
    return _beside(_renamed(tables.vertices.select(*columns).unionAll(nowhere), n, "o_", columns), tables)


def _beside(vertices: DataFrame, tables: Tables) -> DataFrame:
    """Return vertices that Spark is to broadcast, unless they may be too many for that."""
    return vertices.hint("merge") if tables.wide else F.broadcast(vertices)


def _renamed(data: DataFrame, n: Names, prefix: str, columns: Sequence[str]) -> DataFrame:
    return data.select(*(F.col(name).alias(n(prefix + name)) for name in columns))


def _has_bit(n: Names, lane: str) -> str:
    """Return the condition that the word of a run has the bit of a lane."""
    return f"shiftrightunsigned({n('r_word')}, {n(lane)}) & 1 = 1"


def _vertex(name: str, kind: pa.DataType) -> Column:
    """Return the vertices of a column, in the one type of their kind."""
    return F.col(quoted(name)).cast(spark_type(kind))


def _unknown(n: Names, unknown: UnknownRow, ends: tuple[str, str], no: Column) -> Column:
    """Return the answer to a question about unknown vertices."""
    if unknown == "false":
        return no
    if unknown == "null":
        return F.lit(None).cast("boolean")
    return _either_refusal(n, ends)


def _either_refusal(n: Names, ends: tuple[str, str]) -> Column:
    """Return what fails with the first of two vertices that the graph does not have."""
    first, second = (_refusal(n, end, name) for end, name in zip("sd", ends, strict=True))
    return F.when(F.col(n("s_number")).isNull(), first).otherwise(second)


def _refusal(n: Names, end: str, name: str) -> Column:
    """Return what fails when it is worked out, with a message that names the vertex."""
    found = F.coalesce(F.concat(F.lit("'"), F.col(n(end)).cast("string"), F.lit("'")), F.lit("null"))
    return F.raise_error(
        F.concat(
            F.lit("expected a vertex of the graph; got "),
            found,
            F.lit(f" in column {name!r}, which the graph does not have. Check its spelling; "),
            F.lit("unknown='null' answers null, and unknown='false' no."),
        )
    )


def _require_unknown(unknown: str) -> None:
    """Refuse what is no answer about unknown vertices."""
    if unknown not in {"null", "false", "raise"}:
        raise OptionError(
            "unknown='null', unknown='false' or unknown='raise'", f"{unknown!r:.80}", "The first is the default."
        )


def _require(
    asked: DataFrame, kind: pa.DataType, names: Sequence[str], answers: Sequence[str], *, has_vertices: bool
) -> None:
    """Refuse what cannot be asked, before anything is joined; ``kind`` is the type of the graph's vertices."""
    for name, found in zip(names, column_kinds(asked, names), strict=True):
        if found != kind and has_vertices:
            raise VertexTypeError(
                f"vertices of type {kind}, as the graph has them",
                f"{found} in column {name!r}",
                "Convert them first.",
            )
    taken = {column.lower(): column for column in asked.columns}
    for answer in answers:
        if answer in taken:
            raise MissingColumnError(
                f"a name {answer!r} that is free for the answer",
                f"a column {taken[answer]!r} among {asked.columns}",
                "Rename this column, or drop it.",
            )
