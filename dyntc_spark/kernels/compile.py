"""Compilation of kernels: numba, cached on disk, so that a worker loads machine code and does not compile.

Numba's own cache looks at the file of a function only; code that was inlined
from another file would stay in it, out of date, after that file has changed. So
the cache has a folder for each version of all kernels together. It lies below
``NUMBA_CACHE_DIR`` if that is set, else beside the package where that is writable,
else in the user's cache directory, else below the temporary directory: a
read-only installation on a cluster must not stop a kernel from being imported.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` in nopython mode at its first call, through the on-disk cache."""
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = _cache_folder()  # type: ignore[attr-defined]
    try:
        return cast("Callable[P, R]", numba.njit(cache=True, nogil=True)(function))
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


@functools.cache
def _cache_folder() -> str:
    """Give the folder for this version of the kernels, made if it is not there yet."""
    for base in _bases():
        folder = base / f"numba-{_fingerprint()}"
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return str(folder)
    return tempfile.mkdtemp(prefix="dyntc-numba-")


def _bases() -> Iterator[Path]:
    if numba.config.CACHE_DIR:  # type: ignore[attr-defined]
        yield Path(numba.config.CACHE_DIR)  # type: ignore[attr-defined]
    yield _package() / "__pycache__"
    with contextlib.suppress(RuntimeError):  # a user without a home
        yield Path.home() / ".cache" / "dyntc_spark"
    yield Path(tempfile.gettempdir()) / f"dyntc-numba-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


def _fingerprint() -> str:
    """Hash the sources that hold kernels."""
    sources = [path.read_bytes() for path in sorted(_package().rglob("*.py"))]
    kernels = b"\0".join(source for source in sources if b"@compiled" in source)
    return hashlib.sha256(kernels).hexdigest()[:16]


def _package() -> Path:
    return Path(__file__).resolve().parents[1]
