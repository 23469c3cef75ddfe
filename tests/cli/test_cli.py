"""The command dyntc, as a shell uses it: answers, exit codes, messages, files of every format."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from dyntc_spark.cli import tables
from dyntc_spark.cli.main import main, parser
from dyntc_spark.graph.closure import DynamicClosure
from tests.store.conftest import without_spark

EDGES = pa.table({"src": ["a", "b", "c"], "dst": ["b", "c", "d"]})
CHANGES = pa.table({"op": ["delete", "insert"], "src": ["b", "d"], "dst": ["c", "e"]})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with edges, changes and a closure."""
    monkeypatch.chdir(tmp_path)
    pc.write_csv(EDGES, "edges.csv")
    pq.write_table(CHANGES, "changes.parquet")
    with without_spark():
        assert main(["build", "edges.csv", "deps"]) == 0
        yield tmp_path


@pytest.fixture
def run(folder, capsys):
    """Run a command; give its exit code, what it answered, and what it said on standard error."""
    capsys.readouterr()

    def running(*words):
        code = main(words)
        said = capsys.readouterr()
        return code, said.out, said.err

    assert folder
    return running


def opened(folder="deps"):
    with without_spark():
        return DynamicClosure.open(f"./{folder}")


def test_one_pair_is_answered_by_the_exit_code_too(run):
    assert run("query", "deps", "a", "d") == (0, "true\n", "")
    assert run("query", "deps", "d", "a") == (1, "false\n", "")
    assert run("query", "deps", "d", "x", "--unknown", "false") == (1, "false\n", "")


def test_paths(run):
    assert run("explain", "deps", "a", "d") == (0, "a → b → c → d\n", "")
    assert run("explain", "deps", "d", "a") == (1, "no path leads from d to a\n", "")
    assert run("explain", "deps", "--pairs", "edges.csv", "--out", "paths.parquet")[0] == 0
    assert pq.read_table("paths.parquet")["hop"].to_pylist() == [1, 1, 1]
    assert run("explain", "deps", "a", "c", "--out", "-")[1] == '"hop","src","dst"\n1,"a","b"\n2,"b","c"\n'


def test_parallel_edges_are_counted_on_request(run):
    pc.write_csv(pa.table({"src": ["a", "a", "b"], "dst": ["b", "b", "c"]}), "twice.csv")
    pc.write_csv(pa.table({"op": ["delete"], "src": ["a"], "dst": ["b"]}), "once.csv")
    assert run("build", "twice.csv", "counted", "--multigraph")[:2] == (0, "counted: 3 vertices, 2 edges, 3 pairs\n")
    for left in (0, 1):
        assert run("query", "counted", "a", "c")[0] == 0
        code, out, _ = run("apply", "once.csv", "counted")
        assert (code, out.split(";")[0]) == (0, f"version {left + 1}: 0 inserted, 1 deleted, 0 ignored")
    assert run("query", "counted", "a", "c")[0] == 1
    code, _, said = run("build", "twice.csv", "deps", "--replace", "--multigraph")
    assert code == 2
    assert "a set of edges, which 'deps' has" in said


def test_a_batch_makes_the_next_version(run):
    code, out, _ = run("apply", "changes.parquet", "deps", "--out", "changed.csv")
    assert (code, out) == (
        0,
        "version 1: 1 inserted, 1 deleted, 0 ignored; 4 pairs (+2 -4)\n",
    )
    assert pc.read_csv("changed.csv").num_rows == 6
    assert run("query", "deps", "c", "e")[0] == 0
    assert run("query", "deps", "a", "d")[0] == 1
    run("apply", "changes.parquet", "deps")
    stats = json.loads(run("stats", "deps", "--json")[1])
    assert [stats[name] for name in ("version", "inserted", "deleted", "insertions_ignored")] == [2, 1, 1, 1]
    assert opened().arrow.history()["kind"].to_pylist() == ["save", "batch", "batch"]  # it is a location as any other


