"""Methods of a closure that call one of its parts: one line each, with the signature and the docstring of the part."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from dyntc_spark.graph.parts import Parts

_Part = TypeVar("_Part")
_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")


def forwarded(
    part: Callable[[Parts], _Part], method: Callable[Concatenate[_Part, _Arguments], _Answer]
) -> Callable[Concatenate[Any, _Arguments], _Answer]:
    """Return a method of a closure that calls ``method`` of one of its parts.

    Examples
    --------
    >>> import inspect
    >>> from dyntc_spark.graph.questions.answers import Answers
    >>> pairs = forwarded(lambda parts: parts.answers, Answers.pairs)
    >>> inspect.signature(pairs), pairs.__doc__ == Answers.pairs.__doc__
    (<Signature (self, *, reflexive: 'bool' = False) -> 'DataFrame'>, True)
    """

    @wraps(method)
    def call(self: Any, /, *args: _Arguments.args, **keywords: _Arguments.kwargs) -> _Answer:  # noqa: ANN401
        return method(part(self._parts), *args, **keywords)

    return call
