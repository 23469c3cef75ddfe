"""Bad input: our own error with what was expected, what came and the remedy; no job for what can be seen before."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dyntc_spark import errors
from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.matrix import BlockMatrix
from dyntc_spark.blocks.operations import Combine, CountDifferences, CountEntries, RankUpdate, VectorProduct
from dyntc_spark.blocks.rings import BOOLEAN, COUNTING, Modular
from dyntc_spark.blocks.spark import SparkBackend
from dyntc_spark.blocks.strip import Strip
from tests.blocks.oracle import RESIDUES, Plain, assert_same, payloads

SIZE, N = 16, 40
MESSAGE = re.compile(r"expected .+; got .+\. .+\.", re.DOTALL)


@pytest.fixture(scope="module")
def plain():
    return Plain.random(COUNTING, (N, N), 0.2, 1)


@pytest.fixture(scope="module")
def _built():
    return {}


@pytest.fixture
def matrix(_built, plain, backend):
    return _built.setdefault(type(backend), plain.blocks(backend, SIZE))


@pytest.fixture
def bits(_built, backend):
    key = type(backend), "bits"
    if key not in _built:
        _built[key] = BlockMatrix.from_entries(([0, 17], [1, 30]), (N, N), size=SIZE, backend=backend)
    return _built[key]


def refused(call, error, *words):
    """Run ``call``, which must raise ``error`` whose message has all parts and the given words."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    found = caught.value
    assert MESSAGE.fullmatch(str(found)), str(found)
    assert str(found) == f"expected {found.expected}; got {found.came}. {found.remedy}"
    for word in words:
        assert word in str(found), str(found)
    return found


@pytest.fixture
def refused_beforehand(backend):
    """As ``refused``, and no job may start."""

    def check(call, error, *words):
        before = backend.jobs.total
        refused(call, error, *words)
        assert backend.jobs.total == before

    return check


def make(backend, entries, shape=(N, N), ring=COUNTING, size=SIZE):
    return lambda: BlockMatrix.from_entries(entries, shape, ring, size=size, backend=backend)


# --- entries ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [[-1], [N], [2**40], [0.5], ["a"], [None], [True], [[1]], [[1], [2, 3]]])
def test_indices_that_are_none(backend, refused_beforehand, rows):
    error = errors.ShapeMismatchError if rows == [[1], [2, 3]] else errors.IndexOutsideError
    refused_beforehand(make(backend, (rows, [0])), error)
    refused_beforehand(make(backend, ([0], rows)), error)


def test_an_index_outside_is_named(backend, refused_beforehand):
    words = "row numbers from 0 to 39", "got 41"
    refused_beforehand(make(backend, ([3, 41, 40], [0, 0, 0])), errors.IndexOutsideError, *words)
    refused_beforehand(
        make(backend, ([0], [-2])), errors.IndexOutsideError, "column numbers from 0", "-2", "Check the shape"
    )


@pytest.mark.parametrize(
    "values", [[0.5], [1.0], ["1"], [None], [np.nan], [2**64], [2**63], np.array([2**63], np.uint64), [1j]]
)
@pytest.mark.parametrize("ring", [BOOLEAN, COUNTING, RESIDUES], ids=["boolean", "counting", "residues"])
def test_values_that_are_no_integers(backend, refused_beforehand, values, ring):
    refused_beforehand(make(backend, ([0], [0], values), ring=ring), errors.EntryValueError, "Cast the values")


def test_a_count_of_64_bits_and_a_sign(backend, refused_beforehand):
    refused_beforehand(make(backend, ([0], [0], [-(2**63)])), errors.EntryValueError)


@pytest.mark.parametrize("value", [0, 2, -1])
def test_a_boolean_entry_is_1(backend, refused_beforehand, value):
    refused_beforehand(
        make(backend, ([0, 1], [0, 1], [1, value]), ring=BOOLEAN), errors.EntryValueError, "equal to 1", f"got {value}"
    )


@pytest.mark.parametrize(
    "entries",
    [
        ([0, 1], [0]), ([0], [0], [1, 2]), ([0], [0], 1), ([0, 1], [0, 1], [[1, 2], [3, 4]]), ([0], [0], [[[1]]]),
        ([0],), ([0], [0], [1], [1]), ([0, 1], [0, 1], [[1], [2, 3]]), {"row": [0]}, None, 7,
    ],
)  # fmt: skip
def test_arrays_that_are_not_parallel(backend, refused_beforehand, entries):
    refused_beforehand(make(backend, entries), errors.ShapeMismatchError)


def test_layers_that_are_not_one_a_prime(backend, refused_beforehand):
    refused_beforehand(
        make(backend, ([0], [0], [[1], [2], [3]]), ring=RESIDUES), errors.ShapeMismatchError, "1 values, or 2 layers"
    )


