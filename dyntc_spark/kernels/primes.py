"""Prime moduli: a primality test, random primes of a given length, and how many of them are enough.

An entry of an algebraic closure is a polynomial in the edge weights, and it is
the zero polynomial exactly when there is no path. Another polynomial is zero
modulo ``p`` at a random point with probability at most ``degree / p`` (Zippel
1979, Schwartz 1980), and then the answer "no path" is wrong. Several primes,
each with weights of its own, multiply these probabilities.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dyntc_spark.errors import EntryValueError

WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


def is_prime(n: int) -> bool:
    """Say whether ``n < 2**64`` is prime, without error.

    The Miller-Rabin test to the twelve smallest prime bases, which no composite
    below ``2**64`` passes (Sorenson and Webster 2017). Costs twelve modular powers.

    Examples
    --------
    >>> [n for n in range(30) if is_prime(n)]
    [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    >>> is_prime(2**61 - 1), is_prime(2**59 - 1)
    (True, False)
    """
    if n >= 2**64:
        raise EntryValueError("a number below 2**64", f"{n}", "The bases of this test decide no larger numbers.")
    if n < 2:
        return False
    for prime in WITNESSES:
        if n % prime == 0:
            return n == prime
    twos = ((n - 1) & (1 - n)).bit_length() - 1  # n - 1 = odd * 2**twos
    odd = (n - 1) >> twos
    return all(_passes(n, base, odd, twos) for base in WITNESSES)


def _passes(n: int, base: int, odd: int, twos: int) -> bool:
    x = pow(base, odd, n)
    if x == 1:
        return True
    for _ in range(twos):
        if x == n - 1:
            return True
        x = x * x % n
    return False


def random_primes(count: int, bits: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Draw ``count`` different primes of exactly ``bits`` bits, each uniformly among those not yet drawn.

    At most ``2**(bits - 1) / (2 * bits)`` of them are given (though always one),
    which is less than there are (Rosser and Schoenfeld 1962). Costs about ``bits``
    primality tests a prime.

    Examples
    --------
    >>> primes = random_primes(3, 23, np.random.default_rng(1))
    >>> [(is_prime(p), p.bit_length()) for p in primes]
    [(True, 23), (True, 23), (True, 23)]
    """
    if not 2 <= bits <= 64:
        raise EntryValueError("primes of 2 to 64 bits", f"{bits} bits", "Ask for a length in that range.")
    low = 2 ** (bits - 1)
    most = max(1, low // (2 * bits))
    if not 0 <= count <= most:
        raise EntryValueError(
            f"a count from 0 to {most} for {bits} bits", f"{count}", "Ask for fewer or longer primes."
        )
    found: dict[int, None] = {}  # in the order drawn
    while len(found) < count:
        candidate = int(rng.integers(low, 2 * low - 1, dtype=np.uint64, endpoint=True))
        if is_prime(candidate):
            found[candidate] = None
    return tuple(found)


def primes_needed(pairs: int, error_probability: float, bits: int, degree: int) -> int:
    """Return the least ``count >= 1`` with ``pairs * (degree / 2**(bits - 1))**count <= error_probability``.

    So many primes of ``bits`` bits, each with weights of its own, make the
    probability that any of ``pairs`` entries, polynomials of at most the given
    ``degree`` in the weights, is zero modulo every prime without being the zero
    polynomial at most ``error_probability``: Schwartz-Zippel for one entry and
    one prime, the product over the primes, the union bound over the entries.

    Examples
    --------
    >>> primes_needed(pairs=10**12, error_probability=1e-12, bits=23, degree=1000)
    7
    """
    if pairs < 0 or degree < 0 or not error_probability > 0:
        came = f"{pairs}, {degree} and {error_probability}"
        expected = "pairs and degree of at least 0 and an error probability above 0"
        raise EntryValueError(expected, came, "No finite number of primes gives certainty.")
    if degree >= 2 ** (bits - 1):
        came = f"degree {degree}"
        raise EntryValueError(f"a degree below 2**{bits - 1} for {bits} bits", came, "Use longer primes.")
    one_prime, bound = Fraction(degree, 2 ** (bits - 1)), Fraction(error_probability)
    count, error = 1, pairs * one_prime
    while error > bound:
        count, error = count + 1, error * one_prime
    return count