def test_a_page_to_look_at(run):
    run("apply", "changes.parquet", "deps")
    assert run("explore", "deps", "-o", "page.html") == (0, "page.html: 5 of 5 vertices\n", "")
    assert '"version":1,"counts":{"inserted":1,"deleted":1,"won":2,"lost":4}' in Path("page.html").read_text("utf-8")
    assert run("explore", "deps", "--around", "c", "--depth", "1") == (0, "closure.html: 3 of 5 vertices\n", "")
    assert run("explore", "deps", "--most", "2", "-o", "few.html")[1] == "few.html: 2 of 5 vertices\n"
    code, _, err = run("explore", "deps", "--around", "nobody")
    assert (code, "got 'nobody', which the graph does not have" in err) == (2, True)
    assert run("explore", "deps", "-o", "missing/page.html")[0] == 2


def test_answers_to_many(run):
    assert run("query", "deps", "--pairs", "edges.csv")[1].splitlines()[1] == '"a","b",true'
    assert run("query", "deps", "--descendants", "b")[1].split() == ['"vertex"', '"c"', '"d"']
    assert run("query", "deps", "--ancestors", "b")[1].split() == ['"vertex"', '"a"']
    assert run("query", "deps", "--out", "all.parquet")[0] == 0
    assert pq.read_table("all.parquet").num_rows == 6
    assert "vertices                        4\n" in run("stats", "deps")[1]


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["query", "deps", "a", "x"], "got 'x', which the graph does not have"),
        (["query", "deps", "a"], "expected two vertices: where it begins and where it ends; got 1"),
        (["query", "deps", "a", "--ancestors", "b"], "two vertices, or --ancestors; got a and --ancestors"),
        (["query", "deps", "a", "x"], "Check its spelling; with --unknown false the answer is no."),
        (["query", "deps", "--ancestors", "x"], "which the graph does not have. Check its spelling.\n"),
        (["query", "deps", "--out", "pairs.what"], "or --out-format csv|parquet|delta; got 'pairs.what'"),
        (["query", "nothing", "a", "b"], "/nothing'; got none. Build it: dyntc build EDGES STORE. STORE comes first"),
        (["apply", "deps", "changes.parquet"], "CHANGES come first, then STORE: dyntc apply --help."),
        (["repair", "nothing"], "/nothing'; got none. Build it: dyntc build EDGES STORE."),
        (["explain", "deps", "a", "b", "--pairs", "edges.csv"], "two vertices, or --pairs; got a b and --pairs"),
        (["stats", "edges.csv"], "/edges.csv'; got none. Build it: dyntc build edges.csv STORE.\n"),
        (["query", "/", "a", "b"], "and not a root"),
        (["explain", "deps"], "two vertices, or --pairs FILE; got neither"),
        (["build", "edges.csv", "deps"], "a folder without a closure; got 'deps', which has one. Say --replace."),
        (["build", "edges.csv", "."], "a closure, or nothing, at"),
        (["build", "edges.csv", "edges.csv"], "can be made; got 'edges.csv': File exists"),
        (["build", "edges.csv", "edges.csv/new"], "a folder STORE that is there or can be made; got 'edges.csv/new'"),
        (["build", "edges.csv", "deps", "--replace", "--engine", "recompute"], "got --engine recompute"),
        (["build", "none.csv", "new"], "got 'none.csv', which is not"),
        (["build", "deps/_lock", "new"], "ends in .csv, .tsv, .parquet or .delta, or --format csv|parquet|delta"),
        (["build", "edges.csv", "new", "--format", "parquet"], "a table in the format parquet; got 'edges.csv'"),
        (["build", ".", "new", "--format", "delta"], "a Delta table; got '.', which is none"),
        (["build", "bare.csv", "new"], "'b'. Say what they are called with --src and --dst, or --no-header"),
        (["build", "semicolons.csv", "new"], "no 'src' among 'src;dst'. Name what is between the columns: --delimiter"),
        (["build", "edges.csv", "new", "--delimiter", "ab"], "one character after --delimiter; got 'ab'"),
        (["build", "capitals.csv", "new"], "no 'src' among 'Src', ' dst'. Say --src Src --dst ' dst'."),
        (["build", "twice.csv", "new"], "got 'src' more than once in 'src', 'src', 'dst'"),
        (["build", "ragged.csv", "new"], "Expected 2 columns, got 1: b. Mend that line, or name another --delimiter"),
        (["build", "deps", "new"], "got 'deps', which is the folder of a closure. STORE is the last argument."),
        (["build", "edges.csv", ""], "a location of 1 to 1000 characters; got ''"),
        (["build", "edges.csv", "new", "--src", "from"], "the columns from, dst in 'edges.csv'; got no 'from' among"),
        (["build", "edges.csv", "new", "--engine", "fast"], "an engine called 'auto'"),
        (["build", "edges.csv", "new", "--ids", "integer"], "leave --ids integer out: vertices are words then"),
        (
            ["apply", "edges.csv", "deps"],
            "the columns op, src, dst in 'edges.csv'; got no 'op' among 'src', 'dst'. Changes have",
        ),
        (["apply", "bare.csv", "deps", "--no-header"], "the columns op, src, dst in 'bare.csv'; got 2 columns."),
        (["apply", "changes.parquet", "deps", "--op", "src"], "'insert' or 'delete' in column 'src'; got 'b' in row 0"),
        (["apply", "changes.parquet", "deps", "--out", "no/x.csv"], "'no/x.csv', whose folder is not there"),
        (["bench", "--edges", "edges.csv"], "expected --changes beside --edges"),
    ],
)
def test_bad_input_is_exit_code_2_and_one_line(run, words, message):
    Path("bare.csv").write_text("a,b\nb,c\n")
    Path("semicolons.csv").write_text("src;dst\na;b\n")
    Path("capitals.csv").write_text("Src, dst\na,b\n")
    Path("twice.csv").write_text("src,src,dst\na,a,b\n")
    Path("ragged.csv").write_text("src,dst\na,b\nb\n")
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith(f"dyntc {words[0]}: expected ")
    assert message in err
    assert err.count("\n") == 1
    assert not Path("new").exists()
    assert opened().version == 0


