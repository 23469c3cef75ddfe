"""Files of checksums beside files on a disk, as Hadoop writes and reads them: ``.name.crc`` beside ``name``."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

_HEADER, _MAGIC = struct.Struct(">4sI"), b"crc\0"
#: So many bytes have a checksum, a CRC-32. Hadoop takes 512, and reads what the header says: few are sooner compared.
_STEP = 4096


def sidecar_of(path: Path) -> Path:
    """Return the file of checksums that belongs beside a file."""
    return path.with_name(f".{path.name}.crc")


def fits_sidecar(path: Path) -> bool:
    """Return whether a file is what its sidecar says. Without a sidecar it is."""
    sidecar = sidecar_of(path)
    if not sidecar.exists():
        return True
    written = sidecar.read_bytes()
    if len(written) < _HEADER.size:
        return False
    magic, step = _HEADER.unpack_from(written)
    return magic == _MAGIC and step > 0 and _checksums(path, step) == written[_HEADER.size :]


def covers(path: Path) -> bool:
    """Return whether the checksums beside a file are as many as its bytes need."""
    written = sidecar_of(path).read_bytes()
    step = _HEADER.unpack_from(written)[1] if len(written) >= _HEADER.size else 0
    return step > 0 and len(written) == _HEADER.size + 4 * -(-path.stat().st_size // step)


def write_sidecar(path: Path) -> None:
    """Write the checksums of a file beside it, in one step, unless they are there."""
    sidecar = sidecar_of(path)
    if sidecar.exists():
        return
    beside = sidecar.with_name(f"{sidecar.name}.{os.getpid()}.tmp")
    beside.write_bytes(_HEADER.pack(_MAGIC, _STEP) + _checksums(path, _STEP))
    beside.replace(sidecar)


def _checksums(path: Path, step: int) -> bytes:
    view = memoryview(path.read_bytes())
    found = [zlib.crc32(view[begin : begin + step]) for begin in range(0, len(view), step)]
    return struct.pack(f">{len(found)}I", *found)
