"""Lines of eight numbers, against numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.lanes.line import LINE, NUMBERS, below, copy_line, differing, having, least_line, or_line


@compiled
def _changed(lines: npt.NDArray[np.uint64], least: npt.NDArray[np.uint32]) -> tuple[np.uint64, np.uint64]:
    copy_line(lines, 0, 1)
    or_line(lines, 2, 3)
    least_line(least, 0, 1)
    return differing(lines, 0, 1), differing(lines, 2, 4)


@compiled
def _looked_at(
    words: npt.NDArray[np.uint64], numbers: npt.NDArray[np.int32], bit: np.uint64, most: np.int32
) -> tuple[np.uint64, int]:
    return having(words, 3, bit), below(numbers, 5, most)


def test_words_with_a_bit_and_numbers_below_another_are_found() -> None:
    rng = np.random.default_rng(2)
    words = rng.integers(0, 2**64, LINE + 5, np.uint64)
    numbers = rng.integers(-(2**31), 2**31, NUMBERS + 9, np.int32)
    for bit in (0, 31, 63):
        has = [int(word) >> bit & 1 for word in words[3 : 3 + LINE]]
        lower = int((numbers[5 : 5 + NUMBERS] < numbers[bit % NUMBERS]).sum())
        found = _looked_at(words, numbers, np.uint64(1) << np.uint64(bit), numbers[bit % NUMBERS])
        assert found == (sum(one << k for k, one in enumerate(has)), lower)


def test_lines_are_copied_joined_compared_and_bounded_number_by_number() -> None:
    rng = np.random.default_rng(1)
    lines = rng.integers(0, 2**64, (6, LINE), np.uint64)
    least = rng.integers(0, 2**32, (3, LINE), np.uint32)
    lines[4] = lines[2] | lines[3]
    lines[4, [1, LINE - 1]] ^= np.uint64(1)
    before, numbers = lines.copy(), least.copy()
    assert _changed(lines, least) == (0, 2 | 1 << (LINE - 1))
    expected = before.copy()
    expected[0], expected[2] = before[1], before[2] | before[3]
    assert (lines == expected).all()
    assert (least[0] == np.minimum(numbers[0], numbers[1])).all()
    assert (least[1:] == numbers[1:]).all()
