"""Columns: what a superstep asks of Spark itself, as conditions, schemas and functions of columns.

Conditions are texts: one call hands a whole one over, while each operator of a ``Column`` is
a dozen calls to the JVM, which over hundreds of matrices took longer than the job.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntc_spark.blocks import workers
from dyntc_spark.blocks.superstep import Kind
from dyntc_spark.blocks.where import Where
from dyntc_spark.errors import EntryValueError
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.lazy_pyspark import F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

INTEGERS = {"tinyint", "smallint", "int", "bigint"}
#: A row of a relation: a number, and the numbers that it is related to.
ROWS = "number int, reached array<int>"
LEAST_NUMBERS = 11  #: Spark compiles a shorter list of constants into the query, each time again
LONG_LIST, MOST_RUNS = 1000, 100  #: more numbers than this are named by their runs, if these are few


def arrow_columns(
    frame: DataFrame, touched: str, inputs: tuple[str, ...], update: Callable[..., Any], schema: str
) -> DataFrame:
    """Add the column ``new``: what ``update`` makes of the inputs, which reach Python only where ``touched``."""
    make = getattr(F, "arrow_udf", None)
    if make is None:  # Spark 4.0
        kept = tuple(frame.columns)
        types = ", ".join(f"{name} {type_}" for name, type_ in frame.dtypes)
        return frame.mapInArrow(workers.in_batches(update, inputs, kept), f"{types}, new {schema}")
    arguments = [F.col(name) if name in {"bi", "bj"} else F.expr(where_true(touched, name)) for name in inputs]
    return frame.withColumn("new", make(update, schema)(*arguments))


def with_no_reports(rows: DataFrame) -> DataFrame:
    """Return rows, of which no task reports anything, as a backend keeps them."""
    return rows.select("*", F.lit(None).cast(workers.REPORT).alias("reports"))


def within(where: Where, block_columns: int) -> str:
    """The condition that a cell is among those of ``where``."""
    conditions = []
    if where.rows is not None:
        conditions.append(among("bi", where.rows))
    if where.columns is not None:
        conditions.append(among("bj", where.columns))
    if where.cells is not None:
        numbers = [bi * block_columns + bj for bi, bj in where.cells]
        conditions.append(among(f"CAST(bi AS BIGINT) * {block_columns} + bj", numbers))
    return all_of(conditions)


def among(expression: str, numbers: Collection[int] | Indices) -> str:
    """The condition that an expression is one of ``numbers``, none of which is negative.

    It is one text, for ``Column.isin`` calls the JVM for each number. Where there are many numbers, and these are few
    runs, it names the runs.

    Examples
    --------
    >>> among("bi", [])
    'FALSE'
    >>> among("bi", range(9, -1, -1))
    'bi IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1)'
    """
    if not len(numbers):
        return "FALSE"
    ascending = np.sort(np.fromiter(numbers, np.int64, len(numbers)))
    breaks = np.flatnonzero(np.diff(ascending) != 1)
    if len(ascending) > LONG_LIST and len(breaks) < MOST_RUNS:
        firsts, lasts = ascending[np.append(0, breaks + 1)], ascending[np.append(breaks, len(ascending) - 1)]
        runs = zip(firsts.tolist(), lasts.tolist(), strict=True)
        return " OR ".join(f"{expression} BETWEEN {first} AND {last}" for first, last in runs)
    padding = range(-1, len(ascending) - LEAST_NUMBERS - 1, -1)
    return f"{expression} IN ({', '.join(map(str, [*ascending.tolist(), *padding]))})"


def where_true(condition: str, name: str) -> str:
    """A column where a condition holds, and null elsewhere."""
    return f"`{name}`" if condition == "TRUE" else f"CASE WHEN {condition} THEN `{name}` END"


def all_of(conditions: Iterable[str]) -> str:
    """The condition that all of them hold, each named once.

    Examples
    --------
    >>> all_of(["bi IN (1)", "TRUE", "bj IN (2, 3)"]), all_of([])
    ('(bi IN (1)) AND (bj IN (2, 3))', 'TRUE')
    """
    needed = [condition for condition in dict.fromkeys(conditions) if condition != "TRUE"]
    return " AND ".join(f"({condition})" for condition in needed) if len(needed) > 1 else "".join(needed) or "TRUE"


def any_of(conditions: Iterable[str]) -> str:
    """The condition that one of them holds at least.

    Examples
    --------
    >>> any_of(["bi IN (1)", "bj IN (2)", "bi IN (1)"]), any_of(["TRUE", "bi IN (1)"]), any_of([])
    ('(bi IN (1)) OR (bj IN (2))', 'TRUE', 'FALSE')
    """
    given = list(dict.fromkeys(conditions))
    if "TRUE" in given:
        return "TRUE"
    return " OR ".join(f"({condition})" for condition in given) if len(given) > 1 else "".join(given) or "FALSE"


def cell_schema(*names: str) -> str:
    """The schema of cells that come out of a task: coordinates, payloads, reports."""
    payloads = ", ".join(f"{name} binary" for name in names)
    return f"bi int, bj int, {payloads}, reports {workers.REPORT}"


def checked_columns(entries: DataFrame, kind: Kind) -> DataFrame:
    """Return ``row, column, value`` as long integers; refuse other columns and types before any job."""
    types = dict(entries.dtypes)
    missing = [name for name in ("row", "column") if name not in types]
    if missing:
        raise EntryValueError("columns 'row' and 'column'", f"{list(types)}", f"Rename a column to {missing[0]!r}.")
    if "values" in types and "value" not in types:
        raise EntryValueError("one column 'value'", "a column 'values'", "Name the residues of one prime 'value'.")
    integers = INTEGERS | ({"boolean"} if not kind.ring.planes else set())
    for name, allowed in (("row", INTEGERS), ("column", INTEGERS), ("value", integers)):
        if name in types and types[name] not in allowed:
            raise EntryValueError(f"integers in column {name!r}", f"{types[name]}", "Cast the column first.")
    value = F.col("value") if "value" in types else F.lit(1)
    return entries.select(
        F.col("row").cast("bigint"), F.col("column").cast("bigint"), value.cast("bigint").alias("value")
    )
