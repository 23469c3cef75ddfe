"""Section 4.1: polynomials over Boolean matrices under Init, SetRow, SetCol, LazySet, Reset and Lookup.

``P = sum_a X_1^a ··· X_k^a`` over named variables changes with its variables. Set
operations reveal what passes through one row or column, LazySet reveals
nothing, Reset takes back. ``Lookup`` gives ``Y`` with ``Y ⊆ P``, and ``Y = P`` as long as
no LazySet came since Init.

The guarantee, exactly (the paper's ``M ⊆ Y`` does not hold as stated): a product
``X_1 · X_2`` counts in ``Prod[x,z]`` the triples ``(x,y,z)`` that were complete at some
Set or Init through them, and have stayed complete since. ``Y[x,z] = 1`` if some
product of a term's whole length has ``Prod[x,z] > 0``.

References
----------
Demetrescu and Italiano, "Maintaining Dynamic Matrices for Fully Dynamic
Transitive Closure", Algorithmica 51 (2008), section 4.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dyntc_spark.blocks.grid import Grid, block_size
from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.matrix import BlockMatrix
from dyntc_spark.blocks.operations import Gather
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING
from dyntc_spark.blocks.state import Backend, State
from dyntc_spark.blocks.superstep import Operation
from dyntc_spark.blocks.where import Lines, Places
from dyntc_spark.errors import EntryValueError, ShapeMismatchError
from dyntc_spark.kernels.ids import Indices
from dyntc_spark.matrices.counted_product import TooManyLinesError
from dyntc_spark.matrices.last_flip import checked_places, ones_of
from dyntc_spark.matrices.polynomial.expression import Polynomial
from dyntc_spark.matrices.polynomial.init import start
from dyntc_spark.matrices.polynomial.invariant import check
from dyntc_spark.matrices.polynomial.layout import SUM, VALUE, Boundary, Layout, Shape, bits
from dyntc_spark.matrices.polynomial.system import Changing
from dyntc_spark.matrices.product_operations import Positive, Vanished

LARGEST_STAMP = 2**31 - 1
LOCAL_START, SPARK_START = 2**26, 2**33  # triples that a multiplication could do in the time it takes to start one
LOCAL_SIZE = 1024  # side of a block in this process, where a block has no payload to be kept small


class BooleanPolynomial:
    """The value of a polynomial over changing Boolean matrices.

    Before the first ``init`` all variables are 0, at Time 0. An update of a
    variable reaches all its occurrences; it is all or nothing: when it raises,
    the polynomial answers as before.

    Parameters
    ----------
    expression
        The polynomial, or its text, such as ``"A + B*P^2*C"``.
    shapes
        Rows and columns of each variable; a number n for square matrices of n rows.
    backend
        Where the matrices live; by default in this process.
    size
        Side of the blocks.
    largest_stamp
        Where the clock stands when stamps are renumbered.
    rebuild_share
        A Reset that would look at more than this share of all triples evaluates
        the polynomial again instead, which gives the same ``Y``; not after a
        LazySet, because it would reveal what is pending. 0 and infinity mean always and never.

    Notes
    -----
    Jobs on Spark, for a polynomial of degree k: SetRow and SetCol at most k + 1,
    LazySet 1, Lookup 1, or none if the next step reads ``S`` in the same job (``then``);
    Init one multiplication for each product with factors of its own, one job for every
    dozen of these on a level, one more, and one for each DataFrame among the values;
    Reset 2, and 1 for each level of the chains that loses entries, of which there are
    k - 1. Set and LazySet move O(n) numbers through the driver, Reset the rows and
    columns that the deleted entries meet.

    Kept, where an *n x n* matrix has the shape of its variable or product:

    =================================  ================================================
    each variable (all occurrences)    1 matrix of bits, 1 of 32-bit stamps ``LastFlip``
    each term of degree 1 or 2         1 of counts ``Prod``
    each term of degree k > 2          k² - 1 of counts (chains L and R, and where they meet)
    the value                          1 of counts ``S``; ``Y`` is made by ``lookup``
    at the driver                      a vector of times for each boundary, k + 1 a term
    =================================  ================================================

    Counts have 8 bits if the inner size is at most 127 (``S``: the number of
    summands), 16 up to 32,767, else 32; blocks with few entries are sparse, zero blocks are absent.

    Examples
    --------
    >>> q = BooleanPolynomial("A + B*P^2*C", 4)
    >>> q.init({"B": ([0], [1]), "P": ([1, 2], [2, 3]), "C": ([3], [0])})
    >>> q.lookup().to_entries().rows.tolist(), q.lookup().to_entries().columns.tolist()
    ([0], [0])
    >>> q.lazy_set("A", ([2], [2]))
    ()
    >>> q.lookup().nnz()
    1
    >>> q.set_row("A", 2, [])
    ()
    >>> q.lookup().nnz()
    2
    >>> rows, columns = q.reset("P", ([1], [2]))
    >>> rows.tolist(), columns.tolist(), q.lookup().nnz()
    ([0], [0], 1)
    """

    def __init__(
        self,
        expression: Polynomial | str,
        shapes: Mapping[str, Shape] | int,
        backend: Backend | None = None,
        *,
        size: int | None = None,
        largest_stamp: int = LARGEST_STAMP,
        rebuild_share: float = 1 / 64,
    ) -> None:
        self.polynomial = polynomial = Polynomial.parse(expression) if isinstance(expression, str) else expression
        if isinstance(shapes, int):
            shapes = dict.fromkeys(polynomial.variables, (shapes, shapes))
        self.backend = backend or LocalBackend()
        self.layout = Layout({SUM: polynomial}, shapes, size or _size(polynomial, shapes, self.backend))
        self._stamp_limit = _checked_limit(largest_stamp, self.layout)
        self._rebuild_share = rebuild_share
        self._held: Changing | None = None
        self._pending = False  # whether a LazySet came since Init
        self._done: Counter[str] = Counter()

    # --- the paper's operations ---------------------------------------------------------------

    def init(self, values: Mapping[str, Any] | None = None) -> None:
        """Init(Z): give every variable a value (0 where none is named) and evaluate the polynomial.

        A value is ``(rows, columns)`` of its entries, a two-dimensional Boolean
        array, a ``BlockMatrix`` (one of the same backend and grid stays where it is),
        or on Spark a DataFrame ``row, column``.
        """
        given = dict(values or {})
        unknown = given.keys() - set(self.layout.variables)
        if unknown:
            raise self._unknown(min(unknown))
        self._tick()
        self._held = Changing.init(self.layout, self._variables(given), self.time + 1)
        self._pending = False
        self._done["init"] += 1

    def set_row(self, name: str, i: int, row: npt.ArrayLike, *, then: Sequence[Operation[Any]] = ()) -> tuple[Any, ...]:
        """SetRow(i, ΔX, X): ``X[i] += row``, and reveal every triple through it.

        ``row`` is a Boolean vector or the column numbers of its ones; it may be
        empty, to reveal only. ``then`` are operations that read the new value in
        the job that writes it (see ``reading``); their results are returned.
        """
        grid = self._grid(name)
        (i,) = grid.down.ids(i, "row").tolist()
        columns = ones_of(row, grid.across, "column")
        places = Places(grid, np.full(len(columns), i), columns)
        return self._set(name, places, i, [(a, b - 1) for a, b in self.layout.occurrences[name]], then)

    def set_col(
        self, name: str, i: int, column: npt.ArrayLike, *, then: Sequence[Operation[Any]] = ()
    ) -> tuple[Any, ...]:
        """SetCol(i, ΔX, X): ``X[:,i] += column``, and reveal every triple through it; see ``set_row``."""
        grid = self._grid(name)
        (i,) = grid.across.ids(i, "column").tolist()
        rows = ones_of(column, grid.down, "row")
        places = Places(grid, rows, np.full(len(rows), i))
        return self._set(name, places, i, self.layout.occurrences[name], then)

    def lazy_set(self, name: str, entries: Any, *, then: Sequence[Operation[Any]] = ()) -> tuple[Any, ...]:  # noqa: ANN401
        """LazySet(ΔX, X): ``X += ΔX``, and reveal nothing.

        ``entries`` is ``(rows, columns)`` or a two-dimensional Boolean array.
        """
        places = checked_places(name, self._grid(name), entries)
        self._tick()
        self._held, results = self._values.lazy_set({name: (places.rows, places.columns)}, then)
        self._pending = self._pending or bool(len(places.rows))
        self._done["lazy_set"] += 1
        return results

    def reset(self, name: str, entries: Any) -> tuple[Indices, Indices]:  # noqa: ANN401  (arrays)
        """Reset(ΔX, X): ``X -= ΔX``; return rows and columns of the entries of ``Y`` that became 0.

        Entries that are not there are left out, and nothing pending is revealed.
        """
        places = checked_places(name, self._grid(name), entries).distinct()
        self._tick()
        reset = self._values.reset(triples=self._budget())
        reset.delete({name: (places.rows, places.columns)})
        try:
            (gone,) = reset.polynomial(SUM)
        except TooManyLinesError:
            return self._rebuilt(reset.without())
        self._held = reset.finish()
        self._done["resets_by_scan" if reset.looked_at else "resets_of_nothing_counted"] += 1
        self._done["triples_scanned"] += reset.looked_at
        return gone.rows, gone.columns

    def _rebuilt(self, state: State) -> tuple[Indices, Indices]:
        """Evaluate the polynomial again; return where ``Y`` became 0."""
        after = Changing.init(self.layout, state, self.time + 1)
        both = self._state.select({SUM: "before"}).join(after.state.select({SUM: "after"}))
        _, ((rows, columns),) = both.run(Vanished("before", "after", self.layout.kinds[SUM].grid))
        self._held = after
        self._done["resets_by_rebuild"] += 1
        return rows, columns

    def lookup(self) -> BlockMatrix:
        """Lookup(): the Boolean matrix ``Y`` with ``Y[x,z] = 1`` where ``S[x,z] > 0``."""
        state, _ = self._state.select({SUM: SUM, VALUE: VALUE}).run(Positive(SUM, VALUE))
        return BlockMatrix(state.select({VALUE: VALUE}), VALUE)

    # --- looking ------------------------------------------------------------------------------

    def reading(self, *, rows: npt.ArrayLike | None = None, columns: npt.ArrayLike | None = None) -> Gather:
        """Return the operation that reads rows or columns of ``S``, for ``then`` of an update.

        Examples
        --------
        >>> p = BooleanPolynomial("A*B", 3)
        >>> p.init({"A": ([0], [1]), "B": ([1], [2])})
        >>> (row,) = p.set_row("A", 0, [0], then=[p.reading(rows=[0])])
        >>> row.array() > 0
        array([[False, False,  True]])
        """
        grid = self.layout.kinds[SUM].grid
        if (rows is None) == (columns is None):
            raise ShapeMismatchError("rows or columns", "both or neither", "Use two operations for both.")
        if rows is not None:
            return Gather(SUM, COUNTING, Lines(grid, grid.down.ids(rows, "row")))
        ids = grid.across.ids(() if columns is None else columns, "column")
        return Gather(SUM, COUNTING, Lines(grid, ids, upright=True))

    def variable(self, name: str) -> BlockMatrix:
        """The value of a variable. No job."""
        self._grid(name)
        return BlockMatrix(self._state.select({bits(name): bits(name)}), bits(name))

    @property
    def state(self) -> State:
        """All matrices that are kept, under the names of ``layout.kinds``."""
        return self._state

    def check_invariant(self) -> None:
        """Raise an error unless every product counts exactly what it should, and ``S`` the products.

        Every ``Prod[x,z]`` is compared with the number of ``y`` such that both
        entries are there and ``P(x,y,z)`` holds, from scratch. For tests: all
        matrices come to the driver, and it takes O(n³) time.
        """
        check(self._state, self.layout, self._values.last)

    def stats(self) -> dict[str, Any]:
        """What was done and what is kept; how Reset worked: by scan, by rebuild, or without anything counted."""
        return {
            "polynomial": str(self.polynomial),
            "time": self.time,
            "count_matrices": len(self.layout.products) + 1,
            "bit_matrices": len(self.layout.variables),
            "stamp_matrices": len(self.layout.variables),
            "matrices": sorted(self.layout.kinds),
            "exact": not self._pending,
            **{key: self._done[key] for key in _COUNTED},
        }

    def __repr__(self) -> str:
        where = "in process" if isinstance(self.backend, LocalBackend) else "on Spark"
        return f"BooleanPolynomial({self.polynomial}, {self.layout.kinds[SUM].grid}, {where})"

    # --- how ----------------------------------------------------------------------------------

    def _set(
        self, name: str, places: Places, index: int, boundaries: list[Boundary], then: Sequence[Operation[Any]]
    ) -> tuple[Any, ...]:
        """SetRow of ``X_{b+1}`` and SetCol of ``X_b`` are the same at boundary ``b``."""
        self._tick()
        self._held, results = self._values.set(index, {name: (places.rows, places.columns)}, boundaries, then)
        self._done["set"] += 1
        return results

    @property
    def time(self) -> int:
        """How many operations there were, or since the stamps were renumbered."""
        return 0 if self._held is None else self._held.time

    @property
    def _values(self) -> Changing:
        if self._held is None:
            self._held = Changing.begun(self.layout, start(self.backend, self.layout, {}, {}), 0)
        return self._held

    @property
    def _state(self) -> State:
        return self._values.state

    def _variables(self, given: Mapping[str, Any]) -> State:
        """The variables with their values, in a state with zero matrices for the rest."""
        here: dict[str, Places] = {}
        there: dict[str, Any] = {}
        for name in self.layout.variables:
            value = given.get(name, ((), ()))
            if isinstance(value, BlockMatrix):
                BOOLEAN.require(value.ring)
                if value.shape != self.layout.shapes[name]:
                    raise ShapeMismatchError(f"{name} of {self._grid(name)}", f"{value.grid}", "Check its shape.")
                if value.state.backend is not self.backend or value.grid != self._grid(name):
                    value = value.to_entries()[:2]
            if isinstance(value, BlockMatrix) or hasattr(value, "sparkSession"):
                there[name] = value
            else:
                here[name] = checked_places(name, self._grid(name), value)
        return start(self.backend, self.layout, here, there)

    def _budget(self) -> float:
        """How many pairs a Reset may look at before evaluating everything again is cheaper.

        That would also reveal what is pending, so it is no choice after a LazySet.
        """
        if self._pending:
            return np.inf
        starting = LOCAL_START if isinstance(self.backend, LocalBackend) else SPARK_START
        return self._rebuild_share * (self.layout.triples() + starting * len(self.layout.products))

    def _tick(self) -> None:
        """Renumber the stamps before the time of the next operation would be too large."""
        if self.time >= self._stamp_limit:
            self._held = self._values.renumbered()
            self._done["renumberings"] += 1

    def _grid(self, name: str) -> Grid:
        if name not in self.layout.occurrences:
            raise self._unknown(name)
        return self.layout.kinds[bits(name)].grid

    def _unknown(self, name: str) -> EntryValueError:
        return EntryValueError(
            f"a variable of {self.polynomial}", f"{name!r}", f"Name one of {', '.join(self.layout.variables)}."
        )


_COUNTED = (
    "init",
    "set",
    "lazy_set",
    "resets_by_scan",
    "resets_by_rebuild",
    "resets_of_nothing_counted",
    "triples_scanned",
    "renumberings",
)


def _size(polynomial: Polynomial, shapes: Mapping[str, Shape], backend: Backend) -> int:
    longest = max((side for shape in shapes.values() for side in shape), default=1)
    if isinstance(backend, LocalBackend):
        return min(LOCAL_SIZE, max(64, -(-longest // 64) * 64))
    matrices = sum(len(term) ** 2 for term in polynomial.terms) + 1
    return block_size(longest, 33 * len(polynomial.variables) + 16 * matrices)


def _checked_limit(limit: int, layout: Layout) -> int:
    needed = sum(axis.length for axis in layout.axes.values()) + 2
    if not needed <= limit <= LARGEST_STAMP:
        raise EntryValueError(
            f"a largest stamp from {needed} to {LARGEST_STAMP}",
            f"{limit}",
            "There may be that many times to tell apart.",
        )
    return limit
