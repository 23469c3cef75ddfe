"""Block matrices as Spark DataFrames.

A state is a DataFrame with the columns ``bi``, ``bj`` and one binary column a
matrix: one row for each block coordinate, with the payloads of all matrices
there; null is the zero block. A column a matrix (instead of one array of
payloads) lets Spark send a worker only the matrices that a superstep reads.

Every coordinate has its row, so that an update which fills an absent block
finds it without a join; a row of nulls costs some forty bytes and never
reaches a Python worker.

The strips of an operation travel inside the stage, which Spark broadcasts to
every executor, and each cell picks up its slices by ``bi`` and ``bj``: a
broadcast join whose build side costs no job of its own. Strips above
``JOINED_BYTES`` go as DataFrames through Spark's own broadcast join, which
starts one small job a strip but hands each task only its slices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dyntc_spark.blocks import matrix_tasks, workers
from dyntc_spark.blocks.columns import (
    all_of,
    any_of,
    arrow_columns,
    cell_schema,
    checked_columns,
    where_true,
    with_no_reports,
    within,
)
from dyntc_spark.blocks.jobs import run_job
from dyntc_spark.blocks.lineage import Kept, Lineage, Materialisation, lineage
from dyntc_spark.blocks.local import LocalBackend, LocalState
from dyntc_spark.blocks.placement import Placement
from dyntc_spark.blocks.product_routes import routed
from dyntc_spark.blocks.state import Backend, BlockRow, Entries, EntryArrays, JobCounter, State, bounds, check_name
from dyntc_spark.blocks.superstep import Kind, Kinds, Operation, check_names
from dyntc_spark.errors import ShapeMismatchError
from dyntc_spark.lazy_pyspark import F, is_frame
from dyntc_spark.session import ensure_open, parallelism

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

JOINED_BYTES = 8 * 2**20


class SparkState(State):
    """A state whose blocks are rows of one DataFrame, or of several that are not joined yet."""

    def __init__(self, backend: SparkBackend, kinds: Mapping[str, Kind], kept: tuple[Kept, ...]) -> None:
        self._backend = backend
        self.kinds = Kinds(kinds)
        self.kept = kept

    @property
    def backend(self) -> SparkBackend:
        """The Spark backend."""
        return self._backend

    @property
    def frame(self) -> DataFrame:
        """The blocks: ``bi``, ``bj``, one binary column a matrix."""
        frames = [kept.frame for kept in self.kept]
        if len(frames) > 1:  # a number of partitions that is given stays: Spark would join small ones into one task
            parts = Placement.choose(self._backend.parallelism, bounds(self.kinds.values())).parts
            frames = [frame.repartition(parts, "bi", "bj") for frame in frames]
        return reduce(lambda a, b: a.join(b, ["bi", "bj"], "full"), frames)

    def run(self, *operations: Operation[Any]) -> tuple[State, tuple[Any, ...]]:
        """Run a superstep as one job."""
        check_names(operations, self.kinds)
        if not operations:
            return self, ()
        ensure_open(self._backend.spark)
        what = "superstep " + ", ".join(f"{type(item).__name__} {item.name}" for item in operations)
        written = tuple(name for name in self.kinds if any(name in item.writes for item in operations))
        needed = tuple(name for name in self.kinds if any(name in (*i.reads, *i.writes) for i in operations))
        touched = any_of(self._touched(operation) for operation in operations)
        shipped, frame, strips = self._with_strips(operations)
        kinds = {name: self.kinds[name] for name in needed}
        if not written:
            payloads = [self._where_read(name, operations) for name in needed]
            # By coordinates first: whether a payload is there is asked, and the payload copied, only in the cells left.
            width = bounds(self.kinds.values())[1]
            near = any_of(within(operation.where, width) for operation in operations)
            cells = frame.where(near).where(touched).selectExpr("bi", "bj", *payloads, *strips)
            task = workers.reporting(shipped, kinds)
            answers = self._backend.collect(what, cells.mapInArrow(task, f"reports {workers.REPORT}"))
            return self, workers.read_reports(answers, operations).results()
        inputs = ("bi", "bj", *needed, *strips)
        update = workers.updating(shipped, kinds, inputs, written)
        fields = ", ".join(f"{name}: binary" for name in written)
        new = arrow_columns(frame, touched, inputs, update, f"struct<{fields}, reports: {workers.REPORT}>")
        columns = [
            f"CASE WHEN {touched} THEN new.`{name}` ELSE `{name}` END AS `{name}`" if name in written else f"`{name}`"
            for name in self.kinds
        ]
        after = new.selectExpr("bi", "bj", *columns, "new.reports AS reports")
        kept, answers = self._backend.keep(what, after, {})
        return SparkState(self._backend, self.kinds, (kept,)), workers.read_reports(answers, operations).results()

    def _where_read(self, name: str, operations: tuple[Operation[Any], ...]) -> str:
        """A matrix's payload where one of the operations that read it has work to do: elsewhere it stays in the JVM."""
        readers = [operation for operation in operations if name in operation.reads]
        if len(readers) == len(operations):
            return f"`{name}`"
        return f"{where_true(any_of(map(self._touched, readers)), name)} AS `{name}`"

    def _touched(self, operation: Operation[Any]) -> str:
        """The cells in which an operation has work to do, as a condition that Spark evaluates by itself."""
        condition = within(operation.where, bounds(self.kinds.values())[1])
        if operation.fills:
            return condition
        return all_of((condition, any_of(f"`{name}` IS NOT NULL" for name in operation.reads)))

    def _with_strips(
        self, operations: tuple[Operation[Any], ...]
    ) -> tuple[tuple[Operation[Any], ...], DataFrame, tuple[str, ...]]:
        """Return the operations to ship, the cells, and the columns of the strips that are too large to be shipped."""
        frame, shipped, names = self.frame, [], []
        for number, operation in enumerate(operations):
            strips = [("bi", "left", operation.by_row), ("bj", "right", operation.by_column)]
            if sum(strip.stored_bytes for _, _, strip in strips if strip) <= self._backend.joined_bytes:
                shipped.append(operation)
                continue
            for key, side, strip in strips:
                if strip is not None:
                    name = f"{side}{number}"
                    payloads = [strip.ring.encode(piece) for piece in strip.slices.values()]
                    keys = pa.array(list(strip.slices), pa.int32())
                    table = pa.table({key: keys, name: pa.array(payloads, pa.binary())})
                    slices = self._backend.from_arrow(table)
                    frame = frame.join(F.broadcast(slices), key, "left")
                    names.append(name)
            shipped.append(operation.hollow())
        return tuple(shipped), frame, tuple(names)

    def multiply(self, left: str, right: str, into: str, *, counts: bool = False, keep: bool = True) -> State:
        """Multiply in one shuffle: each block goes to the output parts that need it (``product_routes``)."""
        kind = self.product_kind(left, right, counts=counts)
        ensure_open(self._backend.spark)
        kept = dict(self.kinds) if keep else {}
        carried = tuple(name for name in kept if name != into)
        extent = bounds([kind, *kept.values()])
        place = Placement.choose(self._backend.parallelism, extent)
        cells = self._backend.cells(extent)
        if keep:  # the state has a row for each cell of its matrices; the product may have more
            covered = any(_covers(each.grid.blocks, kind.grid.blocks) for each in kept.values())
            cells = self.frame if covered else cells.join(self.frame, ["bi", "bj"], "left")
        lefts, rights = (
            self._source(name).where(F.col(name).isNotNull()).select("bi", "bj", F.col(name).alias("payload"))
            for name in (left, right)
        )
        task = matrix_tasks.multiplying(kind, self.kinds[left], (left, right), carried)
        product = routed(lefts, rights, cells, carried, place).mapInArrow(task, cell_schema("payload", *carried))
        kept_product, _ = self._backend.keep(f"multiply {left} by {right}", product, {"payload": check_name(into)})
        return SparkState(self._backend, {**{name: kept[name] for name in carried}, into: kind}, (kept_product,))

    def transpose(self, name: str) -> State:
        """Transpose each block and swap its coordinates: no shuffle."""
        kind = self.kinds[name]
        task = matrix_tasks.transposing(kind, name)
        turned = self._blocks(name).mapInArrow(task, cell_schema("payload"))
        kept, _ = self._backend.keep(f"transpose {name}", turned, {"payload": name})
        return SparkState(self._backend, {name: Kind(kind.grid.transposed, kind.ring)}, (kept,))

    def join(self, other: State) -> State:
        """Hold the matrices of both; the DataFrames are joined when a superstep needs them together."""
        kinds = self.joined_kinds(other)
        if not isinstance(other, SparkState) or other.backend.spark is not self._backend.spark:
            raise ShapeMismatchError(
                "two states of one Spark session", "one that lives elsewhere", "Move one of them first."
            )
        return SparkState(self._backend, kinds, (*self.kept, *other.kept))

    def select(self, names: Mapping[str, str]) -> State:
        """Keep some matrices, under new names."""
        kinds = self.selected_kinds(names)
        ensure_open(self._backend.spark)
        parts = []
        for kept in self.kept:
            inside = [F.col(old).alias(new) for old, new in names.items() if old in kept.frame.columns]
            if inside:
                parts.append(kept.derived(kept.frame.select("bi", "bj", *inside)))
        return SparkState(self._backend, kinds, tuple(parts))

    def entries(self, name: str) -> Entries:
        """Entries at the driver, sorted."""
        local = self.select({name: name}).to_local()  # type: ignore[attr-defined]
        found: Entries = local.entries(name)
        return found

    def to_dataframe(self, name: str) -> DataFrame:
        """Entries as a DataFrame ``row``, ``column`` and, unless Boolean, ``value`` (residues: ``values``). No job."""
        kind = self.kinds[name]
        task = matrix_tasks.unfolding(kind)
        found = (
            self._blocks(name)
            .where(F.col("payload").isNotNull())
            .mapInArrow(task, "row bigint, column bigint, values array<bigint>")
        )
        if kind.ring.modulus:
            return found
        return found.select("row", "column", *([F.col("values")[0].alias("value")] if kind.ring.planes else []))

    def validate(self) -> None:
        """Bring the blocks of each coordinate together and read them all."""
        ensure_open(self._backend.spark)
        place = Placement.choose(self._backend.parallelism, bounds(self.kinds.values()))
        task = matrix_tasks.checking(self.kinds)
        found = self._backend.collect("validate", place.dealt(self.frame).mapInArrow(task, f"reports {workers.REPORT}"))
        workers.read_reports(found, ())

    def stored_bytes(self, name: str) -> int:
        """Add up the lengths of the payloads."""
        return self._backend.total(f"bytes of {name}", self._blocks(name), "length(payload)")

    def to_local(self) -> LocalState:
        """Bring all blocks into this process: one job."""
        ensure_open(self._backend.spark)
        local = LocalBackend()
        table = self._backend.collect("to this process", self.frame)
        places = list(zip(table.column("bi").to_pylist(), table.column("bj").to_pylist(), strict=True))
        states = [
            local.from_blocks(
                ((*at, item.as_buffer()) for at, item in zip(places, table.column(name), strict=True) if item.is_valid),
                kind,
                name,
            )
            for name, kind in self.kinds.items()
        ]
        blocks = {name: found for state in states for name, found in state.blocks.items()}
        return LocalState(local, self.kinds, blocks)

    def _source(self, name: str) -> DataFrame:
        return next(kept.frame for kept in self.kept if name in kept.frame.columns)

    def _blocks(self, name: str) -> DataFrame:
        """The blocks of one matrix, inside its own grid."""
        rows, columns = self.kinds[name].grid.blocks
        ensure_open(self._backend.spark)
        inside = (F.col("bi") < rows) & (F.col("bj") < columns)
        return self._source(name).where(inside).select("bi", "bj", F.col(name).alias("payload"))


