"""Delta tables on a disk of this machine, read without Spark.

What is wanted in this process need not pass through the JVM: a table of a few rows is here in some
milliseconds instead of a fifth of a second, and payloads come several times faster. It is a short
cut and nothing else. Spark writes, and whatever is not read here, for the library is not installed, the
table has a feature that it does not know, or a file is damaged, Spark reads or refuses.
"""

from __future__ import annotations

import logging
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyspark.sql import SparkSession

from dyntc_spark.session import is_connect, is_from_spark

#: A condition on rows, made by a function that gives a column by its name: Spark's ``col`` or Arrow's ``field``.
Where = Callable[[Callable[[str], Any]], Any]

_SIDECAR, _MAGIC = struct.Struct(">4sI"), b"crc\0"

_log = logging.getLogger(__name__)


def folder_of(spark: SparkSession, path: str) -> str | None:
    """Give the folder of this machine that is at a path of Spark's; None where it is elsewhere, or nobody can tell."""
    if is_connect(spark):
        return None
    try:
        jvm_path = spark._jvm.org.apache.hadoop.fs.Path(path)  # type: ignore[union-attr]  # noqa: SLF001  (no other way)
        system = jvm_path.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001
        found = system.makeQualified(jvm_path).toUri()
    except Exception as error:
        if is_from_spark(error):  # no path, or no such system: what Spark says when it reads
            return None
        raise
    return str(found.getPath()) if found.getScheme() == "file" else None


def read(folder: str, where: Where | None = None, *, has_checksums: bool = False) -> pa.Table | None:
    """Give the rows of a table, or some; None when they cannot be read here.

    Checksums of Parquet, and those beside the files, are compared unless what these hold ``has_checksums`` of its own.
    """
    try:
        from deltalake import DeltaTable  # noqa: PLC0415  (not everybody has it, and it takes a while)

        found, wanted = DeltaTable(folder).to_pyarrow_dataset(), where(pc.field) if where else None
        if not has_checksums:
            for fragment in found.get_fragments(wanted):
                _require_whole(Path(folder, fragment.path))
        checking = ds.ParquetFragmentScanOptions(pre_buffer=True, page_checksum_verification=not has_checksums)
        return found.to_table(filter=wanted, fragment_scan_options=checking)
    except Exception as error:  # noqa: BLE001  (whatever it is, Spark finds out more)
        _log.debug("%s is left to Spark: %s", folder, error)
        return None


def _require_whole(path: Path) -> None:
    """Compare a file with the checksums that Hadoop puts beside it on a disk: a CRC-32 for every so many bytes."""
    sidecar = path.with_name(f".{path.name}.crc")
    if not sidecar.exists():
        return
    written, view = sidecar.read_bytes(), memoryview(path.read_bytes())
    magic, step = _SIDECAR.unpack_from(written)
    found = [zlib.crc32(view[begin : begin + step]) for begin in range(0, len(view), step)]
    if magic != _MAGIC or struct.pack(f">{len(found)}I", *found) != written[_SIDECAR.size :]:
        raise ValueError(f"the checksums of {path.name}")
