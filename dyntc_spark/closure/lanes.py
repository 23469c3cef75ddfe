"""The engine ``lanes``: the closure as one Boolean block matrix, built and changed 64 sources at a time.

What it keeps, why it is right and what it costs is in the header of ``kernels.lanes``. The answers
come from a `Version`, which nobody changes: a batch works on a graph of its own and on new stripes, and its last
step is to put another version in the place of the old one. When a batch fails on the way, the
version that stands still answers, and the graph is made again before the next batch.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.grid import Axis
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.state import Backend
from dyntc_spark.closure.edge_set import EdgeSet, answered, checked, distinct, edges_of, keys_of
from dyntc_spark.closure.engine import Certificate, Edges, Engine
from dyntc_spark.closure.lanes_state import Change, State
from dyntc_spark.errors import OptionError, ShapeMismatchError
from dyntc_spark.kernels.lanes import answers, certificate
from dyntc_spark.kernels.lanes.stripes import LANES
from dyntc_spark.kernels.reach import Ids, Offsets

#: Stripes may take so many times as many bytes as after a build, and so many more, before components get new numbers;
#: after so many batches somebody looks.
MOST_GROWTH, LEAST_GROWTH, LOOK_AFTER = 1.5, 1 << 20, 64


class Lanes(Engine):
    """The closure of any digraph in lanes.

    Parameters
    ----------
    backend
        Where the stripes are; so far that is this process only.
    width
        Lanes of a stripe, from 1 to 64; tests use narrow ones.

    Examples
    --------
    >>> engine = Lanes()
    >>> engine.init(Edges.of([0, 1, 2], [1, 2, 1]), vertices=4)
    >>> engine.query([0, 2, 2, 3], [2, 1, 0, 3])
    array([ True,  True, False,  True])
    >>> engine.apply(inserted=Edges.of([2], [3]), deleted=Edges.of([2], [1]))
    >>> engine.descendants([1]).targets
    array([1, 2, 3])
    >>> engine.ancestors([2]).sources
    array([0, 1, 2])
    """

    name: ClassVar[str] = "lanes"
    exact: ClassVar[bool] = True

    def __init__(self, backend: Backend | None = None, *, width: int = LANES) -> None:
        if isinstance(backend, SparkBackend):
            raise OptionError("the engine 'lanes' in this process", "the backend 'spark'", "Use the engine 'refresh'.")
        if not 1 <= width <= LANES:
            raise OptionError(f"from 1 to {LANES} lanes", f"{width}", "Most leave it out.")
        self._width = width
        self._state = State(EdgeSet.of(Edges.of()), 0, width, None)
        self._fixed: answers.Version | None = None  # what a snapshot answers from
        self._failed: tuple[Offsets, Offsets] | None = None  # the batch that failed: its insertions and deletions
        self._change: Change | None = None
        self._pairs: tuple[object, int] = (None, 0)  # a version, and its pairs
        self._built = self._state.row_bytes
        self._batches = self._rebuilds = 0
        self._seconds = 0.0

    @property
    def version(self) -> answers.Version:
        """The closure as it is now: a value."""
        return self._fixed or self._state.version

    @property
    def vertices(self) -> int:
        """Number of vertices; they are numbered from 0."""
        return self.version.vertices

    def init(self, edges: Edges, vertices: int) -> None:
        """Start again with these edges: one sweep for 512 sources."""
        self._build(EdgeSet.of(checked(edges, vertices)), vertices)

    def apply(self, inserted: Edges, deleted: Edges) -> None:
        """Insert and delete edges: as much work as there are words that change, times the edges at these."""
        started = time.perf_counter()
        self._recover()
        n = self.vertices
        new, gone = distinct(keys_of(checked(inserted, n))), distinct(keys_of(checked(deleted, n)))
        self._failed = new, gone
        change = self._state.apply(new, gone)
        self._failed = None
        self._change = change
        self._batches += 1
        if self._batches % LOOK_AFTER == 0 and self._state.row_bytes > MOST_GROWTH * self._built + LEAST_GROWTH:
            self._build(EdgeSet.of(self.edges), n)
        self._seconds = time.perf_counter() - started

    def query(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether ``targets[q]`` is reachable from ``sources[q]``: a binary search each."""
        pairs, version = Edges.of(sources, targets), self.version
        found = answers.joined(
            version.members.component, *version.stripes, version.vertices, pairs.sources, pairs.targets
        )
        return answered(found, pairs, version.vertices)

    def descendants(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(v, w)`` with ``v`` among ``vertices`` and ``w`` reachable from ``v``, sorted."""
        version = self.version
        near = _known(version, vertices)
        return _spread(near, *answers.lists(version, near, True))

    def ancestors(self, vertices: npt.ArrayLike) -> Edges:
        """The pairs ``(u, v)`` with ``v`` among ``vertices`` and ``v`` reachable from ``u``, sorted by ``v``, ``u``."""
        version = self.version
        near = _known(version, vertices)
        turned = _spread(near, *answers.lists(version, near, False))
        return Edges(turned.targets, turned.sources)

    def changes(self) -> tuple[Edges, Edges] | None:
        """The pairs that the last batch made reachable, and those that it made unreachable, sorted.

        The exclusive or of the words before and after; by rows where components fell apart or merged.
        """
        if self._change is None:
            return None
        before, altered, changed = self._change[:3]
        if len(changed):
            found = answers.compared(before, self.version, answers.sources(before, self.version, altered, changed))
        else:
            found = answers.xor(before, self.version, altered)
        return edges_of(found[0]), edges_of(found[1])

    def snapshot(self) -> Lanes:
        """Return an engine that answers from the version that there is now; nothing is copied."""
        other = copy.copy(self)
        other._fixed = self.version  # noqa: SLF001  (one of us)
        return other

    @property
    def edges(self) -> Edges:
        """The edges, sorted: one pass over them.

        A batch that failed may have changed some of them. It only inserts what was absent and deletes what was there.
        """
        keys = self._state.keys
        if self._failed is not None:
            new, gone = self._failed
            keys = np.setdiff1d(np.union1d(keys, gone), new)
        return EdgeSet.of(edges_of(keys)).edges

    def verify(self) -> Certificate:
        """Certify every word by those of its predecessors, and build the closure again where one is wrong.

        The engine is exact; what this finds is damage.
        """
        self._recover()
        missing, extra = certificate.wrong(self._state.graph, self.version)
        if len(missing) or extra:
            self.init(self.edges, self.vertices)
        return Certificate(self.vertices, edges_of(missing), bool(len(missing) or extra))

    @property
    def bytes(self) -> int:
        """What stripes, edges and components take."""
        return self._state.bytes

    def grow(self, vertices: int) -> None:
        """Let the graph have this many vertices: linear in the new ones."""
        if vertices < self.vertices:
            raise ShapeMismatchError(
                f"at least {self.vertices} vertices", f"{vertices}", "Use init to start again with fewer."
            )
        checked(Edges.of(), vertices)
        if vertices > self.vertices:
            self._recover()
            self._state.grow(vertices)
            self._change = None

    def stats(self) -> Mapping[str, Any]:
        """Sizes of the graph, of its condensation and of the closure, and the work of the last batch."""
        version, change = self.version, self._change
        size = version.members.size
        if self._pairs[0] is not version:
            self._pairs = version, answers.pairs(version)
        return {
            "vertices": version.vertices,
            "edges": version.edges,
            "pairs": self._pairs[1],
            "components": int(np.count_nonzero(size)),
            "largest_component": int(size.max(initial=0)),
            "bytes": self.bytes,
            "row_bytes": self._state.row_bytes,
            "batches": self._batches,
            "rebuilds": self._rebuilds,
            "stripes_changed": 0 if change is None else len(change.altered),
            "words_changed": 0 if change is None else change.words,
            "words_looked_at": 0 if change is None else change.looked,
            "seconds_of_last_batch": self._seconds,
        }

    def _recover(self) -> None:
        """Make the graph again, where a batch that failed has left it halfway."""
        if self._failed is not None:
            self._build(EdgeSet.of(self.edges), self.vertices)

    def _build(self, edges: EdgeSet, vertices: int) -> None:
        """Close other edges; nothing is replaced before all is made."""
        started = time.perf_counter()
        self._state = State(edges, vertices, self._width, self.budget)
        self._failed = self._change = None
        self._built = self._state.row_bytes
        self._rebuilds += 1
        self._seconds = time.perf_counter() - started


def _known(version: answers.Version, vertices: npt.ArrayLike) -> Ids:
    """Return vertices ascending, each once, or an error."""
    return np.unique(Axis(version.vertices, 1).ids(vertices, "vertex")).astype(np.int32)


def _spread(near: Ids, offsets: Offsets, far: Ids) -> Edges:
    """Return each of ``near`` with its part of ``far``."""
    return Edges(np.repeat(near.astype(np.int64), np.diff(offsets)), far.astype(np.int64))
