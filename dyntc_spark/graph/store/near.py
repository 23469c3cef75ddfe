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

#: A condition on rows, made by a function that gives a column by its name: Spark's ``col`` or Arrow's ``field``.
Where = Callable[[Callable[[str], Any]], Any]

_SIDECAR, _MAGIC = struct.Struct(">4sI"), b"crc\0"

_log = logging.getLogger(__name__)


def read(
    folder: str, where: Where | None = None, *, has_checksums: bool = False, as_of: int | None = None
) -> pa.Table | None:
    """Return the rows of a table, or some; None when they cannot be read here.

    Checksums of Parquet, and those beside the files, are compared unless what these hold ``has_checksums`` of its own.
    ``as_of`` is a version of Delta's, by default the last.
    """
    if "%" in folder:  # deltalake lists the folder "a%20b", and then reads the files of "a b"
        return None
    try:
        from deltalake import DeltaTable  # noqa: PLC0415  (not everybody has it, and it takes a while)

        found, wanted = DeltaTable(folder, version=as_of).to_pyarrow_dataset(), where(pc.field) if where else None
        if not has_checksums:
            for fragment in found.get_fragments(wanted):
                if not fits_sidecar(Path(folder, fragment.path)):
                    raise ValueError(f"the checksums of {fragment.path}")  # noqa: TRY301  (as every other reason)
        checking = ds.ParquetFragmentScanOptions(pre_buffer=True, page_checksum_verification=not has_checksums)
        return found.to_table(filter=wanted, fragment_scan_options=checking)
    except Exception as error:  # noqa: BLE001  (whatever it is, Spark finds out more)
        _log.debug("%s is left to Spark: %s", folder, error)
        return None


def sidecar_of(path: Path) -> Path:
    """Return the file of checksums that Hadoop writes beside a file on a disk."""
    return path.with_name(f".{path.name}.crc")


def fits_sidecar(path: Path) -> bool:
    """Return whether a file is what its sidecar says: a CRC-32 for every so many bytes. Without a sidecar it is."""
    sidecar = sidecar_of(path)
    if not sidecar.exists():
        return True
    written, view = sidecar.read_bytes(), memoryview(path.read_bytes())
    if len(written) < _SIDECAR.size:
        return False
    magic, step = _SIDECAR.unpack_from(written)
    if magic != _MAGIC or not step:
        return False
    found = [zlib.crc32(view[begin : begin + step]) for begin in range(0, len(view), step)]
    return struct.pack(f">{len(found)}I", *found) == written[_SIDECAR.size :]
