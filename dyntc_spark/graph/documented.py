"""One docstring for two methods: that of a part, and the one of the whole that only calls it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Whole = TypeVar("_Whole", bound=type[Any])


def documented_by(*parts: type[Any]) -> Callable[[_Whole], _Whole]:
    """Copy docstrings to the methods of a class, from methods of its parts that have the same names.

    Examples
    --------
    >>> class Part:
    ...     def double(self, number):
    ...         "Return twice the number."
    ...         return 2 * number
    >>> @documented_by(Part)
    ... class Whole:
    ...     _part = Part()
    ...     def double(self, number):
    ...         return self._part.double(number)
    >>> Whole().double(4), Whole.double.__doc__
    (8, 'Return twice the number.')
    """

    def decorated(whole: _Whole) -> _Whole:
        for name, held in vars(whole).items():
            member = held.__func__ if isinstance(held, classmethod) else held
            found = next((vars(part)[name] for part in parts if name in vars(part)), None)
            if found is not None and member.__doc__ is None:
                member.__doc__ = found.__doc__
        return whole

    return decorated
