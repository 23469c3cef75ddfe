"""The checksum of rows, against XXH64 of one number written in plain Python."""

from __future__ import annotations

from functools import reduce
from operator import xor

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dyntc_spark.kernels.row_hash import checksum, row_hashes, with_lists

P1, P2, P3, P4, P5 = (
    11400714785074694791,
    14029467366897019727,
    1609587929392839161,
    9650029242287828579,
    2870177450012600261,
)
WORD = 2**64
INT, LONG = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)


def turned(x, bits):
    return ((x << bits) | (x >> (64 - bits))) % WORD


def plain(value, seed, size):
    x = seed + P5 + size
    if size == 4:
        x = turned((x % WORD) ^ (value % 2**32 * P1 % WORD), 23) * P2 + P3
    else:
        x = turned((x % WORD) ^ (turned(value % WORD * P2 % WORD, 31) * P1 % WORD), 27) * P1 + P4
    x %= WORD
    x = (x ^ (x >> 33)) * P2 % WORD
    x = (x ^ (x >> 29)) * P3 % WORD
    return x ^ (x >> 32)


@given(st.lists(st.tuples(INT, LONG, st.lists(INT, max_size=3)), max_size=5))
def test_it_is_that_of_plain_python(rows):
    expected = []
    for number, word, items in rows:
        x = plain(word, plain(number, 42, 4), 8)
        for item in items:
            x = plain(item, x, 4)
        expected.append(x)
    columns = [np.array([row[0] for row in rows], np.int32), np.array([row[1] for row in rows], np.int64)]
    offsets = np.cumsum([0, *(len(row[2]) for row in rows)])
    found = with_lists(row_hashes(columns), offsets, np.array([x for row in rows for x in row[2]], np.int32))
    assert found.tolist() == expected
    assert checksum(found) % WORD == reduce(xor, expected, 0)
