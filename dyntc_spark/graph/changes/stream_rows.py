"""Rows of a stream as changes: ``op``, ``src``, ``dst``, and ``at`` where they tell their times.

Three shapes are taken, by the names of their columns:

- Delta's change data feed, which has ``_change_type`` and ``_commit_version``. A row is deleted in its
  old form and inserted in its new one; within a version of that table, insertions come last.
- Kafka's rows: a JSON object with the four fields in ``value``, where there is no ``src``. Where the object
  has no time, that of the row counts.
- any others: columns that are called so, or as the user says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dyntc_spark.errors import InputError, MissingColumnError, OptionError
from dyntc_spark.graph.inputs.spark_columns import quoted
from dyntc_spark.lazy_pyspark import F, is_frame

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

OP, SRC, DST, AT = "op", "src", "dst", "at"
#: The columns that mark Delta's change data feed, and Kafka's rows.
CHANGE_TYPE, COMMIT_VERSION, VALUE, KAFKA_TIME = "_change_type", "_commit_version", "value", "timestamp"


def as_changes(rows: DataFrame, names: tuple[str, str, str], timestamp: str, vertex: str) -> DataFrame:
    """Return the rows of a stream as changes.

    Parameters
    ----------
    rows
        A streaming DataFrame.
    names
        What ``op``, ``src`` and ``dst`` are called in it, or in the JSON objects.
    timestamp
        What the time is called; rows without it have no order.
    vertex
        Spark's name of the type of the vertices, which JSON does not tell.
    """
    if not is_frame(rows) or not rows.isStreaming:
        came = "one that is no stream" if is_frame(rows) else type(rows).__name__
        raise InputError("a streaming DataFrame", came, "Read it with spark.readStream; a table goes to apply().")
    if not all(isinstance(name, str) and name for name in (*names, timestamp)):
        raise OptionError("names of columns", f"{(*names, timestamp)!r:.80}", "Give strings.")
    op, src, dst = names
    if CHANGE_TYPE in rows.columns:
        return _of_feed(rows, src, dst)
    if VALUE in rows.columns and src not in rows.columns:
        return _of_json(rows, names, timestamp, vertex)
    _require(rows, *names)
    found = [_column(op).alias(OP), _column(src).alias(SRC), _column(dst).alias(DST)]
    return rows.select(*found, *([_column(timestamp).alias(AT)] if timestamp in rows.columns else []))


def _of_feed(rows: DataFrame, src: str, dst: str) -> DataFrame:
    _require(rows, src, dst, COMMIT_VERSION)
    kind = F.col(CHANGE_TYPE)
    inserted = kind.isin("insert", "update_postimage")
    at = 2 * F.col(COMMIT_VERSION).cast("bigint") + inserted.cast("bigint")
    return rows.select(kind.alias(OP), _column(src).alias(SRC), _column(dst).alias(DST), at.alias(AT))


def _of_json(rows: DataFrame, names: tuple[str, str, str], timestamp: str, vertex: str) -> DataFrame:
    op, src, dst = names
    schema = f"{quoted(op)} string, {quoted(src)} {vertex}, {quoted(dst)} {vertex}, {quoted(timestamp)} string"
    said = F.from_json(F.col(VALUE).cast("string"), schema)
    time = said.getField(timestamp)
    seconds = [time.try_cast("double"), F.unix_micros(time.try_cast("timestamp")) / 1e6]
    if KAFKA_TIME in rows.columns:
        seconds.append(F.unix_micros(F.col(KAFKA_TIME).cast("timestamp")) / 1e6)
    fields = [said.getField(name).alias(as_name) for name, as_name in ((op, OP), (src, SRC), (dst, DST))]
    return rows.select(*fields, F.coalesce(*seconds).alias(AT))


def _require(rows: DataFrame, *names: str) -> None:
    for name in names:
        if rows.columns.count(name) != 1:
            raise MissingColumnError(
                f"a stream with the columns {', '.join(names)}, each once",
                f"{rows.columns.count(name) or 'no'} {name!r} among {rows.columns}",
                "Name them with op=, src=, dst= and timestamp=, or rename them; other columns do no harm.",
            )


def _column(name: str) -> Column:
    return F.col(quoted(name))