@pytest.mark.parametrize("shape", [(-1, 4), (4,), (2, 3, 4), (2.5, 4), ("a", "b"), None, 5])
def test_a_shape_that_is_none(backend, refused_beforehand, shape):
    refused_beforehand(make(backend, ([], []), shape=shape), errors.ShapeMismatchError)


@pytest.mark.parametrize("size", [0, -4, 1.5])
def test_a_block_size_that_is_none(backend, refused_beforehand, size):
    refused_beforehand(make(backend, ([], []), size=size), errors.ShapeMismatchError, "positive block size")


def test_a_dataframe_in_this_process(spark):
    given = spark.createDataFrame([(1, 2)], "row long, column long")
    refused(make(LocalBackend(), given), errors.ShapeMismatchError, "DataFrames need the Spark backend")


@pytest.mark.parametrize("primes", [(), (1,), (2**27,), (7, -3)])
def test_primes_out_of_range(primes):
    refused(lambda: Modular(primes), errors.EntryValueError)


# --- DataFrames ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ("row double, column long", "'row'"), ("row long, column string", "'column'"),
        ("row long, column long, value double", "'value'"), ("row long, column long, value decimal(10,0)", "'value'"),
        ("row long, column long, value boolean", "'value'"), ("src long, dst long", "'row' and 'column'"),
        ("row long, column long, values array<long>", "'values'"),
    ],
)  # fmt: skip
def test_columns_of_a_wrong_type(spark, spark_backend, columns, word):
    given = spark.createDataFrame([], columns)
    before = spark_backend.jobs.total
    refused(make(spark_backend, given), errors.EntryValueError, word)
    assert spark_backend.jobs.total == before


@pytest.mark.parametrize(
    ("row", "error", "words"),
    [
        ((None, 1, 1), errors.EntryValueError, ["'row'", "a null"]),
        ((1, None, 1), errors.EntryValueError, ["'column'", "a null"]),
        ((1, 1, None), errors.EntryValueError, ["'value'", "Drop or fill"]),
        ((-1, 1, 1), errors.IndexOutsideError, ["row numbers from 0 to 39", "-1"]),
        ((1, N, 1), errors.IndexOutsideError, ["column numbers from 0 to 39", "40"]),
    ],
)
def test_rows_that_are_wrong(spark, spark_backend, row, error, words):
    given = spark.createDataFrame([(0, 0, 1), row, (39, 39, 1)], "row long, column long, value long")
    refused(make(spark_backend, given), error, *words)


def test_a_value_that_is_no_boolean(spark, spark_backend):
    given = spark.createDataFrame([(0, 0, False)], "row long, column long, value boolean")
    refused(make(spark_backend, given, ring=BOOLEAN), errors.EntryValueError, "equal to 1")


def test_a_dataframe_that_fails(spark, spark_backend):
    given = spark.sql("SELECT CAST(raise_error('no such luck') AS BIGINT) AS row, 1L AS column")
    refused(make(spark_backend, given), errors.SessionError, "build matrix", "The state is as it was before")


# --- matrices that do not fit ----------------------------------------------------------------


def test_shapes_that_do_not_fit(backend, matrix, plain, refused_beforehand):
    other = Plain.random(COUNTING, (30, N), 0.1, 2).blocks(backend, SIZE)
    cut = plain.blocks(backend, 20)
    wrong = errors.ShapeMismatchError
    for operation in (matrix.add, matrix.subtract, matrix.equals):
        refused_beforehand(lambda operation=operation: operation(other), wrong, "40 x 40", "30 x 40", "same shape")
        refused_beforehand(lambda operation=operation: operation(cut), wrong, "blocks of 16 x 16", "blocks of 20 x 20")
    refused_beforehand(lambda: matrix.multiply(other), wrong, "40 rows in blocks of 16", "30 rows")
    refused_beforehand(lambda: matrix.multiply(cut), wrong, "blocks of 20")
    refused_beforehand(lambda: other.power(2), wrong, "a square matrix")
    for exponent in (-1, 2.5):
        refused_beforehand(lambda exponent=exponent: matrix.power(exponent), wrong, "at least 0", str(exponent))
    assert_same(matrix, plain)


def test_rings_that_do_not_fit(matrix, bits, refused_beforehand):
    wrong = errors.RingMismatchError
    for operation in (matrix.add, matrix.subtract, matrix.equals, matrix.multiply):
        refused_beforehand(lambda operation=operation: operation(bits), wrong, "the counting ring", "the Boolean ring")
    refused_beforehand(lambda: matrix.multiply(matrix, counts=True), wrong, "the Boolean ring")
    refused_beforehand(lambda: matrix.left_multiply(np.ones(N, int), counts=True), wrong)
    refused_beforehand(lambda: matrix.left_multiply(bits_row(bits)), wrong)
    refused_beforehand(lambda: bits.rank_update(np.ones(N, bool), np.ones(N, bool), -1), wrong)


