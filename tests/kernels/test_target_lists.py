"""Lists of targets and their stored form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.kernels.target_lists import HEADER_SIZE, TargetLists

lists = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=6).map(sorted), max_size=9)


def listed(first, rows):
    lengths = np.array([len(row) for row in rows], np.int32)
    return TargetLists.of(first, lengths, np.array([x for row in rows for x in row], np.int32))


def as_lists(held):
    return [held.targets[a:b].tolist() for a, b in zip(held.offsets[:-1], held.offsets[1:], strict=True)]


@given(lists, st.integers(0, 2**31 - 20))
def test_what_is_stored_comes_back(rows, first):
    held = listed(first, rows)
    payload = held.encode()
    back = TargetLists.decode(payload)
    assert (back.first, as_lists(back)) == (first, rows)
    assert len(payload) == HEADER_SIZE + 4 * (len(rows) + len(held.targets))


@given(lists, st.data())
def test_any_damage_is_refused(rows, data):
    payload = bytearray(listed(3, rows).encode())
    place = data.draw(st.integers(0, len(payload) - 1))
    payload[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DamagedBlockError):
        TargetLists.decode(bytes(payload))
    with pytest.raises(DamagedBlockError):
        TargetLists.decode(bytes(payload[: data.draw(st.integers(0, len(payload) - 1))]))


@given(lists, st.integers(1, 9))
def test_cut_into_parts(rows, numbers):
    parts = list(listed(10, rows).cut(numbers))
    assert [row for part in parts for row in as_lists(part)] == rows
    assert [part.first for part in parts] == (10 + np.cumsum([0, *(len(part) for part in parts)])[:-1]).tolist()
    assert all(len(part.targets) < 2 * numbers or max(map(len, as_lists(part))) > numbers // 2 for part in parts)
