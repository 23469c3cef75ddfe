"""All systems by their names: ours as ``engine`` (in process) and ``engine@spark``, peers by their own names."""

from __future__ import annotations

from benchmarks.suite import on_spark, ours, roaring, single_machine, streaming
from benchmarks.suite.system import System
from dyntc_spark.engines import registry

ENGINES = tuple(registry.ENGINES)
NEAR = ENGINES
FAR = tuple(f"{name}@spark" for name in ENGINES)
SPARK_PEERS: dict[str, type[System]] = {
    "joins": on_spark.Joins,
    "recursive query": on_spark.RecursiveQuery,
    "GraphFrames": on_spark.GraphFramesPaths,
}
PEERS: dict[str, type[System]] = {
    "Pathway": streaming.Pathway,
    "DuckDB": single_machine.DuckDB,
    "igraph": single_machine.IGraph,
    "networkx": single_machine.NetworkX,
    "GraphBLAS": single_machine.GraphBLAS,
    "roaring rows": roaring.RoaringRows,
    "scipy": single_machine.SciPy,
    "search": single_machine.Search,
}
ALL = (*NEAR, *FAR, *SPARK_PEERS, *PEERS)


def make(name: str, most_vertices: int) -> System:
    """Return the system of this name, not started; engines to study the paper take graphs up to ``most_vertices``."""
    peers = {**SPARK_PEERS, **PEERS}
    if name in peers:
        return peers[name]()
    engine, _, backend = name.partition("@")
    return ours.Ours(engine, backend or "local", most_vertices)


def is_ours(name: str) -> bool:
    """Return whether a system is one of our engines."""
    return name in {*NEAR, *FAR}
