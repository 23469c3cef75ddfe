"""Questions to a closure in lanes, and a snapshot, which only answers them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.blocks.grid import Axis
from dyntc_spark.edges import Edges
from dyntc_spark.engines.base import Reachability
from dyntc_spark.engines.lanes.in_process import Closure
from dyntc_spark.engines.lanes.runs import Layout, run_batch, several
from dyntc_spark.kernels.ids import Ids, Offsets
from dyntc_spark.kernels.lanes.answers import Version, spread
from dyntc_spark.kernels.lanes.counts import reach_counts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Answering(Reachability):
    """What an engine answers from a closure in lanes, which is a value."""

    name: ClassVar[str] = "lanes"
    exact: ClassVar[bool] = True
    _pairs: tuple[object, int] = (None, 0)  # a version, and its pairs

    @property
    @abstractmethod
    def bytes(self) -> int:
        """What the stripes take."""

    @property
    @abstractmethod
    def closure(self) -> Closure:
        """The closure as it is now: a value."""

    @property
    def version(self) -> Version:
        """The version of the closure: members, and the stripes that are at hand."""
        return self.closure.version

    @property
    def vertices(self) -> int:
        """Number of vertices; they are numbered from 0."""
        return self.closure.version.vertices

    @property
    def backend(self) -> str:
        """Where the stripes are."""
        return self.closure.place.backend

    def query(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether ``targets[q]`` is reachable from ``sources[q]``: a binary search each; on Spark one job at most."""
        version, place = self.closure
        return place.joined(version, Edges.of(sources, targets))

    def descendants(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(v, w)`` with ``v`` among ``vertices`` and ``w`` reachable from ``v``, sorted."""
        version, place = self.closure
        near = _known(version, vertices)
        return _spread(near, *place.lists(version, near, forwards=True))

    def ancestors(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(u, v)`` with ``v`` among ``vertices`` and ``v`` reachable from ``u``, sorted by ``v``, ``u``."""
        version, place = self.closure
        near = _known(version, vertices)
        return _spread(near, *place.lists(version, near, forwards=False)).turned

    def counts(self, vertices: Offsets) -> tuple[Offsets, Offsets]:
        """How many others each of ``vertices`` reaches, and how many reach it: counted by words, in this process."""
        version, place = self.closure
        below, above = reach_counts(version._replace(stripes=place.whole(version.stripes)))
        return below[vertices], above[vertices]

    def rows(self, spark: SparkSession, *, look: bool = False) -> DataFrame | None:
        """The closure as rows of vertices, unfolded where the stripes are; None when these are in this process."""
        del spark, look
        version, place = self.closure
        return place.rows(version)

    def layout(self) -> Layout:
        """Return where vertices and stripes are."""
        return Layout.of(self.version)

    def runs(self) -> DataFrame | None:
        """The closure on Spark as runs (``kernels.lanes.runs``); None when the stripes are in this process."""
        version, place = self.closure
        return place.runs(version)

    def run_table(self, stripes: Offsets | None = None) -> pa.Table:
        """The runs of some stripes, or of all, which are in this process."""
        version = self.closure.version
        which = np.arange(len(version.stripes.starts)) if stripes is None else stripes
        batch = run_batch(version.stripes, which.astype(np.int32), several(version.members))
        return pa.Table.from_batches([batch])

    def blocks(self, spark: SparkSession) -> DataFrame:
        """The stripes, and the members of each component as lists in the same form."""
        version, place = self.closure
        return place.blocks(version, spark)

    def stats(self) -> Mapping[str, Any]:
        """Sizes of the graph, of its condensation and of the closure; on Spark one job for each version."""
        version, place = self.closure
        size = version.members.size[: version.vertices]  # a snapshot may share these with a larger graph
        known, pairs = self._pairs
        if known is not version:
            pairs = place.pairs(version)
            self._pairs = version, pairs
        return {
            "vertices": version.vertices,
            "edges": version.edges,
            "pairs": pairs,
            "components": int(np.count_nonzero(size)),
            "largest_component": int(size.max(initial=0)),
            "bytes": self.bytes,
            "row_bytes": int(place.byte_sizes(version.stripes).sum()),
        }


class Snapshot(Answering):
    """The closure that an engine had; nothing is copied."""

    def __init__(self, closure: Closure, held: int) -> None:
        self._closure, self._bytes = closure, held

    @property
    def closure(self) -> Closure:
        """The closure as it was."""
        return self._closure

    @property
    def bytes(self) -> int:
        """What the state took."""
        return self._bytes

    def snapshot(self) -> Snapshot:
        """Return itself."""
        return self


def _known(version: Version, vertices: npt.ArrayLike) -> Ids:
    """Return vertices ascending, each once, or an error."""
    found = Axis(version.vertices, 1).ids(vertices, "vertex")
    ascending = len(found) < 2 or bool((found[1:] > found[:-1]).all())
    return (found if ascending else np.unique(found)).astype(np.int32)


def _spread(near: Ids, offsets: Offsets, far: Ids) -> Edges:
    """Return each of ``near`` with its part of ``far``."""
    return Edges(*spread(near, offsets, far))