def bits_row(bits):
    return Strip.from_array(np.ones(N, bool), bits.grid.down, BOOLEAN, upright=False)


def test_lines_that_do_not_fit(matrix, refused_beforehand):
    wrong, line = errors.ShapeMismatchError, np.ones(N, int)
    for lines in (np.ones(N + 1, int), np.ones((N, 1), int), 5, np.ones((1, 1, 1, N), int), [[1], [2, 3]]):
        refused_beforehand(lambda lines=lines: matrix.left_multiply(lines), wrong)
        refused_beforehand(lambda lines=lines: matrix.rank_update(line, lines), wrong)
    refused_beforehand(lambda: matrix.left_multiply(np.ones((2, 3, N), int)), wrong, "values")
    refused_beforehand(lambda: matrix.rank_update(np.ones((N, 2), int), line), wrong, "2 and 1", "rank k")
    other = Strip.from_array(line, type(matrix.grid.down)(N, 7), COUNTING, upright=False)
    refused_beforehand(lambda: matrix.left_multiply(other), wrong, "blocks of 16", "blocks of 7")
    upright = Strip.from_array(line, matrix.grid.down, COUNTING, upright=True)
    refused_beforehand(lambda: matrix.left_multiply(upright), wrong, "rows of length", "columns of length")
    refused_beforehand(lambda: matrix.left_multiply(line * 0.5), errors.EntryValueError, "float64")
    refused_beforehand(lambda: matrix.rank_update(line, line, 2), errors.EntryValueError, "a sign of 1 or -1")


def test_ids_and_pairs_outside(matrix, refused_beforehand):
    wrong = errors.IndexOutsideError
    for call in (matrix.rows, matrix.columns):
        for ids in ([N], [-1], [0.5], [[1, 2]]):
            refused_beforehand(lambda call=call, ids=ids: call(ids), wrong)
    refused_beforehand(lambda: matrix.lookup([(0, N)]), wrong, "column numbers from 0 to 39", "40")
    refused_beforehand(lambda: matrix.lookup([(0.5, 1)]), wrong)
    for pairs in ([1, 2, 3], [(1, 2, 3)], [[[1, 2]]], [(1, 2), (3,)], 4):
        refused_beforehand(lambda pairs=pairs: matrix.lookup(pairs), errors.ShapeMismatchError)
    refused_beforehand(lambda: matrix.set_entries([N], [0]), wrong)
    refused_beforehand(lambda: matrix.clear_entries([0], [-1]), wrong)
    refused_beforehand(lambda: matrix.set_entries([0], [0], [1.5]), errors.EntryValueError)
    refused_beforehand(lambda: matrix.set_entries([0, 1], [0]), errors.ShapeMismatchError)


# --- blocks ----------------------------------------------------------------------------------


def placed(backend, blocks, ring=COUNTING, shape=(N, N)):
    return lambda: BlockMatrix.from_blocks(blocks, shape, ring, size=SIZE, backend=backend)


def wrong_blocks(plain):
    """What is wrong, the rows that show it, the error and words of its message."""
    stored = payloads(plain.blocks(LocalBackend(), SIZE))
    block = stored[0, 1]
    damaged = bytearray(block)
    damaged[-1] ^= 1
    return {
        "twice": ([(0, 1, block), (0, 0, stored[0, 0]), (0, 1, block)], errors.DuplicateBlockError, ["two at (0, 1)"]),
        "outside": ([(0, 3, block)], errors.IndexOutsideError, ["3 x 3 blocks", "block (0, 3)"]),
        "before": ([(-1, 0, block)], errors.IndexOutsideError, ["block (-1, 0)"]),
        "nowhere": ([(None, 0, block)], errors.IndexOutsideError, ["block (None, 0)"]),
        "shape": ([(2, 2, block)], errors.ShapeMismatchError, ["block (2, 2)", "(8, 8)", "(16, 16)"]),
        "damaged": ([(0, 1, bytes(damaged))], errors.DamagedBlockError, ["checksum", "block (0, 1) of 'matrix'"]),
        "short": ([(0, 1, block[:10])], errors.DamagedBlockError, ["block (0, 1) of 'matrix'", "another copy"]),
        "ring": (
            [(0, 1, BOOLEAN.encode(BOOLEAN.from_coordinates([0], [0], None, (16, 16))))],
            errors.RingMismatchError,
            ["block (0, 1) of 'matrix'", "ring 0"],
        ),
    }


