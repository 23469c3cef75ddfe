"""Compilation of kernels: numba, cached on disk, so that a worker loads machine code and does not compile.

Numba's own cache looks at the file of a function only; code that was inlined
from another file would stay in it, out of date, after that file has changed. So
the cache has a folder for each version of all kernels together. It lies below
``NUMBA_CACHE_DIR`` if that is set, else beside the package, else in the user's cache
directory, else below the temporary directory: the first of these where it can be a
`private_folder`. Where none can, kernels are compiled in each process and not cached:
neither a read-only installation on a cluster nor a folder that another user has prepared
stops a kernel from being imported.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numba.extending
from numba.extending import register_jitable

from dyntc_spark.kernels.plain_first import PlainFirst
from dyntc_spark.kernels.private_folder import private_folder

P = ParamSpec("P")
R = TypeVar("R")

_KERNEL = re.compile(rb"^@(compiled|inner|lean|intrinsic)", re.MULTILINE)
_log = logging.getLogger(__name__)
_OPTIONS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}  # nobody calls kernels from C
_UNCOUNTED: dict[str, Any] = {"_nrt": False}  # "disable runtime allocation", as numba's documentation calls it


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` in nopython mode when it is called, through the cache on disk where there is one.

    Small work does not wait for the compiler (`plain_first`).
    """
    return _compiled(function, _OPTIONS)


def lean(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function``, which makes no array and returns none, without counting references to arrays.

    Numba counts a reference to each array of a tuple wherever one is handed over, by an atomic instruction; in
    functions that are called for every word this takes longer than the work itself. A function that
    makes an array is refused by numba. One must not return an array in a tuple, either: nobody would refuse it.
    """
    return _compiled(function, _OPTIONS | _UNCOUNTED)


def lean_inner(function: Callable[P, R]) -> Callable[P, R]:
    """Let kernels call ``function``, as with `inner`; references are not counted, as with `lean`."""
    made: Callable[P, R] = register_jitable(**_UNCOUNTED)(function)
    return made


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """Let kernels call ``function``: it is compiled as a part of them. Python calls it as it stands.

    The code that takes arguments from Python, and a file in the cache, are left out: they take longer than most
    functions themselves.
    """
    return register_jitable(function)


def intrinsic(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let kernels call what a function says in LLVM's words: given types, it returns a signature and a generator.

    ``plain`` does the same, for kernels that are interpreted.
    """

    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        found: Any = numba.extending.intrinsic(function)
        found.py_func = plain  # as numba calls it for a kernel
        return cast("Callable[..., Any]", found)

    return made


def _compiled(function: Callable[P, R], options: dict[str, Any]) -> Callable[P, R]:
    folder = _cache_folder()
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = folder or ""  # type: ignore[attr-defined]
    try:
        made = numba.njit(cache=folder is not None, **options)(function)
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]
    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        made._compile_for_args = PlainFirst(made, function)  # noqa: SLF001
    return cast("Callable[P, R]", made)


@functools.cache
def _cache_folder() -> str | None:
    """Return the folder for this version of the kernels, made if it is not there yet; None where there can be none."""
    refused = []
    for base, below in _places():
        try:
            folder = private_folder(base, below, f"numba-{_fingerprint()}")
        except OSError as error:
            refused.append(str(error))
            continue
        if os.access(folder, os.W_OK):
            return str(folder)
        refused.append(f"'{folder}' cannot be written")
    _log.warning(
        "No folder for compiled code is private to this user, so each process compiles again: %s. "
        "NUMBA_CACHE_DIR can name another one.",
        "; ".join(refused),
    )
    return None


def _places() -> Iterator[tuple[Path, str]]:
    """Yield the places for the cache, the best first: a folder that exists or that the user chose, and a name below."""
    if numba.config.CACHE_DIR:  # type: ignore[attr-defined]
        yield Path(numba.config.CACHE_DIR), ""  # type: ignore[attr-defined]
    yield _package(), "__pycache__"
    with contextlib.suppress(RuntimeError):  # a user without a home
        yield Path.home() / ".cache", "dyntc_spark"
    yield Path(tempfile.gettempdir()), f"dyntc-numba-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


def _fingerprint() -> str:
    """Hash the sources that hold kernels."""
    sources = [path.read_bytes() for path in sorted(_package().rglob("*.py"))]
    kernels = b"\0".join(source for source in sources if _KERNEL.search(source))
    return hashlib.sha256(kernels).hexdigest()[:16]


def _package() -> Path:
    return Path(__file__).resolve().parents[1]
