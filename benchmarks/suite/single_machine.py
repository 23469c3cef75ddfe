"""Libraries of one machine that close a graph from scratch: DuckDB, igraph, networkx, GraphBLAS, scipy, packed bits."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.suite.digest import SQL_DIGEST, Digest
from benchmarks.suite.oracle import changed
from benchmarks.suite.system import NotTriedError, Recomputing
from benchmarks.suite.workloads import Workload
from dyntc_spark.edges import Edges
from dyntc_spark.kernels.ids import Indices

MOST_NETWORKX = 20_000  # vertices; it takes minutes above
Answers = npt.NDArray[np.bool_]


class DuckDB(Recomputing):
    """DuckDB's recursive query, with UNION; the closure is a table."""

    def start(self, cores: int) -> None:
        import duckdb  # noqa: PLC0415  (only this system needs it)

        self._connection = duckdb.connect(config={"threads": cores})
        self._connection.execute("SET enable_progress_bar = false")

    def close(self, edges: Edges, vertices: int) -> None:
        del vertices
        self._into("closed", edges)

    def what_if(self, inserted: Edges, deleted: Edges) -> Callable[[], tuple[Digest, Digest]]:
        self._into("tried", changed(self._edges, inserted, deleted, self._vertices))
        for name, side, other in (("won", "tried", "closed"), ("lost", "closed", "tried")):
            query = f"CREATE OR REPLACE TABLE {name} AS FROM {side} EXCEPT FROM {other}"
            self._connection.execute(query)
        return lambda: (self._digest("won"), self._digest("lost"))

    def _into(self, name: str, edges: Edges) -> None:
        """Close the edges into a table of this name."""
        self._connection.register("links", pa.table({"src": edges.sources, "dst": edges.targets}))
        query = f"""
            CREATE OR REPLACE TABLE {name} AS
            WITH RECURSIVE reached AS (
                SELECT src, dst FROM links
                UNION
                SELECT reached.src, links.dst FROM reached JOIN links ON reached.dst = links.src
            )
            SELECT src, dst FROM reached
        """  # noqa: S608  (a name of ours)
        self._connection.execute(query)

    def digest(self) -> Digest:
        return self._digest("closed")

    def _digest(self, name: str) -> Digest:
        row = self._connection.execute(f"SELECT {', '.join(SQL_DIGEST)} FROM {name} WHERE src <> dst").fetchall()[0]  # noqa: S608
        return Digest(*(int(value) for value in row))

    def query(self, sources: Indices, targets: Indices) -> Answers:
        asked = pa.table({"q": np.arange(len(sources)), "src": sources, "dst": targets})
        self._connection.register("asked", asked)
        found = self._connection.execute("SELECT q FROM asked SEMI JOIN closed USING (src, dst)").fetchnumpy()["q"]
        answers = sources == targets
        answers[np.asarray(found, np.int64)] = True
        return answers


class IGraph(Recomputing):
    """A search from every vertex by igraph; the closure is a list of lists."""

    def start(self, cores: int) -> None:
        del cores
        import igraph  # noqa: PLC0415

        self._igraph = igraph

    def close(self, edges: Edges, vertices: int) -> None:
        graph = self._igraph.Graph(n=vertices, edges=np.stack([edges.sources, edges.targets], axis=1), directed=True)
        self._rows = graph.neighborhood(order=vertices, mode="out")

    def digest(self) -> Digest:
        return Digest.of(_flat(self._rows))

    def query(self, sources: Indices, targets: Indices) -> Answers:
        members: dict[int, set[int]] = {}
        for v in np.unique(sources).tolist():
            members[v] = set(self._rows[v])
        return np.fromiter((t in members[s] for s, t in zip(sources.tolist(), targets.tolist(), strict=True)), bool)


