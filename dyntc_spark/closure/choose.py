"""Which engines there are, by the names that users choose them by, and how one is made.

To add an engine, add its class to ``ENGINES``. One that ``engine="auto"`` may choose
brings an estimate of what a batch costs (`Engine.seconds`) and stands in ``CANDIDATES``.
"""

from __future__ import annotations

from functools import cache

from pyspark.sql import SparkSession

from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.closure.algebraic import Algebraic
from dyntc_spark.closure.auto import Auto, Where
from dyntc_spark.closure.centres import Centres
from dyntc_spark.closure.costs import Costs
from dyntc_spark.closure.divide_conquer import DivideConquer
from dyntc_spark.closure.engine import Engine
from dyntc_spark.closure.logarithmic import Logarithmic
from dyntc_spark.closure.path_counting import PathCounting
from dyntc_spark.closure.recompute import Recompute
from dyntc_spark.closure.refresh import Refresh
from dyntc_spark.errors import OptionError
from dyntc_spark.session import session_for

#: The engines: each is made with the backend that its state is on, by default this process.
ENGINES: dict[str, type[Engine]] = {
    engine.name: engine for engine in (Recompute, Refresh, PathCounting, Algebraic, Logarithmic, DivideConquer, Centres)
}
#: Those that ``"auto"`` chooses among; it starts with the first, which builds from scratch where that is faster.
CANDIDATES: tuple[type[Engine], ...] = (Refresh, Algebraic)
BACKENDS = ("auto", "local", "spark")
#: Bytes that a state may take in this process before ``backend="auto"`` moves it to Spark.
BUDGET = 2**30


def create(
    name: str,
    backend: str = "local",
    spark: SparkSession | SparkBackend | None = None,
    budget: int = BUDGET,
    costs: Costs | None = None,
) -> Engine:
    """Make the engine called ``name`` with an empty graph.

    Parameters
    ----------
    name
        One of ``ENGINES``, or ``"auto"`` to have one chosen, and another one when the graph has changed.
    backend
        ``"local"``: the state is in this process; ``"spark"``: on Spark; ``"auto"``: in this process while it fits
        the ``budget``.
    spark
        The session for a state on Spark; by default the active one, else a local one that is started when needed.
    budget
        Bytes that the state may take in this process, for ``backend="auto"``.
    costs
        What single steps take on this machine, for ``name="auto"``; see ``calibrate``.

    Examples
    --------
    >>> create("refresh").name, create("auto").current.name
    ('refresh', 'refresh')
    """
    if name not in {"auto", *ENGINES}:
        raise OptionError(
            f"an engine called {', '.join(repr(known) for known in ('auto', *sorted(ENGINES)))}",
            f"{name!r}",
            "Leave the engine out to have one chosen.",
        )
    if backend not in BACKENDS:
        names = ", ".join(map(repr, BACKENDS))
        raise OptionError(f"a backend called {names}", f"{backend!r}", "Leave it out to have one chosen.")
    if budget < 0:
        raise OptionError("a budget of so many bytes", f"{budget}", "Leave it out for 1 GiB.")
    on_spark = cache(lambda: spark if isinstance(spark, SparkBackend) else SparkBackend(session_for(spark)))
    if name != "auto" and backend != "auto":
        kind = ENGINES[name]
        return kind(on_spark()) if backend == "spark" else kind()
    candidates = CANDIDATES if name == "auto" else (ENGINES[name],)
    return Auto(candidates, Where(backend, on_spark, budget), costs)
