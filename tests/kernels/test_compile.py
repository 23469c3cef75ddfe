"""Numba's cache: a new process loads machine code, a changed kernel is compiled again, folders of others are left."""

import json
import os
import subprocess
import sys

import numba
import pytest

from dyntc_spark.kernels import compile as compile_module
from dyntc_spark.kernels import plain_first

CALL = """
import json
import numpy as np
from dyntc_spark.kernels import bits, plain_first
plain_first.PATIENCE = 0
bits.count(np.ones((2, 3), np.uint64))
print(json.dumps([sum(bits._count.stats.cache_hits.values()), sum(bits._count.stats.cache_misses.values())]))
"""


@pytest.mark.long
def test_a_second_process_loads_what_the_first_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    hits_and_misses = [
        json.loads(subprocess.run([sys.executable, "-c", CALL], capture_output=True, check=True, text=True).stdout)
        for _ in range(2)
    ]
    assert hits_and_misses == [[0, 1], [1, 0]]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of two kernel files, and no folder chosen yet."""
    (tmp_path / "kernel.py").write_text("@compiled\n")
    (tmp_path / "plain.py").write_text("x = 1\n")
    monkeypatch.setattr(compile_module, "_package", lambda: tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    compile_module._cache_folder.cache_clear()
    yield tmp_path
    compile_module._cache_folder.cache_clear()


def test_the_folder_changes_with_the_kernels_and_with_nothing_else(package):
    first = compile_module._cache_folder()
    compile_module._cache_folder.cache_clear()
    (package / "plain.py").write_text("x = 2\n")
    assert compile_module._cache_folder() == first
    compile_module._cache_folder.cache_clear()
    (package / "kernel.py").write_text("@compiled\n# another\n")
    second = compile_module._cache_folder()
    assert second != first
    compile_module._cache_folder.cache_clear()
    (package / "plain.py").write_text("@inner\n")
    assert compile_module._cache_folder() not in {first, second}


def test_where_the_package_cannot_be_written_the_cache_lies_elsewhere(package, tmp_path_factory, monkeypatch):
    (package / "__pycache__").write_text("not a folder")
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setattr(compile_module.Path, "home", lambda: home)
    monkeypatch.setattr(plain_first, "PATIENCE", 0)
    double = compile_module.compiled(_double)
    assert double(21) == 42
    assert list(home.rglob("*.nbi"))
    assert numba.config.CACHE_DIR == ""


def test_where_no_folder_is_private_nothing_is_cached(package, tmp_path_factory, monkeypatch, caplog):
    temporary = tmp_path_factory.mktemp("tmp")
    prepared = temporary / f"dyntc-numba-{os.getuid()}"
    prepared.mkdir()
    for folder in (package / "__pycache__", package / ".cache", prepared):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)
    monkeypatch.setattr(compile_module.Path, "home", lambda: package)
    monkeypatch.setattr(compile_module.tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(plain_first, "PATIENCE", 0)
    double = compile_module.compiled(_double)
    assert double(21) == 42
    assert not [*package.rglob("*.nbi"), *temporary.rglob("*.nbi")]
    for folder in (package / "__pycache__", package / ".cache", prepared):
        assert f"'{folder}' can be written by others" in caplog.text
    assert "NUMBA_CACHE_DIR can name another one" in caplog.text


def _double(number):
    return 2 * number