def test_a_batch_with_a_bad_row_changes_nothing(run):
    Path("bad.csv").write_text("op,src,dst\ninsert,d,e\nreplace,a,b\n")
    code, _, err = run("apply", "bad.csv", "deps")
    assert (code, "got 'replace' in row 1" in err) == (2, True)
    Path("bad.csv").write_text("op,src,dst\ninsert,d,\n")
    assert "column 'dst'; got null in row 0" in run("apply", "bad.csv", "deps")[2]
    assert run("query", "deps", "d", "e", "--unknown", "false")[0] == 1
    Path("bad.csv").write_text("op,src,dst\ninsert,a,b\n")
    said = run("apply", "bad.csv", "deps", "--strict")[2]
    assert "that change something, for --strict; got" in said
    assert said.endswith("which is there already. Leave --strict out to have such changes counted instead.\n")
    assert opened().version == 0


def test_words_unless_integers_are_asked_for(run):
    Path("numbers.csv").write_text("src,dst\n1,2\n2,007\n")
    run("build", "numbers.csv", "words")
    assert run("query", "words", "1", "007")[0] == 0
    assert run("query", "words", "1", "7", "--unknown", "false")[0] == 1
    Path("more.csv").write_text("op,src,dst\ninsert,007,08\n")
    run("apply", "more.csv", "words")
    assert run("query", "words", "--descendants", "2")[1].split() == ['"vertex"', '"007"', '"08"']
    run("build", "numbers.csv", "numbers", "--ids", "integer")
    assert run("query", "numbers", "1", "7")[0] == 0
    assert "a vertex of type int64; got 'x'" in run("query", "numbers", "x", "3")[2]
    run("apply", "more.csv", "numbers")
    assert run("query", "numbers", "1", "8")[0] == 0