WRONG_BLOCKS = ["twice", "outside", "before", "nowhere", "shape", "damaged", "short", "ring"]


@pytest.mark.parametrize("what", WRONG_BLOCKS)
def test_blocks_that_are_wrong(backend, plain, refused_beforehand, what):
    blocks, error, words = wrong_blocks(plain)[what]
    refused_beforehand(placed(backend, blocks), error, *words)


@pytest.mark.parametrize("what", WRONG_BLOCKS)
def test_a_dataframe_of_blocks_that_are_wrong(spark, spark_backend, plain, what):
    blocks, error, words = wrong_blocks(plain)[what]
    given = spark.createDataFrame(blocks, "bi int, bj int, payload binary")
    refused(placed(spark_backend, given), error, *words)


def test_blocks_of_other_primes(backend, refused_beforehand):
    other = Modular((13, 17))
    stored = other.encode(other.from_coordinates([0], [0], [[1], [1]], (16, 16)))
    refused_beforehand(placed(backend, [(0, 0, stored)], RESIDUES), errors.RingMismatchError, "primes")


def test_a_dataframe_of_blocks_with_other_columns(spark, spark_backend):
    given = spark.createDataFrame([], "bi long, bj int, payload binary")
    before = spark_backend.jobs.total
    refused(placed(spark_backend, given), errors.ShapeMismatchError, "bigint", "Rename or cast")
    assert spark_backend.jobs.total == before


# --- names, states, backends -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "a b", "1a", "a-b", "a.b", "`a`", "bi", "Payload", "reports", "new", "left0"])
def test_names_that_cannot_be(backend, matrix, refused_beforehand, name):
    wrong = errors.MatrixNameError
    refused_beforehand(lambda: matrix.state.select({"matrix": name}), wrong, repr(name), "Rename")
    kind = matrix.state.kinds["matrix"]
    refused_beforehand(lambda: backend.from_entries(([], []), kind, name), wrong)
    refused_beforehand(lambda: matrix.state.multiply("matrix", "matrix", name), wrong)


def test_names_that_are_not_there(matrix, refused_beforehand):
    state, words = matrix.state, ("['matrix']", "'nope'")
    for call in (
        lambda: state.run(CountEntries("nope")),
        lambda: state.run(Combine("matrix", "nope", "matrix")),
        lambda: state.run(Combine("matrix", "matrix", "nope")),
        lambda: state.multiply("matrix", "nope", "x"),
        lambda: state.transpose("nope"),
        lambda: state.select({"nope": "x"}),
        lambda: state.entries("nope"),
        lambda: state.stored_bytes("nope"),
        lambda: BlockMatrix(state, "nope").nnz(),
    ):
        refused_beforehand(call, errors.MatrixNameError, *words)


def test_names_that_clash(matrix, refused_beforehand):
    state = matrix.state
    wrong = errors.MatrixNameError
    refused_beforehand(lambda: state.join(state), wrong, "'matrix' and 'matrix'", "select()")
    refused_beforehand(lambda: state.join(state.select({"matrix": "Matrix"})), wrong, "'matrix' and 'Matrix'")
    two = state.join(state.select({"matrix": "other"}))
    refused_beforehand(lambda: two.select({"matrix": "x", "other": "x"}), wrong)


def test_operations_that_do_not_fit(matrix, bits, refused_beforehand):
    state = matrix.state.join(bits.state.select({"matrix": "bits"}))
    line = Strip.from_array(np.ones(N, int), type(matrix.grid.down)(N, 7), COUNTING, upright=False)
    column = Strip.from_array(np.ones(N, int), matrix.grid.down, COUNTING, upright=True)
    refused_beforehand(lambda: state.run(Combine("matrix", "bits", "matrix")), errors.RingMismatchError)
    refused_beforehand(lambda: state.run(CountDifferences("matrix", "bits")), errors.RingMismatchError)
    refused_beforehand(lambda: state.run(RankUpdate("matrix", column, line)), errors.ShapeMismatchError, "blocks of 7")
    vector = VectorProduct("matrix", matrix.grid, COUNTING, line)
    refused_beforehand(lambda: state.run(vector), errors.ShapeMismatchError, "blocks of 7")


def test_states_of_two_backends(spark_backend, plain):
    here, there = plain.blocks(LocalBackend(), SIZE), plain.blocks(spark_backend, SIZE)
    refused(lambda: here.add(there), errors.ShapeMismatchError, "one local and one on Spark")
    refused(lambda: there.multiply(here), errors.ShapeMismatchError, "one Spark session")


def test_an_unknown_materialisation(spark):
    refused(lambda: SparkBackend(spark, "memory"), errors.SetupError, "'local_checkpoint'", "'memory'")
