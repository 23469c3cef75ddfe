"""The records of a phase: one for each Set* since the last Init*, in the order of time.

Record j, made by Set*(c_j), keeps snapshots of row and column c_j of X,

    xo_j = X[c_j, :],   xi_j = X[:, c_j],

and for each earlier record l < j whether one step from c_j leads into it, or out of it:

    HO[j,l] = |{a : xo_j[a], In_l[a]}|        HI[j,l] = |{a : Out_l[a], xi_j[a]}|
    CO_j[y] = |{a : xo_j[a], D0[a,y]}| + |{l < j : HO[j,l] > 0, Out_l[y]}|     Out_j = [CO_j > 0] + c_j
    CI_j[x] = |{a : D0[x,a], xi_j[a]}| + |{l < j : HI[j,l] > 0, In_l[x]}|      In_j = [CI_j > 0] + c_j

Snapshots only shrink: an edge that comes back later is in a later record. The bits
of all records at a vertex are one packed row, so that a question costs m / 64 words.
"""

from __future__ import annotations

import numpy as np

from dyntc_spark.kernels import centre_records
from dyntc_spark.kernels.bits import pack, words_for
from dyntc_spark.kernels.block import Ints
from dyntc_spark.kernels.counts import matrix_vector, vector_product
from dyntc_spark.kernels.ids import Flags, Indices
from dyntc_spark.matrices.counted_product import Entries
from dyntc_spark.matrices.triples import count_dtype

FIRST = 64  # records for which there is room in the beginning


