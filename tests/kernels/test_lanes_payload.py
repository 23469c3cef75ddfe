"""Blocks of stripes: their stored form, selections, and questions to some stripes, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from dyntc_spark.edges import Edges
from dyntc_spark.engines.lanes.engine import Lanes
from dyntc_spark.errors import DamagedBlockError
from dyntc_spark.kernels.lanes import answers, payload, stripes
from dyntc_spark.kernels.lanes.payload import Block

N, WIDTH = 300, 7


@pytest.fixture(scope="module")
def version():
    """A closure with stripes of both kinds, and some that are empty."""
    draw = np.random.default_rng(5)
    engine = Lanes(width=WIDTH)
    path = np.arange(80)
    few = np.sort(draw.integers(100, N, size=(2, 60)), axis=0)
    engine.init(Edges.of(np.append(path, few[0]), np.append(path + 1, few[1])), N)
    places, lengths = engine.version.stripes.places, engine.version.stripes.lengths
    assert (places == stripes.PLAIN).any()
    assert ((places >= 0) & (lengths > 0)).any()
    assert (lengths == 0).any()
    return engine.version


def rows(held):
    """Return what each lane reaches."""
    found = np.empty(2 * N, np.int32)
    return {
        s * WIDTH + lane: found[: stripes.row(held, s, lane, found)].tolist()
        for s in range(len(held.starts))
        for lane in range(WIDTH)
    }


def test_blocks_are_read_back(version):
    held = version.stripes
    every = rows(held)
    together = {}
    blocks = list(Block(0, payload.picked(held, np.arange(len(held.starts), dtype=np.int32))).cut(400))
    assert len(blocks) > 3
    assert [block.first for block in blocks[1:]] == [block.end for block in blocks[:-1]]
    for block in blocks:
        again = Block.decode(block.encode())
        assert again.first == block.first
        placed = again.placed(len(held.starts))
        assert int((placed.lengths >= 0).sum()) == block.end - block.first
        found = rows(placed)
        together.update({lane: found[lane] for lane in range(block.first * WIDTH, block.end * WIDTH)})
        assert all(not row for lane, row in found.items() if not block.first <= lane // WIDTH < block.end)
    assert together == every


def test_a_stripe_that_is_larger_is_a_block_alone(version):
    held = version.stripes
    blocks = list(Block(0, held).cut(1))
    assert all(np.count_nonzero(payload.byte_sizes(block.stripes)) <= 1 for block in blocks)
    assert sum(payload.byte_sizes(block.stripes).sum() for block in blocks) == payload.byte_sizes(held).sum()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data[:20], "header"),
        (lambda data: b"NONE" + data[4:], "magic"),
        (lambda data: data[:4] + b"\x09" + data[5:], "version"),
        (lambda data: data[:-1], "bytes by the header"),
        (lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:], "checksum"),
    ],
)
def test_damage_is_refused(version, damage, said):
    data = next(Block(0, version.stripes).cut(2**20)).encode()
    with pytest.raises(DamagedBlockError, match=said):
        Block.decode(damage(data))


@pytest.mark.long
def test_questions_to_some_stripes(version):
    held, every = version.stripes, rows(version.stripes)
    size, draw = version.members.size, np.random.default_rng(6)
    asked, columns = draw.integers(N, size=(2, 2000)).astype(np.int32)
    found = payload.has_each(held, asked, columns)
    assert found.tolist() == [int(d) in every[int(c)] for c, d in zip(asked, columns, strict=True)]
    lanes = np.unique(asked[:50])
    offsets, listed = payload.rows_of(held, lanes, N + WIDTH)
    assert [part.tolist() for part in np.split(listed, offsets[1:-1])] == [every[int(c)] for c in lanes]
    which, holders = payload.columns_of(held, lanes)
    assert sorted(zip(lanes[which].tolist(), holders.tolist(), strict=True)) == sorted(
        (int(d), c) for d in lanes for c, row in every.items() if d in row
    )
    before = np.append(0, np.cumsum(size, dtype=np.int64))
    pairs = sum(len(row) for row in every.values())
    assert payload.held_pairs(held) == pairs
    products = {c: int(size[c]) * int(size[row].sum()) for c, row in every.items() if row}
    assert answers.stripe_pairs(held, answers.weights(size)).sum() == sum(products.values())
    some = payload.picked(held, np.arange(3, 7, dtype=np.int32))
    inside = sum(count for c, count in products.items() if 3 * WIDTH <= c < 7 * WIDTH)
    assert answers.stripe_pairs(some, answers.weights(size), first=3).sum() == inside
    assert answers.stripe_pairs(held, answers.weights(size), np.arange(3, 7, dtype=np.int32)).sum() == inside
    counts = payload.reached_by(held, 2, 9, size, before)
    assert counts.tolist() == [int(size[c] + size[every[c]].sum()) for c in range(2 * WIDTH, 9 * WIDTH)]


def test_stripes_that_are_absent_are_empty(version):
    held, every = version.stripes, rows(version.stripes)
    gone = np.arange(0, len(held.starts), 2)
    left = payload.without(held, gone)
    found = rows(left)
    assert all(row == ([] if (lane // WIDTH) % 2 == 0 else every[lane]) for lane, row in found.items())
    numbers, words = stripes.sizes(left)
    room = np.empty(numbers, np.int32), np.empty(words, np.uint64)
    compacted = stripes.compacted(left, *room)
    assert rows(compacted) == found
    assert np.array_equal(compacted.lengths < 0, left.lengths < 0)
    whole = payload.overlaid(left, gone, payload.picked(held, gone.astype(np.int32)))
    assert rows(whole) == every
    assert rows(held) == every  # a value


def test_lists_as_plain_stripes():
    values = np.array([4, 5, 9, 1], np.int32)
    held = payload.of_lists(np.array([0, 2, 2, 3, 4]), values, width=3)
    found = np.empty(9, np.int32)
    lists = [found[: stripes.row(held, s, lane, found)].tolist() for s in range(2) for lane in range(3)]
    assert lists == [[4, 5], [], [9], [1], [], []]
