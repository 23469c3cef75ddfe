"""The engine ``centres``: deterministic, O(n²) amortised for an update, deletions alone O(n).

It keeps the promise of the paper's section 6, whose own algorithm is wrong from
recursion depth 2 on (see ``divide_conquer``). A *phase* begins with Init* and has at
most m <= n Set*:

- ``D0``: the closure of the graph as Init* found it, without what has been deleted
  since: a decremental closure by Munro's decomposition (``munro``);
- a *record* for each Set* of the phase: what its centre reaches, and what reaches
  it, over D0 and earlier records (``closure.centres_records``).

``y`` is reachable from ``x`` where D0 says so, or some record j has In_j[x] and Out_j[y].

*Complete.* Of a path that is there now, let c_j be the vertex with the latest
record, and suppose there is one. All its edges at c_j were there at time j. Behind
the step c_j -> a the rest either lies in D0, or it has a latest record l < j, and by
induction In_l[a] and Out_l[y]; so Out_j[y], and likewise In_j[x]. *Sound.* A record
depends on D0 and on earlier records only, and each of its facts has a count of
reasons that are there now. The proof in full is in docs/theory/centres.md.

A Set* reads two vectors, xo · D0 and D0 · xi, and changes no stored block: O(n²/64 + n m/64)
words. A query costs m/64 words. A phase ends when m records are there, or as soon as what
its records took beyond the first one adds up to the time of an Init*: with a cost that
grows linearly in j this is the m for which the average is smallest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, ClassVar

import numpy as np

from dyntc_spark.blocks.grid import Grid, block_size
from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.operations import Gather, Lookup
from dyntc_spark.blocks.rings import BOOLEAN
from dyntc_spark.blocks.state import Backend, State
from dyntc_spark.blocks.strip import Strip
from dyntc_spark.blocks.where import Lines, Places, Tile
from dyntc_spark.edges import Edges
from dyntc_spark.engines.deterministic.centres_records import Records
from dyntc_spark.engines.deterministic.kleene import KleeneClosure
from dyntc_spark.engines.deterministic.kleene_rows import Joined, Part
from dyntc_spark.engines.deterministic.munro import Munro
from dyntc_spark.engines.deterministic.munro_init import build
from dyntc_spark.engines.transfer import DRIVER_BYTES, fits_one_task, numbers_read, transferred
from dyntc_spark.errors import OptionError, OutgrownError
from dyntc_spark.kernels.ids import Flags, Indices
from dyntc_spark.matrices.counted_product import Entries, TooManyLinesError
from dyntc_spark.matrices.triples import count_dtype
from dyntc_spark.matrices.witness_operations import Witnesses

LEAF = 512  # a leaf of the decomposition in this process: closed again as a whole in about a millisecond
RECORD_BYTES = 2**28  # of all records, in this process unless most_records says otherwise,
RECORD_SHARE = 6  # or there so many for each entry of n x n, if that is more: with D0 at most 20
LEAF_BYTES = 2**26  # of all leaves, which are at the driver: on Spark the vertices are cut until these take no more
D0 = "Y0"


class Centres(KleeneClosure):
    """The closure of any digraph by a decremental closure and time-ordered centres; see the module.

    Parameters
    ----------
    backend
        Where D0 lives; by default in this process. Records and leaves are kept at the driver; where D0 is
        on Spark, records take at most 256 MiB there and leaves 64.
    depth
        How often the vertices are cut in two; by default so often that leaves
        are small, on Spark at most twice as long as leaves take no more than 64 MiB.
    most_records
        m, the Set* of a phase; by default n. Fewer where these take more memory than they may.
    size
        Side of the blocks.
    distributed_init
        Whether Init* multiplies on the backend, or in this process and then moves
        the blocks there; by default by size.
    rebuild_share
        A Reset* that would read more than this share of a matrix in one step does Init* instead.

    Notes
    -----
    Jobs on Spark: Set* 1, Reset* at most 5 / 13 / 29 at depth 1 / 2 / 3, a query 1; Init* 1 where
    it is worked out in this process, else about 14 a node. Kept, where everything is dense:
    at most 3 n² counters and 7 n² bits for D0, and 4 n m + 2 m² + 1/2 n m bytes of records with
    16-bit counts (twice the counters beyond n = 16,000).

    Examples
    --------
    >>> engine = Centres()
    >>> engine.init(Edges.of([0, 1, 2], [1, 2, 1]), vertices=4)
    >>> engine.query([0, 2, 2, 3], [2, 1, 0, 3])
    array([ True,  True, False,  True])
    >>> engine.apply(inserted=Edges.of([2], [3]), deleted=Edges.of([2], [1]))
    >>> engine.descendants([1]).targets
    array([1, 2, 3])
    >>> engine.set(3, row=[0])
    >>> engine.lookup([3, 1], [1, 0])
    array([ True,  True])
    """

    name: ClassVar[str] = "centres"
    exact: ClassVar[bool] = True

    def __init__(
        self,
        backend: Backend | None = None,
        *,
        depth: int | None = None,
        most_records: int | None = None,
        size: int | None = None,
        distributed_init: bool | None = None,
        rebuild_share: float = 0.5,
    ) -> None:
        super().__init__(backend)
        for what, value, least in (("depth", depth, 0), ("most_records", most_records, 1), ("size", size, 1)):
            if value is not None and value < least:
                raise OptionError(f"{what} of at least {least}", f"{value}", "Leave it out to have it chosen.")
        self._options: dict[str, Any] = {
            "depth": depth, "most_records": most_records, "size": size,
            "distributed_init": distributed_init, "rebuild_share": rebuild_share,
        }  # fmt: skip
        self._d0: Munro | None = None
        self._records = Records(0)
        self._facts_lost = 0
        self._init_seconds = 0.0
        self._first_seconds = 0.0
        self._extra_seconds = 0.0

    # --- Init* -------------------------------------------------------------------------------

    def _init(self, edges: Edges, room: int) -> None:
        started = time.perf_counter()
        local = self.backend == "local"
        step = self._options["size"] or (min(1024, max(64, -(-room // 64) * 64)) if local else block_size(room, 56))
        depth = self._options["depth"]
        if depth is None:
            depth = max(0, -(-room // LEAF) - 1).bit_length() if local else _depth_on_spark(room)
        _require_leaves(self._where, room, depth)
        here = self._options["distributed_init"] is False or (
            self._options["distributed_init"] is None and (local or fits_one_task(room, self.entry_bytes(room)))
        )
        budget = numbers_read(self._where, self._options["rebuild_share"] * room * room)
        grid = Grid.square(room, room, step)
        self._d0 = build(edges, grid, depth, self._where, here=here, budget=budget)
        self._records = Records(room)
        self._init_seconds = time.perf_counter() - started
        self._first_seconds = self._extra_seconds = 0.0

    @classmethod
    def entry_bytes(cls, room: int) -> float:
        """At most three counts and seven bits of D0; records come on top."""
        return 3 * count_dtype(room + 1).itemsize + 7 / 8

    def _bytes(self) -> int:
        leaves = {} if self._d0 is None else self._d0.leaves
        at_driver = sum(words.nbytes + closure.nbytes for words, closure in leaves.values())
        return super()._bytes() + self._records.bytes + at_driver

    def _phase_is_over(self) -> bool:
        """Whether the next Set* begins a new phase."""
        used, given = self._records.used, self._options["most_records"]
        if self.backend == "spark" and self._records.bytes_of_one_more > RECORD_BYTES:
            return True
        if given is not None:
            return bool(used >= given)
        full = used >= self._room or self._records.bytes > max(RECORD_BYTES, RECORD_SHARE * self._room**2)
        return full or self._extra_seconds > self._init_seconds

    def _most_centres(self) -> int:
        return max(1, min(self._n // 2, int(self._options["most_records"] or self._room)))

    # --- Set* --------------------------------------------------------------------------------

    def _set(self, i: int, row: Indices, column: Indices) -> None:
        del row, column  # the snapshots are of all that X has there
        if self._phase_is_over():
            self._init(self._edges.edges, self._room)
            return
        started = time.perf_counter()
        out, into = self._row(i), self._column(i)
        d0 = self._tree
        reached, reaching = d0.state.run(
            Witnesses(D0, Tile(d0.grid), _line(out, d0.grid, upright=False)),
            Witnesses(D0, Tile(d0.grid), _line(into, d0.grid, upright=True)),
        )[1]
        self._records.add(i, out, into, reached.ravel(), reaching.ravel())
        seconds = time.perf_counter() - started
        self._first_seconds = min(self._first_seconds or seconds, seconds)
        self._extra_seconds += seconds - self._first_seconds

    # --- Reset* ------------------------------------------------------------------------------

    def _reset(self, edges: Edges) -> None:
        d0, gone = self._tree, Entries.of(edges.sources, edges.targets)
        rows, columns = self._records.concerned(gone)
        if (len(rows) + len(columns)) * self._room > numbers_read(self._where, np.inf):
            self._init(self._edges.edges, self._room)
            return
        wanted = [
            Gather(D0, BOOLEAN, Lines(d0.grid, ids, up)) for ids, up in ((rows, False), (columns, True)) if len(ids)
        ]
        try:
            after, pairs, strips = d0.reset(edges, *wanted)
        except TooManyLinesError:
            self._init(self._edges.edges, self._room)
            return
        lines = iter([strip.array() for strip in strips])
        nothing = np.zeros((0, self._room), bool)
        met = (rows, next(lines) if len(rows) else nothing), (columns, next(lines).T if len(columns) else nothing)
        self._facts_lost += self._records.cut(pairs, gone, *met)
        self._d0 = after

    # --- Lookup* -----------------------------------------------------------------------------

    def _lookup(self, rows: Indices, columns: Indices) -> Flags:
        (found,) = self._tree.state.run(Lookup(D0, BOOLEAN, Places(self._tree.grid, rows, columns)))[1]
        return np.asarray(found | self._records.lookup(rows, columns))

    def _lines(self, ids: Indices, *, upright: bool) -> Flags:
        (strip,) = self._tree.state.run(Gather(D0, BOOLEAN, Lines(self._tree.grid, ids, upright)))[1]
        found = np.ascontiguousarray(strip.array().T if upright else strip.array())
        self._records.join_lines(ids, found, upright=upright)
        return found.T if upright else found

    def _parts(self) -> tuple[Part, ...]:
        return (Part(D0),)

    def _joined(self) -> Joined | None:
        records = self._records
        return Joined(records.into.copy(), records.out.copy()) if records.used else None

    # --- looking -----------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The matrices of D0; see ``munro``."""
        self._ready()
        return self._tree.state

    @property
    def records(self) -> Records:
        """The records of the phase."""
        return self._records

    def moved(self, backend: Backend) -> Centres:
        """Return the same engine with D0 on another backend, itself when it is there; no rebuild."""
        if backend is self._where:
            return self
        self._ready()
        other: Centres = copy(self)
        other._where, other._done = backend, self._done.copy()
        other._d0 = self._tree.moved(transferred(self._tree.state, backend))
        self._started = False  # the records go along: this one would begin with Init*
        self._records = Records(0)
        return other

    def stats(self) -> Mapping[str, Any]:
        """Sizes, the records of the phase, and how many of the paper's operations were done."""
        return {
            **super().stats(),
            "records": self._records.used,
            "facts_lost": self._facts_lost,
            "depth": 0 if self._d0 is None else self._d0.depth,
            "seconds_of_last_init": self._init_seconds,
        }

    @property
    def _tree(self) -> Munro:
        assert self._d0 is not None  # noqa: S101  (every operation inits first)
        return self._d0

    def _saved(self) -> Callable[[], None]:
        d0, records, used, cuts = self._d0, self._records, self._records.used, self._records.cuts

        def put_back() -> None:
            self._d0, self._records = d0, records
            if records.cuts == cuts:
                records.truncate(used)
            else:  # records have shrunk in place: they begin again at the next operation
                self._started = False

        return put_back


