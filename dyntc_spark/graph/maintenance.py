"""The state of a closure: how large it is, where it is, and whether it is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.engines import registry
from dyntc_spark.engines.abilities import moved, verified
from dyntc_spark.graph.attachment import Attachment
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.inputs.read import Vertex
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.tables.current_views import CurrentViews
from dyntc_spark.graph.tables.session_tables import SessionTables
from dyntc_spark.graph.tables.statistics import statistics
from dyntc_spark.progress import progress
from dyntc_spark.session import ensure_open, session_for


@dataclass(frozen=True, slots=True)
class Verification:
    """What `DynamicClosure.verify` found; true where the answers are right now."""

    rows: int  #: vertices whose descendants were checked
    missing: list[tuple[Vertex, Vertex]]  #: pairs that were wrongly answered "no": one at least for each wrong vertex
    repaired: bool  #: whether the closure was built again, so that nothing is missing any more

    def __bool__(self) -> bool:
        return self.repaired or not self.missing


class Maintenance:
    """Tells the size of the state, moves it, and checks it.

    A move changes the session of ``tables``, and the backend that ``attachment`` has a location remember.
    """

    def __init__(self, door: Door, tables: SessionTables, attachment: Attachment, views: CurrentViews) -> None:
        self._door, self._tables, self._attachment, self._views = door, tables, attachment, views

    def stats(self) -> dict[str, Any]:
        """Sizes, the number of batches and what became of them, and under ``details`` what the engine says."""
        return statistics(self._door, self._tables)

    def on_spark(self, spark: SparkSession | None = None) -> None:
        """Move the state to Spark, as a DataFrame of blocks; answers are the same."""
        spark = session_for(spark or self._tables.spark)
        with self._door.changing():
            self._door.move(lambda engine: moved(engine, SparkBackend(spark)))
            self._tables.spark = spark
            self._attachment.asked = self._attachment.asked[0], "spark"
            self._views.show()

    def in_process(self) -> None:
        """Move the state into this process; answers are the same."""
        with self._door.changing():
            self._door.move(lambda engine: moved(engine, LocalBackend()))
            self._attachment.asked = self._attachment.asked[0], "local"
            self._views.show()

    def use(self, spark: SparkSession) -> None:
        """Continue in another session, for example after the one in use was stopped.

        The closure is built again from its edges, unless its state is in this process for good
        (``backend="local"``). Views and streams belong to their session: create and start them again.
        """
        ensure_open(spark)
        with self._door.changing() as now:
            now.graph.vertices.require_in(spark)
            self._tables.spark, store = spark, self._attachment.store
            if store is not None:
                store.place = Place(spark, store.place.location)
            if self._attachment.asked[1] != "local":
                self._door.replace(registry.create(*self._attachment.asked, spark))

    def verify(self) -> Verification:
        """Check the whole closure, and build it again where an answer is wrong.

        No engine answers "yes" without a reason. A "no" is checked by the edges: what a successor of a vertex
        reaches, the vertex reaches too.
        """
        with self._door.changing() as now, progress("verifying", 1):
            found = self._door.ask(lambda _, closure: verified(closure))
            if found.repaired:
                self._views.show()
        ends = now.graph.named(found.missing)
        missing = list(zip(ends.src.to_pylist(), ends.dst.to_pylist(), strict=True))
        return Verification(found.rows, missing, found.repaired)
