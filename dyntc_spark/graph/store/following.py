"""SQL views over a location, for whoever has a session and not this library.

They read the tables of the location, by the commits that are published there. So they see whole versions only,
and the last one whenever they are asked, whoever has written it. Which commits count is said in one place,
``sql/location/published.sql``: those of which the statement sees all rows. So views in one statement, which
reads each table once, show one version, although Spark does not read all tables at the same moment.
"""

from __future__ import annotations

from dyntc_spark.errors import LocationError
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.store.recorded import TABLE as CHANGES
from dyntc_spark.graph.views import create, filled, require_prefix, statement

NAMES = ("commits", "edges", "vertices")
TABLES = ("commits", "log", "vertices", "blocks")
#: Four bytes, the lowest first, as an integer; ``h`` are their hexadecimal digits.
INTEGER = "int(conv(concat(substr(h, 7, 2), substr(h, 5, 2), substr(h, 3, 2), substr(h, 1, 2)), 16, 10))"


def create_views(place: Place, prefix: str, *, permanent: bool) -> list[str]:
    """Create the views ``<prefix>_commits``, ``_edges``, ``_vertices``, and ``_changes`` where changes are recorded.

    Gives their names.
    """
    require_prefix(prefix)
    missing = [table for table in TABLES if not place.exists(table)]
    if missing:
        raise LocationError(
            f"a closure with vertices and a batch at {place.location!r}",
            f"no table {missing[0]!r}",
            "Apply a batch first.",
        )
    names = (*NAMES, CHANGES) if place.exists(CHANGES) else NAMES
    relations = {"integer": INTEGER, **{table: place.identifier(table) for table in (*TABLES, CHANGES)}}
    relations["published"] = filled(statement("location/published"), relations)
    with place.translating("creating views of the location"):
        for name in names:
            create(place.spark, f"{prefix}_{name}", statement(f"location/{name}"), relations, permanent=permanent)
    return [f"{prefix}_{name}" for name in names]
