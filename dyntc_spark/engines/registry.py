"""Which engines there are, by the names that users choose them by, and how one is made.

To add an engine, add its name and the place of its class to ``ENGINES``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.engines.auto_backend import AutoBackend
from dyntc_spark.engines.base import Engine
from dyntc_spark.errors import OptionError
from dyntc_spark.session import session_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Engines(MutableMapping[str, type[Engine]]):
    """Engines by their names; a class is imported when it is first asked for, for most users need one of them."""

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._known: dict[str, type[Engine] | str] = dict(homes)

    def __getitem__(self, name: str) -> type[Engine]:
        """Return the class of an engine."""
        found = self._known[name]
        if isinstance(found, str):
            module, _, kind = found.partition(":")
            found = self._known[name] = cast("type[Engine]", getattr(import_module(f"{__package__}.{module}"), kind))
        return found

    def __setitem__(self, name: str, kind: type[Engine]) -> None:
        self._known[name] = kind

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


#: The engines: each is made with the backend that its state is on, by default this process.
ENGINES = Engines(
    {
        "lanes": "lanes.engine:Lanes",
        "recompute": "recompute:Recompute",
        "path_counting": "algebraic.path_counting:PathCounting",
        "algebraic": "algebraic.engine:Algebraic",
        "logarithmic": "deterministic.logarithmic:Logarithmic",
        "divide_conquer": "deterministic.divide_conquer:DivideConquer",
        "centres": "deterministic.centres:Centres",
    }
)
#: Other names of engines. ``"auto"`` is the one that suits most graphs; ``"refresh"`` was that of version 0.1.
ALIASES = {"auto": "lanes", "refresh": "lanes"}
BACKENDS = ("auto", "local", "spark")
#: Bytes that a state may take in this process before ``backend="auto"`` moves it to Spark.
BUDGET = 2**30


def create(
    name: str,
    backend: str = "local",
    spark: SparkSession | SparkBackend | None = None,
    budget: int = BUDGET,
) -> Engine:
    """Make the engine called ``name`` with an empty graph.

    Parameters
    ----------
    name
        One of ``ENGINES`` or ``ALIASES``.
    backend
        ``"local"``: the state is in this process; ``"spark"``: on Spark; ``"auto"``: in this process while it fits
        the ``budget``.
    spark
        The session for a state on Spark; by default the active one, else a local one that is started when needed.
    budget
        Bytes that the state may take in this process, for ``backend="auto"``.

    Examples
    --------
    >>> create("centres").name, create("auto").name
    ('centres', 'lanes')
    """
    if name not in {*ALIASES, *ENGINES}:
        raise OptionError(
            f"an engine called {', '.join(repr(known) for known in ('auto', *sorted(ENGINES)))}",
            f"{name!r}",
            "Leave the engine out to have one chosen.",
        )
    if backend not in BACKENDS:
        names = ", ".join(map(repr, BACKENDS))
        raise OptionError(f"a backend called {names}", f"{backend!r}", "Leave it out to have one chosen.")
    if budget < 0:
        raise OptionError("a budget of 0 bytes or more", f"{budget}", "Leave it out for 1 GiB.")
    on_spark = cache(lambda: spark if isinstance(spark, SparkBackend) else SparkBackend(session_for(spark)))
    kind = ENGINES[ALIASES.get(name, name)]
    if backend == "auto":
        return AutoBackend(kind, on_spark, budget)
    return kind(on_spark()) if backend == "spark" else kind()
