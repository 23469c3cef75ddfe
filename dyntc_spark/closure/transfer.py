"""States on their way between this process and Spark."""

from __future__ import annotations

from dyntc_spark.blocks.local import LocalBackend, LocalState
from dyntc_spark.blocks.state import Backend, State
from dyntc_spark.kernels import codec

BUILT_HERE = 2**30  # bytes of dense state up to which Init* for Spark is worked out in this process and then moved


def built_here(size: int, entry_bytes: float) -> bool:
    """Whether the matrices of a closure of ``size`` vertices are small enough to be made in this process."""
    return size * size * entry_bytes <= BUILT_HERE


def held_bytes(state: State) -> int | None:
    """Bytes of the blocks of a state in this process; None for one that is elsewhere, where it would take a job."""
    if not isinstance(state, LocalState):
        return None
    return sum(codec.stored_size(block) for blocks in state.blocks.values() for block in blocks.values())


def transferred(state: State, backend: Backend) -> State:
    """Give a state on ``backend``, itself where it is there: at most two jobs, one where one end is this process."""
    if state.backend is backend:
        return state
    here = state if isinstance(state, LocalState) else state.to_local()  # type: ignore[attr-defined]
    if isinstance(backend, LocalBackend):
        return LocalState(backend, here.kinds, here.blocks)
    return backend.from_local(here)
