"""What a picture of a closure shows: a small graph, the neighbourhood of a vertex, or the matrix of a larger graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dyntc_spark.edges import Edges
from dyntc_spark.engines.base import Reachability
from dyntc_spark.graph.door import Door
from dyntc_spark.graph.inputs.read import read_vertices
from dyntc_spark.graph.pictures.condensation import Condensation
from dyntc_spark.graph.pictures.labels import label
from dyntc_spark.graph.pictures.marks import Marks, of_last_batch
from dyntc_spark.graph.pictures.matrix import Matrix, matrix
from dyntc_spark.graph.pictures.neighbourhood import degrees, induced, nearby, require_depth
from dyntc_spark.graph.pictures.scene import Part, Scene, scene
from dyntc_spark.graph.version import Graph, Version
from dyntc_spark.kernels.ids import Indices

#: More boxes than this are not drawn one by one, and no more vertices of them than that.
MOST_NODES, MOST_VERTICES = 40, 400
#: The most vertices of a neighbourhood for each distance and direction.
EACH = 8
DEPTH = 2


@dataclass(frozen=True, slots=True)
class PictureOptions:
    """What to draw."""

    around: Any = None  #: a vertex; None: the whole graph
    depth: int = DEPTH
    unfold: bool = False
    parts: int = 48
    thorough: bool = True  #: whether to work out what the last batch changed, if that takes long


def picture(door: Door, wanted: PictureOptions) -> tuple[Version, Scene | Matrix]:
    """Work out a picture of the current version."""
    require_depth(wanted.depth, none=False)
    centre = None if wanted.around is None else read_vertices([wanted.around], "around")
    if centre is not None:
        door.now.graph.vertices.known_numbers(centre)  # refused before anything is worked out
    marked, marks = of_last_batch(door, thorough=wanted.thorough)

    def drawn(version: Version, closure: Reachability) -> tuple[Version, Scene | Matrix]:
        graph = version.graph
        known = marks if graph is marked.graph else _unmarked(graph)  # a batch may have come meanwhile
        condensed = Condensation.of(graph)
        if centre is not None:
            numbers = graph.vertices.known_numbers(centre)
            return version, _around(graph, condensed, closure, known, numbers, wanted)
        if condensed.count > MOST_NODES or (wanted.unfold and len(condensed.vertices) > MOST_VERTICES):
            return version, matrix(graph, condensed, closure, wanted.parts)
        everything = Part(graph, condensed.vertices, graph.edges.edges, known, np.zeros(0, np.int64))
        return version, scene(everything, condensed, unfold=wanted.unfold, notes=[])

    return door.ask_apart(drawn)


def _around(
    graph: Graph, condensed: Condensation, closure: Reachability, marks: Marks, centre: Indices, wanted: PictureOptions
) -> Scene:
    """Draw the neighbourhood of a vertex, edges that the last batch deleted included."""
    edges = graph.edges.replaced(inserted=marks.deleted, deleted=Edges.of())
    # what the batch did here is drawn first, then what else it has changed
    weight = degrees(edges, graph.vertices.extent) + marks.beside(centre) * 2**50 + (marks.won + marks.lost > 0) * 2**40
    near = nearby(edges, centre, weight, depth=wanted.depth, most=MOST_NODES, each=EACH).vertices
    above, below = (len(found) - 1 for found in (closure.ancestors(centre), closure.descendants(centre)))
    name = label(graph.vertices.names(centre)[0].as_py(), 60)
    away = f"up to {wanted.depth} edge{'s' * (wanted.depth != 1)} away"
    note = f"{name}: {above:,} reach it, it reaches {below:,}; drawn are {len(near) - 1:,} vertices {away}"
    part = Part(graph, near, induced(graph.edges, near), marks, centre)
    return scene(part, condensed, unfold=wanted.unfold, notes=[note])


def _unmarked(graph: Graph) -> Marks:
    nothing = np.zeros(graph.vertices.extent, np.int64)
    return Marks(Edges.of(), Edges.of(), nothing, nothing)
