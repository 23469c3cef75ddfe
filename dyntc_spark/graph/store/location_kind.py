"""A location is that of a closure or of a labelled graph: who asks for the other kind is told which class has it."""

from __future__ import annotations

from dyntc_spark.errors import LocationError
from dyntc_spark.graph.store.place import Place


def refuse_labelled(place: Place) -> None:
    """Refuse the location of a labelled graph, where a closure is asked for or to be saved."""
    _refuse(place, "labelled", "a closure", "a labelled graph", "LabelledGraph")


def refuse_closure(place: Place) -> None:
    """Refuse the location of a closure, where a labelled graph is asked for or to be saved."""
    _refuse(place, "commits", "a labelled graph", "a closure without labels", "DynamicClosure")


def _refuse(place: Place, table: str, wanted: str, found: str, owner: str) -> None:
    if place.exists(table):
        raise LocationError(
            f"{wanted}, or nothing, at {place.location!r}",
            found,
            f"Open it with {owner}.open(location), or choose another location; nothing was changed there.",
        )
