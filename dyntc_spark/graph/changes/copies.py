"""How often a multigraph has each of its edges: the copies beyond the first, which most edges have none of.

Copies are a value, as a set of edges is: a batch makes another one, which shares most of its arrays. The edges
themselves are in an `EdgeSet`, and engines know no more than that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dyntc_spark.edges import LEAST_CHANGES, Edges, EdgeSet, edges_of, keys_of
from dyntc_spark.kernels.ids import Flags, Indices

_NOTHING: Indices = np.zeros(0, np.int64)


class Copies(NamedTuple):
    """Copies of edges beyond the first, by the keys of the edges, which ascend: many that are shared, and later ones.

    Examples
    --------
    >>> copies = Copies.of(Edges.of([0, 0, 1], [1, 1, 2]))
    >>> copies.beyond(Edges.of([0, 1], [1, 2])), copies.total
    (array([1, 0]), 1)
    >>> copies.replaced(Edges.of([1], [2]), np.array([5])).total
    6
    """

    keys: Indices = _NOTHING  #: of edges with more than one copy
    more: Indices = _NOTHING  #: copies of these beyond the first
    later_keys: Indices = _NOTHING  #: edges whose number has changed since
    later: Indices = _NOTHING  #: copies of these beyond the first, or 0
    total: int = 0  #: of all edges

    @classmethod
    def of(cls, edges: Edges) -> Copies:
        """Count edges in any order, with repetitions."""
        keys, counts = np.unique(keys_of(edges), return_counts=True)
        return cls.counted(edges_of(keys), counts)

    @classmethod
    def counted(cls, edges: Edges, counts: Indices) -> Copies:
        """Return the copies of edges that ascend, each once, with how often each is there."""
        several = counts > 1
        more = counts[several].astype(np.int64) - 1
        return cls(keys_of(edges)[several], more, total=int(more.sum()))

    def beyond(self, edges: Edges) -> Indices:
        """Return for each edge how many copies there are beyond the first: two binary searches."""
        keys = keys_of(edges)
        found = _looked_up(self.keys, self.more, keys, np.zeros(len(keys), np.int64))
        return _looked_up(self.later_keys, self.later, keys, found)

    def replaced(self, edges: Edges, beyond: Indices) -> Copies:
        """Return the copies when these edges, each named once, have ``beyond`` copies beyond the first.

        Costs what has changed since the last pass over all, which comes when that is more than a small multiple of the
        root of their number.
        """
        if not len(edges):
            return self
        total = self.total + int(beyond.sum()) - int(self.beyond(edges).sum())
        keys, later = _merged(self.later_keys, self.later, keys_of(edges), beyond)
        if len(keys) <= max(LEAST_CHANGES, 8 * math.isqrt(len(self.keys))):
            return Copies(self.keys, self.more, keys, later, total)
        keys, more = _merged(self.keys, self.more, keys, later)
        return Copies(keys[more > 0], more[more > 0], total=total)


@dataclass(frozen=True, slots=True)
class Recount:
    """What a batch does to a multigraph beyond the edges that come and go."""

    copies: Indices  #: of each edge that comes
    held: Edges  #: that were there and stay, in another number
    held_copies: Indices  #: of these, from now on
    gained: int  #: copies, of all edges
    lost: int

    def noted(self, inserted: Edges) -> tuple[Edges, Indices]:
        """Return all edges whose number of copies changes, but for those that go, with their numbers."""
        sources = np.concatenate([inserted.sources, self.held.sources])
        targets = np.concatenate([inserted.targets, self.held.targets])
        return Edges(sources, targets), np.concatenate([self.copies, self.held_copies])


def net_counts(
    changed: Edges, inserting: Flags, present: EdgeSet, copies: Copies
) -> tuple[Edges, Edges, Flags, Recount]:
    """Work out what changes do to a multigraph: edges that come, edges that go, which changed nothing, and counts.

    Insertions and deletions of an edge add up, in any order. Deletions of more than there are change
    nothing: the last ones.

    Examples
    --------
    >>> changed, inserting = Edges.of([0, 0, 0, 7], [1, 1, 1, 8]), np.array([False, False, False, True])
    >>> present = Edges.of([0, 0], [1, 1])
    >>> inserted, deleted, redundant, _ = net_counts(changed, inserting, EdgeSet.of(present), Copies.of(present))
    >>> inserted.sources, deleted.sources, redundant
    (array([7]), array([0]), array([False, False,  True, False]))
    """
    keys, place = np.unique(keys_of(changed), return_inverse=True)
    place = place.reshape(-1)
    edges = edges_of(keys)
    before = np.where(present.has(edges), 1 + copies.beyond(edges), 0)
    deletions = np.bincount(place[~inserting], minlength=len(keys))
    wanted = before + np.bincount(place[inserting], minlength=len(keys)) - deletions
    after = np.maximum(wanted, 0)
    comes, goes, stays = (before == 0) & (after > 0), (before > 0) & (after == 0), (before > 0) & (after > 0)
    held = stays & (after != before)
    difference = after - before
    recount = Recount(
        after[comes],
        edges_of(keys[held]),
        after[held],
        int(difference[difference > 0].sum()),
        -int(difference[difference < 0].sum()),
    )
    redundant = _last(place, ~inserting, np.maximum(-wanted, 0), deletions)
    return edges_of(keys[comes]), edges_of(keys[goes]), redundant, recount


def _last(place: Indices, among: Flags, most: Indices, every: Indices) -> Flags:
    """Mark the last ``most[k]`` of the rows ``among`` all that are at ``place`` k, of which there are ``every[k]``."""
    marked = np.zeros(len(place), np.bool_)
    rows = np.flatnonzero(among)
    rows = rows[np.argsort(place[rows], kind="stable")]
    at = place[rows]
    rank = np.arange(len(rows)) - np.searchsorted(at, at)
    marked[rows] = rank >= every[at] - most[at]
    return marked


def _looked_up(keys: Indices, values: Indices, wanted: Indices, otherwise: Indices) -> Indices:
    """Return the value of each key that is wanted, where it is among ``keys``, which ascend."""
    if not len(keys):
        return otherwise
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], otherwise)


def _merged(keys: Indices, values: Indices, other: Indices, over: Indices) -> tuple[Indices, Indices]:
    """Return two mappings as one, by ascending keys; where both have a key, the second counts."""
    both, first = np.unique(np.concatenate([other, keys]), return_index=True)
    return both, np.concatenate([over, values])[first]
