"""Stored form of a block: a header of 40 bytes and a body, all little endian.

A payload states its shape, its representation and its ring, and checks itself:
one with any bit changed, cut off or added is refused. Nothing is unpickled.

======  =====  ==================================================================
offset  bytes  field
======  =====  ==================================================================
0       4      magic, ``DTCB``
4       2      format version, 1
6       1      codec: 1 sparse, 2 dense bits, 3 dense integers
7       1      ring: 0 Boolean, 1 counting, 2 modular
8       1      bytes of a value in memory (signed): 1, 2, 4 or 8; 0 for Boolean
9       1      bytes of a value in the body, not more
10      2      planes
12      4      rows
16      4      columns
20      8      entries that are not zero, for sparse; 0 for dense
28      4      ring key, a fingerprint of the primes; 0 for other rings
32      4      bytes of the body
36      4      CRC-32 of the 36 bytes before it and the body
======  =====  ==================================================================

The body is, by codec:

- sparse: all row numbers, then all column numbers, 2 bytes each where that side
  of the shape is at most 65536 and 4 bytes otherwise, then the values, plane by
  plane. A Boolean entry of a block up to 65536 by 65536 costs 4 bytes;
- dense bits: rows of 64-bit words where that wastes at most 5 percent (always
  from 1097 columns on), else rows of whole bytes;
- dense integers: the values, plane by plane and row by row.

Values are stored in the narrowest of the four widths that holds the smallest
and the largest of them, in both codecs: a step narrower halves them at least,
and the pass that finds it is cheaper than the checksum. Decoding gives back the
width in memory, because that decides what later sums can hold.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from dyntc_spark.errors import EntryValueError, RingMismatchError, ShapeMismatchError
from dyntc_spark.kernels import bits
from dyntc_spark.kernels.block import Bits, Block, Dense, Ints, Shape, Sparse
from dyntc_spark.kernels.header import Header

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

SPARSE, DENSE_BITS, DENSE_INTEGERS = 1, 2, 3
BOOLEAN, COUNTING, MODULAR = 0, 1, 2
HEADER = Header(b"DTCB", 1, struct.Struct("<4sHBBBBHIIQII"), "Read the block from another copy, or compute it again.")
HEADER_SIZE = HEADER.size

_WIDTHS = (1, 2, 4, 8)
_require = HEADER.require


class Fields(NamedTuple):
    """The fields of a payload, in their order, between the version and the checksum."""

    codec: int
    ring_code: int
    width: int
    stored_width: int
    planes: int
    rows: int
    columns: int
    nnz: int
    ring_key: int
    length: int


def fingerprint(primes: Sequence[int]) -> int:
    """Return the ring key of a tuple of primes: the CRC-32 of their 8-byte forms, in their order.

    >>> fingerprint((2, 3)) == fingerprint((3, 2))
    False
    """
    return zlib.crc32(struct.pack(f"<{len(primes)}Q", *primes))


def encode(block: Block, ring_code: int, ring_key: int = 0) -> bytes:
    """Return the stored form of a block, in the representation it has.

    Parameters
    ----------
    block
        Any block; `compact` gives the representation that is the cheapest to store.
    ring_code
        ``BOOLEAN``, ``COUNTING`` or ``MODULAR``.
    ring_key
        The `fingerprint` of the primes of a modular block, 0 for the others.

    Raises
    ------
    RingMismatchError
        If the block has not the planes of that ring.
    DamagedBlockError, EntryValueError, ShapeMismatchError
        If the block is malformed or too large: what `decode` refuses is not written.

    Notes
    -----
    Linear: the checks of `decode`, one pass for the width of the values, one for
    the checksum, and one copy.

    Examples
    --------
    >>> rows, columns = np.array([1], np.int32), np.array([2], np.int32)
    >>> payload = encode(Sparse((2, 3), rows, columns, np.zeros((0, 1), np.int32)), BOOLEAN)
    >>> len(payload) - HEADER_SIZE, decode(payload).shape
    (4, (2, 3))
    """
    planes, width, stored = _widths(block)
    if not _is_ring(planes, ring_code, ring_key):
        came = f"ring {ring_code} with key {ring_key} and {planes} planes"
        raise RingMismatchError("the ring of the block", came, "Pass the ring that the block was made over.")
    length = stored_size(block) - HEADER_SIZE
    if max(block.shape) >= 2**31 or length >= 2**32 or planes >= 2**16:
        came = f"{block.shape} in {planes} planes and {length} bytes"
        raise ShapeMismatchError("sides below 2**31 and a body below 2**32 bytes", came, "Use smaller blocks.")
    _check(block)
    codec, nnz = DENSE_BITS, 0
    if isinstance(block, Bits):
        octets = np.ascontiguousarray(block.words, "<u8").view(np.uint8)
        arrays = [octets[:, : _row_size(block.shape[1])]]
    elif isinstance(block, Dense):
        codec, arrays = DENSE_INTEGERS, [block.values.astype(_integer(stored), copy=False)]
    else:
        codec, nnz = SPARSE, block.nnz
        arrays = [block.rows.astype(_coordinate(block.shape[0])), block.columns.astype(_coordinate(block.shape[1]))]
        arrays += [block.values.astype(_integer(stored), copy=False)] if planes else []
    body = [np.ascontiguousarray(array).reshape(-1).view(np.uint8).data for array in arrays]
    return HEADER.sealed([codec, ring_code, width, stored, planes, *block.shape, nnz, ring_key, length], *body)


def decode(payload: Buffer, ring_code: int | None = None, ring_key: int | None = None) -> Block:
    """Return the block that a payload holds, after checking all of it.

    The arrays of the block are read-only. They are views into ``payload`` where
    the stored form is the form in memory (words, 4-byte coordinates, values that
    were not narrowed) and lies aligned; they then keep ``payload`` alive.

    Parameters
    ----------
    payload
        Any contiguous buffer: bytes, bytearray, memoryview, an Arrow buffer. It
        must not change while the block is in use.
    ring_code, ring_key
        The ring that is expected; None takes any.

    Raises
    ------
    DamagedBlockError
        If the payload is not one that `encode` wrote. Sizes are checked before
        anything is allocated, so that a bad header cannot exhaust the memory.
    RingMismatchError
        If the payload is whole and over another ring.

    Notes
    -----
    Linear; for dense blocks the checksum is nearly all of the cost.
    """
    view, header = _opened(payload)
    if ring_code not in {None, header.ring_code} or ring_key not in {None, header.ring_key}:
        raise RingMismatchError(
            f"ring {ring_code} with key {ring_key}",
            f"a payload over ring {header.ring_code} with key {header.ring_key}",
            "Read it with the ring and the primes that it was written with.",
        )
    block = _body(view, header)
    _check(block)
    return block


def read_header(payload: Buffer) -> Fields:
    """Return the fields of a payload whose size and checksum are right."""
    return _opened(payload)[1]


def stored_size(block: Block) -> int:
    """Return the length of what `encode` gives, without encoding; a pass over the values at most."""
    planes, _, stored = _widths(block)
    if isinstance(block, Sparse):
        return HEADER_SIZE + _size(SPARSE, block.shape, planes * stored, block.nnz)
    return HEADER_SIZE + _size(DENSE_INTEGERS if planes else DENSE_BITS, block.shape, planes * stored, 0)


def compact(block: Block) -> Block | None:
    """Return the representation that takes the fewest bytes to store: None for a zero block, else sparse or dense.

    Linear in the block; it is given back as it is when it is already the cheapest.

    Examples
    --------
    >>> compact(Dense(np.zeros((1, 3, 3), np.int64))) is None
    True
    >>> type(compact(Dense(np.eye(9, dtype=np.int64)[np.newaxis]))).__name__
    'Sparse'
    """
    if isinstance(block, Sparse):
        nnz = block.nnz
    elif isinstance(block, Bits):
        nnz = bits.count(block.words)
    else:
        nnz = int(np.count_nonzero(block.values.any(axis=0)))
    if not nnz:
        return None
    planes, _, stored = _widths(block)
    dense = _size(DENSE_INTEGERS if planes else DENSE_BITS, block.shape, planes * stored, 0)
    return sparsify(block) if _size(SPARSE, block.shape, planes * stored, nnz) < dense else densify(block)


def densify(block: Block) -> Bits | Dense:
    """Return the block as `Bits` if it is Boolean, else as `Dense`."""
    if not isinstance(block, Sparse):
        return block
    if not len(block.values):
        return Bits(block.shape, bits.from_coordinates(block.rows, block.columns, block.shape))
    values = np.zeros((len(block.values), *block.shape), dtype=block.values.dtype)
    values[:, block.rows, block.columns] = block.values
    return Dense(values)


def sparsify(block: Block) -> Sparse:
    """Return the block as `Sparse`."""
    if isinstance(block, Sparse):
        return block
    if isinstance(block, Bits):
        rows, columns = bits.coordinates(block.words)
        return Sparse(block.shape, rows, columns, np.zeros((0, len(rows)), dtype=np.int32))
    i, j = np.nonzero(block.values.any(axis=0))
    return Sparse(block.shape, i.astype(np.int32), j.astype(np.int32), block.values[:, i, j])


def _opened(payload: Buffer) -> tuple[memoryview, Fields]:
    """Return the bytes and the fields of a payload; no array is made before all sizes agree."""
    view, values = HEADER.opened(payload, lambda *values: Fields(*values).length)
    fields = Fields(*values)
    _check_fields(fields)
    return view, fields


def _check_fields(header: Fields) -> None:
    """Refuse a header whose fields do not go together: written by something else than `encode`."""
    planes, dense = header.planes, header.codec != SPARSE
    _require(header.codec in {SPARSE, DENSE_BITS, DENSE_INTEGERS}, "codec 1, 2 or 3", f"{header.codec}")
    _require(
        _is_ring(planes, header.ring_code, header.ring_key)
        and (not dense or (planes > 0) == (header.codec != DENSE_BITS)),
        "a ring with its number of planes",
        f"codec {header.codec}, ring {header.ring_code}, key {header.ring_key}, {planes} planes",
    )
    widths = (header.width, header.stored_width)
    known = header.width in _WIDTHS and header.stored_width in _WIDTHS and header.stored_width <= header.width
    _require(known if planes else widths == (0, 0), "value widths of 1, 2, 4 or 8 bytes (0 for Boolean)", f"{widths}")
    _require(not dense or header.nnz == 0, "no entry count in a dense payload", f"{header.nnz}")
    shape = (header.rows, header.columns)
    _require(max(shape) < 2**31, "sides below 2**31", f"{shape}")
    size = _size(header.codec, shape, planes * header.stored_width, header.nnz)
    _require(header.length == size, f"a body of {size} bytes for {shape}, {header.nnz} entries", f"{header.length}")


def _body(view: memoryview, header: Fields) -> Block:
    """Return the block of a payload whose sizes agree."""
    shape = rows, columns = header.rows, header.columns
    if header.codec == DENSE_BITS:
        octets = _array(view, 0, (rows, _row_size(columns)), np.dtype(np.uint8))
        if _row_size(columns) < 8 * bits.words_for(columns):
            padded = np.zeros((rows, 8 * bits.words_for(columns)), dtype=np.uint8)
            padded[:, : octets.shape[1]] = octets
            octets = padded
        return Bits(shape, bits.frozen(octets.view("<u8")))
    if header.codec == DENSE_INTEGERS:
        values = _array(view, 0, (header.planes, rows, columns), _integer(header.stored_width))
        return Dense(bits.frozen(values.astype(_integer(header.width), copy=False)))
    i = _array(view, 0, (header.nnz,), _coordinate(rows))
    j = _array(view, i.nbytes, (header.nnz,), _coordinate(columns))
    values = np.zeros((0, header.nnz), dtype=np.int32)
    if header.planes:
        stored = _array(view, i.nbytes + j.nbytes, (header.planes, header.nnz), _integer(header.stored_width))
        values = stored.astype(_integer(header.width), copy=False)
    return Sparse(shape, _as_int32(i), _as_int32(j), bits.frozen(values))


def _array(view: memoryview, offset: int, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Ints:
    found: Ints = np.ndarray(shape, dtype, buffer=view, offset=HEADER_SIZE + offset)
    return found


def _as_int32(numbers: Ints) -> npt.NDArray[np.int32]:
    """Return coordinates as int32: a view of 4-byte ones (2**31 and above show as negative), a copy of 2-byte ones."""
    return bits.frozen(numbers.view("<i4") if numbers.itemsize == 4 else numbers.astype(np.int32))


def _check(block: Block) -> None:
    """Refuse a block that breaks the rules of its representation."""
    rows, columns = block.shape
    if isinstance(block, Bits):
        words = bits.words_for(columns)
        _require(block.words.shape == (rows, words), f"{rows} rows of {words} words", f"{block.words.shape}")
        padded = columns % 64 and np.any(block.words[:, -1] >> np.uint64(columns % 64))
        _require(not padded, f"no bits beyond column {columns - 1}", "set ones")
    elif isinstance(block, Sparse):
        i, j = block.rows, block.columns
        _require(i.shape == j.shape == block.values.shape[1:], "arrays of one length", f"{i.shape} and {j.shape}")
        if not len(i):
            return
        first, last = (int(i.min()), int(j.min())), (int(i.max()), int(j.max()))
        inside = min(first) >= 0 and last[0] < rows and last[1] < columns
        _require(inside, f"coordinates within {block.shape}", f"some from {first} to {last}")
        ascending = (i[1:] > i[:-1]) | ((i[1:] == i[:-1]) & (j[1:] > j[:-1]))
        _require(bool(ascending.all()), "coordinates that ascend", "a pair that does not")
        _require(not len(block.values) or bool(block.values.any(axis=0).all()), "no zero among the entries", "one")


def _widths(block: Block) -> tuple[int, int, int]:
    """Return the planes of a block, the bytes of a value in memory and the fewest bytes that hold each value."""
    if isinstance(block, Bits) or not len(block.values):
        return 0, 0, 0
    values = block.values
    if values.dtype.kind != "i":
        raise EntryValueError("signed integers", f"values of type {values.dtype}", "Convert the values first.")
    reach = max(int(values.max()), ~int(values.min())) if values.size else 0
    return len(values), values.itemsize, next(width for width in _WIDTHS if reach < 1 << (8 * width - 1))


def _size(codec: int, shape: Shape, value_bytes: int, nnz: int) -> int:
    """Return the bytes of a body; ``value_bytes`` are those of one entry in all planes."""
    rows, columns = shape
    if codec == SPARSE:
        return nnz * (_coordinate(rows).itemsize + _coordinate(columns).itemsize + value_bytes)
    return rows * _row_size(columns) if codec == DENSE_BITS else rows * columns * value_bytes


def _row_size(columns: int) -> int:
    """Return the bytes of a stored row of bits: whole words where they are at most 5 percent more than whole bytes."""
    words, octets = 8 * bits.words_for(columns), (columns + 7) // 8
    return words if 20 * words <= 21 * octets else octets


def _coordinate(side: int) -> np.dtype[np.generic]:
    return np.dtype("<u2" if side <= 65536 else "<u4")


def _integer(width: int) -> np.dtype[np.generic]:
    return np.dtype(f"<i{width}")


def _is_ring(planes: int, ring_code: int, ring_key: int) -> bool:
    fits = {BOOLEAN: planes == 0, COUNTING: planes == 1, MODULAR: planes > 0}.get(ring_code, False)
    return fits and (ring_key == 0 or ring_code == MODULAR)
