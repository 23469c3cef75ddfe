"""Uses of a closure that cannot work, and what to do instead."""

from __future__ import annotations

from typing import NoReturn

from dyntc_spark.closure.engine import Engine
from dyntc_spark.errors import CopyError, InputError


def require_engine(given: object) -> None:
    """Raise the error that names ``from_edges`` where edges, or whatever else, are given to the class itself."""
    if not isinstance(given, Engine):
        raise InputError(
            "an engine, as from_edges() and open() make one",
            type(given).__name__,
            "Use DynamicClosure.from_edges(edges).",
        )


def refuse_copy(closure: str) -> NoReturn:
    """Raise the error for a closure that is pickled, copied, or held by a function that Spark is to run."""
    raise CopyError(
        "a closure that stays in its process",
        f"a copy of {closure}, or a function for Spark that holds it",
        "Save it and open it there; for a copy here, build one from c.arrow.edges(); "
        "in a function for Spark, join with c.pairs() or call c.query(pairs).",
    )
