"""What every stored payload begins with: a magic, a format version, its fields, and a checksum.

The checksum is a CRC-32 of all that lies before it and of the body, which follows. All is little endian.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dyntc_spark.errors import DamagedBlockError

if TYPE_CHECKING:
    from typing_extensions import Buffer

_CHECKSUM = struct.Struct("<I")


@dataclass(frozen=True)
class Header:
    """The header of one kind of payload; ``fields`` begins with the magic and the version.

    Examples
    --------
    >>> header = Header(b"TEST", 1, struct.Struct("<4sIQ"), "Write it again.")
    >>> view, (length,) = header.opened(header.sealed([3], b"abc"), lambda length: length)
    >>> header.size, length, bytes(view[header.size :])
    (20, 3, b'abc')
    """

    magic: bytes
    version: int
    fields: struct.Struct
    remedy: str

    @property
    def size(self) -> int:
        """Bytes before the body."""
        return self.fields.size + _CHECKSUM.size

    def sealed(self, values: list[Any], *body: Buffer) -> bytes:
        """Return a payload with these values of its own fields."""
        fields = self.fields.pack(self.magic, self.version, *values)
        return b"".join([fields, _CHECKSUM.pack(_checksum(fields, *body)), *body])

    def opened(self, payload: Buffer, length: Callable[..., int]) -> tuple[memoryview, tuple[Any, ...]]:
        """Return the bytes and the fields of a payload that is whole; ``length`` gives the bytes of its body.

        No array is made before the sizes agree, so that a bad header cannot exhaust the memory.
        """
        try:
            view = memoryview(payload).toreadonly()
            self.require(view.nbytes >= self.size, f"a header of {self.size} bytes", f"{view.nbytes} bytes")
            view = view.cast("B")
        except TypeError as error:
            came = f"{type(payload).__name__} ({error})"
            raise DamagedBlockError("a contiguous buffer", came, "Pass the stored bytes.") from error
        magic, version, *values = self.fields.unpack_from(view)
        self.require(magic == self.magic, f"the magic {self.magic!r}", f"{magic!r}")
        if version != self.version:
            raise DamagedBlockError(
                f"format version {self.version}", f"{version}", "Read it with the release it is from."
            )
        whole = self.size + length(*values)
        self.require(view.nbytes == whole, f"{whole} bytes by the header", f"{view.nbytes} bytes")
        (written,) = _CHECKSUM.unpack_from(view, self.fields.size)
        found = _checksum(view[: self.fields.size], view[self.size :])
        self.require(found == written, f"the checksum {written:#010x}", f"{found:#010x}")
        return view, tuple(values)

    def require(self, condition: bool, expected: str, came: str) -> None:
        """Refuse a payload that is damaged."""
        if not condition:
            raise DamagedBlockError(expected, came, self.remedy)


def _checksum(*parts: Buffer) -> int:
    """Return the CRC-32 of parts that lie one behind the other."""
    found = 0
    for part in parts:
        found = zlib.crc32(part, found)
    return found
