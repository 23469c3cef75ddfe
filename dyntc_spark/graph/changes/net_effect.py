"""A batch of changes and its net effect on a set of edges.

The changes of a batch count in their order, but only what they come to in the
end reaches the engine: an edge that was absent and is present after the last
change is inserted, one that was present and is absent is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.edges import Edges, EdgeSet, edges_of, keys_of
from dyntc_spark.errors import CycleError, RedundantChangeError
from dyntc_spark.graph.changes.copies import Recount, net_counts
from dyntc_spark.graph.inputs.numbering import Changes
from dyntc_spark.graph.inputs.vertex_types import taken
from dyntc_spark.graph.version import Graph, Tally
from dyntc_spark.graph.vertices.names import NewNames, edge_names, names_of
from dyntc_spark.kernels import edge_keys
from dyntc_spark.kernels.ids import Flags, Indices


@dataclass(frozen=True, slots=True)
class NetEffect:
    """The net effect of a batch."""

    inserted: Edges
    deleted: Edges
    #: For each change whether it changed nothing: an insertion of what was there, a deletion of what was not.
    redundant: Flags
    recount: Recount | None = None  #: of a multigraph

    @property
    def sizes(self) -> tuple[int, int]:
        """How many edges come and go, in a multigraph with their copies."""
        if self.recount is not None:
            return self.recount.gained, self.recount.lost
        return len(self.inserted), len(self.deleted)


def net_effect(changed: Edges, inserting: Flags, present: EdgeSet) -> NetEffect:
    """Work out what changes, in this order, do to the edges that are ``present``: one sort of the changes.

    Examples
    --------
    >>> present = EdgeSet.of(Edges.of([0], [1]))
    >>> changed = Edges.of([0, 0, 2, 2], [1, 1, 3, 3])
    >>> net = net_effect(changed, np.array([False, True, True, True]), present)
    >>> net.inserted.sources, net.deleted.sources, net.redundant
    (array([2]), array([], dtype=int64), array([False, False, False,  True]))
    """
    keys = keys_of(changed)
    order = keys.argsort(kind="stable")  # the changes of one edge side by side, in their order
    inserted, deleted, redundant = edge_keys.net_effect(*present.parts, keys, order, inserting)
    return NetEffect(edges_of(inserted), edges_of(deleted), redundant)


class Planned(NamedTuple):
    """A batch that is brought to numbers and to its net effect, and has not been done."""

    inserted: Edges
    deleted: Edges
    added: NewNames  #: vertices that it brings
    new: Indices  #: the numbers that these are to get
    last: Tally
    rows: int  #: changes, whatever their net effect
    recount: Recount | None = None  #: of a multigraph

    @property
    def noted(self) -> tuple[Edges, Indices | None]:
        """The edges that come; of a multigraph also those that stay in another number, and how many there are."""
        return (self.inserted, None) if self.recount is None else self.recount.noted(self.inserted)

    @property
    def extent(self) -> int:
        """How many vertices it needs, at least."""
        return int(self.new.max(initial=-1)) + 1


def planned(graph: Graph, changes: Changes, *, strict: bool) -> Planned:
    """Work out the net effect of changes, in this order; the graph stays as it is.

    Examples
    --------
    >>> from dyntc_spark.graph.inputs.read import Ends
    >>> from dyntc_spark.graph.inputs.numbering import ChangesHere
    >>> changes = ChangesHere(Ends(pa.array(["a", "b"]), pa.array(["b", "b"])), np.array([True, False]))
    >>> batch = planned(Graph(), changes, strict=False)
    >>> batch.inserted, batch.added.to_pylist(), batch.last.deletions_ignored
    (Edges(sources=array([0]), targets=array([1])), ['a', 'b'], 1)
    """
    table = graph.vertices
    numbers, inserting, names = changes.numbered(table)
    if graph.copies is None:
        net = net_effect(numbers, inserting, graph.edges)
    else:
        net = NetEffect(*net_counts(numbers, inserting, graph.edges, graph.copies))
    if strict and net.redundant.any():
        row = int(np.argmax(net.redundant))
        refuse_redundant(row, edge_names(numbers, row, table, names), inserting=bool(inserting[row]))
    inserted, added, new = net.inserted, names, table.allotted(0)
    if len(names):
        inserted, used = only_used(inserted, table.extent)
        added, new = taken(names, used), table.allotted(len(used))
        inserted = renumbered(inserted, table.extent, new)
    gained, lost = net.sizes
    last = Tally(
        inserted=gained,
        deleted=lost,
        insertions_ignored=int(np.count_nonzero(net.redundant & inserting)),
        deletions_ignored=int(np.count_nonzero(net.redundant & ~inserting)),
    )
    return Planned(inserted, net.deleted, added, new, last, len(numbers), net.recount)


def only_used(inserted: Edges, known: int) -> tuple[Edges, npt.NDArray[np.int64]]:
    """Close the gaps among the numbers of new vertices, from ``known`` on; return also which of these are in use.

    An edge that is inserted and deleted in one batch brings no vertex.

    Examples
    --------
    >>> only_used(Edges.of([0, 7], [9, 1]), 5)
    (Edges(sources=array([0, 5]), targets=array([6, 1])), array([2, 4]))
    """
    ends = np.concatenate([inserted.sources, inserted.targets])
    used = np.unique(ends[ends >= known])
    ends = np.where(ends < known, ends, known + np.searchsorted(used, ends))
    return Edges(ends[: len(inserted)], ends[len(inserted) :]), used - known


def renumbered(edges: Edges, known: int, numbers: npt.NDArray[np.int64]) -> Edges:
    """Let new vertices, counted from ``known`` on, have other ``numbers``.

    Examples
    --------
    >>> renumbered(Edges.of([0, 5], [6, 1]), 5, np.array([3, 5]))
    Edges(sources=array([0, 3]), targets=array([5, 1]))
    """
    if not len(numbers):
        return edges
    ends = np.concatenate([edges.sources, edges.targets])
    new = ends >= known
    ends[new] = numbers[ends[new] - known]
    return Edges(ends[: len(edges)], ends[len(edges) :])


def refuse_redundant(row: int, edge: tuple[Any, ...], *, inserting: bool) -> None:
    """Raise the error that names a change which changes nothing."""
    what, state = ("insertion", "is there already") if inserting else ("deletion", "is not there")
    raise RedundantChangeError(
        "changes that change something, for strict=True",
        f"in row {row} the {what} of {edge!r}, which {state}",
        "Leave strict out to have such changes counted instead.",
    )


@contextmanager
def naming_cycles(known: Callable[[Indices], pa.Array], added: NewNames, new: Indices) -> Iterator[None]:
    """Let a cycle that an engine refuses be named by its vertices: ``new`` ones or ``known``; it gives numbers."""
    try:
        yield
    except CycleError as error:
        raise CycleError.of(names_of(np.array(error.cycle, np.int64), known, added, new)) from None