def _depth_on_spark(room: int) -> int:
    """Cut twice, a small graph less often, and further until the leaves take no more than ``LEAF_BYTES``."""
    depth = min(2, (room // LEAF).bit_length())
    while _leaf_bytes(room, depth) > LEAF_BYTES:
        depth += 1
    return depth


def _leaf_bytes(room: int, depth: int) -> int:
    """X and X* of all leaves, packed."""
    return room * room // (4 << depth)


def _require_leaves(backend: Backend, room: int, depth: int) -> None:
    """Refuse a depth whose leaves take too much at the driver, before they do."""
    if not isinstance(backend, LocalBackend) and (needed := _leaf_bytes(room, depth)) > DRIVER_BYTES:
        raise OutgrownError(
            f"leaves that take at most {DRIVER_BYTES} bytes at the driver, for centres on Spark",
            f"{room} vertices and depth {depth}, for which they take {needed}",
            "Leave depth out to have it chosen.",
        )


def _line(ids: Indices, grid: Grid, *, upright: bool) -> Strip:
    at, zeros, none = np.asarray(ids, np.int64), np.zeros(len(ids), np.int64), np.zeros((0, len(ids)), np.int32)
    places = (at, zeros, none) if upright else (zeros, at, none)
    return Strip.from_coordinates(places, grid.across if upright else grid.down, 1, BOOLEAN, upright)