class SparkBackend(Backend):
    """Matrices as DataFrames of one Spark session, whose configuration is left as it is.

    Parameters
    ----------
    spark
        A classic session or one of Spark Connect.
    materialisation
        How the blocks of a state are kept; see ``lineage``.
    schema
        For ``parquet`` and ``delta``: the catalog's schema that holds the tables.
    partitions
        How many tasks a pass over many blocks is cut into; by default the
        session's ``spark.sql.shuffle.partitions``.
    """

    def __init__(
        self,
        spark: SparkSession,
        materialisation: Materialisation = "local_checkpoint",
        *,
        schema: str | None = None,
        partitions: int | None = None,
        joined_bytes: int = JOINED_BYTES,
    ) -> None:
        self.spark = spark
        self.jobs = JobCounter()
        self.joined_bytes = joined_bytes
        self._lineage: Lineage = lineage(spark, materialisation, schema)
        self._partitions = partitions

    @property
    def parallelism(self) -> int:
        """How many tasks a pass over many blocks is cut into."""
        return self._partitions or parallelism(self.spark)

    def from_entries(self, entries: DataFrame | EntryArrays, kind: Kind, name: str) -> SparkState:
        """Make a matrix of a DataFrame ``row, column[, value]`` or of arrays: one job."""
        if not is_frame(entries):
            return self.from_local(LocalBackend().from_entries(entries, kind, name))
        ensure_open(self.spark)
        frame = checked_columns(entries, kind)
        down, across = kind.grid.down, kind.grid.across
        inside = F.col("row").between(0, down.length - 1) & F.col("column").between(0, across.length - 1)
        inside = F.coalesce(inside, F.lit(False))
        bi = F.when(inside, F.floor(F.col("row") / down.step)).otherwise(0).cast("int")
        bj = F.when(inside, F.floor(F.col("column") / across.step)).otherwise(0).cast("int")
        placed = frame.select(bi.alias("bi"), bj.alias("bj"), "row", "column", "value", F.lit(False).alias("seed"))
        nothing = [F.lit(None).cast("bigint").alias(column) for column in ("row", "column", "value")]
        return self._sorted(placed, nothing, matrix_tasks.sorting(kind), kind, name)

    def from_blocks(self, blocks: DataFrame | Iterable[BlockRow], kind: Kind, name: str) -> SparkState:
        """Make a matrix of a DataFrame (or rows) ``bi, bj, payload``, each block checked: one job."""
        if not is_frame(blocks):
            return self.from_local(LocalBackend().from_blocks(blocks, kind, name))
        ensure_open(self.spark)
        wanted = {"bi": "int", "bj": "int", "payload": "binary"}
        found = {column: type_ for column, type_ in blocks.dtypes if column in wanted}
        if found != wanted:
            raise ShapeMismatchError(f"columns {wanted}", f"{dict(blocks.dtypes)}", "Rename or cast the columns.")
        placed = blocks.select("bi", "bj", "payload", F.lit(False).alias("seed"))
        nothing = [F.lit(None).cast("binary").alias("payload")]
        return self._sorted(placed, nothing, matrix_tasks.placing(kind, name), kind, name)

    def from_local(self, state: LocalState) -> SparkState:
        """Take the blocks of a local state to Spark: one job."""
        ensure_open(self.spark)
        rows, columns = bounds(state.kinds.values())
        places = [(bi, bj) for bi in range(rows) for bj in range(columns)]
        data: dict[str, Any] = {
            "bi": pa.array([bi for bi, _ in places], pa.int32()),
            "bj": pa.array([bj for _, bj in places], pa.int32()),
        }
        for name, kind in state.kinds.items():
            payloads = [kind.ring.encode(state.blocks[name].get(at)) for at in places]
            data[name] = pa.array(payloads, pa.binary())
        frame = Placement.choose(self.parallelism, (rows, columns)).dealt(self.from_arrow(pa.table(data)))
        kept, _ = self.keep("from this process", with_no_reports(frame), {})
        return SparkState(self, state.kinds, (kept,))

    def from_arrow(self, table: pa.Table) -> DataFrame:
        """Return a table of cells or slices as a DataFrame; Spark Connect refuses one without rows."""
        if table.num_rows:
            return self.spark.createDataFrame(table)
        columns = ", ".join(f"{name} {'int' if name in {'bi', 'bj'} else 'binary'}" for name in table.column_names)
        return self.spark.createDataFrame([], columns)

    def _sorted(
        self, placed: DataFrame, nothing: list[Column], task: Callable[..., Any], kind: Kind, name: str
    ) -> SparkState:
        """Bring rows of one cell together, with a seed for each cell, and make blocks of them."""
        seeds = self.cells(kind.grid.blocks).select("bi", "bj", *nothing, F.lit(True).alias("seed"))
        rows = placed.unionByName(seeds)
        place = Placement.choose(self.parallelism, kind.grid.blocks)
        cells = place.dealt(rows).sortWithinPartitions("bi", "bj").mapInArrow(task, cell_schema("payload"))
        kept, _ = self.keep(f"build {name}", cells, {"payload": check_name(name)})
        return SparkState(self, {name: kind}, (kept,))

    def cells(self, extent: tuple[int, int]) -> DataFrame:
        """Every block coordinate inside ``extent``."""
        rows, columns = extent
        place = F.col("id")
        bi = F.floor(place / max(columns, 1)).cast("int")
        return self.spark.range(rows * columns).select(
            bi.alias("bi"), (place % max(columns, 1)).cast("int").alias("bj")
        )

    def collect(self, description: str, frame: DataFrame) -> pa.Table:
        """Bring a small DataFrame to the driver: one job."""
        return self._action(description, frame.toArrow)

    def total(self, description: str, frame: DataFrame, expression: str) -> int:
        """Add up an expression over all rows: one job."""
        total = frame.selectExpr(f"sum({expression}) AS total")
        return int(self.collect(description, total).column("total")[0].as_py() or 0)

    def keep(self, description: str, frame: DataFrame, renamed: Mapping[str, str]) -> tuple[Kept, pa.Table]:
        """Materialise cells with a column ``reports``: one job; raise the error that a task reported."""
        if renamed:
            frame = frame.withColumnsRenamed(dict(renamed))
        return self._checked(*self._lineage.keep(frame, description, self._action))

    def persist(self, description: str, frame: DataFrame) -> tuple[Kept, pa.Table]:
        """Materialise ``frame`` as `keep` does, with its plan: Spark itself repairs a loss. One job."""
        return self._checked(*self._lineage.persist(frame, description, self._action))

    @staticmethod
    def _checked(kept: Kept, reports: pa.Table) -> tuple[Kept, pa.Table]:
        """Return what was materialised, or raise the error that a task reported."""
        for _ in workers.told(reports):
            pass
        return kept, reports

    def _action(self, description: str, action: Callable[[], Any]) -> Any:  # noqa: ANN401  (what the action gives)
        def noted() -> Any:  # noqa: ANN401
            self.jobs.note(description)
            return action()

        return run_job(self.spark, description, noted)

    def close(self) -> None:
        """Release what the strategy of materialisation keeps outside the session."""
        self._lineage.close()


def _covers(blocks: tuple[int, int], others: tuple[int, int]) -> bool:
    return blocks[0] >= others[0] and blocks[1] >= others[1]