class Records:
    """Records between ``size`` vertices; see the module."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.used = 0
        self.cuts = 0  # how often records have shrunk
        dtype = count_dtype(2 * size + 2)
        self.centres = np.zeros(0, np.int64)
        self.xo, self.xi, self.out, self.into = (np.zeros((size, 0), np.uint64) for _ in range(4))
        self.co, self.ci = (np.zeros((0, size), dtype) for _ in range(2))
        self.ho, self.hi = (np.zeros((0, 0), dtype) for _ in range(2))

    @property
    def bytes(self) -> int:
        """What is held in memory."""
        counts = (self.co, self.ci, self.ho, self.hi)
        return sum(array.nbytes for array in (*counts, self.xo, self.xi, self.out, self.into))

    @property
    def bytes_of_one_more(self) -> int:
        """What is held in memory when there is one record more."""
        room, size, item = self._room_for_one_more(), self.size, self.co.itemsize
        return 2 * item * room * (size + room) + 4 * 8 * size * words_for(room)

    def add(self, centre: int, row: Indices, column: Indices, reached: Ints, reaching: Ints) -> None:
        """Make the record of a Set*: ``reached`` is xo · D0, ``reaching`` D0 · xi."""
        self._make_room()
        j = self.used
        ho, go = self._hops(row, self.into)
        hi, gi = self._hops(column, self.out)
        co = reached + matrix_vector(self.out, go).ravel()
        ci = reaching + matrix_vector(self.into, gi).ravel()
        self.centres[j] = centre
        self.ho[j, :j], self.hi[j, :j] = ho[:j], hi[:j]
        self.co[j], self.ci[j] = co, ci
        word, bit = j >> 6, np.uint64(1) << np.uint64(j & 63)
        self.xo[row, word] |= bit
        self.xi[column, word] |= bit
        for lines, counts in ((self.out, co), (self.into, ci)):
            lines[np.flatnonzero(counts), word] |= bit
            lines[centre, word] |= bit
        self.used = j + 1

    def cut(self, pairs: Entries, edges: Entries, rows: tuple[Indices, Flags], columns: tuple[Indices, Flags]) -> int:
        """Take away what D0 and X have lost; return how many facts went.

        ``rows`` are the rows of D0, as it is now, of the targets of ``edges``, and
        ``columns`` its columns of their sources, at least for edges that a record has.
        """
        if not self.used:
            return 0
        self.cuts += 1
        stack, top = np.empty((1024, 3), np.int64), 0
        for sign, snapshot, counts in ((0, self.xo, self.co), (1, self.xi, self.ci)):
            stack, top = centre_records.close_gaps(
                sign, pairs.rows, pairs.columns, snapshot, counts, self.centres, stack, top
            )
        sides = (
            (0, edges.rows, edges.columns, rows, self.xo, self.co, self.into, self.ho),
            (1, edges.columns, edges.rows, columns, self.xi, self.ci, self.out, self.hi),
        )
        for sign, near, far, (ids, lines), snapshot, counts, met, hops in sides:
            js, ends = self._holding(near, far, snapshot)
            at = np.searchsorted(ids, ends)
            stack, top = centre_records.cut_edges(
                sign, js, ends, lines, at, snapshot, counts, met, hops, self.centres, stack, top
            )
        facts = self.xo, self.xi, self.out, self.into, self.co, self.ci, self.ho, self.hi
        return int(centre_records.settle(self.used, *facts, self.centres, stack, top))

    def concerned(self, edges: Entries) -> tuple[Indices, Indices]:
        """The targets and the sources whose lines of D0 ``cut`` will want."""
        targets = self._holding(edges.rows, edges.columns, self.xo)[1]
        return np.unique(targets), np.unique(self._holding(edges.columns, edges.rows, self.xi)[1])

    def lookup(self, rows: Indices, columns: Indices) -> Flags:
        """Whether some record joins ``rows[q]`` to ``columns[q]``."""
        found: Flags = centre_records.meet(self.into, self.out, rows, columns)
        return found

    def join_lines(self, ids: Indices, found: Flags, *, upright: bool) -> None:
        """Add to ``found[e]`` what records join to (upright: from) ``ids[e]``."""
        near, far = (self.out, self.into) if upright else (self.into, self.out)
        centre_records.meet_all(near, far, ids, found)

    def truncate(self, used: int) -> None:
        """Forget the records from ``used`` on."""
        self.used = used
        word, rest = used >> 6, np.uint64((1 << (used & 63)) - 1)
        for lines in (self.xo, self.xi, self.out, self.into):
            lines[:, word + 1 :] = 0
            if word < lines.shape[1]:
                lines[:, word] &= rest

    def _holding(self, near: Indices, far: Indices, snapshot: Ints) -> tuple[Indices, Indices]:
        """Records of the centres ``near[e]`` whose snapshot has ``far[e]``: pairs of record and far end."""
        order = np.argsort(self.centres[: self.used], kind="stable")
        ascending = self.centres[: self.used][order]
        begins, ends = np.searchsorted(ascending, near), np.searchsorted(ascending, near, side="right")
        counts = ends - begins
        places = np.arange(counts.sum()) + np.repeat(begins - (np.cumsum(counts) - counts), counts)
        js, at = order[places], np.repeat(far, counts)
        there = (snapshot[at, js >> 6] >> (js & 63).astype(np.uint64)) & np.uint64(1) != 0
        return js[there], at[there]

    def _hops(self, ids: Indices, lines: Ints) -> tuple[Ints, Ints]:
        """For each record l how many of ``ids`` have its bit (-1 for none), and where there are some, packed."""
        chosen = np.zeros((1, self.size), bool)
        chosen[0, ids] = True
        found = vector_product(pack(chosen), lines, 64 * lines.shape[1]).ravel()
        return np.where(found > 0, found, -1), pack((found > 0)[None, :])

    def _room_for_one_more(self) -> int:
        """For how many records there is room when there is one more."""
        have = len(self.centres)
        if self.used < have:
            return have
        room = max(FIRST, have + have // 2 // 64 * 64, min(2 * have, 256))
        return min(room, max(have + FIRST, -(-self.size // FIRST) * FIRST))  # a phase has as many as there are vertices

    def _make_room(self) -> None:
        room = self._room_for_one_more()
        if room == len(self.centres):
            return
        self.centres = _grown(self.centres, (room,))
        self.xo, self.xi, self.out, self.into = (
            _grown(lines, (self.size, words_for(room))) for lines in (self.xo, self.xi, self.out, self.into)
        )
        self.co, self.ci = (_grown(counts, (room, self.size)) for counts in (self.co, self.ci))
        self.ho, self.hi = (_grown(hops, (room, room)) for hops in (self.ho, self.hi))


def _grown(array: Ints, shape: tuple[int, ...]) -> Ints:
    larger = np.zeros(shape, array.dtype)
    larger[tuple(slice(side) for side in array.shape)] = array
    return larger
