"""How a polynomial is written down: a sum of products of named matrices.

``A + B*P*P*C`` stands for itself. Terms may have different degrees and a
variable may occur more than once. There is no constant term, and a sum is
idempotent: over Boolean matrices ``A + A = A``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dyntc_spark.errors import DyntcError

#: The names of the factors of a term, from left to right.
Term = tuple[str, ...]

_TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-z][A-Za-z0-9_]*)|(?P<power>\^|\*\*)\s*(?P<exponent>\d+)|(?P<sign>[+*·]))")


class ExpressionError(DyntcError):
    """Text that is no polynomial."""


@dataclass(frozen=True)
class Polynomial:
    """A sum of products of variables, without their values.

    Examples
    --------
    >>> Polynomial.parse("A + B*P^2*C").terms
    (('A',), ('B', 'P', 'P', 'C'))
    >>> print(Polynomial.parse("A + B P P C"))
    A + B*P*P*C
    """

    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", tuple(dict.fromkeys(self.terms)))
        if not self.terms or not all(self.terms):
            raise ExpressionError("at least one term, each with a factor", f"{self.terms}", "Name a variable.")

    @classmethod
    def parse(cls, text: str) -> Polynomial:
        """Read ``A + B*P^2*C``: ``*``, ``·`` or a blank between factors, ``^`` or ``**`` for powers."""
        terms: list[list[str]] = [[]]
        place, expects_factor = 0, True
        text = text.rstrip()
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None or (expects_factor and not found["name"]):
                raise _unreadable(text, place)
            place = found.end()
            if found["name"]:
                terms[-1].append(found["name"])
            elif found["power"]:
                last = terms[-1].pop()
                if int(found["exponent"]) == 0:
                    raise _unreadable(text, place - 1)
                terms[-1].extend([last] * int(found["exponent"]))
            elif found["sign"] == "+":
                terms.append([])
            expects_factor = bool(found["sign"])
        if expects_factor:
            raise _unreadable(text, place)
        return cls(tuple(tuple(term) for term in terms))

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables, in the order in which they first occur."""
        return tuple(dict.fromkeys(name for term in self.terms for name in term))

    @property
    def degree(self) -> int:
        """The number of factors of the longest term."""
        return max(map(len, self.terms))

    def __str__(self) -> str:
        return " + ".join("*".join(term) for term in self.terms)


def _unreadable(text: str, place: int) -> ExpressionError:
    came = f"{text!r}, unreadable at position {place}"
    return ExpressionError(
        "a sum of products of names, such as 'A + B*P^2*C'", came, "Write sums out, without brackets."
    )
