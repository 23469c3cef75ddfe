"""Columns of Spark DataFrames: read, looked up, and refused with errors of this package."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dyntc_spark.errors import InputError, MissingColumnError, OptionError, SessionError, VertexTypeError
from dyntc_spark.graph.inputs.vertex_types import NAMEABLE, canonical
from dyntc_spark.graph.store.place import brief
from dyntc_spark.lazy_pyspark import pyspark_module, spark_errors
from dyntc_spark.session import ensure_open, is_from_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType


def named_table(spark: SparkSession, name: str) -> DataFrame:
    """Return a table of Spark's catalog by its name."""
    try:
        name.encode()  # half of a surrogate pair would break the connection to the JVM
        found = spark.table(name)
        found.columns  # noqa: B018  (Spark Connect looks the name up only now)
    except (UnicodeEncodeError, spark_errors.PySparkException) as error:
        raise InputError(
            "the name of a table in Spark's catalog, such as 'main.lineage.edges'",
            f"{name!r:.200}: {brief(error)}",
            "A file is read first: from_edges(spark.read.parquet(path)), say.",
        ) from error
    return found


def column_kinds(data: DataFrame, names: Sequence[str]) -> list[pa.DataType]:
    """Return the canonical types of columns that name vertices; the DataFrame is not worked out."""
    refuse_odd_names(names)
    with from_spark(data):
        require_columns(data.columns, names)
        schema = selected(data, names).schema
    kinds, to_arrow_type = [], _to_arrow_type()
    for field, name in zip(schema, names, strict=True):
        try:
            kind = to_arrow_type(field.dataType)
        except spark_errors.PySparkTypeError as error:  # intervals of months, say
            raise VertexTypeError("columns of types that Arrow knows", f"{name} {field.dataType}", NAMEABLE) from error
        kinds.append(canonical(pa.array([], kind), name).type)
    return kinds


@functools.cache
def _to_arrow_type() -> Callable[[DataType], pa.DataType]:
    """Return Spark's function that finds the Arrow type of one of its own types."""
    found: Callable[..., pa.DataType] = pyspark_module("pyspark.sql.pandas.types").to_arrow_type
    # From version 4.2 on, Spark has no type for a time stamp without the zone that it is shown in.
    takes_zone = "timezone" in inspect.signature(found).parameters
    return functools.partial(found, timezone="UTC") if takes_zone else found


@contextmanager
def from_spark(data: DataFrame) -> Iterator[None]:
    """Raise an error of this package where Spark cannot work out a DataFrame, which is lazy and fails here first."""
    try:
        _refuse_stream(data)
        yield
    except Exception as error:
        cause = error.__cause__ if isinstance(error, SessionError) else error
        if not isinstance(cause, Exception) or not is_from_spark(cause):
            raise
        ensure_open(data.sparkSession)
        raise InputError(
            "a DataFrame that Spark can work out",
            f"{type(cause).__name__}: {brief(cause)}",
            "Look at it by itself, for example with its show(); the closure is as it was.",
        ) from error


def _refuse_stream(data: DataFrame) -> None:
    if data.isStreaming:
        raise InputError(
            "a DataFrame with all its rows",
            "a streaming one",
            "Read it with spark.read, or let a closure follow it with stream(changes, checkpoint=...).",
        )


def selected(data: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the columns called ``names``."""
    try:
        found = data.select(*map(quoted, names))
        require_columns(found.columns, names)
    except spark_errors.AnalysisException as error:  # names that differ in their case only, say
        raise MissingColumnError(
            f"the columns {', '.join(names)}, each once", str(error).partition("\n")[0], "Rename them."
        ) from error
    return found


def collected(data: DataFrame) -> pa.Table:
    """Bring the rows here, or refuse types that Arrow does not have."""
    try:
        return data.toArrow()
    except (spark_errors.PySparkTypeError, ValueError) as error:  # intervals of months, arrays of nothing
        came = ", ".join(f"{name} {kind}" for name, kind in data.dtypes)
        raise VertexTypeError("columns of types that Arrow knows", came, NAMEABLE) from error


def quoted(name: str) -> str:
    """Return the name of a column as Spark takes it; it would take one with a dot for a field of a struct."""
    return f"`{name.replace('`', '``')}`"


#: What to do about columns that are missing, by how many are wanted.
_KEYWORDS = {
    1: "Rename it; descendants and ancestors also take column=",
    2: "Name them with src= and dst=, or rename them",
}


def require_columns(found: Iterable[Any], names: Sequence[str]) -> None:
    """Refuse a table that lacks one of the columns ``names``, or has one twice."""
    columns = list(found)
    for name in names:
        if columns.count(name) != 1:
            raise MissingColumnError(
                f"the columns {', '.join(names)}, each once",
                f"{columns.count(name) or 'no'} {name!r} among {columns}",
                f"{_KEYWORDS.get(len(names), 'Name them with op=, src= and dst=, or rename them')}; "
                "other columns do no harm.",
            )


def refuse_odd_names(names: Sequence[Any]) -> None:
    """Refuse names of columns that are no strings."""
    if not all(isinstance(name, str) for name in names):
        raise OptionError("names of columns that are strings", f"{list(names)!r:.80}", "Rename the columns first.")
