"""One thread at a time: a stream changes a closure in a thread of its own, while others ask.

A batch replaces rows one after the other. Whoever asks meanwhile waits until it is done or
undone, so that every answer is that of a whole version.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)


def guarded(kind: _Class) -> _Class:
    """Let the public methods of a class and its bases hold ``self._lock``, a lock that a thread may take again.

    Examples
    --------
    >>> import threading
    >>> class Counter:
    ...     def __init__(self):
    ...         self._lock = threading.RLock()
    ...     def free(self):
    ...         return not self._lock._is_owned()
    >>> Counter().free(), guarded(Counter)().free()
    (True, False)
    """
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_"):
            setattr(kind, name, _holding(method))
    return kind


def _holding(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def held(self: Any, *given: Any, **named: Any) -> Any:  # noqa: ANN401  (whatever the method takes and gives)
        with self._lock:
            return method(self, *given, **named)

    return held
