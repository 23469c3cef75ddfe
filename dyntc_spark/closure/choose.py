"""Which engines there are, by the names that users choose them by."""

from __future__ import annotations

from collections.abc import Callable

from dyntc_spark.closure.engine import Engine
from dyntc_spark.closure.path_counting import PathCounting
from dyntc_spark.closure.recompute import Recompute
from dyntc_spark.closure.refresh import Refresh
from dyntc_spark.errors import OptionError

#: Makes an engine with an empty graph.
ENGINES: dict[str, Callable[[], Engine]] = {engine.name: engine for engine in (Recompute, Refresh, PathCounting)}


def create(name: str) -> Engine:
    """Make the engine called ``name``; ``"auto"`` takes the one that suits most graphs.

    Examples
    --------
    >>> create("auto").name
    'refresh'
    """
    maker = ENGINES.get(Refresh.name if name == "auto" else name)
    if maker is None:
        raise OptionError(
            f"an engine called {', '.join(repr(known) for known in ('auto', *sorted(ENGINES)))}",
            f"{name!r}",
            "Leave the engine out to have one chosen.",
        )
    return maker()
