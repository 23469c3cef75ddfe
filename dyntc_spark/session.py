"""Spark sessions: a local one that just works, and questions to one that the user brought.

:func:`local` starts Spark inside this process with the settings of ``conf/local.conf``. Everything else in the
library takes whatever session it is given, on classic Spark or on Spark Connect, and changes none of its settings.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dyntc_spark import machine
from dyntc_spark.errors import SessionError, SetupError
from dyntc_spark.lazy_pyspark import is_loaded, spark_errors, sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

# One of these variables is set in a process that is to use Spark Connect, or has used it.
_CONNECT = {"SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE"}

_MOST_MEMORY = 8 << 30  # bytes: more heap than this seldom helps on one machine, Python workers need the rest

# A user's value is added to ours instead of replacing it.
_LISTS = {"spark.jars": ",", "spark.sql.extensions": ",", "spark.driver.extraJavaOptions": " "}


def local(
    cores: int | None = None,
    *,
    memory: str | None = None,
    delta: bool | None = None,
    config: Mapping[str, str] | None = None,
    app_name: str = "dyntc_spark",
) -> SparkSession:
    """Return a Spark session on this machine, started if this process has none yet.

    A session that is already there is returned as it is: the arguments then have no effect on it.

    Parameters
    ----------
    cores
        Tasks that run at the same time; all cores this process may use by default.
    memory
        Heap of the JVM, such as ``"4g"``; half of the machine's memory, at most 8 GiB, by default.
    delta
        Whether Delta tables can be read and written. ``None``: if the extra ``delta`` is installed and its jars,
        kept in Ivy's folder after the first start, are there or can be fetched.
    config
        Further Spark settings. They win over ``conf/local.conf``, except that the jars, SQL extensions and JVM
        options named here are added to ours.
    app_name
        Name of the application.

    Raises
    ------
    SetupError
        There is no Java, no Delta although ``delta=True``, or an argument is out of range.
    SessionError
        This process uses Spark Connect, and Spark does not run both in one process.

    Examples
    --------
    >>> spark = local(2)
    >>> spark.range(5).count()
    5
    >>> local(1) is spark
    True
    """
    if sql.is_remote():
        raise SessionError(
            "a process that does not use Spark Connect",
            "one that does (a remote session was made here, or SPARK_REMOTE is set)",
            "Use the remote session, or start the local one in another process.",
        )
    existing = _active()
    if existing is not None:
        return existing
    chosen = config or {}
    cores = _cores(cores)
    settings = {
        **_read_conf("local"),
        "spark.master": f"local[{cores}]",
        "spark.app.name": app_name,
        "spark.driver.memory": _memory(memory),
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
        "spark.sql.warehouse.dir": str(machine.scratch() / "warehouse"),
        "spark.driver.extraJavaOptions": " ".join(
            [
                f"-Dlog4j2.configurationFile={(_conf_dir() / 'log4j2.properties').as_uri()}",
                f'-Dderby.system.home="{machine.scratch()}"',
            ]
        ),
    }
    with machine.environment():
        jars = machine.delta_jars(delta, Path(chosen.get("spark.jars.ivy", machine.ivy_dir())))
        if jars:
            with_delta = {**_read_conf("delta"), "spark.jars": ",".join(str(jar) for jar in jars)}
            spark = _start({**settings, **with_delta}, chosen)
            if _has_catalog(spark):
                return spark
            spark.stop()
            if delta:
                raise SetupError(
                    "a JVM that was started with Delta's jars",
                    "the one that an earlier session of this process left",
                    "Call local() before anything else starts Spark.",
                )
        return _start(settings, chosen)


def session_for(given: SparkSession | None) -> SparkSession:
    """Return the session to work in: the ``given`` one, else the active one, else a local one that is started now."""
    if given is not None:
        ensure_open(given)
        return given
    if not sql.is_remote():
        return local()
    try:
        return sql.SparkSession.active()
    except spark_errors.PySparkRuntimeError:
        return _remote()


def session_at_hand(given: SparkSession | None) -> SparkSession | None:
    """Return the session that `session_for` would return; None where a local one would have to be started."""
    if given is not None or (not _CONNECT.isdisjoint(os.environ) and sql.is_remote()):
        return session_for(given)
    return _active() if is_loaded() else None


def is_connect(spark: SparkSession) -> bool:
    """Return whether ``spark`` is a Spark Connect session, which has neither RDDs nor a JVM in this process.

    Examples
    --------
    >>> is_connect(local())
    False
    """
    return any(kind.__module__.startswith("pyspark.sql.connect") for kind in type(spark).__mro__)


def parallelism(spark: SparkSession) -> int:
    """Return how many partitions a matrix with plenty of blocks should get.

    That is the session's ``spark.sql.shuffle.partitions``, or 8 where this is no number (serverless Spark says
    ``auto``). It starts no job.

    Examples
    --------
    >>> spark = local()
    >>> parallelism(spark) == int(spark.conf.get("spark.sql.shuffle.partitions"))
    True
    """
    try:
        return int(spark.conf.get("spark.sql.shuffle.partitions", "8") or 8)
    except ValueError:
        return 8


@contextmanager
def beside(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Return a session like ``spark`` with some settings of its own; those of ``spark`` stay as they are.

    It is ``spark`` itself where a session cannot be copied, or does not take the settings (serverless Spark).

    Examples
    --------
    >>> spark, key = local(), "spark.sql.sources.parallelPartitionDiscovery.parallelism"
    >>> with beside(spark, {key: "1"}) as other:
    ...     other.conf.get(key), spark.conf.get(key)
    ('1', '10000')
    """
    remote = is_connect(spark)
    if remote and not hasattr(spark, "cloneSession"):
        yield spark
        return
    other = spark.cloneSession() if remote else _copy(spark)  # type: ignore[attr-defined]
    try:
        try:
            for key, value in settings.items():
                other.conf.set(key, value)
        except spark_errors.PySparkException as error:
            _log.debug("a session beside the user's takes no settings: %s", error)
            yield spark
        else:
            yield other
    finally:
        if remote:
            other.client.release_session()
            other.client.close()


