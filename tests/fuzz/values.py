"""What may come instead of edges: cells, rows and tables of every kind, most of them wrong in some way."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import enum
import uuid
import warnings

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import Row

Point = collections.namedtuple("Point", "x y")  # noqa: PYI024  (made as users make them)


class Colour(enum.Enum):
    RED = 1


class Strange:
    """Nothing that anything knows."""

    def __repr__(self):
        return "Strange()"


UTC = dt.timezone.utc
#: Values at the edges of their types, and values that are none.
EDGES_OF_TYPES = [
    None,
    True,
    False,
    0,
    -1,
    2**31,
    2**63 - 1,
    -(2**63),
    2**63,
    2**64,
    10**40,
    0.0,
    -0.0,
    1.5,
    float("nan"),
    float("inf"),
    -float("inf"),
    5e-324,
    1.7e308,
    "",
    " ",
    "a",
    "A",
    "NULL",
    "null",
    "NaN",
    "\x00",
    "a\x00b",
    "ü",
    "u\u0308",
    "\ufeff",
    "😀",
    "\udcff",
    "\ud800\udc00",
    "'; DROP TABLE x; --",
    "`",
    '"',
    "\\",
    "%s",
    "{}",
    "${x}",
    "x" * 70_000,
    b"",
    b"\x00\xff",
    b"a" * 70_000,
    bytearray(b"x"),
    memoryview(b"y"),
    dt.date(1, 1, 1),
    dt.date(9999, 12, 31),
    dt.datetime(1, 1, 1),  # noqa: DTZ001
    dt.datetime(2024, 2, 29, tzinfo=UTC),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.timezone(-dt.timedelta(hours=12))),
    dt.time(12),
    dt.time.min,
    dt.timedelta.max,
    dt.timedelta(microseconds=1),
    decimal.Decimal("NaN"),
    decimal.Decimal("Infinity"),
    decimal.Decimal("-0"),
    decimal.Decimal("1E+60"),
    decimal.Decimal("1E-60"),
    decimal.Decimal("1.10"),
    decimal.Decimal(10**37),
    uuid.UUID(int=0),
    1j,
    object,
    Strange(),
    Colour.RED,
    ...,
    NotImplemented,
    range(2),
    slice(1),
    {1, 2},
    frozenset(),
    len,
    (),
    (1,),
    (1, 2),
    [],
    [1, 2],
    [1, "a"],
    [None],
    [[]],
    {},
    {"a": 1},
    {"a": None},
    {1: 2},
    {"": {"b": [1]}},
    Point(1, 2),
    Point(1, "a"),
    Row(a=1, b="x"),
    Row(),
    np.int8(-1),
    np.uint64(2**64 - 1),
    np.float16(1),
    np.float32("nan"),
    np.longdouble(1),
    np.bool_(True),
    np.str_("a"),
    np.bytes_(b"a"),
    np.datetime64("NaT"),
    np.datetime64("2024-01-01"),
    np.datetime64(10**17, "s"),
    np.timedelta64(1, "Y"),
    np.array(1),
    np.array([1, 2]),
    np.array([[1]]),
    np.array([]),
    np.array(["a", None], object),
    pd.NA,
    pd.NaT,
    pd.Timestamp(0),
    pd.Timestamp.max,
    pd.Timedelta(1),
    pd.Interval(0, 1),
    pd.Period("2024"),
    pd.Series([1]),
    pd.DataFrame({"a": [1]}),
    pa.scalar(1),
    pa.scalar(None),
    pa.scalar("a"),
    pa.array([1]),
]

plain = st.one_of(
    st.integers(-3, 3),
    st.text(st.characters(exclude_categories=[]), max_size=3),
    st.floats(width=32),
    st.binary(max_size=3),
    st.dates(),
    st.datetimes(timezones=st.sampled_from([None, UTC])),
    st.timedeltas(),
    st.decimals(allow_nan=False),
    st.booleans(),
)
odd = st.integers(0, len(EDGES_OF_TYPES) - 1).map(EDGES_OF_TYPES.__getitem__)
cells = st.one_of(
    plain, odd, st.lists(plain | odd, max_size=2), st.dictionaries(st.text(max_size=2), plain | odd, max_size=2)
)
operations = st.one_of(
    st.sampled_from(["insert", "delete"]),
    st.sampled_from(["INSERT", "", None, 1, b"insert", "upsert", ["insert"]]),
    cells,
)


def alike(draw):
    """Return a strategy for cells that go together, most of the time."""
    return draw(
        st.sampled_from(
            [
                st.integers(-3, 3),
                st.sampled_from([2**63 - 1, -(2**63), 0]),
                st.text(st.characters(exclude_categories=[]), max_size=2),
                st.sampled_from("abc"),
                st.floats(),
                st.sampled_from([0.0, -0.0, 1.0]),
                st.binary(max_size=2),
                st.booleans(),
                st.dates(),
                st.datetimes(),
                st.datetimes(timezones=st.just(UTC)),
                st.timedeltas(),
                st.decimals(places=2, min_value=-9, max_value=9),
                st.decimals(allow_nan=False),
                st.tuples(st.integers(0, 2), st.integers(0, 1)),
                st.lists(st.sampled_from("ab"), max_size=2),
                st.fixed_dictionaries({"x": st.integers(0, 2), "y": st.sampled_from("ab")}),
                st.builds(Point, st.integers(0, 2), st.integers(0, 2)),
                st.sampled_from([np.int16(3), np.int32(3), 3]),
                cells,
            ]
        )
    )


@st.composite
def listed(draw, width):
    """Rows as lists of tuples; some of another length, some that are no rows."""
    kind = alike(draw)
    ends = [kind if draw(st.integers(0, 9)) else cells for _ in range(2)]
    row = st.tuples(*([operations] if width == 3 else []), *ends)
    if not draw(st.integers(0, 3)):
        row = row | row.map(list) | cells | st.lists(cells, max_size=4)
    rows = draw(st.lists(row, max_size=6))
    return draw(st.sampled_from([rows, tuple(rows), iter(rows), *([rows] * 6)]))


NAMES = ["src", "dst", "op", "vertex", "SRC", "src ", "a`b", 'x"; --', "", "src.dst", "0"]
names = st.sampled_from(NAMES)
keywords = st.fixed_dictionaries({}, optional={"src": names | cells, "dst": names | cells})

DTYPES = [
    "object",
    "category",
    "string",
    "Int64",
    "Float64",
    "boolean",
    "int8",
    "uint64",
    "float32",
    "datetime64[ns]",
    "timedelta64[ns]",
]


@st.composite
def frames(draw, width):
    """A pandas DataFrame with about the right columns."""
    wanted = ["op", "src", "dst"][3 - width :]
    columns = wanted if draw(st.integers(0, 4)) else draw(st.lists(names | cells.filter(_hashable), max_size=4))
    size, kind = draw(st.integers(0, 4)), alike(draw)
    made = []
    for name in columns:
        cell = operations if name == "op" else kind if draw(st.integers(0, 5)) else cells
        series = pd.Series(draw(st.lists(cell, min_size=size, max_size=size)), dtype=object)
        if draw(st.booleans()):
            series = _converted(series, draw(st.sampled_from(DTYPES)))
        made.append(series)
    frame = pd.concat(made, axis=1) if made else pd.DataFrame()
    if made:
        frame.columns = pd.Index(columns, dtype=object)
    return frame


ARROW = [
    pa.int8(),
    pa.uint64(),
    pa.int64(),
    pa.float16(),
    pa.float64(),
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(4),
    pa.binary(),
    pa.binary_view(),
    pa.large_binary(),
    pa.bool_(),
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time64("ns"),
    pa.timestamp("s"),
    pa.timestamp("ns"),
    pa.timestamp("us", "UTC"),
    pa.timestamp("ms", "Europe/Vienna"),
    pa.timestamp("us", "Nowhere/Land"),
    pa.duration("s"),
    pa.duration("ns"),
    pa.month_day_nano_interval(),
    pa.decimal128(5, 2),
    pa.decimal256(70, 3),
    pa.decimal128(38, -3),
    pa.null(),
    pa.list_(pa.int32()),
    pa.list_(pa.int8(), 2),
    pa.large_list(pa.string()),
    pa.list_view(pa.int8()),
    pa.map_(pa.string(), pa.int8()),
    pa.struct([("a", pa.int8())]),
    pa.struct([]),
    pa.struct([("a", pa.list_(pa.struct([("", pa.float32())])))]),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.int64()),
    pa.run_end_encoded(pa.int32(), pa.string()),
    pa.dense_union([pa.field("a", pa.int8())]),
    pa.uuid(),
]


@st.composite
def arrow_columns(draw, size):
    kind = draw(st.sampled_from(ARROW))
    pool = draw(
        st.sampled_from(
            [
                [0, 1, 2],
                [1, None],
                ["a", "b"],
                [b"abcd"],
                [1.5, float("nan")],
                [[1, 2], [3, 4]],
                [{"a": 1}],
                [dt.date(2024, 1, 1)],
                [dt.datetime(2024, 1, 1)],  # noqa: DTZ001
                [dt.timedelta(1)],
                [None],
            ]
        )
    )
    values = draw(st.lists(st.sampled_from(pool), min_size=size, max_size=size))
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        try:
            return pa.array(values).cast(kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            try:
                return pa.nulls(size, kind)
            except (pa.ArrowException, TypeError, ValueError):
                return pa.nulls(size)


@st.composite
def arrow_tables(draw, width):
    """An Arrow table, or something that can be read as one."""
    wanted = ["op", "src", "dst"][3 - width :]
    columns = wanted if draw(st.integers(0, 4)) else draw(st.lists(names, max_size=4))
    size = draw(st.integers(0, 4))
    same, made = draw(arrow_columns(size)), []
    for name in columns:
        if name == "op" and draw(st.integers(0, 5)):
            made.append(
                pa.array(
                    draw(st.lists(st.sampled_from(["insert", "delete"]), min_size=size, max_size=size)), pa.string()
                )
            )
        else:
            made.append(same if draw(st.integers(0, 3)) else draw(arrow_columns(size)))
    table = pa.Table.from_arrays(made, names=columns) if columns else pa.table({})
    shape = draw(st.sampled_from(["table", "table", "batch", "reader", "chunks", "array"]))
    try:
        if shape == "batch":
            return pa.RecordBatch.from_arrays([column.combine_chunks() for column in table.columns], names=columns)
        if shape == "reader":
            return table.to_reader()
        if shape == "chunks":
            return pa.concat_tables([table, table])
    except (pa.ArrowException, TypeError, ValueError):
        return table
    return table.column(0) if shape == "array" and columns else table


def tables(width):
    """Return anything that may be handed in for a table with so many columns."""
    return st.one_of(listed(width), listed(width), frames(width), arrow_tables(width), cells)


def _converted(series, dtype):
    """Return a series of another type where pandas takes its values so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return series.astype(dtype)
        except (TypeError, ValueError, OverflowError, decimal.DecimalException, NotImplementedError):
            return series


def _hashable(value):
    try:
        hash(value)
    except TypeError:
        return False
    return True
