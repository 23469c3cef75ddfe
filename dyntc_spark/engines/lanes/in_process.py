"""Where the stripes of a closure are: what `State` and the questions need of a place, and the place in this process.

A *closure* is a `Version` and a place. Both are values. The version has the stripes that are at hand in this process,
and the place knows where all others are. In this process all of them are at hand.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from dyntc_spark.blocks.block_table import BLOCKS, BLOCKS_TYPE
from dyntc_spark.edges import Edges, answered
from dyntc_spark.engines.lanes.build import UNBOUNDED, Begun, built
from dyntc_spark.kernels.ids import Flags, Ids, Offsets
from dyntc_spark.kernels.lanes import answers, build, certificate, compare
from dyntc_spark.kernels.lanes.answers import Version
from dyntc_spark.kernels.lanes.columns import Columns, add, columns
from dyntc_spark.kernels.lanes.graph import Graph, Members, Merges, condensed
from dyntc_spark.kernels.lanes.payload import Block, byte_sizes, held_pairs, of_lists
from dyntc_spark.kernels.lanes.steps import Lost
from dyntc_spark.kernels.lanes.stripes import ABSENT, Stripes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Bytes of a block, about.
BLOCK_BYTES = 2**20
CODEC = "lanes"
#: How a batch made stripes: in this process, where they are, by a build of all, or by one with other numbers.
HERE, APART, BUILT, OTHER_NUMBERS = "here", "apart", "built", "other numbers"
#: Components with other members, up to which lanes are asked whether they reach one of them.
FEW_CHANGED = 64
NONE = np.zeros(0, np.int32)
_ADDING = threading.Lock()  # to an index of columns


class Batch(NamedTuple):
    """A batch halfway: edges are deleted, components have fallen apart, and nothing is inserted yet."""

    graph: Graph  #: M, the working graph without the deleted edges
    lost: Lost
    parts: Merges
    inserted: Offsets
    most_looks: int  #: words that may be looked at, in all stripes, before a build is cheaper


class Built(NamedTuple):
    """A closure that was built: the stripes that are at hand, the place of the others, and words looked at."""

    stripes: Stripes
    place: Place
    looks: int


class Near(NamedTuple):
    """Stripes at hand, further ones that are to be put there, and the place of the others."""

    stripes: Stripes
    which: Ids
    more: Stripes | None
    place: Place


class TooMany(NamedTuple):
    """The stripes that a batch concerns, which are too many to have at hand, and where it can work on them."""

    which: Ids
    place: WorksApart


class Apart(NamedTuple):
    """A batch that was worked on where the stripes are."""

    stripes: Stripes
    place: Place
    altered: Ids  #: stripes that may have changed
    words: int  #: words that changed
    looked: int  #: words that were looked at


class Closure(NamedTuple):
    """A version of a closure, and where its stripes are."""

    version: Version
    place: Place


class Change(NamedTuple):
    """What a batch changed: the closure before and after, stripes that changed, components with other members."""

    before: Closure
    after: Closure
    altered: Ids
    changed: Ids
    words: int  #: words that changed
    looked: int  #: words that were looked at
    made: str  #: how the stripes after it were made: `HERE`, `APART`, `BUILT` or `OTHER_NUMBERS`


class Place(Protocol):
    """Where the stripes of a closure are. A value: whatever changes makes another one."""

    @property
    def backend(self) -> str:
        """Return the name of the backend."""

    @property
    def least_looks(self) -> int:
        """Return how many looks at words take as long as it takes to begin a build."""

    def built(
        self, plan: build.Plan, sizes: Ids, width: int, count: int, budget: int | None, begun: Begun | None = None
    ) -> Built:
        """Build all stripes of an acyclic graph; there are ``count``, empty ones at the end included.

        ``sizes``: how many vertices the component of each number has. ``begun``: what is built already.
        """

    def near(self, stripes: Stripes, wanted: Callable[[], Ids]) -> Near | TooMany:
        """Have the wanted stripes at hand, unless they are too many."""

    def noted(self, altered: Ids, stripes: Stripes, sizes: Ids, plan: Callable[[], build.Plan]) -> Place:
        """Take note that stripes at hand are newer than elsewhere; ``plan`` is of the graph that they are of."""

    def recount(self, change: Change) -> None:
        """Take note of how many pairs there are after a change that was made in this process, where that is known."""

    def padded(self, count: int) -> Place:
        """Take note that there are so many stripes; the new ones are empty."""

    def byte_sizes(self, stripes: Stripes) -> Offsets:
        """Return how many bytes each stripe takes."""

    def whole(self, stripes: Stripes) -> Stripes:
        """Return the stripes with all of them at hand."""

    def taken(self, stripes: Stripes, here: Place, plan: build.Plan, sizes: Ids) -> tuple[Stripes, Place]:
        """Take stripes from another place, ``here``, and that of the graph they are of; return those at hand."""

    def joined(self, version: Version, pairs: Edges) -> Flags:
        """Return for each pair of vertices whether the first reaches the second."""

    def lists(self, version: Version, vertices: Ids, forwards: bool) -> tuple[Offsets, Ids]:
        """Return for each of ``vertices`` what it reaches, or what reaches it, ascending."""

    def pairs(self, version: Version) -> int:
        """Return how many pairs of different vertices there are of which one reaches the other."""

    def wrong(self, graph: Graph, version: Version) -> tuple[Offsets, int]:
        """Return keys of missing pairs, one at least for each wrong lane, and how many words have a bit too many."""

    def rows(self, version: Version) -> DataFrame | None:
        """Return ``number`` and ``reached`` for each vertex; None when the stripes are in this process."""

    def runs(self, version: Version) -> DataFrame | None:
        """Return the closure as a table of runs; None when the stripes are in this process."""

    def blocks(self, version: Version, spark: SparkSession) -> DataFrame:
        """Return the stripes and the members of components as they are stored: the columns `BLOCKS`."""


class WorksApart(Protocol):
    """A place that works on stripes where they are; the one in this process has them all at hand, and never does."""

    def apart(self, batch: Batch, stripes: Stripes, which: Ids) -> Apart | None:
        """Work on stripes where they are; None where they had better be `rebuilt`."""

    def rebuilt(self, plan: build.Plan, sizes: Ids, stripes: Stripes, which: Ids) -> Apart:
        """Build stripes, where they are, of the graph after a batch."""


@dataclass(frozen=True)
class InProcess:
    """All stripes are at hand; from the first question for ancestors on there is an index of columns."""

    backend: str = "local"
    least_looks: int = 4096
    index: list[Columns] = field(default_factory=list, compare=False)  #: none, or one with all that the stripes reach

    def built(
        self, plan: build.Plan, sizes: Ids, width: int, count: int, budget: int | None, begun: Begun | None = None
    ) -> Built:
        """Build the stripes, by several threads where they are many."""
        del sizes, count
        stripes, looks = built(plan, width, UNBOUNDED if budget is None else budget, begun)
        return Built(stripes, InProcess(), looks)

    def near(self, stripes: Stripes, wanted: Callable[[], Ids]) -> Near:
        """Do nothing: they are at hand."""
        del wanted
        return Near(stripes, NONE, None, self)

    def noted(self, altered: Ids, stripes: Stripes, sizes: Ids, plan: Callable[[], build.Plan]) -> InProcess:
        """Add the stripes to the index, if there is one: there is no other copy."""
        del sizes, plan
        if not self.index:  # a reader of the version before may make one just now, of that version
            return InProcess()
        with _ADDING:  # a trial may share it
            add(self.index[0], stripes, altered)
        return self

    def recount(self, change: Change) -> None:
        """Do nothing: pairs are counted when somebody asks."""
        del change

    def padded(self, count: int) -> InProcess:
        """Forget the index, which has no place for further stripes."""
        del count
        return InProcess()

    def byte_sizes(self, stripes: Stripes) -> Offsets:
        """Return how many bytes each stripe takes."""
        return byte_sizes(stripes)

    def whole(self, stripes: Stripes) -> Stripes:
        """Return the stripes."""
        return stripes

    def taken(self, stripes: Stripes, here: Place, plan: build.Plan, sizes: Ids) -> tuple[Stripes, InProcess]:
        """Bring all stripes here."""
        del plan, sizes
        return here.whole(stripes), self

    def joined(self, version: Version, pairs: Edges) -> Flags:
        """Return for each pair of vertices whether the first reaches the second: a binary search each."""
        return answered(answers.joined(version, pairs.sources, pairs.targets), pairs, version.vertices)

    def lists(self, version: Version, vertices: Ids, forwards: bool) -> tuple[Offsets, Ids]:
        """Return for each of ``vertices`` what it reaches, or what reaches it, ascending."""
        if not forwards and not self.index:
            self.index.append(columns(version.stripes, len(version.members.size)))
        return answers.lists(version, vertices, forwards, None if forwards else self.index[0])

    def pairs(self, version: Version) -> int:
        """Return how many pairs there are: a pass over the entries."""
        return answers.pairs(version)

    def wrong(self, graph: Graph, version: Version) -> tuple[Offsets, int]:
        """Look whether every word is what its predecessors ask for."""
        plan = build.Plan(*condensed(graph))
        missing, extra = certificate.wrong(plan, version.stripes, certificate.new_space(plan))
        return certificate.named(missing, version.members), extra

    def rows(self, version: Version) -> None:
        """Return None: whoever asks is in the same process."""
        del version

    def runs(self, version: Version) -> None:
        """Return None: whoever asks is in the same process."""
        del version

    def blocks(self, version: Version, spark: SparkSession) -> DataFrame:
        """Return the stripes and the members, cut into blocks."""
        return exhibited([*shown("members", members_of(version)), *shown("stripes", version.stripes)], spark)


def compared_stripes(change: Change) -> Ids:
    """Return the stripes at hand whose pairs may have changed: those that did, and what reaches other members."""
    before, after = change.before.version, change.after.version
    if not len(change.changed):
        return change.altered
    if len(change.changed) > FEW_CHANGED:
        return np.flatnonzero(after.stripes.lengths > ABSENT).astype(np.int32)
    vertices = compare.sources(before, after, change.altered, change.changed)
    lanes = np.concatenate([version.members.component[vertices] for version in (before, after)])
    return np.union1d(change.altered, lanes // after.stripes.width).astype(np.int32)


def members_of(version: Version) -> Stripes:
    """Return the members of each component as plain stripes: a list of vertices for each number."""
    before, vertices = by_number(version.members, version.vertices)
    return of_lists(before[: version.vertices + 1], vertices, version.stripes.width)


def by_number(members: Members, vertices: int) -> tuple[Offsets, Ids]:
    """Return the vertices of each component, ascending, by its number: how many are before these, and all of them."""
    before = np.zeros(len(members.size) + 1, np.int64)
    np.cumsum(members.size, out=before[1:])
    return before, np.argsort(members.component[:vertices], kind="stable").astype(np.int32)


def shown(matrix: str, stripes: Stripes) -> list[dict[str, object]]:
    """Return stripes as rows of `BLOCKS`."""
    return [showing(matrix, place, block) for place, block in enumerate(Block(0, stripes).cut(BLOCK_BYTES))]


def showing(matrix: str, place: int, block: Block) -> dict[str, object]:
    """Return a block as a row of `BLOCKS`."""
    payload = block.encode()
    counts = {"nnz": held_pairs(block.stripes), "bytes": len(payload)}
    return {"matrix": matrix, "bi": place, "bj": 0, "codec": CODEC, **counts, "payload": payload}


def exhibited(rows: list[dict[str, object]], spark: SparkSession) -> DataFrame:
    """Return rows of `BLOCKS` as a DataFrame."""
    if not rows:  # Spark Connect refuses a table without rows
        return spark.createDataFrame([], BLOCKS)
    return spark.createDataFrame(pa.Table.from_pylist(rows, BLOCKS_TYPE))
