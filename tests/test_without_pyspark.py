"""pyspark is an extra: without it everything works that needs no Spark, and the rest says what to install."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

REFUSAL = re.compile(
    r"^.* \| expected pyspark, .*; got an environment without it\. "
    r'Install it: pip install "dyntc-spark\[spark\]", or "dyntc-spark\[connect\]" .*$',
    re.MULTILINE,
)


def run(python, *words, **options):
    """Run the script; return what it printed."""
    command = [python, "-W", "error", ROOT / "tests" / "without_pyspark.py", *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.long
def test_what_needs_no_spark_does_not_import_it(tmp_path):
    assert run(sys.executable, tmp_path, "--in-process").endswith("shop → django → asgiref\n")


@pytest.mark.long
def test_without_pyspark(tmp_path):
    assert len(REFUSAL.findall(run(sys.executable, tmp_path, "--absent"))) == 10


@pytest.mark.slow
def test_the_wheel_alone(tmp_path):
    """Build the wheel, check it as a package index would, install it into an empty environment, and use it there."""
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT]
    subprocess.run(words, check=True)
    (wheel,) = tmp_path.glob("dyntc_spark-*.whl")
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", wheel], check=True)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    folder = tmp_path / "empty" / "bin"
    subprocess.run([folder / "python", "-m", "pip", "install", "--quiet", wheel], check=True)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    printed = run(folder / "python", tmp_path, cwd=tmp_path, env=environment)
    assert len(REFUSAL.findall(printed)) == 10
    told = subprocess.run(
        [folder / "dyntc", "demo"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert "there is no pyspark here" in told.stdout
    assert "All answers agree." in told.stdout
