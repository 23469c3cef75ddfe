"""How an engine begins with a version that was read: with the closure of the checkpoint, or with the edges alone."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from dyntc_spark.engines.abilities import loaded
from dyntc_spark.engines.base import Engine
from dyntc_spark.engines.lanes.load import StoredClosure
from dyntc_spark.errors import DamagedBlockError, StorageError
from dyntc_spark.graph.store import checkpoint
from dyntc_spark.graph.store.commits import Commit
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.version import Graph

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint whose graph was read, and whose closure was not yet."""

    place: Place
    commit: Commit
    graph: Graph
    closure: StoredClosure | None  #: as it is stored; None where that is not in lanes

    def begin(self, engine: Engine) -> bool:
        """Have an engine take over the closure; False where it has to build that. Damage is told to the log."""
        edges, vertices = self.graph.edges, self.graph.vertices.extent
        try:
            if self.closure is not None and self.place.reads_alone and loaded(engine, edges, vertices, self.closure):
                return True
            checkpoint.require_runs(self.place, self.commit, on_spark=engine.backend == "spark")
        except (DamagedBlockError, StorageError) as error:
            _log.warning(
                "The closure at %s is built again from its edges; repair() writes a whole checkpoint: %s",
                self.place.location,
                error,
            )
        return False


def begin(engine: Engine, graph: Graph, start: Checkpoint | None) -> None:
    """Have an engine start again with the closure of a graph, by way of the checkpoint that it was reached from."""
    if start is not None and start.begin(engine):
        bring(engine, start.graph, graph)
    else:
        engine.init(graph.edges.edges, graph.vertices.extent)


def bring(engine: Engine, before: Graph, after: Graph) -> None:
    """Bring an engine from one version of a graph to a later one."""
    engine.grow(max(engine.vertices, after.vertices.extent))
    if after.edges is before.edges:
        return
    inserted, deleted = after.edges.minus(before.edges), before.edges.minus(after.edges)
    if len(inserted) or len(deleted):
        engine.apply(inserted, deleted)