def test_a_file_without_a_header(run):
    Path("bare.csv").write_text("a,b,x\nb,c,y\n")
    assert run("build", "bare.csv", "bare", "--no-header")[0] == 0
    assert run("query", "bare", "a", "c")[0] == 0
    Path("more.csv").write_text("insert,c,d\n")
    assert run("apply", "more.csv", "bare", "--no-header")[0] == 0
    assert run("query", "bare", "a", "d")[0] == 0


def test_other_marks_between_columns(run):
    Path("edges.tsv").write_text("src\tdst\na,1\tb\n")
    Path("semicolons.csv").write_text("op;src;dst\ninsert;b;c\n")
    assert run("build", "edges.tsv", "marks")[0] == 0
    assert run("apply", "semicolons.csv", "marks", "--delimiter", ";")[0] == 0
    assert run("query", "marks", "--descendants", "a,1", "--out", "found.tsv")[0] == 0
    assert Path("found.tsv").read_text().split() == ['"vertex"', '"b"', '"c"']
    assert run("query", "marks", "a,1", "c", "--out", "-") == (0, '"src","dst","reachable"\n"a,1","c",true\n', "")
    assert run("query", "marks", "c", "b", "--out", "one.tsv")[0] == 1
    assert Path("one.tsv").read_text().splitlines()[1] == '"c"\t"b"\tfalse'


def test_the_versions_are_listed(run):
    run("apply", "changes.parquet", "deps")
    code, out, _ = run("history", "deps")
    assert (code, [line.split(",")[:2] for line in out.splitlines()]) == (
        0,
        [['"version"', '"kind"'], ["0", '"save"'], ["1", '"batch"']],
    )


def test_a_second_writer_is_told(run, monkeypatch):
    real = DynamicClosure.apply

    def late(self, *arguments, **options):
        monkeypatch.setattr(DynamicClosure, "apply", real)
        opened().insert([("x", "y")])
        return real(self, *arguments, **options)

    monkeypatch.setattr(DynamicClosure, "apply", late)
    code, _, err = run("apply", "changes.parquet", "deps")
    assert (code, "Run the command again: it starts from the last version" in err) == (2, True)
    assert run("apply", "changes.parquet", "deps")[1].startswith("version 2:")


def test_a_damaged_folder_is_refused_by_the_name_of_the_file_and_repaired(run):
    run("apply", "changes.parquet", "deps")
    entry = Path("deps/commits/_delta_log/00000000000000000001.json")
    entry.write_bytes(entry.read_bytes()[:50])
    code, out, err = run("query", "deps", "a", "d")
    assert (code, out) == (2, "")
    assert entry.name in err
    assert err.endswith("or run: dyntc repair deps.\n")
    assert "Version 0 can be recovered" in run("repair", "deps")[2]
    assert run("repair", "deps", "--version", "0")[:2] == (0, "deps: version 2\n")
    assert run("query", "deps", "a", "d")[0] == 0


def test_replacing_is_another_version(run):
    Path("other.csv").write_text("src,dst\nx,y\n")
    assert run("build", "other.csv", "deps", "--replace")[0] == 0
    assert opened().version == 1
    assert run("query", "deps", "--out", "-")[1].splitlines() == ['"src","dst"', '"x","y"']


def test_a_folder_of_release_0_1(run):
    Path("old/00000001").mkdir(parents=True)
    pq.write_table(EDGES, "old/00000001/edges.parquet")
    assert "a folder of release 0.1: dyntc build old/00000001/edges.parquet NEW" in run("stats", "old")[2]


def test_structs_are_written_as_json(folder, capsys):
    places = pa.array([{"schema": "x", "table": n} for n in (1, 2)])
    pq.write_table(pa.table({"src": places.slice(0, 1), "dst": places.slice(1, 1)}), "places.parquet")
    assert main(["build", "places.parquet", "places"]) == 0
    assert main(["query", "places", '{"schema": "x", "table": 1}', '{"schema": "x", "table": 2}']) == 0
    assert main(["query", "places", "x", "y"]) == 2
    assert "a vertex of type struct<" in capsys.readouterr().err
    assert folder


