"""Where only Spark Connect's client is installed, there is neither py4j nor a JVM; the library needs neither."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

import dyntc_spark
from tests.conftest import connect_server

ROOT = Path(__file__).parents[1]
PACKAGE = Path(dyntc_spark.__file__).parent
SOURCES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}

# --- the sources -----------------------------------------------------------------------------

#: What leads to the JVM, or is not there on Spark Connect.
BEHIND_THE_API = {"_jvm", "_jsc", "_jdf", "_jsparkSession", "_sc", "_gateway", "sparkContext", "rdd"}


def shortcuts(text):
    """Yield everything in a module that goes around the DataFrame API."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr in BEHIND_THE_API:
            yield node.attr
        names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        yield from (
            name for name in names if re.match(r"py4j|pyspark\.(core|rdd|context|java_gateway|sql\.classic)", name)
        )


@pytest.mark.long
@pytest.mark.parametrize("name", SOURCES)
def test_no_source_goes_around_the_dataframe_api(name):
    assert list(shortcuts(SOURCES[name].read_text(encoding="utf-8"))) == []


def test_what_would_be_found():
    text = "import py4j.protocol\nfrom pyspark.rdd import RDD\nspark._jvm.java\nspark.sparkContext.stop()\nframe.rdd"
    assert sorted(shortcuts(text)) == ["_jvm", "py4j.protocol", "pyspark.rdd", "rdd", "sparkContext"]


# --- without the modules ---------------------------------------------------------------------

WITHOUT = """
import importlib, pkgutil, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "py4j" or name in ("pyspark.core", "pyspark.sql.classic"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import dyntc_spark
from dyntc_spark import DynamicClosure
from dyntc_spark.errors import SessionError

for module in pkgutil.walk_packages(dyntc_spark.__path__, "dyntc_spark."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
c = DynamicClosure.from_edges([("a", "b"), ("b", "c")])
c.apply([("delete", "b", "c"), ("insert", "a", "d")])
assert (c.reaches("a", "d"), c.reaches("a", "c"), c.arrow.pairs().num_rows) == (True, False, 2)
try:
    c.pairs()
except SessionError as error:
    print(error)
"""


@pytest.mark.long
def test_everything_is_imported_and_a_closure_works_without_py4j(monkeypatch):
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    ran = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert re.match(
        r"expected a Spark session; got none: \[CONNECT_URL_NOT_SET\] .* Make one with SparkSession\.builder\.remote",
        ran.stdout,
    ), ran.stderr


# --- for real --------------------------------------------------------------------------------

MORE = """
import importlib.util
from pyspark.sql import SparkSession
from dyntc_spark import DynamicClosure

spark = SparkSession.active()
c = DynamicClosure.from_edges(spark.range(50).selectExpr("id AS src", "id + 1 AS dst"), backend="spark")
c.apply([("delete", 20, 21), ("insert", 60, 0)])
assert c.pairs().count() == c.arrow.pairs().num_rows == 21 * 20 // 2 + 30 * 29 // 2 + 21
assert c.query(spark.sql("SELECT 60L AS src, 20L AS dst")).first().reachable
c.create_views("numbers")
assert spark.sql("SELECT count(*) FROM numbers_descendants(10)").first()[0] == 10
assert importlib.util.find_spec("py4j") is None
print("fine")
"""


@pytest.mark.slow
def test_the_readme_runs_on_the_client_alone(tmp_path):
    """Install the extra for Spark Connect, and run the README's code against a server."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "thin"], check=True)
    python = tmp_path / "thin" / "bin" / "python"
    words = [f"{ROOT}[connect]", f"pyspark-client=={pyspark.__version__}"]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *words], check=True)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    example = tmp_path / "example.py"  # given with -c, the client looks for Spark itself and does not find it
    example.write_text("\n".join([*re.findall(r"(?ms)^```python\n(.*?)^```$", readme), MORE]), encoding="utf-8")
    with connect_server(tmp_path) as url:
        variables = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "SPARK_HOME"}}
        ran = subprocess.run(
            [python, example],
            cwd=tmp_path,
            env={**variables, "SPARK_REMOTE": url},
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.stdout.startswith("True\nFalse\n"), ran.stderr
    assert ran.stdout.endswith("fine\n"), ran.stderr
