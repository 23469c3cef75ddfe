"""Uses of a closure that cannot work, and what to do instead."""

from __future__ import annotations

from typing import NoReturn

from dyntc_spark.engines.base import Engine
from dyntc_spark.errors import CopyError, InputError, OptionError

_LONGEST_ID = 500


def required_engine(given: object) -> Engine:
    """Return an engine; anything else that is given to the class itself is an error that says what to call."""
    if isinstance(given, Engine):
        return given
    raise InputError(
        "an engine, as from_edges() and open() make one",
        "nothing" if given is None else type(given).__name__,
        "Use DynamicClosure.from_edges(edges). One that was saved: DynamicClosure.open(location).",
    )


def refuse_copy(closure: str) -> NoReturn:
    """Raise the error for a closure that is pickled, copied, or held by a function that Spark is to run."""
    raise CopyError(
        "a closure that stays in its process",
        f"a copy of {closure}, or a function for Spark that holds it",
        "Save it and open it there; for a copy here, build one from c.arrow.edges(); "
        "in a function for Spark, join with c.pairs() or call c.query(pairs).",
    )


def checked_batch_id(batch_id: str | int) -> str:
    """Return the name of a batch as a text, or refuse one that cannot be remembered."""
    if isinstance(batch_id, bool) or not isinstance(batch_id, str | int) or not 0 < len(str(batch_id)) <= _LONGEST_ID:
        expected = f"a batch_id that is a number or a text of 1 to {_LONGEST_ID} characters"
        raise OptionError(expected, f"{batch_id!r:.80}", "Leave it out where batches are not repeated.")
    return str(batch_id)


def require_kept(keep: int) -> None:
    """Refuse what is no number of versions to keep."""
    if isinstance(keep, bool) or not isinstance(keep, int) or keep < 1:
        raise OptionError("at least 1 version to keep", f"{keep!r:.80}", "The last one has to stay.")
