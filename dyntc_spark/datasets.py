"""Graphs to try things on: the packages of a Debian release, what security updates changed, and files of other tools.

An edge leads from a package to one that it depends on. There are 64,047 packages,
282,432 dependencies and 3.9 million pairs, with a few small cycles; the 660 changes are
those between the release and its security updates.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dyntc_spark.errors import OptionError


def debian_dependencies() -> pa.Table:
    """Return the dependencies: ``src`` depends on ``dst``.

    Examples
    --------
    >>> debian_dependencies().num_rows
    282432
    """
    return pq.read_table(_folder() / "debian-depends.parquet")


def debian_security_changes() -> pa.Table:
    """Return the changes: ``op`` (``insert`` or ``delete``), ``src``, ``dst``.

    Examples
    --------
    >>> debian_security_changes().column_names
    ['op', 'src', 'dst']
    """
    return pq.read_table(_folder() / "debian-security-changes.parquet")


def sample(name: str) -> Path:
    """Return the path of a small file in the format of another tool, made up for trying `dyntc_spark.importers`.

    Examples
    --------
    >>> sample("manifest.json").is_file()
    True
    """
    known = {path.name: path for path in (_folder() / "samples").iterdir()}
    if name not in known:
        raise OptionError(f"one of {', '.join(sorted(known))}", f"{name!r:.80}", "Choose one of these.")
    return known[name]


def _folder() -> Path:
    """Return the folder of the files: in an installed package inside it, in a source tree beside the tests."""
    package = Path(__file__).resolve().parent
    inside = package / "data"
    return inside if inside.is_dir() else package.parent / "tests" / "data"