def ensure_open(spark: SparkSession) -> None:
    """Raise :class:`SessionError` if ``spark`` has been stopped; start no job.

    Examples
    --------
    >>> ensure_open(local())
    """
    if not hasattr(spark, "createDataFrame"):
        raise SessionError("a Spark session", f"{spark!r:.80}", "Give the one of SparkSession.builder.getOrCreate().")
    if not is_open(spark):
        raise SessionError(
            "an open Spark session",
            "one that has been stopped",
            "Start another one, for example with dyntc_spark.session.local(). A closure goes on there after "
            "c.use(spark); DataFrames and matrices of the old session have to be made again.",
        )


def is_from_spark(error: Exception) -> bool:
    """Return whether an error is one that Spark has raised, by way of Python or of the JVM.

    Examples
    --------
    >>> is_from_spark(ValueError())
    False
    """
    # By name: py4j is not there where only Spark Connect's client is installed.
    package = type(error).__module__.partition(".")[0]
    return package in {"py4j", "grpc"} or (is_loaded() and isinstance(error, spark_errors.PySparkException))


def _read_conf(name: str) -> dict[str, str]:
    """Return the settings in ``conf/<name>.conf``.

    Examples
    --------
    >>> _read_conf("local")["spark.sql.session.timeZone"]
    'UTC'
    """
    lines = (_conf_dir() / f"{name}.conf").read_text(encoding="utf-8").splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def _start(settings: Mapping[str, str], chosen: Mapping[str, str]) -> SparkSession:
    """Start a session with our ``settings`` and those that the user has ``chosen``."""
    joined = {
        key: separator.join((settings[key], chosen[key]))
        for key, separator in _LISTS.items()
        if key in settings and key in chosen
    }
    return sql.SparkSession.builder.config(map={**settings, **chosen, **joined}).getOrCreate()


def _has_catalog(spark: SparkSession) -> bool:
    """Return whether the class of the session's catalog is on the class path; without it no query runs at all."""
    try:
        spark.catalog.currentDatabase()
    except Exception:  # noqa: BLE001  (a session without Delta is better than none)
        return False
    return True


def _copy(spark: SparkSession) -> SparkSession:
    """Return a new session of the same process with the settings, the catalog and the schema of another."""
    other = spark.newSession()
    known = other.conf.getAll
    for key, value in spark.conf.getAll.items():
        if known.get(key) != value and other.conf.isModifiable(key):
            other.conf.set(key, value)
    other.catalog.setCurrentCatalog(spark.catalog.currentCatalog())
    other.catalog.setCurrentDatabase(spark.catalog.currentDatabase())
    return other


def _active() -> SparkSession | None:
    try:
        spark = sql.SparkSession.active()
    except spark_errors.PySparkRuntimeError:
        return None
    return spark if is_open(spark) else None


def _remote() -> SparkSession:
    """Return a session at the server that SPARK_REMOTE names."""
    try:
        return sql.SparkSession.builder.getOrCreate()
    except spark_errors.PySparkRuntimeError as error:
        raise SessionError(
            "a Spark session",
            f"none: {error}",
            "Make one with SparkSession.builder.remote(url).getOrCreate(), or name the server in SPARK_REMOTE.",
        ) from error


def is_open(spark: SparkSession) -> bool:
    """Return whether ``spark`` has not been stopped; start no job."""
    if is_connect(spark):
        return not spark.is_stopped  # type: ignore[attr-defined]
    try:
        spark.range(1)  # asks the context for its parallelism
    except (AttributeError, OSError):  # there is no JVM any more
        return False
    except Exception as error:
        if is_from_spark(error):
            return False
        raise
    return True


def _conf_dir() -> Path:
    """Return the folder of the settings: in an installed package inside it, in a source tree beside it."""
    package = Path(__file__).resolve().parent
    inside = package / "conf"
    return inside if inside.is_dir() else package.parent / "conf"


def _cores(asked: int | None) -> int:
    if asked is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if asked < 1:
        raise SetupError("at least 1 core", str(asked), "Leave cores out to use them all.")
    return asked


def _memory(asked: str | None) -> str:
    if asked is None:
        return f"{min(machine.memory() // 2, _MOST_MEMORY) >> 20}m"
    if not re.fullmatch(r"[1-9]\d*[kmgtKMGT]", asked):
        raise SetupError("memory as a number and a unit, such as '4g' or '800m'", repr(asked), "Write it that way.")
    return asked
