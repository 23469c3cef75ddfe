"""What may come from outside: nothing of it is run, and nothing of it is trusted before it was checked."""

from __future__ import annotations

import ast
import itertools
import json
import struct
import zlib
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import dyntc_spark
from dyntc_spark import DynamicClosure
from dyntc_spark.errors import DyntcError, IdentifierError, LocationError, MissingColumnError
from dyntc_spark.graph.store import place, stored_types
from dyntc_spark.graph.store.format_1 import edges_in
from dyntc_spark.graph.tables import views
from dyntc_spark.kernels import codec
from dyntc_spark.kernels.block import Bits, Sparse
from tests.kernels.test_codec import blocks, examples
from tests.store.format_1 import encoded

PACKAGE = Path(dyntc_spark.__file__).parent
SOURCES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}

# --- nothing is run that was stored ----------------------------------------------------------

#: Modules that make objects, or run code, out of bytes or text.
MODULES = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "joblib",
    "marshal",
    "shelve",
    "dbm",
    "yaml",
    "jsonpickle",
    "runpy",
    "code",
    "codeop",
    "pty",
    "xmlrpc",
    "ctypes",
    "cffi",
}
CALLS = {"eval", "exec", "compile", "__import__", "input", "breakpoint"}
METHODS = {"read_pickle", "to_pickle", "loads_pickle", "deserialize", "system", "popen", "from_pickle"}
#: File and call, with the reason why it is no danger.
ALLOWED = {
    ("__init__.py", "importlib.import_module"): "the names are those of a table in the same file",
    ("cli/commands.py", "subprocess.run"): "a list of words without a shell: our own benchmarks",
    ("cli/imports.py", "importlib.import_module"): "two modules of numba, named in the same file",
    ("errors.py", "import pickle"): "the class of its errors, of which one of ours is",
    ("machine.py", "subprocess.run"): "a list of words without a shell: java -version, and Spark's own script",
    ("worker_daemon.py", "importlib.import_module"): "modules that are named in the same file",
}


def calls_in(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, f"import {name.name.partition('.')[0]}"
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, f"import {(node.module or '').partition('.')[0]}"
        elif isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func)
            for word in node.keywords:
                if word.arg in {"allow_pickle", "shell"} and ast.unparse(word.value) != "False":
                    yield node.lineno, f"{word.arg}=…"


def dangers(text):
    """Yield line and name of everything in a module that could run what it was given."""
    for line, call in calls_in(ast.parse(text)):
        last = call.rpartition(".")[2]
        module = call.removeprefix("import ")
        if call.startswith("import "):
            if module in MODULES:
                yield line, call
        elif (
            call in CALLS
            or last in METHODS
            or call.partition(".")[0] in {*MODULES, "subprocess"}
            or call in {"np.load", "numpy.load", "importlib.import_module", "allow_pickle=…", "shell=…"}
        ):
            yield line, call


@pytest.mark.long
@pytest.mark.parametrize("name", SOURCES)
def test_nothing_is_unpickled_or_run(name):
    found = {call: line for line, call in dangers(SOURCES[name].read_text(encoding="utf-8"))}
    assert {call: line for call, line in found.items() if (name, call) not in ALLOWED} == {}


def test_the_exceptions_are_still_there():
    found = {(name, call) for name, path in SOURCES.items() for _, call in dangers(path.read_text(encoding="utf-8"))}
    assert found == set(ALLOWED)


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from pickle import loads",
        "import numpy as np; np.load(f)",
        "x = np.fromfile(f, allow_pickle=True)",
        "eval(t)",
        "pd.read_pickle(f)",
        "import os; os.system(c)",
        "import subprocess; subprocess.run(c, shell=True)",
        "exec(compile(t, '', 'exec'))",
    ],
)
def test_the_scan_sees(text):
    assert list(dangers(text))


# --- payloads ----------------------------------------------------------------------------------


def sealed(payload):
    """Put the right length and checksum on a payload of a block, as somebody would who forges one."""
    head, body = payload[: codec.HEADER_SIZE - 4], payload[codec.HEADER_SIZE :]
    head = head[:32] + struct.pack("<I", len(body)) + head[36:]
    return head + struct.pack("<I", zlib.crc32(body, zlib.crc32(head))) + body


def mutated(draw, payload, least):
    """Change some bytes, cut some off or add some."""
    changed = bytearray(payload)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(least, max(len(changed) - 1, least)))
        what = draw(st.sampled_from(["set", "set", "cut", "add", "number"]))
        if what == "set" and at < len(changed):
            changed[at] = draw(st.integers(0, 255))
        elif what == "cut":
            del changed[at : at + draw(st.integers(1, 9))]
        elif what == "add":
            changed[at:at] = draw(st.binary(min_size=1, max_size=9))
        elif at + 4 <= len(changed):
            changed[at : at + 4] = struct.pack("<I", draw(st.sampled_from([0, 1, 2**16, 2**31 - 1, 2**31, 2**32 - 1])))
    return bytes(changed)


