"""Lines of eight numbers, against numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dyntc_spark.kernels.compile import compiled
from dyntc_spark.kernels.lanes.line import LINE, copy_line, differing, least_line, or_line


@compiled
def _changed(lines: npt.NDArray[np.uint64], least: npt.NDArray[np.uint32]) -> tuple[np.uint64, np.uint64]:
    copy_line(lines, 0, 1)
    or_line(lines, 2, 3)
    least_line(least, 0, 1)
    return differing(lines, 0, 1), differing(lines, 2, 4)


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
