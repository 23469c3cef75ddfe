"""What a short command need not import.

Arrow looks for pandas when it first converts a value, and numba for scipy's BLAS and for cffi when it first loads a
kernel. Where they are installed, importing them takes longer than an answer does, and a command uses none of them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pyarrow as pa

_HIDDEN = ("pandas", "scipy", "cffi")
#: The modules of numba that look for scipy and for cffi; numba loads them with the first kernel.
_LOOKING = ("numba.np.arraymath", "numba.core.typing.cffi_utils")


def leave_out() -> None:
    """Let Arrow and numba look now, while there is nothing to be found; others find it afterwards.

    Only for a process of our own: from now on Arrow takes a pandas Series for a sequence like any other.
    """
    with _hidden():
        pa.array([None])
        for name in _LOOKING:
            with suppress(ImportError):  # a version of numba without it does not look there
                importlib.import_module(name)


class _NotInstalled:
    """Refuses to import what is hidden, as if it were not installed."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Refuse a module, or leave it to others."""
        del path, target
        if name in _HIDDEN:
            raise ModuleNotFoundError(name, name=name)


@contextmanager
def _hidden() -> Iterator[None]:
    finder = _NotInstalled()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
