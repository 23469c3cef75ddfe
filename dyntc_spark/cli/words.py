"""Errors in the words of the command line: flags and commands, where Python has parameters and methods."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from dyntc_spark.errors import (
    ConflictError,
    DamagedFileError,
    DyntcError,
    LocationError,
    RedundantChangeError,
    UnknownVertexError,
)


def in_words(error: DyntcError, options: Namespace) -> str:
    """Return what an error says, with the remedy that the command line has for it.

    Examples
    --------
    >>> error = UnknownVertexError("a vertex of the graph", "'x', which the graph does not have", "See reaches.")
    >>> print(in_words(error, Namespace(command="explain")))
    expected a vertex of the graph; got 'x', which the graph does not have. Check its spelling.
    """
    remedy = _remedy(error, options)
    if remedy is None:
        return str(error)
    return str(DyntcError(error.expected.replace("strict=True", "--strict"), error.came, remedy))


def _remedy(error: DyntcError, options: Namespace) -> str | None:
    """Return what a user of a command can do; None where the error says so itself."""
    if isinstance(error, UnknownVertexError):
        asked = options.command == "query" and (options.vertices or options.pairs)
        return "Check its spelling" + ("; with --unknown false the answer is no." if asked else ".")
    if isinstance(error, RedundantChangeError):
        return "Leave --strict out to have such changes counted instead."
    if isinstance(error, ConflictError):
        return "Nothing has changed. Run the command again: it starts from the last version."
    if isinstance(error, DamagedFileError) and options.command != "repair":
        return f"Restore the file from a copy, or run: dyntc repair {options.store}."
    if isinstance(error, LocationError) and error.came == "none":
        return _build_it(options)
    return None


def _build_it(options: Namespace) -> str:
    """Say how to make a closure, and where the folder stands among the arguments."""
    old = sorted(Path(options.store).glob("[0-9]*/edges.parquet"))
    if old:
        return f"It is a folder of release 0.1: dyntc build {old[-1]} NEW."
    path = Path(options.store)
    told = f"Build it: dyntc build {path.name if path.is_file() else 'EDGES'} STORE."
    orders = {"apply": "CHANGES come first, then STORE", **dict.fromkeys(("query", "explain"), "STORE comes first")}
    if options.command not in orders:
        return told
    return f"{told} {orders[options.command]}: dyntc {options.command} --help."
