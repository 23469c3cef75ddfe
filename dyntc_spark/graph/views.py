"""SQL views and table functions of a closure: the statements in ``sql/`` over what the closure holds now.

Each file of ``sql/`` is one ``SELECT`` over the relations in braces; the comment
behind a column becomes its comment in the catalog. The relations are temporary views
too, under names of their own, and the only ones that a batch registers again: views and
functions read them by name whenever they are asked. So a view that was dropped does
not come back, and one that somebody else has put in its place is left alone.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from dyntc_spark.errors import IdentifierError, SessionError
from dyntc_spark.graph.walk import walk
from dyntc_spark.session import ensure_open

NAMES = ("edges", "vertices", "closure", "changes", "stats")
FUNCTIONS = ("descendants", "ancestors", "path")
#: What the statements are about.
RELATIONS = ("vertices", "rows", "changes", "stats")

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
        self._mark = uuid.uuid4().hex[:12]
        self._vertex = ""  # the type of the vertices that views and functions are made for

    def register(self, relations: Mapping[str, DataFrame], vertex: str) -> None:
        """Create the views and functions, in place of any of the same names, for vertices of this type."""
        self._put(relations)
        self._create(NAMES, vertex)

    def refresh(self, relations: Mapping[str, DataFrame], vertex: str) -> None:
        """Let the views stand for the relations as they are now."""
        self._put(relations)
        if vertex != self._vertex:  # a graph without vertices got some
            self._create(tuple(name for name in NAMES if self._is_ours(name)), vertex)

    def current(self) -> bool:
        """Tell whether there is still a session whose views are to be kept up to date."""
        try:
            ensure_open(self.spark)
        except SessionError:
            return False
        return True

    def _put(self, relations: Mapping[str, DataFrame]) -> None:
        for name, relation in relations.items():
            relation.createOrReplaceTempView(self._relation(name))

    def _relation(self, name: str) -> str:
        return f"dyntc_{self._mark}_{name}"

    def _create(self, names: tuple[str, ...], vertex: str) -> None:
        relations = {name: self._relation(name) for name in RELATIONS}
        for name in names:
            create(self.spark, f"{self.prefix}_{name}", statement(name), relations)
        self._vertex = vertex
        if not {"edges", "closure"} <= set(names):
            return
        try:
            self.spark.udf.register(f"{self.prefix}_walk", walk, f"array<struct<hop:int,src:{vertex},dst:{vertex}>>")
            for name in FUNCTIONS:
                text = statement(f"functions/{name}")
                self.spark.sql(text.replace("{prefix}", self.prefix).replace("{vertex}", vertex))
        except PySparkException as error:
            _log.warning("This session takes no table functions; %s_* has the views only: %s", self.prefix, error)

    def _is_ours(self, name: str) -> bool:
        """Tell whether a view of this name is there and has our columns."""
        try:
            return self.spark.table(f"{self.prefix}_{name}").columns == list(column_comments(statement(name)))
        except PySparkException:
            return False


def require_prefix(prefix: str) -> None:
    """Refuse what cannot begin the name of a view."""
    if not isinstance(prefix, str) or not re.fullmatch(r"[A-Za-z_]\w*", prefix, re.ASCII) or len(prefix) > _LONGEST:
        raise IdentifierError(
            f"a prefix of at most {_LONGEST} letters, digits and underscores that does not begin with a digit",
            f"{prefix!r}",
            "The views are called <prefix>_edges, <prefix>_vertices and so on.",
        )


def create(spark: SparkSession, view: str, text: str, relations: Mapping[str, str], *, permanent: bool = False) -> None:
    """Create a view, in place of one of the same name, by a statement over relations that are called as given."""
    columns = ", ".join(f"{column} COMMENT {_quoted(said)}" for column, said in column_comments(text).items())
    body = re.sub(r"\{(\w+)\}", lambda found: relations[found[1]], text)
    about = _quoted(text.partition(": ")[2].partition("\n")[0])
    kind = "VIEW" if permanent else "TEMPORARY VIEW"
    spark.sql(f"CREATE OR REPLACE {kind} {view} ({columns}) COMMENT {about} AS\n{body}")


@cache
def statement(name: str) -> str:
    """Give the text of ``sql/<name>.sql``, as it is in the source tree or inside an installed package."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "sql"
    folder = inside if inside.is_dir() else package.parent / "sql"
    return (folder / f"{name}.sql").read_text(encoding="utf-8")


def column_comments(text: str) -> dict[str, str]:
    r"""Give the comment behind each column of a statement.

    Examples
    --------
    >>> column_comments("SELECT\n    e.src AS src,  -- where it begins\n    dst  -- where it ends\nFROM {edges}")
    {'src': 'where it begins', 'dst': 'where it ends'}
    """
    return dict(re.findall(r"(?m)^ .*?(\w+),?\s+-- (.+)$", text))


def _quoted(text: str) -> str:
    r"""Give a text as a literal of SQL.

    Examples
    --------
    >>> print(_quoted("it's"))
    'it\'s'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
