"""Edges, vertices and labels of a labelled graph, as Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from dyntc_spark.edges import Edges
from dyntc_spark.graph.inputs.read import Table, read_ends
from dyntc_spark.graph.labels.labelled_edges import LabelledEdges
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
        return self.named({label: self._edges.by_label[label].edges for label in self._edges.labels(None)})

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
        return self._table(numbers.sources[rows], numbers.targets[rows], self._edges.labels(None), label)

    def named(self, edges: Mapping[str, Edges]) -> pa.Table:
        """Return edges, which are given in numbers by their labels: ``src``, ``dst``, ``label``."""
        label = np.repeat(np.arange(len(edges)), [len(each) for each in edges.values()])
        sources, targets = (
            np.concatenate([np.zeros(0, np.int64), *(getattr(each, side) for each in edges.values())])
            for side in ("sources", "targets")
        )
        return self._table(sources, targets, list(edges), label)

    def _table(self, sources: Indices, targets: Indices, labels: list[str], label: Indices) -> pa.Table:
        names = self._edges.vertices.names
        column = pa.array(labels, pa.string()).take(pa.array(label, pa.int64()))
        return pa.table([names(sources), names(targets), column], ["src", "dst", "label"])
