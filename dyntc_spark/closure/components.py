"""A digraph and its strong components, and what these reach, as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntc_spark.closure.edge_set import EdgeSet
from dyntc_spark.errors import OutgrownError
from dyntc_spark.kernels import reach
from dyntc_spark.kernels.reach import Ids, Offsets

UNBOUNDED = 2**62


class Components(NamedTuple):
    """A digraph and its strong components: by vertex, and by component."""

    offsets: Offsets
    targets: Ids
    component: Ids
    member_offsets: Offsets
    members: Ids

    @classmethod
    def of(cls, edges: EdgeSet, vertices: int) -> Components:
        """Condense a digraph: linear in it."""
        offsets, targets = edges.adjacency(vertices)
        component, count = reach.strong_components(offsets, targets)
        return cls(offsets, targets, component, *reach.grouped(component, count))

    @property
    def sizes(self) -> Ids:
        """Number of members of each component."""
        return np.diff(self.member_offsets).astype(np.int32)


def closed_within(parts: Components, budget: int | None) -> tuple[Offsets, Ids]:
    """Give the rows of all components, as offsets and heads, or an error when they outgrow so many bytes."""
    found = reach.closed_rows(*parts, UNBOUNDED if budget is None else budget // 4)
    if found is None:
        raise OutgrownError(
            f"a closure of at most {budget} bytes in this process",
            "one that outgrows this budget",
            "Use the backend 'spark' or 'auto', or give it more.",
        )
    return found
