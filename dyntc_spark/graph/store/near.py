"""Delta tables on a disk of this machine, read without Spark.

What is wanted in this process need not pass through the JVM: a table of a few rows is here in some
milliseconds instead of a fifth of a second, and payloads come several times faster. It is a short
cut and nothing else. Spark writes, and whatever is not read here, for the library is not installed, the
table has a feature that it does not know, or a file is damaged, Spark reads or refuses.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyspark.sql import SparkSession

from dyntc_spark.session import is_connect

#: A condition on rows, made by a function that gives a column by its name: Spark's ``col`` or Arrow's ``field``.
Where = Callable[[Callable[[str], Any]], Any]

_log = logging.getLogger(__name__)


def folder_of(spark: SparkSession, path: str) -> str | None:
    """Give the folder of this machine that is at a path of Spark's; None where it is elsewhere, or nobody can tell."""
    if is_connect(spark):
        return None
    jvm_path = spark._jvm.org.apache.hadoop.fs.Path(path)  # type: ignore[union-attr]  # noqa: SLF001  (no other way)
    system = jvm_path.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001
    found = system.makeQualified(jvm_path).toUri()
    return str(found.getPath()) if found.getScheme() == "file" else None


def read(folder: str, where: Where | None = None) -> pa.Table | None:
    """Give the rows of a table, or some; None when they cannot be read here."""
    try:
        from deltalake import DeltaTable  # noqa: PLC0415  (not everybody has it, and it takes a while)

        found = DeltaTable(folder).to_pyarrow_dataset()
        checking = ds.ParquetFragmentScanOptions(pre_buffer=True, page_checksum_verification=True)
        return found.to_table(filter=where(pc.field) if where else None, fragment_scan_options=checking)
    except Exception as error:  # noqa: BLE001  (whatever it is, Spark finds out more)
        _log.debug("%s is left to Spark: %s", folder, error)
        return None
