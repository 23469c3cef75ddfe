"""Methods that an object leaves to a part of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

_P = ParamSpec("_P")
_R = TypeVar("_R")


def delegated(method: Callable[Concatenate[Any, _P], _R]) -> Callable[Concatenate[Any, _P], _R]:
    """Return a method that calls ``method`` of the part ``_questions``; signature and docstring are those of the part.

    Examples
    --------
    >>> class Part:
    ...     def double(self, number):
    ...         return 2 * number
    >>> class Whole:
    ...     _questions = Part()
    ...     double = delegated(Part.double)
    >>> Whole().double(4)
    8
    """

    @functools.wraps(method)
    def call(whole: Any, *args: _P.args, **kwargs: _P.kwargs) -> _R:  # noqa: ANN401  (whoever has the part)
        return method(whole._questions, *args, **kwargs)  # noqa: SLF001  (one of the same object)

    return cast("Callable[Concatenate[Any, _P], _R]", call)
