"""A closure in lanes as a table of runs, and what of it a batch has changed."""

from __future__ import annotations

import weakref
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from dyntc_spark.kernels.ids import Ids, Offsets
from dyntc_spark.kernels.lanes.answers import Version
from dyntc_spark.kernels.lanes.graph import Members
from dyntc_spark.kernels.lanes.runs import runs
from dyntc_spark.kernels.lanes.stripes import Stripes

#: The columns of a table of runs: what Spark calls them.
RUNS = "stripe int, first int, last int, word bigint"


def run_batch(stripes: Stripes, which: Ids, several: Ids) -> pa.RecordBatch:
    """Return the runs of some stripes, with the columns `RUNS`."""
    found = runs(stripes, which, several)
    arrays = [found.stripe, found.first, found.last, found.word.view(np.int64)]
    return pa.RecordBatch.from_arrays([pa.array(each) for each in arrays], ["stripe", "first", "last", "word"])


def several(members: Members) -> Ids:
    """Return the components of two or more members, ascending."""
    return np.flatnonzero(members.size > 1).astype(np.int32)


def moved(component: Ids, before: Ids) -> Offsets:
    """Return the vertices that have another component than before, and those that are new."""
    same = min(len(component), len(before))
    return np.append(np.flatnonzero(component[:same] != before[:same]), np.arange(same, len(component)))


class Layout(NamedTuple):
    """Which vertex has which lane, and where the stripes of a version lie: enough to tell what a later one changed.

    Stripes are written behind all others in their pool (see the header of ``kernels.lanes``). So a stripe that lies
    at the same place of the same pool is the same. The pool itself is not held.
    """

    component: Ids  #: of each vertex
    several: Ids  #: components of two or more members
    width: int
    places: Offsets  #: of each stripe: start, length and place of its words
    pool: weakref.ref[Ids]

    @classmethod
    def of(cls, version: Version) -> Layout:
        """Return the layout of a version whose stripes are all in this process."""
        held = version.stripes
        places = np.stack([held.starts, held.lengths, held.places], axis=1)
        component = version.members.component[: version.vertices]
        return cls(component, several(version.members), held.width, places, weakref.ref(held.numbers))

    def altered(self, before: Layout) -> Offsets | None:
        """Return the stripes that have other runs than before; None where all may have."""
        pool = self.pool()
        if pool is None or pool is not before.pool() or self.width != before.width:
            return None
        same = min(len(self.places), len(before.places))
        other = np.flatnonzero((self.places[:same] != before.places[:same]).any(axis=1))
        own = np.setxor1d(self.several, before.several) // self.width
        return np.unique(np.concatenate([other, own, np.arange(same, len(self.places))]))
