"""The edges of a graph with labels, as a value: one set of edges for each label, over one numbering of vertices.

A labelled edge is a triple (source, target, label), and a graph has it once; two triples may differ in the label only.
For a set S of labels, ``E_S`` has the pair (source, target) of every triple whose label is in S: it is there as long as
one of these is. A batch changes triples. What it does to ``E_S`` is found by looking at the pairs that it names: such
a pair is inserted if it was not in ``E_S`` and is now, and deleted the other way round. That costs one search for each
change and each label of S, whatever the size of the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from dyntc_spark.edges import Edges, EdgeSet, distinct, edges_of, keys_of
from dyntc_spark.errors import InputError
from dyntc_spark.graph.changes.net_effect import net_effect, only_used, refuse_redundant, renumbered
from dyntc_spark.graph.inputs.read import DELETE, INSERT, Ends
from dyntc_spark.graph.inputs.vertex_types import taken
from dyntc_spark.graph.labels.rows import Rows
from dyntc_spark.graph.version import Tally
from dyntc_spark.graph.vertices.in_process import VertexTable
from dyntc_spark.graph.vertices.names import names_of
from dyntc_spark.kernels.ids import Flags, Indices

_NOTHING: Indices = np.zeros(0, np.int64)


class Batch(NamedTuple):
    """Changes, brought to numbers and to their net effect."""

    inserted: Mapping[str, Edges]
    deleted: Mapping[str, Edges]
    added: pa.Array  #: vertices that it brings
    new: Indices  #: the numbers that these are to get
    last: Tally
    dropped: pa.Array | None = None  #: vertices that it lets go

    def keys(self, labels: Iterable[str]) -> Indices:
        """Return the keys of the pairs that it names with one of these labels, each once."""
        named = [side[label] for label in labels for side in (self.inserted, self.deleted) if label in side]
        return distinct(np.concatenate([_NOTHING, *map(keys_of, named)]))


@dataclass(frozen=True, slots=True)
class LabelledEdges:
    """A version of the edges. An immutable value.

    Examples
    --------
    >>> from dyntc_spark.graph.labels.rows import read_edges
    >>> edges = LabelledEdges()
    >>> rows = [("a", "b", "x"), ("a", "b", "y"), ("b", "c", "y")]
    >>> batch = edges.planned(read_edges(rows, ("src", "dst", "label"), inserting=True))
    >>> edges = edges.after(batch)
    >>> len(edges), len(edges.among(None)), len(edges.among({"x"}))
    (3, 2, 1)
    """

    vertices: VertexTable = field(default_factory=VertexTable)
    by_label: Mapping[str, EdgeSet] = field(default_factory=dict)  #: those that have edges

    def __len__(self) -> int:
        return sum(map(len, self.by_label.values()))

    def labels(self, wanted: Iterable[str] | None) -> list[str]:
        """Return those of the wanted labels that some edge has; None: all."""
        return sorted(self.by_label if wanted is None else self.by_label.keys() & set(wanted))

    def among(self, wanted: Iterable[str] | None) -> EdgeSet:
        """Return the edges that have one of the labels, each once; the set of a single label is shared."""
        sets = [self.by_label[label] for label in self.labels(wanted)]
        if len(sets) == 1:
            return sets[0]
        return EdgeSet(distinct(np.concatenate([_NOTHING, *(each.keys for each in sets)])))

    def has(self, edges: Edges, wanted: Iterable[str] | None) -> Flags:
        """Return for each edge whether it has one of the labels."""
        found = np.zeros(len(edges), np.bool_)
        for label in self.labels(wanted):
            found |= self.by_label[label].has(edges)
        return found

    def planned(self, rows: Rows, *, strict: bool = False) -> Batch:
        """Work out the net effect of changes, in this order."""
        numbers, names = self.vertices.numbered(rows.ends)
        nothing = EdgeSet.of(Edges.of())
        inserted, deleted, redundant = {}, {}, np.zeros(len(rows), np.bool_)
        for place, label in enumerate(rows.labels):
            mine = np.flatnonzero(rows.label == place)
            changed = Edges(numbers.sources[mine], numbers.targets[mine])
            net = net_effect(changed, rows.inserting[mine], self.by_label.get(label, nothing))
            redundant[mine] = net.redundant
            inserted.update({label: net.inserted} if len(net.inserted) else {})
            deleted.update({label: net.deleted} if len(net.deleted) else {})
        if strict and redundant.any():
            row = int(np.argmax(redundant))
            refuse_redundant(row, rows.named(row), inserting=bool(rows.inserting[row]))
        inserted, used = self._closed_up(inserted)
        last = Tally(
            inserted=sum(map(len, inserted.values())),
            deleted=sum(map(len, deleted.values())),
            insertions_ignored=int(np.count_nonzero(redundant & rows.inserting)),
            deletions_ignored=int(np.count_nonzero(redundant & ~rows.inserting)),
        )
        return Batch(inserted, deleted, taken(names, used), self.vertices.allotted(len(used)), last)

    def after(self, batch: Batch) -> LabelledEdges:
        """Return the next version."""
        sets, nothing = dict(self.by_label), EdgeSet.of(Edges.of())
        for label in batch.inserted.keys() | batch.deleted.keys():
            sides = (side.get(label, Edges.of()) for side in (batch.inserted, batch.deleted))
            sets[label] = sets.get(label, nothing).replaced(*sides)
            if not len(sets[label]):
                del sets[label]
        return LabelledEdges(self.vertices.added(batch.added, batch.new), sets)

    def with_vertices(self, further: pa.Array) -> LabelledEdges:
        """Return the same edges, with vertices that need not have one."""
        if not len(further):
            return self
        _, new = self.vertices.numbered(Ends(further, further))
        return LabelledEdges(self.vertices.added(new, self.vertices.allotted(len(new))), self.by_label)

    def without(self, names: pa.Array) -> LabelledEdges:
        """Return the same edges, without vertices that have none; refuse others."""
        numbers, every = self.vertices.known_numbers(names), self.among(None).edges
        held = np.isin(numbers, every.sources) | np.isin(numbers, every.targets)
        if held.any():
            vertex = names[int(np.argmax(held))].as_py()
            raise InputError("vertices without edges", f"{vertex!r}, which has some", "Delete its edges first.")
        return LabelledEdges(self.vertices.dropped(numbers), self.by_label)

    def _closed_up(self, inserted: dict[str, Edges]) -> tuple[dict[str, Edges], Indices]:
        """Number new vertices; return also which of the new names are in use."""
        labels, counts = list(inserted), [len(edges) for edges in inserted.values()]
        sources, targets = (
            np.concatenate([_NOTHING, *(getattr(edges, side) for edges in inserted.values())])
            for side in ("sources", "targets")
        )
        edges, used = only_used(Edges(sources, targets), self.vertices.extent)
        edges = renumbered(edges, self.vertices.extent, self.vertices.allotted(len(used)))
        cuts = np.cumsum(counts)[:-1]
        parts = zip(np.split(edges.sources, cuts), np.split(edges.targets, cuts), strict=True)
        return {label: Edges(*part) for label, part in zip(labels, parts, strict=False)}, used


class LabelledVersion(NamedTuple):
    """A version of a graph: its edges, and the number of its last batch."""

    edges: LabelledEdges = LabelledEdges()
    number: int = 0


def effect(batch: Batch, before: EdgeSet, after: LabelledEdges, wanted: Iterable[str] | None) -> tuple[Edges, Edges]:
    """Return what a batch inserts into the edges that have one of the labels, and what it deletes from them.

    Parameters
    ----------
    batch
        What leads to ``after``.
    before
        These edges as they were.
    after
        All edges as they are then.
    wanted
        The labels; None: all.
    """
    named = batch.inserted.keys() | batch.deleted.keys()
    keys = batch.keys(named if wanted is None else named & set(wanted))
    pairs = edges_of(keys)
    were, are = before.has(pairs), after.has(pairs, wanted)
    return edges_of(keys[are & ~were]), edges_of(keys[were & ~are])


def within(edges: LabelledEdges, wanted: Iterable[str] | None, rows: Rows, *, strict: bool) -> pa.Table:
    """Return the net effect of changes on the edges that have one of the labels: ``op``, ``src``, ``dst``."""
    batch = edges.planned(rows, strict=strict)
    after = edges.after(batch._replace(added=batch.added[:0]))  # the table of vertices stays
    sides = effect(batch, edges.among(wanted), after, wanted)
    ends = [np.concatenate([getattr(side, end) for side in sides]) for end in ("sources", "targets")]
    src, dst = (
        pa.array(names_of(numbers, edges.vertices.names, batch.added, batch.new), rows.ends.src.type)
        for numbers in ends
    )
    op = pa.array(np.repeat([INSERT, DELETE], [len(side) for side in sides]), pa.string())
    return pa.table([op, src, dst], ["op", "src", "dst"])
