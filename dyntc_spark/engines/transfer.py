"""States on their way between this process and Spark, and what of them may be at the driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dyntc_spark.blocks.local import LocalBackend, LocalState
from dyntc_spark.blocks.single_task import Made, state_from_single_task
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.state import Backend, State
from dyntc_spark.blocks.superstep import Kind
from dyntc_spark.kernels import codec
from dyntc_spark.kernels.block import Block

ONE_TASK = 2**30  # bytes of dense state up to which Init* for Spark is worked out by one task
#: Bytes that one step of an operation, or one part of a state, may take at the driver where the state is on Spark.
DRIVER_BYTES = 2**28
UPDATE_BYTES = 2**30  # that an update of small rank may take there, were all its lines as long as they could be
NUMBER_BYTES = 64  # that a number takes at the driver which a step of a Reset* reads, with all that is made of it


def fits_one_task(size: int, entry_bytes: float) -> bool:
    """Whether the matrices of a closure of ``size`` vertices are small enough to be made by one process."""
    return size * size * entry_bytes <= ONE_TASK


def made_by_one_process(
    backend: Backend, what: str, kinds: Mapping[str, Kind], make: Callable[[], Made]
) -> tuple[State, Mapping[int, Block | None]]:
    """Make a state, on Spark in one task so that nothing of its size is at the driver; return it with what is told."""
    if isinstance(backend, SparkBackend):
        return state_from_single_task(backend, what, kinds, make)
    state, told = make()
    return transferred(state, backend), told


def numbers_read(backend: Backend, most: float) -> float:
    """How many numbers one step of a Reset* may bring to the driver: ``most``, and on Spark what fits there.

    Beyond that the operation does Init*, which brings none.
    """
    return most if isinstance(backend, LocalBackend) else min(most, DRIVER_BYTES // NUMBER_BYTES)


def held_bytes(state: State) -> int | None:
    """Bytes of the blocks of a state in this process; None for one on Spark, where it would take a job."""
    if not isinstance(state, LocalState):
        return None
    return sum(codec.stored_size(block) for blocks in state.blocks.values() for block in blocks.values())


def transferred(state: State, backend: Backend) -> State:
    """Return a state on ``backend``, itself where it is there: at most two jobs, one where one end is this process."""
    if state.backend is backend:
        return state
    here = state if isinstance(state, LocalState) else state.to_local()  # type: ignore[attr-defined]
    if isinstance(backend, LocalBackend):
        return LocalState(backend, here.kinds, here.blocks)
    return backend.from_local(here)
