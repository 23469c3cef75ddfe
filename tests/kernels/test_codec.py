"""The stored form of blocks: round trips, sizes and the refusal of everything that was not written."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntc_spark import errors
from dyntc_spark.kernels import codec, sparse, sparse_product
from dyntc_spark.kernels.block import Bits, Dense, Sparse

quick = settings(deadline=None, max_examples=60)

SIZES = st.sampled_from([0, 1, 2, 7, 8, 9, 63, 64, 65, 70, 130])
NARROW = [np.int8, np.int16, np.int32, np.int64]


def slow_bits(entries, shape):
    """Pack a set of coordinates one bit at a time."""
    words = np.zeros((shape[0], -(-shape[1] // 64)), dtype=np.uint64)
    for i, j in entries:
        words[i, j // 64] |= np.uint64(1) << np.uint64(j % 64)
    return Bits(shape, words)


def twin(block):
    """The slow twin: a dict from coordinates to plane values (an empty tuple for Boolean)."""
    rows, columns = block.shape
    if isinstance(block, Bits):
        return {(i, j): () for i in range(rows) for j in range(columns) if int(block.words[i, j // 64]) >> (j % 64) & 1}
    if isinstance(block, Dense):
        return {
            (i, j): tuple(block.values[:, i, j].tolist()) for i, j in zip(*block.values.any(0).nonzero(), strict=True)
        }
    entries = zip(block.rows.tolist(), block.columns.tolist(), block.values.T.tolist(), strict=True)
    return {(i, j): tuple(values) for i, j, values in entries}


def same(a, b):
    """Same representation, types and entries."""
    kinds = [(type(x), x.shape, None if isinstance(x, Bits) else x.values.dtype) for x in (a, b)]
    return kinds[0] == kinds[1] and twin(a) == twin(b)


@st.composite
def blocks(draw):
    """A block in any representation, with its ring code and key."""
    shape = (draw(SIZES), draw(SIZES))
    planes = draw(st.integers(0, 3))
    cells = st.tuples(st.integers(0, max(shape[0] - 1, 0)), st.integers(0, max(shape[1] - 1, 0)))
    at = sorted(draw(st.sets(cells, max_size=30))) if min(shape) else []
    rows, columns = (np.array([a[side] for a in at], dtype=np.int32) for side in (0, 1))
    if not planes:
        if draw(st.booleans()):
            return slow_bits(at, shape), codec.BOOLEAN, 0
        return Sparse(shape, rows, columns, np.zeros((0, len(at)), dtype=np.int32)), codec.BOOLEAN, 0
    dtype = draw(st.sampled_from(NARROW))
    reach = min(draw(st.sampled_from([1, 127, 128, 2**15, 2**31, 2**63])), np.iinfo(dtype).max)
    value = st.integers(-reach - (reach == np.iinfo(dtype).max), reach).filter(bool)
    values = draw(st.lists(value, min_size=planes * len(at), max_size=planes * len(at)))
    block = Sparse(shape, rows, columns, np.array(values, dtype=dtype).reshape(planes, len(at)))
    modular = planes > 1 or draw(st.booleans())
    ring = (codec.MODULAR, codec.fingerprint((2, 3, 5)[:planes])) if modular else (codec.COUNTING, 0)
    return (block if draw(st.booleans()) else codec.densify(block)), *ring


@quick
@given(blocks(), st.sampled_from([bytes, bytearray, memoryview]))
def test_round_trip(case, buffer):
    block, ring, key = case
    payload = codec.encode(block, ring, key)
    assert len(payload) == codec.stored_size(block)
    back = codec.decode(buffer(payload), ring, key)
    assert same(back, block)
    assert same(codec.decode(payload), block)
    assert codec.encode(back, ring, key) == payload
    arrays = [back.words] if isinstance(back, Bits) else [back.values]
    arrays += [back.rows, back.columns] if isinstance(back, Sparse) else []
    assert not any(array.flags.writeable for array in arrays)
    header = codec.read_header(payload)
    assert (header.rows, header.columns) == block.shape
    assert (header.ring_code, header.ring_key) == (ring, key)


@quick
@given(blocks(), st.integers(1, 7))
def test_payloads_that_lie_unaligned(case, shift):
    block, ring, key = case
    moved = memoryview(bytes(shift) + codec.encode(block, ring, key))[shift:]
    back = codec.decode(moved)
    assert same(back, block)
    assert (back.words if isinstance(back, Bits) else back.values).flags.aligned


@quick
@given(blocks())
def test_representations(case):
    block, _, _ = case
    dense, thin, least = codec.densify(block), codec.sparsify(block), codec.compact(block)
    assert not isinstance(dense, Sparse)
    assert isinstance(thin, Sparse)
    assert twin(dense) == twin(thin) == twin(block)
    assert list(twin(thin)) == sorted(twin(thin))
    if not twin(block):
        assert least is None
        return
    assert twin(least) == twin(block)
    assert codec.stored_size(least) == min(codec.stored_size(dense), codec.stored_size(thin))
    assert isinstance(least, Sparse) == (codec.stored_size(thin) < codec.stored_size(dense))


@quick
@given(blocks(), st.data())
def test_any_flipped_bit_is_refused(case, data):
    block, ring, key = case
    payload = bytearray(codec.encode(block, ring, key))
    payload[data.draw(st.integers(0, len(payload) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(errors.DamagedBlockError):
        codec.decode(payload, ring, key)


def examples():
    few = sparse.from_coordinates([0, 2], [1, 8], [3, 300], (3, 9))
    return {
        "sparse Boolean": (sparse.from_coordinates([0, 2], [1, 8], None, (3, 9)), codec.BOOLEAN, 0),
        "bits in bytes": (slow_bits([(0, 1), (2, 8)], (3, 9)), codec.BOOLEAN, 0),
        "bits in words": (slow_bits([(0, 1), (2, 63)], (3, 64)), codec.BOOLEAN, 0),
        "sparse counts": (few, codec.COUNTING, 0),
        "dense counts": (codec.densify(few), codec.COUNTING, 0),
        "residues": (sparse.from_coordinates([0], [1], [[3], [5]], (3, 9), (5, 7)), codec.MODULAR, 77),
    }


@pytest.fixture(params=examples())
def payload(request):
    return codec.encode(*examples()[request.param])


def test_every_flipped_bit_is_refused(payload):
    for bit in range(8 * len(payload)):
        damaged = bytearray(payload)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(errors.DamagedBlockError):
            codec.decode(damaged)


def test_every_truncation_is_refused(payload):
    for length in range(len(payload)):
        with pytest.raises(errors.DamagedBlockError, match="bytes"):
            codec.decode(payload[:length])


@quick
@given(st.binary(min_size=1, max_size=20), st.sampled_from(sorted(examples())))
def test_bytes_added_are_refused(extra, name):
    payload = codec.encode(*examples()[name])
    for longer in (payload + extra, extra + payload):
        with pytest.raises(errors.DamagedBlockError):
            codec.decode(longer)


@quick
@given(st.binary(max_size=120))
def test_garbage_is_refused(garbage):
    for attempt in (garbage, codec.HEADER.magic + b"\1\0" + garbage):
        with pytest.raises(errors.DamagedBlockError):
            codec.decode(attempt)


def forged(payload, body=None, magic=codec.HEADER.magic, version=codec.HEADER.version, **fields):
    """Rewrite header fields or the body and put the right length and checksum on the result."""
    header = codec.read_header(payload)._replace(**fields)
    body = payload[codec.HEADER_SIZE :] if body is None else body
    if "length" not in fields:
        header = header._replace(length=len(body))
    head = struct.pack("<4sHBBBBHIIQII", magic, version, *header)
    return head + struct.pack("<I", zlib.crc32(body, zlib.crc32(head))) + body


@pytest.mark.parametrize(
    ("name", "fields", "said"),
    [
        ("sparse counts", {"magic": b"PK\3\4"}, "magic"),
        ("sparse counts", {"version": 2}, "version 1; got 2"),
        ("sparse counts", {"codec": 9}, "codec"),
        ("sparse counts", {"codec": codec.DENSE_BITS}, "planes"),
        ("sparse counts", {"ring_code": 7}, "ring"),
        ("sparse counts", {"ring_code": codec.BOOLEAN}, "planes"),
        ("sparse counts", {"ring_key": 1}, "key"),
        ("sparse counts", {"planes": 0}, "planes"),
        ("sparse counts", {"stored_width": 3}, "widths"),
        ("sparse counts", {"width": 1}, "widths"),
        ("sparse counts", {"nnz": 3}, "body of"),
        ("sparse counts", {"nnz": 2**64 - 1}, "body of"),
        ("sparse counts", {"length": 1}, "bytes by the header"),
        ("sparse counts", {"rows": 2}, "within"),
        ("sparse counts", {"columns": 8}, "within"),
        ("sparse counts", {"rows": 2**31}, r"2\*\*31"),
        ("sparse counts", {"body": struct.pack("<4H2h", 2, 0, 8, 1, 3, 300)}, "ascend"),
        ("sparse counts", {"body": struct.pack("<4H2h", 0, 0, 1, 1, 3, 300)}, "ascend"),
        ("sparse counts", {"body": struct.pack("<4H2h", 0, 2, 1, 8, 3, 0)}, "no zero"),
        ("sparse Boolean", {"width": 4}, "widths"),
        ("dense counts", {"nnz": 2}, "entry count"),
        ("dense counts", {"rows": 2**30, "columns": 2**30}, "body of"),
        ("dense counts", {"planes": 65535, "ring_code": codec.MODULAR}, "body of"),
        ("bits in bytes", {"columns": 8}, "body of"),
        ("bits in bytes", {"body": bytes([2, 0, 0, 0, 0, 2])}, "beyond column 8"),
        ("bits in words", {"columns": 63}, "beyond column 62"),
    ],
)
def test_forged_payloads_are_refused(name, fields, said):
    whole = codec.encode(*examples()[name])
    assert forged(whole) == whole
    with pytest.raises(errors.DamagedBlockError, match=said):
        codec.decode(forged(whole, **fields))


def test_large_coordinates_in_four_bytes():
    block = sparse.from_coordinates([0, 70_000], [65_535, 3], None, (70_001, 65_536))
    whole = codec.encode(block, codec.BOOLEAN)
    assert len(whole) == codec.HEADER_SIZE + 2 * (4 + 2)
    assert same(codec.decode(whole), block)
    corner = sparse.from_coordinates([65_536], [65_535], None, (65_537, 65_536))
    assert same(codec.decode(codec.encode(corner, codec.BOOLEAN)), corner)
    with pytest.raises(errors.DamagedBlockError, match="within"):
        codec.decode(forged(whole, body=struct.pack("<2I2H", 0, 2**31, 65_535, 3)))


@pytest.mark.parametrize(
    ("low", "high", "width"),
    [(-128, 127, 1), (-129, 0, 2), (0, 128, 2), (-(2**15) - 1, 0, 4), (0, 2**31, 8), (-(2**63), 2**63 - 1, 8)],
)
def test_values_take_the_narrowest_width(low, high, width):
    block = Dense(np.array([[[low, high]]]))
    whole = codec.encode(block, codec.COUNTING)
    assert len(whole) == codec.HEADER_SIZE + 2 * width
    assert same(codec.decode(whole), block)


def test_a_tie_goes_to_the_dense_form():
    one = sparse.from_coordinates([0], [3], None, (2, 16))
    assert codec.stored_size(one) == codec.stored_size(codec.densify(one))
    assert isinstance(codec.compact(one), Bits)


def test_another_ring_is_told_apart_from_damage():
    whole = codec.encode(*examples()["residues"])
    assert codec.decode(whole, codec.MODULAR, 77).nnz == 1
    for ring in [(codec.COUNTING, None), (codec.MODULAR, 78), (None, 0)]:
        with pytest.raises(errors.RingMismatchError, match="ring 2 with key 77"):
            codec.decode(whole, *ring)


@pytest.mark.parametrize("thing", [None, "text", 7, np.zeros((50, 2))[:, 0]])
def test_what_is_no_buffer_is_refused(thing):
    with pytest.raises(errors.DamagedBlockError, match="buffer"):
        codec.decode(thing)


@pytest.mark.parametrize(
    ("block", "ring", "error"),
    [
        (Bits((1, 3), np.array([[8]], dtype=np.uint64)), codec.BOOLEAN, errors.DamagedBlockError),
        (Bits((1, 65), np.array([[8]], dtype=np.uint64)), codec.BOOLEAN, errors.DamagedBlockError),
        (slow_bits([], (1, 3)), codec.COUNTING, errors.RingMismatchError),
        (Dense(np.zeros((2, 1, 1), dtype=np.int32)), codec.COUNTING, errors.RingMismatchError),
        (Dense(np.zeros((1, 1, 1))), codec.COUNTING, errors.EntryValueError),
        (Dense(np.zeros((1, 0, 2**31), dtype=np.int8)), codec.COUNTING, errors.ShapeMismatchError),
        (Sparse((2, 2), np.array([1, 0]), np.array([0, 0]), np.zeros((0, 2))), codec.BOOLEAN, errors.DamagedBlockError),
        (Sparse((2, 2), np.array([2]), np.array([0]), np.zeros((0, 1))), codec.BOOLEAN, errors.DamagedBlockError),
        (Sparse((2, 2), np.array([0]), np.array([0]), np.zeros((1, 1), int)), codec.COUNTING, errors.DamagedBlockError),
    ],
)
def test_what_decode_refuses_is_not_written(block, ring, error):
    with pytest.raises(error):
        codec.encode(block, ring)


def test_words_and_full_width_values_are_views():
    words = codec.encode(slow_bits([(0, 0)], (2, 128)), codec.BOOLEAN)
    large = codec.encode(Dense(np.full((1, 2, 2), 2**40)), codec.COUNTING)
    for whole, array in [(words, codec.decode(words).words), (large, codec.decode(large).values)]:
        assert np.shares_memory(array, np.frombuffer(whole, dtype=np.uint8))


def test_arrow_buffers():
    arrow = pytest.importorskip("pyarrow")
    block = slow_bits([(0, 0), (1, 127)], (2, 128))
    column = arrow.array([b"x", codec.encode(block, codec.BOOLEAN)], arrow.binary())
    assert same(codec.decode(column[1].as_buffer()), block)


def test_size_of_a_row_of_bits():
    for columns in range(3000):
        size = codec.stored_size(Bits((1, columns), np.zeros((1, -(-columns // 64)), np.uint64))) - codec.HEADER_SIZE
        assert -(-columns // 8) <= size <= 1.05 * -(-columns // 8)
        assert columns < 1097 or size % 8 == 0


def test_decoded_blocks_are_operands():
    block = sparse.from_coordinates([0, 1, 2], [1, 2, 0], None, (3, 3))
    read = codec.decode(codec.encode(block, codec.BOOLEAN))
    assert sparse.equal(sparse_product.multiply(read, read), sparse_product.multiply(block, block))
    assert sparse.equal(sparse.transpose(read), sparse.transpose(block))
    assert twin(codec.densify(read)) == twin(block)
