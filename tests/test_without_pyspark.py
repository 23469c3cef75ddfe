"""pyspark is an extra: without it everything works that needs no Spark, and the rest says what to install."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pyspark", "py4j", "delta"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""

IN_PROCESS = """
import io, pathlib, sys
import pyarrow as pa
from dyntc_spark import DynamicClosure
from dyntc_spark.cli.main import main

folder = pathlib.Path(sys.argv[1])
c = DynamicClosure.from_edges([("a", "b"), ("b", "c")])
assert c.reaches("a", "c")
c.apply([("delete", "b", "c"), ("insert", "a", "d")])
assert (c.reaches("a", "d"), c.reaches("a", "c"), c.arrow.pairs().num_rows) == (True, False, 2)
assert c.arrow.changes().num_rows == 3
c.save(str(folder / "location"))
c.insert([("d", "e")])
c.close()
with DynamicClosure.open(str(folder / "location")) as c:
    assert c.arrow.descendants("a")["vertex"].to_pylist() == ["b", "d", "e"]
    assert c.arrow.changes(since=c.version - 1).num_rows == 2
    assert c.verify() and "vertices" in repr(c) and c._repr_html_()
edges = pa.table({"src": [1, 2], "dst": [2, 3]})
assert DynamicClosure.from_edges(edges).distance(1, 3) == 2
(folder / "edges.csv").write_text("src,dst\\nshop,django\\ndjango,asgiref\\n")
assert main(["build", str(folder / "edges.csv"), str(folder / "deps")]) == 0
assert main(["query", str(folder / "deps"), "shop", "asgiref"]) == 0
assert main(["explain", str(folder / "deps"), "shop", "asgiref"]) == 0
assert "pyspark" not in sys.modules
"""

PANDAS = """
import pandas as pd
assert DynamicClosure.from_edges(pd.DataFrame({"src": ["a"], "dst": ["b"]})).reaches("a", "b")
"""

ON_SPARK = """
import importlib, pkgutil
import dyntc_spark
from dyntc_spark.errors import SetupError

for module in pkgutil.walk_packages(dyntc_spark.__path__, "dyntc_spark."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
c = DynamicClosure.from_edges(edges)
questions = {
    "pairs": c.pairs, "edges": c.edges, "explain": lambda: c.explain(1, 3), "query": lambda: c.query([(1, 2)]),
    "on_spark": c.on_spark, "views": lambda: c.create_views("deps"), "changes": c.changes,
    "backend": lambda: DynamicClosure.from_edges(edges, backend="spark"),
    "a table's name": lambda: DynamicClosure.from_edges("main.lineage.edges"),
    "a catalog": lambda: DynamicClosure.open("main.lineage"),
}
for name, ask in questions.items():
    try:
        ask()
    except SetupError as error:
        print(name, "|", error)
    else:
        raise AssertionError(name)
assert c.insert([(3, 4)]).inserted == 1 and c.reaches(1, 4)
"""

REFUSAL = re.compile(
    r"^.* \| expected pyspark, .*; got an environment without it\. "
    r'Install it: pip install "dyntc-spark\[spark\]", or "dyntc-spark\[connect\]" .*$',
    re.MULTILINE,
)


def run(python, script, folder, **options):
    (folder / "script.py").write_text(script, encoding="utf-8")
    words = [python, "-W", "error", folder / "script.py", folder]
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


def test_what_needs_no_spark_does_not_import_it(tmp_path):
    ran = run(sys.executable, IN_PROCESS + PANDAS, tmp_path)
    assert ran.returncode == 0, ran.stderr


def test_without_pyspark(tmp_path):
    ran = run(sys.executable, ABSENT + IN_PROCESS + ON_SPARK, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.endswith("shop → django → asgiref\n" + "\n".join(REFUSAL.findall(ran.stdout)) + "\n")
    assert len(REFUSAL.findall(ran.stdout)) == 10


@pytest.mark.slow
def test_the_wheel_alone(tmp_path):
    """Build the wheel, install it into an empty environment, and use it there."""
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT]
    subprocess.run(words, check=True)
    (wheel,) = tmp_path.glob("dyntc_spark-*.whl")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    python = tmp_path / "empty" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
    ran = run(python, IN_PROCESS + ON_SPARK, tmp_path, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"})
    assert ran.returncode == 0, ran.stderr
    assert len(REFUSAL.findall(ran.stdout)) == 10
    told = subprocess.run(
        [tmp_path / "empty" / "bin" / "dyntc", "demo", "--no-spark"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "All answers agree." in told.stdout