def test_help_names_every_command_with_examples(capsys):
    with pytest.raises(SystemExit) as seen:
        main(["--help"])
    assert seen.value.code == 0
    text = capsys.readouterr().out
    commands = ["demo", "build", "apply", "query", "explain", "stats", "history", "repair", "bench"]
    assert all(f"\n    {name} " in text for name in commands)
    for name in commands:
        with pytest.raises(SystemExit):
            main([name, "--help"])
        text = capsys.readouterr().out
        assert f"examples:\n  dyntc {name}" in text
        assert "exit codes: 0 done" in text
    assert parser().prog == "dyntc"


def test_wrong_usage_is_exit_code_2(capsys):
    for words in ([], ["tell"], ["build"]):
        with pytest.raises(SystemExit) as seen:
            main(words)
        assert seen.value.code == 2
    assert "usage: dyntc" in capsys.readouterr().err


def test_a_bug_does_not_look_like_a_no(run, monkeypatch):
    monkeypatch.setattr(DynamicClosure, "reaches", lambda *_, **__: 1 / 0)
    code, _, err = run("query", "deps", "a", "b")
    assert (code, "ZeroDivisionError" in err) == (2, True)


@pytest.mark.long
def test_a_pipe_from_end_to_end(folder):
    dyntc = [sys.executable, "-m", "dyntc_spark"]
    text = "op,src,dst\ninsert,d,e\n"
    ran = subprocess.run(
        [*dyntc, "apply", "-", "deps", "--out", "-"], input=text, capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[0] == '"src","dst","op","version"'
    assert ran.stderr.startswith("version 1: 1 inserted")
    ran = subprocess.run([*dyntc, "query", "deps", "e", "a"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "false\n", "")
    assert folder


def test_bench_measures_and_compares(run):
    code, out, _ = run("bench", "--edges", "edges.csv", "--changes", "changes.parquet", "--json", "--repeat", "1")
    measured = json.loads(out)
    assert (code, measured["vertices"], measured["batch_changes"]) == (0, 5, 2)
    assert measured["build_over_batch"] > 0


def test_delta_in_and_out(run):
    tables.write(EDGES, "edges.delta")
    assert tables.format_of("edges.delta") == "delta"
    assert run("build", "edges.delta", "again")[0] == 0
    assert run("query", "again", "--out", "pairs.delta")[0] == 0
    assert run("query", "again", "--out", "pairs.delta")[0] == 0
    assert tables.read("pairs.delta").num_rows == 6


@pytest.mark.long
def test_no_java_is_needed(folder):
    """A process that would not find Java saves, changes, asks, goes back and clears."""
    script = """
import sys
from dyntc_spark import DynamicClosure
c = DynamicClosure.from_edges([("a", "b"), ("b", "c")])
c.save("./new", record_changes=True)
c.apply([("delete", "b", "c"), ("insert", "b", "d")], batch_id=1)
c.save("./new")
assert DynamicClosure.open("./new").reaches("a", "d")
assert DynamicClosure.open("./new", version=0).reaches("a", "c")
c.vacuum(keep=1)
assert c.arrow.history()["version"].to_pylist() == [0, 1]
assert "py4j.java_gateway" not in sys.modules or not __import__("pyspark").SparkContext._gateway
"""
    environment = {**os.environ, "JAVA_HOME": "/nowhere", "PATH": "/nowhere"}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)
    assert folder


@pytest.mark.long
def test_a_command_imports_nothing_that_it_does_not_use(folder):
    """Imports of pandas, scipy's BLAS and cffi would take longer than the answer; others still find them."""
    script = """
import sys
from dyntc_spark.cli.main import main
sys.argv = ["dyntc", "query", "deps", "a", "d"]
assert main() == 0
assert not {"pandas", "scipy.linalg", "cffi", "pyspark"} & set(sys.modules)
import pandas, pyarrow, scipy.linalg
assert pyarrow.table({"a": [1]}).to_pandas()["a"].sum() == 1
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    assert folder
