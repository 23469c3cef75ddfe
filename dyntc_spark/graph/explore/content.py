"""What is on a page: some vertices with the edges among them, what they reach, and what the last batches changed."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dyntc_spark.edges import Edges
from dyntc_spark.engines.abilities import reach_counts
from dyntc_spark.engines.base import Reachability
from dyntc_spark.errors import OptionError
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.explore.page import Page, rendered
from dyntc_spark.graph.explore.recent_batches import Older, Recent, recent, within
from dyntc_spark.graph.inputs.read import read_vertices
from dyntc_spark.graph.pictures.labels import label
from dyntc_spark.graph.pictures.neighbourhood import degrees, induced, nearby, require_depth
from dyntc_spark.graph.questions import structure
from dyntc_spark.graph.questions.ranking import RANKED, ranked
from dyntc_spark.graph.tables.relations import Tables
from dyntc_spark.graph.version import Graph, Version
from dyntc_spark.kernels.ids import Indices

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The most vertices of a page, and the most characters.
MOST, LARGEST = 2_000, 1_900_000
BATCHES = 5
IMPACTS = 15
LONGEST = 120
#: The most pairs of a batch on a page, of those won and of those lost.
MOST_PAIRS = 8_000
#: Where the closure is on Spark, what vertices reach is counted for graphs up to this many vertices.
MOST_COUNTED = 1_000_000
_EDGE = 5  # characters of an edge, at least


@dataclass(frozen=True, slots=True)
class PageInputs:
    """The way to a closure, and what else a page needs."""

    door: Door
    older: Older
    session: Callable[[], SparkSession]
    tables: Callable[[Version, Reachability], Tables]


def page(inputs: PageInputs, around: Any = None, depth: int | None = None, most: int = MOST) -> Page:  # noqa: ANN401
    """Make a page about a vertex, or about the whole graph."""
    require_depth(depth, none=True)
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise OptionError("most, a number of vertices from 1 on", f"{most!r:.80}", f"Leave it out for {MOST:,}.")
    centre = None if around is None else read_vertices([around], "around")
    if centre is not None:
        inputs.door.now.graph.vertices.known_numbers(centre)

    def made(version: Version, closure: Reachability) -> Page:
        graph = version.graph
        start = None if centre is None else graph.vertices.known_numbers(centre)
        content = _Content(inputs, version, closure, start, depth)
        room = most
        while True:
            data = content.data(room)
            html = rendered(data) if _EDGE * len(data["targets"]) < LARGEST else None
            if room == 1 or (html is not None and len(html.encode()) <= LARGEST):
                return Page(html or rendered(data), len(data["names"]), len(graph.vertices))
            room = max(room * 2 // 3, 1)

    return inputs.door.ask_apart(made)


class _Content:
    """A version, with what any page about it says."""

    def __init__(
        self, inputs: PageInputs, version: Version, closure: Reachability, start: Indices | None, depth: int | None
    ) -> None:
        self.version, self.closure, self.start, self.depth = version, closure, start, depth
        graph = version.graph
        self.batches = list(recent(version, closure, inputs.older, BATCHES, inputs.session))
        self.below, self.above = _counts(version, closure, inputs.tables)
        self.component = structure.representatives(graph.edges, graph.vertices.extent)
        gone = [within(batch.deleted, graph.vertices.used) for batch in self.batches]
        ends = [
            np.concatenate([getattr(edges, end) for edges in [Edges.of(), *gone]]) for end in ("sources", "targets")
        ]
        self.edges = graph.edges.replaced(inserted=Edges(*ends), deleted=Edges.of())

    def data(self, most: int) -> dict[str, Any]:
        """Return what the page shows, with ``most`` vertices at most."""
        graph = self.version.graph
        vertices, starts, complete = self._chosen(most)
        place = np.full(graph.vertices.extent, -1, np.int64)
        place[vertices] = np.arange(len(vertices))
        edges = induced(graph.edges, vertices)
        whole = len(vertices) == len(graph.vertices)
        components, component = np.unique(self.component[vertices], return_inverse=True)
        sizes = np.bincount(self.component[graph.vertices.used], minlength=1)
        return {
            "graph": {
                "vertices": len(graph.vertices),
                "edges": len(graph.edges),
                "pairs": None if self.below is None else int(self.below[graph.vertices.used].sum()),
                "version": self.version.number,
                "engine": self.version.engine,
            },
            "whole": whole,
            "starts": place[starts].tolist(),
            "around": self.start is not None,
            "depth": self.depth,
            "complete": complete,
            "names": _names(graph, vertices),
            "reached": None if self.below is None else self.below[vertices].tolist(),
            "reaching": None if self.above is None else self.above[vertices].tolist(),
            "component": component.tolist(),
            "sizes": sizes[components].tolist(),
            "offsets": np.searchsorted(place[edges.sources], np.arange(len(vertices) + 1)).tolist(),
            "targets": place[edges.targets].tolist(),
            "bits": None if whole else _bits(self.closure, vertices),
            "batches": [_batch(batch, vertices, place) for batch in self.batches],
            "uncounted": self._uncounted(),
            "impact": {by: self._impact(counts, place) for by, counts in zip(RANKED[1:], self._counted(), strict=True)},
        }

    def _chosen(self, most: int) -> tuple[Indices, Indices, int | None]:
        """Return the vertices of the page, where it begins, and up to which distance from there nothing is missing."""
        graph = self.version.graph
        used = graph.vertices.used
        if self.start is None and len(used) <= most:
            return used, self._first(used, 1), None
        starts = self._first(used, max(most // 20, 1)) if self.start is None else self.start
        weight = degrees(self.edges, graph.vertices.extent)
        found = nearby(self.edges, starts, weight, depth=self.depth, most=most - len(starts))
        return found.vertices, starts, found.complete

    def _first(self, used: Indices, most: int) -> Indices:
        """Return what a page begins with by default: what the last batch changed, and what most depend on."""
        changed = [end for batch in self.batches[:1] for end in (batch.inserted.sources, batch.deleted.sources)]
        first = np.concatenate([np.zeros(0, np.int64), *changed])
        first = first[first >= 0]
        weight = degrees(self.edges, self.version.graph.vertices.extent) if self.above is None else self.above
        heavy = used[np.argsort(-weight[used], kind="stable")]
        _, at = np.unique(found := np.concatenate([heavy[:1], first, heavy]), return_index=True)
        chosen: Indices = found[np.sort(at)][:most]
        return chosen

    def _uncounted(self) -> str | None:
        """Return why nothing is counted, and what to do, where that is so."""
        if self.above is not None:
            return None
        vertices = self.version.graph.vertices
        size = "its names are on Spark" if vertices.on_spark else f"it has {len(vertices):,} vertices"
        return (
            f"Left out: the closure is on Spark, and {size}. A page counts there for up to {MOST_COUNTED:,} vertices, "
            f"with names in the calling process. To have Spark count, ask impact(top={IMPACTS})."
        )

    def _counted(self) -> tuple[Indices | None, Indices | None]:
        return self.above, self.below

    def _impact(self, counts: Indices | None, place: Indices) -> list[list[Any]]:
        """Return the vertices with the highest counts: name, place on the page or -1, count."""
        if counts is None:
            return []
        graph = self.version.graph
        used = graph.vertices.used
        first = used[np.argsort(-counts[used], kind="stable")[:IMPACTS]]
        first = first[counts[first] > 0]
        rows = zip(_names(graph, first), place[first].tolist(), counts[first].tolist(), strict=True)
        return [list(row) for row in rows]


def _counts(
    version: Version, closure: Reachability, tables: Callable[[Version, Reachability], Tables]
) -> tuple[Indices | None, Indices | None]:
    """Return by vertex how many others it reaches, and how many reach it; None where they are not counted."""
    vertices = version.graph.vertices
    if closure.backend != "spark":
        numbers, (below, above) = vertices.used, reach_counts(closure, vertices.used)
    elif vertices.on_spark or len(vertices) > MOST_COUNTED:
        return None, None
    else:
        table = ranked(tables(version, closure), "ancestors", len(vertices)).toArrow()
        numbers = vertices.known_numbers(table["vertex"].combine_chunks())
        below, above = (table[name].to_numpy() for name in ("descendants", "ancestors"))
    found = np.zeros((2, vertices.extent), np.int64)
    found[:, numbers] = below, above
    return found[0], found[1]


def _names(graph: Graph, numbers: Indices) -> list[str]:
    return [label(name, LONGEST) for name in graph.vertices.names(numbers).to_pylist()]


def _bits(closure: Reachability, vertices: Indices) -> str:
    """Return which vertices of the page reach which: a bit for each pair, a row begins with a new byte."""
    n = len(vertices)
    rows: list[npt.NDArray[np.uint8]] = []
    for part in np.array_split(vertices, 1 if closure.backend == "spark" else n // 256 + 1):
        found = closure.query(np.repeat(part, n), np.tile(vertices, len(part)))
        rows.append(np.packbits(found.reshape(len(part), n), axis=1, bitorder="little"))
    return base64.b64encode(np.concatenate(rows).tobytes()).decode("ascii")


def _batch(batch: Recent, vertices: Indices, place: Indices) -> dict[str, Any]:
    pairs = dict(zip(("won", "lost"), batch.among(vertices), strict=True))
    edges = {"inserted": batch.inserted, "deleted": batch.deleted}
    return {
        "version": batch.version,
        "counts": {
            "inserted": len(batch.inserted),
            "deleted": len(batch.deleted),
            "won": batch.won,
            "lost": batch.lost,
        },
        **{name: _flat(within(found, vertices), place) for name, found in edges.items()},
        **{name: _flat(found, place) for name, found in pairs.items()},
        "cut": any(len(found) > MOST_PAIRS for found in [*pairs.values(), *edges.values()]),
    }


def _flat(edges: Edges, place: Indices) -> list[int]:
    """Return pairs one after the other, as places on the page; at most `MOST_PAIRS`, evenly from all."""
    step = max(-(-len(edges) // MOST_PAIRS), 1)
    both = np.stack([place[edges.sources[::step]], place[edges.targets[::step]]], axis=1)
    flat: list[int] = both.ravel().tolist()
    return flat
