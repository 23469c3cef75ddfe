"""Compilation of kernels: numba, cached on disk, so that a worker loads machine code and does not compile.

The cache lies beside the package where that is writable, else in the user's
cache directory, else below the temporary directory: a read-only installation
on a cluster must not stop a kernel from being imported.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` in nopython mode at its first call, through the on-disk cache."""
    try:
        wrapped = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba: "no locator available", neither the package nor the home is writable
        folder = f"dyntc-numba-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
        numba.config.CACHE_DIR = str(Path(tempfile.gettempdir()) / folder)  # type: ignore[attr-defined]
        wrapped = numba.njit(cache=True, nogil=True)(function)
    return cast("Callable[P, R]", wrapped)
