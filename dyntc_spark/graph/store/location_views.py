"""SQL views over a location, for whoever has a session and not this library.

They read the tables of the location, by the commits that are published there. So they see whole versions only,
and the last one whenever they are asked, whoever has written it. Which commits count is said in one place,
``sql/location/published.sql``: those of which the statement sees all rows. So views in one statement, which
reads each table once, show one version, although Spark does not read all tables at the same moment.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dyntc_spark.graph.inputs.vertex_types import spark_type
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.store.statements import relations_of, require_tables
from dyntc_spark.graph.store.store import Store
from dyntc_spark.graph.tables.views import function_statement, require_prefix, statement, view_statement
from dyntc_spark.lazy_pyspark import spark_errors
from dyntc_spark.session import session_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("commits", "edges", "vertices", "changes", "closure")
FUNCTIONS = ("descendants", "ancestors")

_log = logging.getLogger(__name__)


def create_location_views(
    location: str, prefix: str, *, permanent: bool = False, spark: SparkSession | None = None
) -> list[str]:
    """Create SQL views over a location, which need neither this library nor this process to follow it.

    ``<prefix>_closure``, ``_edges`` and ``_vertices`` have the last published version, ``_commits`` all versions, and
    ``_changes`` what each version changed, where that is recorded. Of a multigraph, ``_edges`` has ``count``.
    The table functions ``<prefix>_descendants(v)`` and ``<prefix>_ancestors(v)`` are made where the session allows it.

    ``_closure`` is the last checkpoint and the changes that were recorded since then. Where batches after the
    checkpoint are not recorded, reading it is an error; ``save(location, record_changes=True)`` has them recorded.

    Parameters
    ----------
    location
        A path, which has a ``/``, or a schema of the catalog.
    prefix
        A word.
    permanent
        Whether views and functions are in the catalog's current schema; else they are temporary.
    spark
        The session to make them in; by default the active one, else a local one that is started.

    Returns
    -------
    list of str
        The names of the views.
    """
    place, views, functions = _statements(location, prefix, spark, permanent=permanent)
    with place.translating("creating views of the location"):
        for text in views.values():
            place.spark.sql(text)
    try:
        for text in functions:
            place.spark.sql(text)
    except spark_errors.PySparkException as error:
        _log.warning("This session takes no table functions; %s_* has the views only: %s", prefix, error)
    return list(views)


def location_views_sql(location: str, prefix: str, *, permanent: bool = True, spark: SparkSession | None = None) -> str:
    """Return the statements by which `create_location_views` makes views and functions, to be run somewhere else.

    A ``;`` and an empty line stand behind each. The parameters are those of `create_location_views`.
    """
    _, views, functions = _statements(location, prefix, spark, permanent=permanent)
    return "".join(f"{text.rstrip()};\n\n" for text in (*views.values(), *functions))


def _statements(
    location: str, prefix: str, spark: SparkSession | None, *, permanent: bool
) -> tuple[Place, dict[str, str], list[str]]:
    """Return the statements of the views by their names, and those of the functions."""
    require_prefix(prefix)
    place = Place(session_for(spark), location)
    commits = Store.required(place)
    kind = require_tables(place, commits)
    relations = relations_of(place)
    files = {name: f"location/{name}" for name in NAMES}
    if commits.head.copies is not None:
        files["edges"] = "location/counted_edges"
    views = {
        f"{prefix}_{name}": view_statement(f"{prefix}_{name}", statement(file), relations, permanent=permanent)
        for name, file in files.items()
    }
    functions = [function_statement(prefix, name, spark_type(kind), permanent=permanent) for name in FUNCTIONS]
    return place, views, functions
