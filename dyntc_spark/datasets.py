"""Real graphs to try things on: the packages of a Debian release, and what security updates changed.

An edge leads from a package to one that it depends on. There are 64,047 packages,
282,432 dependencies and 3.9 million pairs, with a few small cycles; the 660 changes are
those between the release and its security updates.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


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


def _folder() -> Path:
    """Return the folder of the files: in an installed package inside it, in a source tree beside the tests."""
    package = Path(__file__).resolve().parent
    inside = package / "data"
    return inside if inside.is_dir() else package.parent / "tests" / "data"
