"""The graph of a dbt project, out of the ``manifest.json`` that dbt writes into the folder ``target``."""

from __future__ import annotations

import re

import pyarrow as pa

from dyntc_spark.importers.documents import Edge, File, Part, edge_table, read_document

#: That of dbt 1.6: the first with all the keys that are read here.
OLDEST = 10

_REMEDY = "Write it again, with dbt 1.6 or newer: dbt parse."
_VERSION = re.compile(r"/manifest/v(\d+)(\.json|/|$)")
#: What has ``depends_on``, by its unique id.
_DEPENDING = ("nodes", "exposures", "metrics", "semantic_models", "saved_queries", "unit_tests")


def dbt_manifest(file: File) -> pa.Table:
    """Return the edges of a dbt project: from what is read to what reads it.

    Vertices are unique ids, such as ``model.shop.orders``. The label is the type of what reads: ``model``, ``test``,
    ``snapshot``, ``exposure``, ``metric`` and so on; so a closure over ``{"model", "snapshot"}`` leaves tests out.

    Parameters
    ----------
    file
        A ``manifest.json`` of version 10 (dbt 1.6) or newer.

    Examples
    --------
    >>> from dyntc_spark import datasets
    >>> dbt_manifest(datasets.sample("manifest.json")).to_pylist()[0]
    {'src': 'metric.shop.revenue', 'dst': 'exposure.shop.weekly_report', 'label': 'exposure'}
    """
    root = read_document(file, _REMEDY)
    _require_version(root.get("metadata"))
    parents = root.find("parent_map", dict)
    edges: list[Edge] = []
    for child, sources in _by_parent_map(parents) if parents else _by_depends_on(root):
        kind = child.partition(".")[0]
        edges += ((source, child, kind) for source in sources)
    return edge_table(edges)


def _require_version(metadata: Part) -> None:
    schema = metadata.text("dbt_schema_version")
    found = _VERSION.search(schema)
    if found is None or int(found[1]) < OLDEST:
        came = Part(schema, metadata.file, f"{metadata.place}.dbt_schema_version", _REMEDY)
        raise came.error(f"the schema of a manifest, version {OLDEST} or newer", f"{schema!r:.120}")


def _by_parent_map(parents: Part) -> list[tuple[str, list[str]]]:
    return [(child, parents.texts(child)) for child, _ in parents.entries()]


def _by_depends_on(root: Part) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    root.get("nodes")  # the others may be left out
    for section in _DEPENDING:
        nodes = root.find(section, dict)
        for child, node in nodes.entries() if nodes else ():
            depends = node.find("depends_on", dict)
            found.append((child, depends.texts("nodes") if depends else []))
    return found
