"""pyspark, imported when it is first used.

It is no dependency of the package: a platform brings its own, or an extra installs one. Without any, all that
needs no Spark works, and the first question that needs it says what to install. So no module imports pyspark when it
is imported itself, but for the names of its types: what runs goes through the modules that are given here.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dyntc_spark.errors import SetupError

if TYPE_CHECKING:
    from pyspark import errors as spark_errors
    from pyspark import sql
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F  # noqa: N812  (Spark's own convention)
    from pyspark.sql.types import StructType
    from typing_extensions import TypeIs

__all__ = ["F", "is_frame", "is_loaded", "pyspark_module", "row_type", "spark_errors", "sql"]


def pyspark_module(name: str) -> Any:  # noqa: ANN401  (a module is whatever it holds)
    """Import a module of pyspark, or pandas, which comes with it.

    Raises
    ------
    SetupError
        There is none.

    Examples
    --------
    >>> pyspark_module("pyspark.sql.types").LongType()
    LongType()
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in {"pyspark", "pandas"}:
            raise
        raise SetupError(
            f"{error.name}, which this question or change needs",
            "an environment without it",
            'Install it: pip install "dyntc-spark[spark]", or "dyntc-spark[connect]" for the client of a server. '
            "What is asked of .arrow needs no Spark.",
        ) from None


def is_loaded() -> bool:
    """Return whether pyspark was imported by anybody; where it was not, there is no session."""
    return "pyspark.sql" in sys.modules


def is_frame(value: object) -> TypeIs[DataFrame]:
    """Return whether ``value`` is a DataFrame of Spark, classic or Connect; import nothing to find out.

    Examples
    --------
    >>> is_frame([("a", "b")])
    False
    """
    return isinstance(value, getattr(sys.modules.get("pyspark.sql"), "DataFrame", ()))


@cache
def row_type(columns: str) -> StructType:
    """Return the type of rows with these columns, which SQL's words name; Spark parses them once a process.

    Examples
    --------
    >>> from dyntc_spark import session
    >>> spark = session.local()
    >>> row_type("first int, payload binary").names
    ['first', 'payload']
    """
    found: StructType = pyspark_module("pyspark.sql.types").StructType.fromDDL(columns)
    return found


class _Lazy:
    """A module of pyspark that is imported by the first look at one of its names."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        return getattr(pyspark_module(self._name), name)


if not TYPE_CHECKING:
    F = _Lazy("pyspark.sql.functions")
    sql = _Lazy("pyspark.sql")
    spark_errors = _Lazy("pyspark.errors")
