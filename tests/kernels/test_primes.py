"""Primes against trial division and a sieve."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntc_spark.errors import EntryValueError
from dyntc_spark.kernels.primes import is_prime, primes_needed, random_primes


def slow_primes(end):
    """Sieve the primes below ``end``."""
    sieve = np.ones(end, bool)
    sieve[:2] = False
    for n in range(2, int(end**0.5) + 1):
        sieve[n * n :: n] = False
    return sieve


def test_is_prime_below_a_hundred_thousand():
    assert [is_prime(n) for n in range(100_000)] == slow_primes(100_000).tolist()


@pytest.mark.parametrize(
    ("n", "prime"),
    [
        (-7, False),
        (8388593, True),
        (67108859, True),
        (561, False),  # Carmichael
        (3215031751, False),  # a strong pseudoprime to the bases 2, 3, 5 and 7
        (3825123056546413051, False),  # to the first nine prime bases
        (4294967291**2, False),
        (2**61 - 1, True),
        (2**64 - 59, True),
        (2**64 - 1, False),
    ],
)
def test_is_prime_of_hard_numbers(n, prime):
    assert is_prime(n) is prime


@settings(deadline=None, max_examples=50)
@given(st.integers(2, 30), st.integers(0, 12), st.integers(0, 1000))
def test_random_primes(bits, count, seed):
    most = max(1, 2 ** (bits - 1) // (2 * bits))
    primes = random_primes(min(count, most), bits, np.random.default_rng(seed))
    assert len(set(primes)) == len(primes) == min(count, most)
    assert all(is_prime(p) and p.bit_length() == bits for p in primes)
    assert primes == random_primes(min(count, most), bits, np.random.default_rng(seed))


def test_random_primes_can_be_any_prime_and_as_many_as_promised():
    rng = np.random.default_rng(0)
    assert {random_primes(1, 2, rng)[0] for _ in range(50)} == {2, 3}
    assert {random_primes(1, 5, rng)[0] for _ in range(200)} == {17, 19, 23, 29, 31}
    sieve = slow_primes(2**20)
    for bits in range(2, 21):
        low = 2 ** (bits - 1)
        assert max(1, low // (2 * bits)) <= np.count_nonzero(sieve[low : 2 * low])
    assert all(p.bit_length() == 64 for p in random_primes(3, 64, rng))


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**15), st.floats(1e-30, 1.0), st.integers(2, 61), st.integers(0, 10**6))
def test_primes_needed_is_the_least_count(pairs, error, bits, degree):
    degree = min(degree, 2 ** (bits - 1) - 1, 2 ** (bits - 2))
    count = primes_needed(pairs, error, bits, degree)
    one = Fraction(degree, 2 ** (bits - 1))
    assert pairs * one**count <= Fraction(error)
    assert count == 1 or pairs * one ** (count - 1) > Fraction(error)


@pytest.mark.parametrize(
    "call",
    [
        lambda: is_prime(2**64),
        lambda: random_primes(1, 1, np.random.default_rng(0)),
        lambda: random_primes(1, 65, np.random.default_rng(0)),
        lambda: random_primes(-1, 23, np.random.default_rng(0)),
        lambda: random_primes(7, 7, np.random.default_rng(0)),
        lambda: primes_needed(-1, 0.5, 23, 1),
        lambda: primes_needed(1, 0.0, 23, 1),
        lambda: primes_needed(1, float("nan"), 23, 1),
        lambda: primes_needed(1, 0.5, 23, 2**22),
    ],
)
def test_bad_arguments_are_refused(call):
    with pytest.raises(EntryValueError):
        call()
