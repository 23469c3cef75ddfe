"""Edges out of files that other tools write: Arrow tables ``src``, ``dst``, ``label``, without Spark.

`LabelledGraph.from_edges` takes them as they are, and `DynamicClosure.from_edges` leaves the labels alone.
Each function refuses what its format does not allow by a `FileFormatError` that names the file and the place in it.
"""

from dyntc_spark.importers.dbt import dbt_manifest
from dyntc_spark.importers.memberships import group_memberships
from dyntc_spark.importers.openlineage import OpenLineage, openlineage
from dyntc_spark.importers.packages import pip_inspect, requirements

__all__ = ["OpenLineage", "dbt_manifest", "group_memberships", "openlineage", "pip_inspect", "requirements"]