class NetworkX(Recomputing):
    """networkx: the closure is a graph of its own."""

    def check(self, workload: Workload) -> None:
        if workload.vertices > MOST_NETWORKX:
            raise NotTriedError(f"n too large: {workload.vertices:,} vertices, tried up to {MOST_NETWORKX:,}")

    def start(self, cores: int) -> None:
        del cores
        import networkx as nx  # noqa: PLC0415

        self._networkx = nx

    def close(self, edges: Edges, vertices: int) -> None:
        self._closed = self._closure(edges, vertices)

    def _closure(self, edges: Edges, vertices: int) -> Any:
        graph: Any = self._networkx.DiGraph()
        graph.add_nodes_from(range(vertices))
        graph.add_edges_from(zip(edges.sources.tolist(), edges.targets.tolist(), strict=True))
        return self._networkx.transitive_closure(graph)

    def what_if(self, inserted: Edges, deleted: Edges) -> Callable[[], tuple[Digest, Digest]]:
        tried = self._closure(changed(self._edges, inserted, deleted, self._vertices), self._vertices)
        before, after = set(self._closed.edges), set(tried.edges)
        won, lost = after - before, before - after
        return lambda: tuple(Digest.of([np.array([*pairs], np.int64).reshape(-1, 2).T]) for pairs in (won, lost))

    def digest(self) -> Digest:
        return Digest.of(_flat([list(self._closed[v]) for v in range(len(self._closed))]))

    def query(self, sources: Indices, targets: Indices) -> Answers:
        has = self._closed.has_edge
        found = (has(s, t) for s, t in zip(sources.tolist(), targets.tolist(), strict=True))
        return np.fromiter(found, bool, len(sources)) | (sources == targets)


class GraphBLAS(Recomputing):
    """python-graphblas: I + A squared until nothing is new."""

    def start(self, cores: int) -> None:
        import graphblas  # noqa: PLC0415

        graphblas.init("suitesparse", blocking=True)
        graphblas.ss.config["nthreads"] = cores
        self._blas = graphblas
        self.init(Edges.of([0, 1], [1, 2]), 3)

    def close(self, edges: Edges, vertices: int) -> None:
        blas, every = self._blas, np.arange(vertices)
        sources, targets = np.append(edges.sources, every), np.append(edges.targets, every)
        closed = blas.Matrix.from_coo(sources, targets, True, dtype=bool, nrows=vertices, ncols=vertices)
        while True:
            squared = closed.mxm(closed, blas.semiring.any_pair[bool]).new()
            if squared.nvals == closed.nvals:
                break
            closed = squared
        self._closed = closed

    def digest(self) -> Digest:
        rows, columns, _ = self._closed.to_coo(values=False)
        return Digest.of([(rows, columns)])


class SciPy(Recomputing):
    """scipy's sparse matrices: I + A squared until nothing is new."""

    def start(self, cores: int) -> None:
        del cores
        import scipy.sparse  # noqa: PLC0415

        self._sparse = scipy.sparse

    def close(self, edges: Edges, vertices: int) -> None:
        every = np.arange(vertices)
        where = np.append(edges.sources, every), np.append(edges.targets, every)
        closed = self._sparse.csr_array((np.ones(len(where[0]), np.float32), where), shape=(vertices, vertices))
        while True:
            squared = closed @ closed
            squared.data[:] = 1
            if squared.nnz == closed.nnz:
                break
            closed = squared
        self._closed = closed

    def digest(self) -> Digest:
        pairs = self._closed.tocoo()
        return Digest.of([(pairs.row, pairs.col)])

    def query(self, sources: Indices, targets: Indices) -> Answers:
        return np.asarray(self._closed[sources, targets]).ravel() > 0


class Search(Recomputing):
    """Compiled code: a search from every vertex that stores nothing, a bound on what a recompute can cost."""

    def start(self, cores: int) -> None:
        del cores
        self.init(Edges.of([0], [1]), 2)

    def close(self, edges: Edges, vertices: int) -> None:
        from benchmarks.suite import oracle  # noqa: PLC0415

        self._digest = oracle.digest(edges, vertices)

    def digest(self) -> Digest:
        return self._digest


def _flat(rows: list[list[int]]) -> Iterator[tuple[Indices, Indices]]:
    """Yield rows as pairs, some rows at a time."""
    for first in range(0, len(rows), 1_000):
        some = rows[first : first + 1_000]
        lengths = [len(row) for row in some]
        heads = np.fromiter(itertools.chain.from_iterable(some), np.int64, sum(lengths))
        yield np.repeat(np.arange(first, first + len(some)), lengths), heads
