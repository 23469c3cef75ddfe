"""The engine ``divide_conquer``: section 6, the paper's twelve polynomials (``divide_conquer_halves``).

**The printed algorithm is wrong from recursion depth 2 on.** Set* with a centre in one
half gives the other half's closure (E1 or H2) the change of its matrix by LazySet*
only, which changes X there and hands the entries on to the polynomials and to P, but
reveals nothing. If that closure is itself divided, its own P, Q and R are stale from then
on: its next Set* reveals line i of Q and R and calls Set* below with it, yet paths that use
the lazy entries away from line i are nowhere. With five vertices, halves {0, 1, 2} and {3, 4}, cut down
to single vertices:

    Set*(3, {0→3, 3→1})    3 is in the second half: Q gets 0→1, for which E1 only gets LazySet*
    Set*(2, {2→0})         2 is in the first half: E1.Set*, whose parts do not know 0→1

misses 2 ⇝ 1 by way of 2→0→3→1. Here a divided closure that received LazySet* does Init*
at its next Set*: right at every depth, but not O(n²). At depth 1 the closures P, E1 and H2
are leaves, closed again as a whole, and LazySet* is harmless: that is the default.
The bounds that the section promises are kept by the engine ``centres``.

The variables of all polynomials are shared: a change is written once, which is LazySet
for every polynomial, and SetRow and SetCol then only reveal. So ΔM is the whole change
of M (erratum 13), and a Set* reveals the row of B and the column of C, or the reverse, as
unequal halves want it (erratum 14).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, ClassVar

import numpy as np

from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.state import Backend, State
from dyntc_spark.edges import Edges, checked
from dyntc_spark.engines.deterministic.divide_conquer_halves import ENTRY_BYTES, Halves
from dyntc_spark.engines.deterministic.divide_conquer_leaf import Leaf, SubClosure
from dyntc_spark.engines.deterministic.kleene import KleeneClosure
from dyntc_spark.engines.deterministic.kleene_rows import Part
from dyntc_spark.engines.transfer import DRIVER_BYTES
from dyntc_spark.errors import OptionError, OutgrownError
from dyntc_spark.kernels.ids import Flags, Indices

#: Bytes at the driver for each entry of n x n: X, the leaves and a copy of them, and what an operation changes there.
AT_DRIVER = 16


class DivideConquer(KleeneClosure):
    """The closure of any digraph by the polynomials of section 6; see the module.

    Parameters
    ----------
    backend
        Where the polynomials live; by default in this process. X and the leaves are at the driver,
        so that on Spark a graph of more than 4,096 vertices is refused; one task closes a leaf that is large.
    depth
        How often the vertices are cut in two. 1 is the fastest; more is there for comparison.
    size
        Side of the blocks.
    distributed_init
        Whether Init* multiplies on the backend, or in this process and then moves
        the blocks there; by default by size.

    Notes
    -----
    Jobs on Spark at depth 1: Set* at most 10, Reset* at most 15 (12 and 18 where leaves are large), a query 1.
    Kept at depth 1: 162 matrices of counts, 8 of sums, 7 of bits, 7 of 32-bit stamps, each of a quarter of n² entries.

    Examples
    --------
    >>> engine = DivideConquer()
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

    name: ClassVar[str] = "divide_conquer"
    exact: ClassVar[bool] = True
    #: What a division is; the tests put the printed one in its place.
    division: ClassVar[type[Halves]] = Halves

    def __init__(
        self,
        backend: Backend | None = None,
        *,
        depth: int = 1,
        size: int | None = None,
        distributed_init: bool | None = None,
    ) -> None:
        super().__init__(backend)
        if depth < 0:
            raise OptionError("a depth of at least 0", f"{depth}", "1 suits most graphs.")
        self._depth, self._size, self._distributed_init = depth, size, distributed_init
        self._closure: SubClosure = Leaf(0, self._where)

    def _init(self, edges: Edges, room: int) -> None:
        _require_room(self._where, room)
        x = np.zeros((room, room), bool)
        x[edges.sources, edges.targets] = True
        if self._depth and room > 1:
            closure = self.division(room, self._depth, self._where, self._size)
            closure.init(x, here=None if self._distributed_init is None else not self._distributed_init)
            self._closure = closure
        else:
            self._closure = Leaf(0, self._where)
            self._closure.init(x)

    def _set(self, i: int, row: Indices, column: Indices) -> None:
        flags = np.zeros((2, self._room), bool)
        flags[0, row] = True
        flags[1, column] = True
        self._closure.set(i, flags[0], flags[1])

    def lazy_set(self, entries: tuple[Indices, Indices]) -> None:
        """LazySet*(ΔX): edges come anywhere, and no answer changes before the next Set* or Init*."""
        edges = checked(Edges.of(*entries), self._n)
        self._ready()
        put_back, before = self._saved(), self._edges
        try:
            self._closure.lazy_set((edges.sources, edges.targets))
            self._edges = before.replaced(edges, Edges.of())
        except BaseException:
            put_back()
            raise

    def _reset(self, edges: Edges) -> None:
        self._closure.reset((edges.sources, edges.targets))

    def _lookup(self, rows: Indices, columns: Indices) -> Flags:
        if isinstance(self._closure, Halves):
            return self._closure.lookup(rows, columns)
        return self._closure.y[rows, columns]

    def _lines(self, ids: Indices, *, upright: bool) -> Flags:
        if isinstance(self._closure, Halves):
            return self._closure.lines(ids, upright=upright)
        return self._closure.y[:, ids] if upright else self._closure.y[ids]

    def _parts(self) -> tuple[Part, ...]:
        return self._closure.parts() if isinstance(self._closure, Halves) else ()

    def _saved(self) -> Callable[[], None]:
        saved = self._closure.copy()

        def put_back() -> None:
            self._closure = saved

        return put_back

    @property
    def state(self) -> State | None:
        """The matrices of the polynomials; None where a leaf is all."""
        self._ready()
        return self._closure.held.state if isinstance(self._closure, Halves) else None

    @classmethod
    def entry_bytes(cls, room: int) -> float:
        """At depth 1: counts, sums, stamps and bits of a quarter each."""
        del room
        return float(ENTRY_BYTES)

    def _bytes(self) -> int:
        return super()._bytes() + self._closure.bytes

    def moved(self, backend: Backend) -> DivideConquer:
        """Return the same engine with its polynomials on another backend, itself when it is there; no rebuild."""
        if backend is self._where:
            return self
        self._ready()
        _require_room(backend, self._room)
        other: DivideConquer = copy(self)
        other._where, other._done, other._closure = backend, dict(self._done), self._closure.moved(backend)
        return other

    def stats(self) -> Mapping[str, Any]:
        """Sizes, and how many of the paper's operations were done."""
        return {**super().stats(), "depth": self._depth}


def _require_room(backend: Backend, room: int) -> None:
    """Refuse more vertices than X and the leaves may have at the driver, before these take memory."""
    needed = AT_DRIVER * room**2
    if not isinstance(backend, LocalBackend) and needed > DRIVER_BYTES:
        raise OutgrownError(
            f"a graph whose leaves take at most {DRIVER_BYTES} bytes at the driver, for divide_conquer on Spark",
            f"{room} vertices, for which they take up to {needed}",
            "Choose the engine 'lanes' or 'centres', or keep the state in this process: backend='local'.",
        )
