"""What a labelled graph tells of itself, as Arrow tables."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from dyntc_spark.engines.base import Edges
from dyntc_spark.graph.asking import Table
from dyntc_spark.graph.inputs import read_ends
from dyntc_spark.graph.labels.edges import LabelledEdges
from dyntc_spark.kernels.ids import Indices


class LabelledArrow:
    """Edges, vertices and labels of one version of a graph, as Arrow tables.

    Parameters
    ----------
    edges
        The version.
    """

    def __init__(self, edges: LabelledEdges) -> None:
        self._edges = edges

    def edges(self) -> pa.Table:
        """Return the edges: ``src``, ``dst``, ``label``, a row for each label of an edge."""
        sets = [self._edges.by_label[label].edges for label in self._edges.labels(None)]
        counts = [len(each) for each in sets]
        label = np.repeat(np.arange(len(sets)), counts)
        return self._named(_joined(sets), label)

    def vertices(self) -> pa.Table:
        """Return the vertices: the column ``vertex``."""
        return pa.table({"vertex": self._edges.vertices.names()})

    def labels(self) -> pa.Table:
        """Return the labels that edges have: ``label``, and ``edges``, how many have it."""
        labels = self._edges.labels(None)
        counts = [len(self._edges.by_label[label]) for label in labels]
        return pa.table([pa.array(labels, pa.string()), pa.array(counts, pa.int64())], ["label", "edges"])

    def labels_of(self, edges: Table, src: str = "src", dst: str = "dst") -> pa.Table:
        """Return the labels of some edges, such as those of a path: ``src``, ``dst``, ``label``.

        The edges come in their order, each with a row for each of its labels; those that the graph does
        not have are left out.

        Examples
        --------
        >>> from dyntc_spark import LabelledGraph
        >>> g = LabelledGraph.from_edges([("anna", "staff", "member"), ("staff", "wiki", "viewer")])
        >>> path = g.closure().arrow.explain("anna", "wiki")
        >>> [tuple(row.values()) for row in g.arrow.labels_of(path).to_pylist()]
        [('anna', 'staff', 'member'), ('staff', 'wiki', 'viewer')]
        """
        ends = read_ends(edges, (src, dst))
        numbers = Edges(*(self._edges.vertices.numbers(column) for column in (ends.src, ends.dst)))
        found = [self._edges.by_label[label].has(numbers) for label in self._edges.labels(None)]
        rows, label = np.nonzero(np.array(found, np.bool_).reshape(len(found), len(ends)).T)
        return self._named(Edges(numbers.sources[rows], numbers.targets[rows]), label)

    def _named(self, edges: Edges, label: Indices) -> pa.Table:
        names = self._edges.vertices.names
        labels = pa.array(self._edges.labels(None), pa.string()).take(pa.array(label, pa.int64()))
        return pa.table([names(edges.sources), names(edges.targets), labels], ["src", "dst", "label"])


def _joined(sets: list[Edges]) -> Edges:
    if not sets:
        return Edges.of()
    return Edges(np.concatenate([each.sources for each in sets]), np.concatenate([each.targets for each in sets]))
