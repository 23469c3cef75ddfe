"""What only some engines can do: protocols, and functions that say what follows where an engine cannot.

A caller asks for an ability, never for the class of an engine. Protocols have methods only, so that to ask costs little
and works nothing out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dyntc_spark.blocks.state import Backend
from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.engines.algebraic.path_numbers import PathCounts
from dyntc_spark.engines.base import Certificate, Engine, Reachability
from dyntc_spark.engines.lanes.load import StoredClosure
from dyntc_spark.engines.lanes.runs import Layout
from dyntc_spark.errors import OptionError
from dyntc_spark.kernels.ids import Indices

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS = 1024  # that are unfolded at a time, to be counted


@runtime_checkable
class Movable(Protocol):
    """An engine whose state can be in this process or on Spark."""

    def moved(self, backend: Backend) -> Engine:
        """Return the same engine with the same state on another backend, itself when it is there; no rebuild."""


@runtime_checkable
class Certifies(Protocol):
    """An engine that can prove its answers."""

    def verify(self) -> Certificate:
        """Certify the closure, and build it again where that fails."""


@runtime_checkable
class ShowsBlocks(Protocol):
    """A closure that is stored as matrices."""

    def blocks(self, spark: SparkSession) -> DataFrame:
        """The matrices of the state as they are stored, a row a block: the columns of `blocks.block_table`."""


@runtime_checkable
class RowsOnSpark(Protocol):
    """A closure whose rows can be read where they are on Spark."""

    def rows(self, spark: SparkSession, *, look: bool = False) -> DataFrame | None:
        """The closure as it is on Spark: ``number int`` and ``reached array<int>``, sorted; the vertex itself included.

        None when the state is in this process. With ``look`` one small job looks first whether Spark still has the
        state: a DataFrame over blocks that are lost would fail when it is worked out.
        """


@runtime_checkable
class InLanes(Protocol):
    """A closure in lanes, which is a table of runs (``kernels.lanes.runs``)."""

    def layout(self) -> Layout:
        """Return where vertices and stripes are."""

    def runs(self) -> DataFrame | None:
        """The runs on Spark; None when the stripes are in this process."""

    def run_table(self, stripes: Indices | None = None) -> pa.Table:
        """The runs of some stripes, or of all, which are in this process."""


@runtime_checkable
class LoadsClosures(Protocol):
    """An engine that can take over a closure as it is stored."""

    def load(self, edges: EdgeSet, vertices: int, stored: StoredClosure) -> bool:
        """Start again with these edges and their closure; False where that had better be built.

        ``DamagedBlockError`` where it is no such closure; then nothing has changed.
        """


@runtime_checkable
class RemembersChanges(Protocol):
    """An engine that knows what its last batch changed."""

    def changes(self) -> tuple[Edges, Edges] | None:
        """The pairs that the last batch made reachable, and those that it made unreachable, each sorted.

        None where there is no last batch, or where it is no longer known.
        """


@runtime_checkable
class CountsChanges(Protocol):
    """An engine that can count what its last batch changed without unfolding the pairs."""

    def change_counts(self) -> tuple[int, int] | None:
        """How many pairs became reachable, and how many unreachable; None where only a job of Spark could tell."""


@runtime_checkable
class ChangesOnSpark(Protocol):
    """An engine that can compare its state before and after the last batch on Spark."""

    def changed(self, spark: SparkSession, *, look: bool = False) -> DataFrame | None:
        """The pairs that the last batch changed: ``src int``, ``dst int``, ``won boolean`` (true: new, false: gone).

        It is worked out where the state is, when the DataFrame is read. None when the state is in this process, and
        where there is no last batch. With ``look`` one small job looks first whether Spark still has what is to be
        read.
        """


@runtime_checkable
class TakesSnapshots(Protocol):
    """A closure of which long questions can be asked while batches are applied."""

    def snapshot(self) -> Reachability:
        """Return a closure that answers as this one does now, also after later batches."""


@runtime_checkable
class TriesBatches(Protocol):
    """An engine that can tell what a batch would change."""

    def trial(self) -> Engine:
        """Return an engine that begins where this one stands, for one batch that is thrown away; this one stays.

        It must not be used any more when this one gets its next batch.
        """


@runtime_checkable
class Selective(Protocol):
    """An engine that cannot close all edges."""

    def require(self, edges: Edges, vertices: int) -> None:
        """Refuse edges that this engine cannot close."""


@runtime_checkable
class CountsPaths(Protocol):
    """An engine that counts the paths from one vertex to another."""

    def count_paths(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> PathCounts:
        """Return ``counts``, and whether each is ``exact`` or only a lower bound."""


@runtime_checkable
class CountsReached(Protocol):
    """A closure that counts what vertices reach without unfolding the pairs."""

    def counts(self, vertices: Indices) -> tuple[Indices, Indices]:
        """How many others each of ``vertices`` reaches, and how many others of these reach it."""


def lacking(closure: Reachability, what: str) -> OptionError:
    """Return the error for an engine that cannot do what is asked."""
    return OptionError(f"an engine with {what}", f"the engine {closure.name!r}", "Choose another engine.")


def loaded(engine: Engine, edges: EdgeSet, vertices: int, stored: StoredClosure) -> bool:
    """Have an engine start again with a closure as it is stored; False where it cannot."""
    return isinstance(engine, LoadsClosures) and engine.load(edges, vertices, stored)


def moved(engine: Engine, backend: Backend) -> Engine:
    """Return an engine with its state on another backend, or an error that it cannot move."""
    if not isinstance(engine, Movable):
        raise lacking(engine, "a state that can be moved")
    return engine.moved(backend)


def verified(closure: Reachability) -> Certificate:
    """Certify a closure, or raise an error that it cannot be."""
    if not isinstance(closure, Certifies):
        raise lacking(closure, "a certificate")
    return closure.verify()


def blocks_of(closure: Reachability, spark: SparkSession) -> DataFrame:
    """Return the blocks of a closure, or an error that it has none."""
    if not isinstance(closure, ShowsBlocks):
        raise lacking(closure, "blocks to show")
    return closure.blocks(spark)


def rows_on_spark(closure: Reachability, spark: SparkSession, *, look: bool = False) -> DataFrame | None:
    """Return the rows of a closure on Spark; None where they are in this process, or cannot be read there."""
    return closure.rows(spark, look=look) if isinstance(closure, RowsOnSpark) else None


def changes_of(closure: Reachability) -> tuple[Edges, Edges] | None:
    """Return the pairs that the last batch made reachable and unreachable; None where they are not remembered."""
    return closure.changes() if isinstance(closure, RemembersChanges) else None


def change_counts(closure: Reachability) -> tuple[int, int] | None:
    """Return how many pairs the last batch made reachable and unreachable; None where only a job could tell."""
    if isinstance(closure, CountsChanges):
        return closure.change_counts()
    found = changes_of(closure) if closure.backend == "local" else None
    return None if found is None else (len(found[0]), len(found[1]))


def changes_on_spark(closure: Reachability, spark: SparkSession, *, look: bool = False) -> DataFrame | None:
    """Return the pairs that the last batch changed, as Spark works them out; None where it cannot."""
    return closure.changed(spark, look=look) if isinstance(closure, ChangesOnSpark) else None


def reach_counts(closure: Reachability, vertices: Indices) -> tuple[Indices, Indices]:
    """Return how many others each of ``vertices`` reaches, and how many others of these reach it.

    Pairs are unfolded where the engine does not count by itself.
    """
    if isinstance(closure, CountsReached):
        return closure.counts(vertices)
    below, above = np.zeros(closure.vertices, np.int64), np.zeros(closure.vertices, np.int64)
    for part in np.array_split(vertices, len(vertices) // _ROWS + 1):
        pairs = closure.descendants(part)
        below += np.bincount(pairs.sources, minlength=closure.vertices)
        above += np.bincount(pairs.targets, minlength=closure.vertices)
    return below[vertices] - 1, above[vertices] - 1


def path_counts(engine: Reachability, pairs: Edges) -> pa.Array | None:
    """Return the number of paths for each pair, null where it is not known or has more than 38 digits.

    None from an engine that does not count.
    """
    if not isinstance(engine, CountsPaths):
        return None
    return engine.count_paths(pairs.sources, pairs.targets).known()
