"""Run a part of the tests with several versions of Python and pyspark, each pair in an environment of its own.

    python3 run.py matrix              each version once, and one environment without pyspark
    python3 run.py matrix --all        every version of Python with every version of pyspark
    python3 run.py matrix 3.12/4.1     these pairs; 3.12/none is without pyspark

Kernels are compiled first, so that the tests run machine code. Versions of Python that this machine lacks are left
out, and the table at the end says so. It uses the standard library only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
SPARKS = ("4.0", "4.1", "4.2", "4.3")
NONE = "none"
TOOLS = ("hypothesis>=6.150,<7", "networkx>=3.4,<4", "pytest>=8.4,<10")
#: What the closure is worked out by, and the questions that it is there for, on classic Spark.
TESTS = ("tests/kernels/test_lanes.py", "tests/test_readme.py", "tests/graph/test_questions_spark.py")
SHOWN = ("numba", "numpy", "pyarrow")


def main(arguments: list[str]) -> int:
    """Run the pairs that the arguments name; 0 if all of them that can be run pass."""
    if arguments == ["--all"]:
        pairs = [*product(PYTHONS, SPARKS), (PYTHONS[0], NONE)]
    elif arguments:
        pairs = [(python, spark) for python, _, spark in (pair.partition("/") for pair in arguments)]
    else:
        pairs = [*zip(PYTHONS, SPARKS, strict=True), (PYTHONS[0], NONE)]
    words = [shutil.which("git") or "git", "describe", "--always", "--dirty"]
    commit = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    rows = [(python, spark, *outcome(python, spark)) for python, spark in pairs]
    print(f"\nCommit {commit.strip()}:\n\n| Python | pyspark | {' | '.join(SHOWN)} | outcome |\n|---|---|{'---|' * 4}")
    print(*(f"| {' | '.join(row)} |" for row in rows), sep="\n")
    return int(any("failed" in row for row in rows))


def outcome(version: str, spark: str) -> tuple[str, ...]:
    """Make an environment, compile the kernels and run the tests there; return versions and what came of it."""
    found = interpreter(version)
    if found is None:
        return ("",) * len(SHOWN) + ("not run: no such Python here",)
    with tempfile.TemporaryDirectory(prefix="dyntc-matrix-") as folder:
        python = Path(folder, "venv", "bin", "python")
        variables = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "SPARK_HOME"}}
        variables["NUMBA_CACHE_DIR"] = str(Path(folder, "kernels"))
        needed = [str(ROOT)] if spark == NONE else [f"{ROOT}[spark]", f"pyspark=={spark}.*", *TOOLS]
        steps = [
            [found, "-m", "venv", str(python.parents[1])],
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *needed],
            [python, "-c", "import sys; from dyntc_spark.cli.main import main; sys.exit(main(['warm-up']))"],
        ]
        if spark == NONE:
            steps.append([python, str(ROOT / "tests" / "without_pyspark.py"), folder])
        else:
            # Warnings are no errors here: pyspark 4.0 leaves sockets open itself.
            steps.append([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "default", *TESTS])
        for step in steps:
            print(f"== Python {version}, pyspark {spark}:", *map(str, step[1:4]), flush=True)
            if subprocess.run(step, cwd=ROOT, env=variables, check=False).returncode:
                return (*versions(python), "failed")
        return (*versions(python), "passed")


def interpreter(version: str) -> str | None:
    """Return a Python of this version: on PATH, or kept by pyenv or uv; None where there is none."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    kept = [str(path) for path in sorted(root.glob(f"{version}.*/bin/python{version}"))]
    if shutil.which("uv"):
        words = ["uv", "python", "find", "--no-python-downloads", version]
        kept += subprocess.run(words, capture_output=True, text=True, check=False).stdout.split()
    candidates = [*kept, shutil.which(f"python{version}") or ""]
    return next((each for each in candidates if each and works(each, version)), None)


def works(python: str, version: str) -> bool:
    """Return whether a command starts the Python that it is called after; pyenv's may not."""
    words = [python, "-c", "import sys, venv, ensurepip; print('{}.{}'.format(*sys.version_info))"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip() == version


def versions(python: Path) -> list[str]:
    """Return the versions of what is shown that are installed there."""
    names = ", ".join(map(repr, SHOWN))
    words = [python, "-c", f"import importlib.metadata as m; print(*(m.version(name) for name in ({names})))"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.split() or [""] * len(SHOWN)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
