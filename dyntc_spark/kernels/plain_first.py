"""Kernels on small work, before there is machine code of them: interpreted, so that no call waits for the compiler.

To compile what closes a graph and applies one batch takes half a minute of one core; to interpret it takes some
milliseconds for a few hundred edges. So a kernel that the cache on disk does not hold runs as the Python that it is
while its arrays are small, until it has taken so long altogether that compiling it is worth while.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

#: Bytes of all arrays that an interpreted kernel is given, at most.
SMALL = 2**17
#: Seconds of CPU time that a kernel is interpreted, altogether; most take as long to compile.
PATIENCE = 0.25

_log = logging.getLogger(__name__)
_PACKAGE = __name__.partition(".")[0]
_copying = threading.RLock()
_copies: dict[str, ModuleType] = {}
_told: list[str] = []  # the kernel that was compiled first


@contextmanager
def compiling_all() -> Iterator[None]:
    """Compile every kernel that is called inside of a ``with``, however small its work; in all threads."""
    global PATIENCE  # noqa: PLW0603
    before, PATIENCE = PATIENCE, 0.0
    try:
        yield
    finally:
        PATIENCE = before


class PlainFirst:
    """What numba asks for the code of a kernel that it has not compiled for arguments of these types.

    Parameters
    ----------
    dispatcher
        The kernel as numba has it.
    function
        The kernel as it is written.
    """

    def __init__(self, dispatcher: Any, function: Callable[..., Any]) -> None:  # noqa: ANN401  (numba has no types)
        self._function = function
        self._plain: Callable[..., Any] | None = None
        self._compile = dispatcher._compile_for_args  # noqa: SLF001  (numba has no other way to be asked first)
        self._cache_path: str | None = dispatcher.stats.cache_path
        self._is_cached: bool | None = None
        self._seconds = 0.0

    def __call__(self, *arguments: object, **named: object) -> Callable[..., Any]:
        """Return what to call with these arguments: machine code, or the kernel as it is written."""
        if self._seconds < PATIENCE and _bytes(arguments) <= SMALL and not self._in_cache():
            return self._interpret
        if not self._in_cache() and not _told:
            _told.append(self._function.__name__)
            _log.warning(
                "Compiling kernels, once for each version of this package: up to a minute in all. "
                "'dyntc warm-up' does it ahead."
            )
        code: Callable[..., Any] = self._compile(*arguments, **named)
        return code

    def _interpret(self, *arguments: object, **named: object) -> object:
        with _copying:  # by another thread, perhaps: a copy is used when it is whole
            self._plain = self._plain or _copied(self._function)
        began = time.thread_time()
        try:
            with np.errstate(all="ignore"):  # machine code wraps around in silence
                return _unboxed(self._plain(*arguments, **named))
        finally:
            self._seconds += time.thread_time() - began

    def _in_cache(self) -> bool:
        """Return whether the cache on disk has machine code of this kernel, for any types."""
        if self._is_cached is None:
            name = f"*.{self._function.__qualname__}-{self._function.__code__.co_firstlineno}.py*.nbi"
            self._is_cached = self._cache_path is not None and any(Path(self._cache_path).glob(name))
        return self._is_cached


def _copied(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as `_plain` does; where that is interrupted, no copy of a module is left that is not whole."""
    whole = dict(_copies)
    try:
        return _plain(function)
    except BaseException:
        _copies.clear()
        _copies.update(whole)
        raise


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls others as they are written, too.

    Machine code that is called in between would hand over a word of 64 bits as a number of Python, which has a sign.
    """
    module = _plain_module(sys.modules[function.__module__])
    made = FunctionType(
        function.__code__, module.__dict__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _plain_module(module: ModuleType) -> ModuleType:
    """Return a copy of a module in which kernels, and the functions that they call, are not compiled."""
    if module.__name__ not in _copies:
        copy = _copies[module.__name__] = ModuleType(module.__name__)
        for name, value in list(vars(module).items()):
            found = getattr(value, "py_func", value)  # numba's name for what a kernel is made of
            if isinstance(found, FunctionType) and found.__module__.startswith(_PACKAGE):
                found = _plain(found)
            elif isinstance(value, ModuleType) and value.__name__.startswith(_PACKAGE):
                found = _plain_module(value)
            setattr(copy, name, found)
    return _copies[module.__name__]


def _bytes(arguments: tuple[object, ...]) -> int:
    """Return the bytes of the arrays among arguments, and in tuples of them."""
    sizes = (
        argument.nbytes if isinstance(argument, np.ndarray) else _bytes(argument)
        for argument in arguments
        if isinstance(argument, np.ndarray | tuple)
    )
    return sum(sizes)


def _unboxed(found: object) -> object:
    """Return numbers as Python's, as machine code returns them; arrays stay.

    Examples
    --------
    >>> _unboxed((np.int64(3), np.bool_(True)))
    (3, True)
    """
    if isinstance(found, np.generic):
        return found.item()
    if not isinstance(found, tuple):
        return found
    parts = map(_unboxed, found)
    return found._make(parts) if hasattr(found, "_make") else tuple(parts)
