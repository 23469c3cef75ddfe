"""What every stored payload has in common: a checksum over its parts, and the error for one that is damaged."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from dyntc_spark.errors import DamagedBlockError

if TYPE_CHECKING:
    from typing_extensions import Buffer


def checksum(*parts: Buffer) -> int:
    """Return the CRC-32 of parts that lie one behind the other.

    >>> checksum(b"ab", b"c") == checksum(b"abc")
    True
    """
    found = 0
    for part in parts:
        found = zlib.crc32(part, found)
    return found


def require(condition: bool, expected: str, came: str, remedy: str) -> None:
    """Refuse a payload that is damaged."""
    if not condition:
        raise DamagedBlockError(expected, came, remedy)
