"""Numba's cache: a new process loads machine code, and a read-only installation still works."""

import json
import subprocess
import sys

import numba
import pytest

from dyntc_spark.kernels import compile as compile_module

CALL = """
import json
import numpy as np
from dyntc_spark.kernels import bits
bits.count(np.ones((2, 3), np.uint64))
print(json.dumps([sum(bits._count.stats.cache_hits.values()), sum(bits._count.stats.cache_misses.values())]))
"""


def test_a_second_process_loads_what_the_first_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    hits_and_misses = [
        json.loads(subprocess.run([sys.executable, "-c", CALL], capture_output=True, check=True, text=True).stdout)
        for _ in range(2)
    ]
    assert hits_and_misses == [[0, 1], [1, 0]]


@pytest.fixture
def _cache_dir():
    before = numba.config.CACHE_DIR
    yield
    numba.config.CACHE_DIR = before


@pytest.mark.usefixtures("_cache_dir")
def test_where_nothing_beside_the_package_is_writable_the_cache_lies_in_the_temporary_folder(tmp_path, monkeypatch):
    njit = numba.njit

    def refuse_first(**options):
        monkeypatch.setattr(numba, "njit", njit)

        def decorate(_function):
            raise RuntimeError("cannot cache function: no locator available")

        assert options["cache"]
        return decorate

    monkeypatch.setattr(numba, "njit", refuse_first)
    monkeypatch.setattr(compile_module.tempfile, "gettempdir", lambda: str(tmp_path))
    double = compile_module.compiled(_double)
    assert double(21) == 42
    assert list(tmp_path.rglob("*.nbi"))


def _double(number):
    return 2 * number
