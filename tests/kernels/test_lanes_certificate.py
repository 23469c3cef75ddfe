"""The certificate of a closure in lanes: damage of single pairs, against plain sets."""

from __future__ import annotations

import numpy as np
import pytest

from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.engines.lanes.build import numbered
from dyntc_spark.kernels.lanes import certificate, payload

N = 40


@pytest.fixture(scope="module", params=[3, 64])
def width(request):
    return request.param


def case(seed, width):
    """Return an acyclic graph, its edges between numbers, and what each number reaches."""
    ends = np.sort(np.random.default_rng(seed).integers(0, N, size=(2, 60)), axis=0)[::-1]
    ends = ends[:, ends[0] != ends[1]]
    plan = numbered(*EdgeSet.of(Edges.of(*ends)).adjacency(N), width).plan
    number = plan.numbers.tolist()
    edges = {(number[tail], number[head]) for tail, head in ends.T.tolist()}
    closed = set(edges)
    while more := {(a, d) for a, b in closed for c, d in edges if b == c} - closed:
        closed |= more
    return plan, edges, closed


def stripes_of(pairs, width):
    rows = [sorted(head for tail, head in pairs if tail == lane) for lane in range(N)]
    offsets = np.cumsum([0, *map(len, rows)])
    return payload.of_lists(offsets, np.array([head for row in rows for head in row], np.int32), width)


def twin(pairs, edges):
    """Return the pairs that an edge asks for and are missing, and those that no edge asks for."""
    asked = edges | {(a, d) for a, b in pairs for c, d in edges if b == c}
    return asked - pairs, pairs - asked


def test_damage_of_single_pairs(width):
    draw, found = np.random.default_rng(3), []
    for seed in range(12):
        plan, edges, closed = case(seed, width)
        space, every = certificate.new_space(plan), [(a, b) for a in range(N) for b in range(N) if a != b]
        for count, choice in ((0, every), (1, every), (1, sorted(closed)), (3, every + 9 * sorted(closed))):
            flipped = {choice[k] for k in draw.choice(len(choice), count, replace=False)}
            pairs = closed ^ flipped
            keys, extra = certificate.wrong(plan, stripes_of(pairs, width), space)
            told = {(int(key) >> 32, int(key) & (2**32 - 1)) for key in keys}
            missing, unasked = twin(pairs, edges)
            assert told <= missing
            assert {lane for lane, _ in told} == {lane for lane, _ in missing}
            assert extra == len({(lane // width, number) for lane, number in unasked})
            assert bool(told or extra) == bool(flipped)
            found.append((len(told) > 0, extra > 0))
            assert not space.kept.any()
            assert not space.asked.any()
    assert {(True, False), (False, True), (True, True)} <= set(found)


def test_absent_stripes_are_left_out(width):
    plan, _, closed = case(1, width)
    held = stripes_of(closed - {next(iter(closed))}, width)
    nothing = payload.without(held, np.ones(len(held.starts), np.bool_))
    keys, extra = certificate.wrong(plan, nothing, certificate.new_space(plan))
    assert (len(keys), extra) == (0, 0)


def test_a_word_at_a_number_that_no_component_has_is_too_much(width):
    plan, edges, closed = case(2, width)
    free = max(set(range(N)) - {end for pair in closed for end in pair})
    indices = plan.indices.copy()
    indices[free] = -1
    other = next(number for number in range(N) if number // width == 0 and number != free)
    held = stripes_of(closed | {(other, free)}, width)
    keys, extra = certificate.wrong(plan._replace(indices=indices), held, certificate.new_space(plan))
    assert (len(keys), extra) == (0, 1)
    assert edges
