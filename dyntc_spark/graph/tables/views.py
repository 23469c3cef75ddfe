"""SQL views and table functions of a closure: the statements in ``sql/`` over what the closure holds now.

Each file of ``sql/`` is one ``SELECT`` over the relations in braces; the comment
behind a column becomes its comment in the catalog. All relations of a version are one
hidden temporary view, and this is the only view that a batch replaces:

    <prefix>_closure, ... -> dyntc_views_<prefix> -> dyntc_<mark> (replaced by each batch)

Spark replaces one temporary view in one step, and looks names up whenever a view is asked. So the
views of a prefix go from one version to the next together. The view in the middle does the same
for a prefix that is given to another closure, or to vertices of another type.

Spark looks the hidden view up once for each view that a statement names. A batch can come between
two of these lookups, and a user can join DataFrames that were made before and after a batch. Such a
plan is refused: the hidden view carries an observed metric that has one name for the prefix and
another definition in each version, and Spark's analysis does not accept both in one plan.

A view that was dropped does not come back, and one that somebody else has put in its
place is left alone.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dyntc_spark.errors import IdentifierError
from dyntc_spark.graph.inputs.vertex_types import spark_type
from dyntc_spark.graph.questions.what_if import what_if_among
from dyntc_spark.graph.tables.walk import walk
from dyntc_spark.graph.vertices.names import Vertices
from dyntc_spark.lazy_pyspark import F, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAMES = ("edges", "vertices", "closure", "components", "changes", "stats")
FUNCTIONS = (
    *("descendants", "ancestors", "common_descendants", "common_ancestors"),
    *("between", "path", "distance", "impact", "cycles", "is_acyclic", "what_if"),
)
#: What the statements are about: relations and their columns. ``{vertex}`` is the type of the vertices.
RELATIONS = {
    "vertices": {
        "number": "INT",
        "vertex": "{vertex}",
        **dict.fromkeys(("component", "stripe", "lane", "strong"), "INT"),
        "successors": "ARRAY<INT>",
    },
    "runs": {**dict.fromkeys(("stripe", "first", "last"), "INT"), "word": "BIGINT", "paths": "DECIMAL(38, 0)"},
    "changes": {"src": "{vertex}", "dst": "{vertex}", "op": "STRING", "version": "BIGINT"},
    "stats": {
        **dict.fromkeys(("version", "vertices", "edges", "pairs"), "BIGINT"),
        **dict.fromkeys(("inserted", "deleted", "insertions_ignored", "deletions_ignored"), "BIGINT"),
        "engine": "STRING",
        "backend": "STRING",
        "details": "MAP<STRING, STRING>",
    },
}

_log = logging.getLogger(__name__)

_LONGEST = 100


class Views:
    """The views of one closure under one prefix, in one session.

    Parameters
    ----------
    spark
        Where the views are.
    prefix
        A word: letters, digits and underscores, not beginning with a digit.
    """

    def __init__(self, spark: SparkSession, prefix: str) -> None:
        require_prefix(prefix)
        self.spark = spark
        self.prefix = prefix
        self.version = -1  # the version that the views show
        self._hidden = ""
        self._made_for = ("", False)  # the type of the vertices, and whether they are on Spark

    def register(self, relations: Mapping[str, DataFrame], vertices: Vertices, version: int) -> None:
        """Create the views and functions, in place of any of the same names, for vertices of this type."""
        self._create(NAMES, relations, spark_type(vertices.kind), wide=vertices.on_spark)
        self.version = version

    def refresh(self, relations: Mapping[str, DataFrame], vertices: Vertices, version: int) -> None:
        """Let all views go to another version in one step; where that fails, all of them stay as they are."""
        vertex, wide = spark_type(vertices.kind), vertices.on_spark
        if (vertex, wide) == self._made_for:
            one_relation(self.spark, relations, self.prefix, vertex).createOrReplaceTempView(self._hidden)
        else:  # a graph without vertices got some, or one with many names
            self._create(tuple(name for name in NAMES if self._is_ours(name)), relations, vertex, wide=wide)
        self.version = version

    def drop_hidden(self) -> None:
        """Drop the hidden view, which no view reads any more."""
        self.spark.catalog.dropTempView(self._hidden)

    def _create(self, names: tuple[str, ...], relations: Mapping[str, DataFrame], vertex: str, *, wide: bool) -> None:
        before, hidden = self._hidden, f"dyntc_{uuid.uuid4().hex[:12]}"
        one_relation(self.spark, relations, self.prefix, vertex).createOrReplaceTempView(hidden)
        # The views of this prefix that are there go to the new relation with this statement, all at once.
        self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {self._shown} AS TABLE {hidden}")
        self._hidden = hidden
        if before:
            self.spark.catalog.dropTempView(before)
        for name in names:
            text = statement(name, wide=wide)
            self.spark.sql(view_statement(f"{self.prefix}_{name}", text, *_parts(text, self._shown)))
        if {"edges", "closure"} <= set(names):
            self._create_functions(vertex)
        self._made_for = vertex, wide

    def _create_functions(self, vertex: str) -> None:
        try:
            pair = f"src: {vertex}, dst: {vertex}"
            self.spark.udf.register(f"{self.prefix}_walk", walk, f"array<struct<hop: int, {pair}>>")
            self.spark.udf.register(f"{self.prefix}_foresee", what_if_among, f"array<struct<{pair}, op: string>>")
            for name in FUNCTIONS:
                self.spark.sql(function_statement(self.prefix, name, vertex))
        except spark_errors.PySparkException as error:
            _log.warning("This session takes no table functions; %s_* has the views only: %s", self.prefix, error)

    @property
    def _shown(self) -> str:
        return f"dyntc_views_{self.prefix}"

    def _is_ours(self, name: str) -> bool:
        """Return whether a view of this name is there and has our columns."""
        try:
            return self.spark.table(f"{self.prefix}_{name}").columns == list(column_comments(statement(name)))
        except spark_errors.PySparkException:
            return False


def one_relation(spark: SparkSession, relations: Mapping[str, DataFrame], prefix: str, vertex: str) -> DataFrame:
    """Return one relation with the rows of all: ``part`` names the relation, the column of that name has its row.

    No two relations that this returns for a prefix can be in one plan.
    """
    types = {name: ", ".join(map(" ".join, columns.items())) for name, columns in RELATIONS.items()}
    types = {name: columns.replace("{vertex}", vertex) for name, columns in types.items()}
    nothing = {name: f"CAST(NULL AS STRUCT<{columns}>) AS {name}" for name, columns in types.items()}
    version = F.max(F.lit(uuid.uuid4().hex)).alias("version")
    metric = f"{prefix}_*: views of two versions in one statement. Run it again"
    made = spark.range(0).observe(metric, version).selectExpr("'' AS part", *nothing.values())
    for name, relation in relations.items():
        row = f"struct({', '.join(RELATIONS[name])}) AS {name}"
        # A subquery, since Spark would copy all rows of all relations for a literal before it leaves out the others.
        made = made.unionAll(relation.selectExpr(f"(SELECT '{name}') AS part", *{**nothing, name: row}.values()))
    return made


def _parts(text: str, shown: str) -> tuple[dict[str, str], str]:
    """Return what the relations of a statement are called in it, and the clause that defines them.

    The clause names the view ``shown`` once, so that a statement about one view sees one version.
    """
    names = {name: f"shown_{name}" for name in RELATIONS if f"{{{name}}}" in text}
    parts = [
        f"{called} AS (SELECT {name}.* FROM shown WHERE part = '{name}')"  # noqa: S608  (names of ours)
        for name, called in names.items()
    ]
    return names, ",\n".join([f"WITH shown AS (TABLE {shown})", *parts]) + "\n"


def require_prefix(prefix: str) -> None:
    """Refuse what cannot begin the name of a view."""
    if not isinstance(prefix, str) or not re.fullmatch(r"[A-Za-z_]\w*", prefix, re.ASCII) or len(prefix) > _LONGEST:
        raise IdentifierError(
            f"a prefix of at most {_LONGEST} letters, digits and underscores that does not begin with a digit",
            f"{prefix!r}",
            "The views are called <prefix>_edges, <prefix>_vertices and so on.",
        )


def view_statement(
    view: str, text: str, relations: Mapping[str, str], given: str = "", *, permanent: bool = False
) -> str:
    """Return what makes a view, or replaces it, by a statement over relations that are called as given.

    ``given`` is a clause that stands before the statement.
    """
    columns = ", ".join(f"{column} COMMENT {literal(said)}" for column, said in column_comments(text).items())
    about = literal(text.partition(": ")[2].partition("\n")[0])
    kind = "VIEW" if permanent else "TEMPORARY VIEW"
    return f"CREATE OR REPLACE {kind} {view} ({columns}) COMMENT {about} AS\n{given}{filled(text, relations)}"


def function_statement(prefix: str, name: str, vertex: str, *, permanent: bool = False) -> str:
    """Return what makes a table function over the views of a prefix, for vertices of a type."""
    parts = {"prefix": prefix, "vertex": vertex, "temporary": "" if permanent else "TEMPORARY "}
    return filled(statement(f"functions/{name}"), parts)


def filled(text: str, relations: Mapping[str, str]) -> str:
    """Return a statement with what its names in braces stand for.

    Examples
    --------
    >>> filled("SELECT * FROM {runs}", {"runs": "t"})
    'SELECT * FROM t'
    """
    return re.sub(r"\{(\w+)\}", lambda found: relations[found[1]], text)


@cache
def statement(name: str, *, wide: bool = False) -> str:
    """Return the text of ``sql/<name>.sql``, as it is in the source tree or inside an installed package.

    ``wide``: there may be too many vertices to broadcast.
    """
    package = Path(__file__).resolve().parents[2]
    inside = package / "sql"
    folder = inside if inside.is_dir() else package.parent / "sql"
    text = (folder / f"{name}.sql").read_text(encoding="utf-8")
    return text.replace("BROADCAST(", "MERGE(") if wide else text


def column_comments(text: str) -> dict[str, str]:
    r"""Return the comment behind each column of a statement.

    Examples
    --------
    >>> column_comments("SELECT\n    e.src AS src,  -- where it begins\n    dst  -- where it ends\nFROM {edges}")
    {'src': 'where it begins', 'dst': 'where it ends'}
    """
    return dict(re.findall(r"(?m)^ .*?(\w+),?\s+-- (.+)$", text))


def literal(text: str) -> str:
    r"""Return a text as a literal of SQL.

    Examples
    --------
    >>> print(literal("it's"))
    'it\'s'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