def check_forged_block(data):
    whole = data.draw(
        st.sampled_from(sorted(examples())).map(lambda name: codec.encode(*examples()[name]))
        | blocks().map(lambda b: codec.encode(*b))
    )
    forged = sealed(mutated(data.draw, whole, 6).ljust(codec.HEADER_SIZE, b"\0"))
    try:
        block = codec.decode(forged)
    except DyntcError:
        return
    rows, columns = block.shape
    assert rows * columns <= 2**62
    if isinstance(block, Sparse):  # kernels trust that entries lie inside and ascend
        at = block.rows.astype(np.int64) * columns + block.columns
        assert ((block.rows >= 0) & (block.rows < rows) & (block.columns >= 0) & (block.columns < columns)).all()
        assert (np.diff(at) > 0).all()
    elif isinstance(block, Bits):
        assert block.words.shape == (rows, -(-columns // 64))
    else:
        assert block.values.shape[1:] == (rows, columns)
    assert (
        codec.decode(codec.encode(block, codec.read_header(forged).ring_code, codec.read_header(forged).ring_key)).shape
        == block.shape
    )


def check_forged_edges(data):
    """Whatever is stored as edges, the engine gets numbers of the graph or an error is raised."""
    size = 7
    row = st.lists(st.integers(0, size - 1), unique=True, max_size=size).map(sorted)
    whole = encoded(0, data.draw(st.lists(row, min_size=size, max_size=size)))
    changed = mutated(data.draw, whole, 4)
    if len(changed) >= 32:
        crc = zlib.crc32(changed[32:], zlib.crc32(changed[:28]))
        changed = changed[:28] + struct.pack("<I", crc) + changed[32:]
    closure = DynamicClosure.from_edges([])
    try:
        closure._parts.door.engine.init(edges_in([changed], size).edges, size)
    except DyntcError:
        return
    found = closure._parts.door.engine.descendants(np.arange(size))
    assert found.targets.min() >= 0
    assert found.targets.max() < closure._parts.door.engine.vertices
    closure._parts.door.engine.grow(closure._parts.door.engine.vertices + 1)


FORGERIES = {"a block": check_forged_block, "edges": check_forged_edges}


@pytest.mark.long
@pytest.mark.parametrize("what", FORGERIES)
@settings(max_examples=100)
@given(st.data())
def test_forged_payloads(what, data):
    FORGERIES[what](data)


@pytest.mark.slow
@pytest.mark.parametrize("what", FORGERIES)
@settings(max_examples=20_000)
@given(st.data())
def test_forged_payloads_by_the_thousand(what, data):
    FORGERIES[what](data)


@given(
    st.recursive(
        st.none() | st.integers() | st.text() | st.floats(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["struct", "array", "decimal"]), inner)
        ),
    )
)
def test_types_that_were_not_written_by_us(found):
    try:
        kind = stored_types.kind_of(json.dumps(found))
    except DyntcError:
        return
    assert stored_types.kind_of(stored_types.kind_text(kind)) == kind


# --- names -------------------------------------------------------------------------------------

HOSTILE = [
    "a`b",
    "`",
    "``",
    'a"b',
    "a'b",
    "a;b",
    "a; DROP TABLE x; --",
    "/* a */",
    "a--b",
    "a.b",
    "a b",
    "a\nb",
    "ü",
    "SELECT",
    "*",
    "a,b",
    "{edges}",
    "${x}",
    "%s",
    "a\\",
    "a\x00b",
    "'' OR 1=1",
    "`a` STRING, `b`",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_of_views_and_schemas(name):
    if name != "SELECT":  # SELECT_edges is a name like any other
        with pytest.raises(IdentifierError):
            views.Views(None, name)
    if name not in {"SELECT", "a.b"}:
        with pytest.raises(LocationError):
            place.checked(name)


@pytest.mark.parametrize(
    "location",
    [
        "/a/../../etc",
        "/a\x00b/c",
        "s3://b/{a,b}",
        "/a/*",
        "/a/b\n",
        "file:/a/[b]",
        "/a\\b/",
        "../x",
        "./..",
        "/a/\u202eb",
    ],
)
def test_hostile_paths(location):
    with pytest.raises(LocationError):
        place.checked(location)


@given(st.text(max_size=30))
def test_locations_are_safe_or_refused(text):
    try:
        location = place.checked(text)
    except LocationError:
        return
    assert location.isprintable()
    if "/" not in location:
        assert location.replace(".", "a").replace("_", "a").isalnum()
        assert location.isascii()


@pytest.mark.connect
def test_hostile_names_of_columns(spark):
    """Names of columns are quoted: a DataFrame with such columns is read by them."""
    names = [name for name in HOSTILE if name != "SELECT"] + ["select"]
    frame = spark.range(1, 3).selectExpr(*["CAST(id AS INT)", "CAST(id + 1 AS INT)"] * len(names))
    frame = frame.toDF(*(f"{name}{side}" for name in names for side in ("", " 2")))
    for name in names:
        assert DynamicClosure.from_edges(frame, src=name, dst=f"{name} 2").reaches(1, 3)
    c = DynamicClosure.from_edges([(1, 2)])
    for name in names:
        with pytest.raises(MissingColumnError):
            c.insert(frame, src=name, dst="dst")
        with pytest.raises(MissingColumnError):
            c.insert(spark.range(1).withColumnRenamed("id", "dst"), src=name, dst="dst")


def test_hostile_vertices_and_fields(spark):
    """Names of vertices, and of the fields of struct vertices, never become SQL."""
    names = [*HOSTILE, "\U0001f600"]
    c = DynamicClosure.from_edges(list(itertools.pairwise(names)), spark=spark)
    c.create_views("hostile")
    assert spark.table("hostile_closure").count() == len(names) * (len(names) - 1) // 2
    literal = names[-3].replace("\\", "\\\\").replace("'", "\\'")
    found = spark.sql(f"SELECT vertex FROM hostile_descendants('{literal}')").collect()  # noqa: S608  (quoted)
    assert {row.vertex for row in found} == set(names[-2:])
    fields = [{"a`b": 1, "x; --": "'"}, {"a`b": 2, "x; --": '"'}]
    d = DynamicClosure.from_edges([(fields[0], fields[1])], spark=spark)
    d.create_views("fields")
    assert spark.table("fields_closure").count() == 1
    assert d.pairs().first().src["a`b"] == 1
