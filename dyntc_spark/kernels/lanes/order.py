"""A topological order of components that is repaired where an edge puts it wrong.

Components lie in a list, and each has a *label*: labels ascend along the list, and every edge leads to a smaller
label. Labels have gaps, so that components can be put between two others without touching the rest; where a gap
is used up, all labels are given anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.kernels.compile import compiled, lean, lean_inner
from dyntc_spark.kernels.ids import Ids, Offsets

#: Between two labels, as they are given at first.
GAP = 2**32
_FARTHEST = 2**62
_NONE = -1


class Order(NamedTuple):
    """The list, by number of component; ``ends`` has the lowest component and the highest, -1 where there is none."""

    labels: Offsets
    above: Ids
    below: Ids
    ends: Ids


@compiled
def ordered(numbers: Ids, size: int) -> Order:
    """Return the order in which ``numbers`` ascend, for numbers below ``size``."""
    order = Order(
        np.zeros(size, np.int64),
        np.full(size, _NONE, np.int32),
        np.full(size, _NONE, np.int32),
        np.full(2, _NONE, np.int32),
    )
    for k in range(len(numbers)):
        order.labels[numbers[k]] = k * GAP
        if k:
            order.below[numbers[k]] = numbers[k - 1]
            order.above[numbers[k - 1]] = numbers[k]
    if len(numbers):
        order.ends[0], order.ends[1] = numbers[0], numbers[-1]
    return order


@lean
def remove(order: Order, c: int) -> None:
    """Take a component out of the list."""
    above, below = order.above[c], order.below[c]
    if above == _NONE:
        order.ends[1] = below
    else:
        order.below[above] = below
    if below == _NONE:
        order.ends[0] = above
    else:
        order.above[below] = above


@lean
def put_below(order: Order, anchor: int, nodes: Ids) -> None:
    """Put components, the highest first, right below another one, or with the anchor -1 above all others.

    Examples
    --------
    >>> order = ordered(np.array([2, 0], np.int32), size=4)
    >>> put_below(order, 0, np.array([3, 1], np.int32))
    >>> np.argsort(order.labels)
    array([2, 1, 3, 0])
    """
    count = len(nodes)
    floor = order.ends[1] if anchor == _NONE else order.below[anchor]
    above = anchor
    for c in nodes:
        order.above[c] = above
        if above == _NONE:
            order.ends[1] = c
        else:
            order.below[above] = c
        above = c
    order.below[above] = floor
    if floor == _NONE:
        order.ends[0] = above
    else:
        order.above[floor] = above
    low = order.labels[floor] if floor != _NONE else np.int64(0)
    high = order.labels[anchor] if anchor != _NONE else low + GAP * (count + 1)
    if floor == _NONE:
        low = high - GAP * (count + 1)
    step = (high - low) // (count + 1)
    if step == 0 or low < -_FARTHEST or high > _FARTHEST:
        _label(order)
        return
    for k in range(count):
        order.labels[nodes[k]] = high - step * (k + 1)


@lean
def replace(order: Order, c: int, by: int) -> None:
    """Let a component that is not in the list have the place of one that is."""
    above, below = order.above[c], order.below[c]
    order.above[by], order.below[by], order.labels[by] = above, below, order.labels[c]
    if above == _NONE:
        order.ends[1] = by
    else:
        order.below[above] = by
    if below == _NONE:
        order.ends[0] = by
    else:
        order.above[below] = by


@lean_inner
def _label(order: Order) -> None:
    """Make all labels anew."""
    c, label = order.ends[0], np.int64(0)
    while c != _NONE:
        order.labels[c] = label
        label += GAP
        c = order.above[c]
