"""*Lazy* on Spark: the newest version of each stripe, in one of a few DataFrames.

A state of several matrices, each in stripes of whole rows, numbered through: the
stripes of the first matrix, then those of the second. They are rows ``key, payload`` in layers (``blocks.layers``).
The driver also knows their bytes, ``sizes[key]``. So

- a read of what is small brings it to the driver as it is, without a Python worker: that is the
  most expensive part of a small job. What is large is read where it lies;
- a write makes a layer of the stripes that it touches, and of the layers that are not larger.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dyntc_spark.blocks import workers
from dyntc_spark.blocks.columns import with_no_reports
from dyntc_spark.blocks.layers import Layer, Layers
from dyntc_spark.blocks.lineage import Kept, looking
from dyntc_spark.blocks.local import LocalBackend, LocalState, in_block
from dyntc_spark.blocks.spark import SparkBackend, SparkState
from dyntc_spark.blocks.state import Entries, State
from dyntc_spark.blocks.superstep import Kind, Kinds, Operation, check_names
from dyntc_spark.errors import DyntcError
from dyntc_spark.kernels.block import Block
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.lazy_pyspark import F, sql
from dyntc_spark.matrices.lazy.operations import widened
from dyntc_spark.matrices.lazy.workers import Keys, read_written, rewriting
from dyntc_spark.session import ensure_open

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NEAR_BYTES = 32 * 2**20  #: what is read of up to so many bytes of stripes is worked out at the driver


class LayeredState(State):
    """Matrices in stripes, as layers.

    Parameters
    ----------
    backend
        Where the layers live.
    kinds
        The matrices; each block is a whole stripe of rows.
    layers
        Rows ``key, payload``.
    sizes
        For each key the bytes of the stripe.
    """

    def __init__(
        self,
        backend: SparkBackend,
        kinds: Mapping[str, Kind],
        layers: Layers,
        sizes: Indices,
        keys: Keys | None = None,
    ) -> None:
        self._backend = backend
        self.kinds = Kinds(kinds)
        self.layers, self.sizes = layers, sizes
        self._keys = keys or Keys.of(kinds)

    def look(self) -> None:
        """Raise ``LostBlocksError`` where Spark has lost stripes: one job that moves nothing."""
        self._backend.collect("look for stripes", looking(layer.kept for layer in self.layers))

    # --- making ------------------------------------------------------------------------------

    @classmethod
    def zero(cls, backend: SparkBackend, kinds: Mapping[str, Kind]) -> LayeredState:
        """Matrices without entries: no job."""
        count = Keys.of(kinds).count
        return cls(backend, kinds, _layers(backend, _absent(backend, 0, count)), np.zeros(count, np.int64))

    def grown(self, kinds: Mapping[str, Kind]) -> LayeredState:
        """Return the same matrices with zeros appended, so that they are of these kinds: no job, and no stripe changes.

        The new stripes are one layer; the others get their new width when they are read.
        """
        keys, before = self._keys.grown(kinds), self._keys.count
        sizes = np.append(self.sizes, np.zeros(keys.count - before, np.int64))
        new = _absent(self._backend, before, keys.count)
        return LayeredState(self._backend, kinds, self.layers.replaced(new.keys, new), sizes, keys)

    @classmethod
    def from_local(cls, backend: SparkBackend, state: LocalState) -> LayeredState:
        """Take the stripes of a local state to Spark: one job."""
        ensure_open(backend.spark)
        keys = Keys.of(state.kinds)
        payloads: list[bytes | None] = [
            kind.ring.encode(state.blocks[name].get((stripe, 0)))
            for name, kind in state.kinds.items()
            for stripe in range(kind.grid.blocks[0])
        ]
        table = pa.table({"key": pa.array(np.arange(keys.count)), "payload": pa.array(payloads, pa.binary())})
        frame = backend.spark.createDataFrame(table) if keys.count else _absent(backend, 0, 0).kept.frame
        dealt = frame.repartition(backend.parallelism, "key")
        kept, _ = backend.keep("from this process", with_no_reports(dealt), {})
        sizes = np.array([len(payload or b"") for payload in payloads], np.int64)
        return cls(backend, state.kinds, _layers(backend, _whole(kept, keys.count)), sizes)

    @classmethod
    def of(cls, *states: SparkState) -> LayeredState:
        """Take the stripes of matrices that are on Spark already: one job, which asks for their sizes."""
        backend, kinds = states[0].backend, {name: kind for state in states for name, kind in state.kinds.items()}
        keys, layers = Keys.of(kinds), []
        for state in states:
            for name, kind in state.kinds.items():
                (kept,) = (kept for kept in state.kept if name in kept.frame.columns)
                key = (F.col("bi").cast("bigint") + int(keys.of_stripes(name, np.zeros(1, np.int64))[0])).alias("key")
                inside = kept.frame.where(F.col("bi") < kind.grid.blocks[0])
                layers.append(kept.derived(inside.select(key, F.col(name).alias("payload"))))
        frame = reduce(sql.DataFrame.unionAll, (layer.frame for layer in layers))
        found = backend.collect("sizes", frame.select("key", F.length("payload").alias("bytes")))
        sizes = np.zeros(keys.count, np.int64)
        sizes[found.column("key").to_numpy()] = found.column("bytes").fill_null(0).to_numpy()
        return cls(backend, kinds, _layers(backend, _whole(Kept(frame, layers), keys.count)), sizes)

    # --- supersteps --------------------------------------------------------------------------

    @property
    def backend(self) -> SparkBackend:
        """The Spark backend."""
        return self._backend

    def run(self, *operations: Operation[Any]) -> tuple[State, tuple[Any, ...]]:
        """Run a superstep as one job, over the stripes that it touches; none, if a read finds them all absent."""
        check_names(operations, self.kinds)
        several = len({operation.name for operation in operations}) > 1
        if any(
            {*item.reads, *item.writes} - {item.name} or item.by_column or (several and item.fills and not item.writes)
            for item in operations
        ):
            after, results = self.flat.run(*operations)  # something that looks at several matrices
            return (LayeredState.of(after) if isinstance(after, SparkState) else self), results
        ensure_open(self._backend.spark)
        what = "superstep " + ", ".join(f"{type(item).__name__} {item.name}" for item in operations)
        touched = np.unique(np.concatenate([np.zeros(0, np.int64), *map(self._touched, operations)]))
        if any(operation.writes for operation in operations):
            return self._written(what, operations, touched)
        if self.sizes[touched].sum() <= NEAR_BYTES:
            return self, self._fetched(what, touched).run(*operations)[1]
        task = workers.reporting(operations, self.kinds)
        answers = self._backend.collect(
            what, self._as_cells(self.layers.rows(touched)).mapInArrow(task, f"reports {workers.REPORT}")
        )
        return self, workers.read_reports(answers, operations).results()

    def _touched(self, operation: Operation[Any]) -> Indices:
        """The keys of the stripes in which an operation has work to do."""
        stripes = operation.where.rows
        keys = self._keys_of(operation.name, None if stripes is None else np.array(sorted(stripes), np.int64))
        return keys if operation.fills else keys[self.sizes[keys] > 0]

    def _keys_of(self, name: str, stripes: Indices | None = None) -> Indices:
        """The keys of stripes of a matrix, by default of all."""
        return self._keys.of_stripes(name, np.arange(self.kinds[name].grid.blocks[0]) if stripes is None else stripes)

    def _fetched(self, what: str, keys: Indices) -> LocalState:
        """Bring stripes to the driver: one job, none for no stripes."""
        table = pa.table({"key": pa.array([], pa.int64()), "payload": pa.array([], pa.binary())})
        if len(keys):
            table = self._backend.collect(what, self.layers.rows(keys))
        found: dict[str, dict[tuple[int, int], Block]] = {name: {} for name in self.kinds}
        for key, payload in zip(table.column("key").to_pylist(), table.column("payload"), strict=True):
            name, stripe = self._keys.locate(key)
            kind = self.kinds[name]
            try:
                block = widened(kind.ring.decode(payload.as_buffer()), kind.grid.extent(stripe, 0))
            except DyntcError as error:
                raise in_block(error, name, stripe, 0) from error
            if block is not None:
                found[name][stripe, 0] = block
        return LocalState(LocalBackend(), self.kinds, found)

    def _written(
        self, what: str, operations: tuple[Operation[Any], ...], touched: Indices
    ) -> tuple[State, tuple[Any, ...]]:
        """Make a layer of the stripes touched, and of the layers that are not larger."""
        shipped, strips = self._shipped(operations)
        rows = self.layers.rows(touched)
        for name, slices in strips.items():
            rows = rows.join(F.broadcast(slices), "key", "left").withColumnRenamed("slice", name)
        task = rewriting(shipped, self.kinds, self._keys)
        new = rows.mapInArrow(task, f"key bigint, payload binary, reports {workers.REPORT}")
        carried = self.layers.absorbed(touched, self.sizes)
        if len(carried):
            new = new.unionAll(with_no_reports(self.layers.rows(carried)))
        kept, reports = self._backend.keep(what, new.coalesce(self._backend.parallelism), {})
        sizes, written = self.sizes.copy(), np.union1d(touched, carried)
        found, results = read_written(reports, operations)
        sizes[found[:, 0]] = found[:, 1]
        layers = self.layers.replaced(written, Layer(kept, written, len(written)))
        return LayeredState(self._backend, self.kinds, layers, sizes, self._keys), results

    def _shipped(
        self, operations: tuple[Operation[Any], ...]
    ) -> tuple[tuple[Operation[Any], ...], dict[str, DataFrame]]:
        """Return the operations to ship, and the slices of strips that are too large for it, by key."""
        shipped: list[Operation[Any]] = []
        joined: dict[str, DataFrame] = {}
        for number, operation in enumerate(operations):
            strip = operation.by_row
            if strip is None or strip.stored_bytes <= self._backend.joined_bytes:
                shipped.append(operation)
                continue
            keys = pa.array(self._keys_of(operation.name, np.array(list(strip.slices), np.int64)))
            slices = pa.array([strip.ring.encode(piece) for piece in strip.slices.values()], pa.binary())
            joined[f"left{number}"] = self._backend.spark.createDataFrame(pa.table({"key": keys, "slice": slices}))
            shipped.append(operation.hollow())
        return tuple(shipped), joined

    # --- DataFrames --------------------------------------------------------------------------

    def stripes(self, name: str, *, absent: bool = False) -> DataFrame:
        """The stripes of one matrix, if ``absent`` the empty ones too: ``bi int, payload binary``. No job."""
        keys = self._keys_of(name)
        rows = self.layers.rows(keys if absent else keys[self.sizes[keys] > 0])
        return rows.select(F.expr(self._keys.stripe(name)).alias("bi"), "payload")

    def _as_cells(self, rows: DataFrame) -> DataFrame:
        """A row a stripe, in the column of its matrix."""
        stripes = {name: self._keys.stripe(name) for name in self.kinds}
        columns = [f"CASE WHEN {stripe} IS NOT NULL THEN payload END AS `{name}`" for name, stripe in stripes.items()]
        return rows.selectExpr(f"COALESCE({', '.join(stripes.values())}, 0) AS bi", "0 AS bj", *columns)

    @cached_property
    def flat(self) -> SparkState:
        """The same matrices as blocks that know nothing of layers. No job."""
        kept = []
        for name in self.kinds:
            bi = F.expr(self._keys.stripe(name)).alias("bi")
            rows = self.layers.rows(self._keys_of(name))
            kept.append(Kept(rows.select(bi, F.lit(0).alias("bj"), F.col("payload").alias(name)), self.layers))
        return SparkState(self._backend, self.kinds, tuple(kept))

    # --- what every state can do -------------------------------------------------------------

    def multiply(self, left: str, right: str, into: str, *, counts: bool = False, keep: bool = True) -> State:
        """Multiply as blocks."""
        return self.flat.multiply(left, right, into, counts=counts, keep=keep)

    def transpose(self, name: str) -> State:
        """Transpose as blocks."""
        return self.flat.transpose(name)

    def join(self, other: State) -> State:
        """Hold the matrices of both, as blocks."""
        return self.flat.join(other.flat if isinstance(other, LayeredState) else other)

    def select(self, names: Mapping[str, str]) -> State:
        """Keep some matrices, as blocks."""
        return self.flat.select(names)

    def entries(self, name: str) -> Entries:
        """Entries at the driver, sorted."""
        return self.to_local().entries(name)

    def validate(self) -> None:
        """Read every stripe; in this process, once the matrices have grown: stripes written before are narrower."""
        if len(self._keys.runs) > len(self.kinds):
            self.to_local().validate()
        else:
            self.flat.validate()

    def stored_bytes(self, name: str) -> int:
        """Bytes of all payloads of a matrix: no job."""
        return int(self.sizes_of(name).sum())

    def sizes_of(self, name: str) -> Indices:
        """Bytes of each stripe of a matrix: no job."""
        return self.sizes[self._keys_of(name)]

    def to_local(self) -> LocalState:
        """Bring all stripes into this process: one job."""
        return self._fetched("to this process", np.flatnonzero(self.sizes))


def _layers(backend: SparkBackend, layer: Layer) -> Layers:
    return Layers(backend, "key", [layer])


def _whole(kept: Kept, count: int) -> Layer:
    """A layer of all stripes."""
    return Layer(kept, np.arange(count), count)


def _absent(backend: SparkBackend, first: int, stop: int) -> Layer:
    """A layer of the stripes from ``first`` on, all of them zero."""
    ensure_open(backend.spark)
    count, parts = stop - first, backend.parallelism
    per = max(1, -(-count // parts))  # dealt out like cards, since neighbours are rich or empty together
    key = F.expr(f"(id % {per}) * {parts} + id DIV {per} + {first}").alias("key")
    cells = backend.spark.range(0, per * parts, 1, parts).select(key).where(F.col("key") < stop)
    frame = cells.select("key", F.lit(None).cast("binary").alias("payload"))
    return Layer(Kept(frame, frame), np.arange(first, stop), count)
