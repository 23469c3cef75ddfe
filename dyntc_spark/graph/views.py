"""SQL views of a closure: the statements in ``sql/``, run over what the closure holds now.

Each file of ``sql/`` is one ``SELECT`` over the relations in braces; the comment
behind a column becomes its comment in the catalog. The views are temporary and
stand for one version; after a batch the closure registers them again. A view
that was dropped, or replaced by somebody else's, is given up.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (Spark's own convention)

from dyntc_spark.errors import IdentifierError, SessionError
from dyntc_spark.session import ensure_open

NAMES = ("edges", "vertices", "closure", "changes", "stats")

_OWNER = "dyntc_closure"  # a key of the metadata of a view's columns
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
        if not isinstance(prefix, str) or not re.fullmatch(r"[A-Za-z_]\w*", prefix, re.ASCII) or len(prefix) > _LONGEST:
            raise IdentifierError(
                f"a prefix of at most {_LONGEST} letters, digits and underscores that does not begin with a digit",
                f"{prefix!r}",
                "The views are called <prefix>_edges, <prefix>_vertices and so on.",
            )
        self.spark = spark
        self.prefix = prefix
        self._mark = uuid.uuid4().hex
        self._names: tuple[str, ...] = ()

    def register(self, relations: Mapping[str, DataFrame]) -> None:
        """Create the views, in place of any of the same names."""
        self._show(NAMES, relations)

    def current(self) -> bool:
        """Tell whether there are views to be kept up to date; forget those that are gone."""
        try:
            ensure_open(self.spark)
        except SessionError:
            self._names = ()
        self._names = tuple(name for name in self._names if self._is_ours(name))
        return bool(self._names)

    def refresh(self, relations: Mapping[str, DataFrame]) -> None:
        """Let the views that are still ours stand for the relations as they are now."""
        self._show(self._names, relations)

    def _show(self, names: tuple[str, ...], relations: Mapping[str, DataFrame]) -> None:
        frames = {name: self._view(name, relations) for name in names}
        for name, frame in frames.items():  # nothing is registered before all are made
            frame.createOrReplaceTempView(f"{self.prefix}_{name}")
        self._names = names

    def _view(self, name: str, relations: Mapping[str, DataFrame]) -> DataFrame:
        text = statement(name)
        used = {relation: relations[relation] for relation in set(re.findall(r"\{(\w+)\}", text))}
        columns = [
            F.col(column).alias(column, metadata={"comment": comment, _OWNER: self._mark})
            for column, comment in column_comments(text).items()
        ]
        return self.spark.sql(text, None, **used).select(*columns)

    def _is_ours(self, name: str) -> bool:
        try:
            fields = self.spark.table(f"{self.prefix}_{name}").schema.fields
        except AnalysisException:
            return False
        return any(field.metadata.get(_OWNER) == self._mark for field in fields)


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
