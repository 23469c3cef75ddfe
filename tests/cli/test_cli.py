"""The command dyntc, as a shell uses it: answers, exit codes, messages, files of every format."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from dyntc_spark.cli import store, tables
from dyntc_spark.cli.main import main, parser
from dyntc_spark.graph.closure import DynamicClosure

EDGES = pa.table({"src": ["a", "b", "c"], "dst": ["b", "c", "d"]})
CHANGES = pa.table({"op": ["delete", "insert"], "src": ["b", "d"], "dst": ["c", "e"]})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with edges, changes and a closure."""
    monkeypatch.chdir(tmp_path)
    pc.write_csv(EDGES, "edges.csv")
    pq.write_table(CHANGES, "changes.parquet")
    assert main(["build", "edges.csv", "deps"]) == 0
    return tmp_path


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


def current_version():
    return Path("deps/CURRENT").read_text().split()[0]


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


def test_a_batch_makes_the_next_version(run):
    code, out, _ = run("apply", "changes.parquet", "deps", "--out", "changed.csv")
    assert (code, out) == (
        0,
        "version 1: 1 inserted, 1 deleted, 0 insertions ignored, 0 deletions ignored; 4 pairs (-2)\n",
    )
    assert pc.read_csv("changed.csv").num_rows == 6
    assert run("query", "deps", "c", "e")[0] == 0
    assert run("query", "deps", "a", "d")[0] == 1
    run("apply", "changes.parquet", "deps")
    stats = json.loads(run("stats", "deps", "--json")[1])
    assert [stats[name] for name in ("version", "inserted", "deleted", "insertions_ignored")] == [2, 1, 1, 1]
    assert sorted(path.name for path in Path("deps").iterdir()) == ["00000001", "00000002", "CURRENT"]


def test_answers_to_many(run):
    assert run("query", "deps", "--pairs", "edges.csv")[1].splitlines()[1] == '"a","b",true'
    assert run("query", "deps", "--descendants", "b")[1].split() == ['"vertex"', '"c"', '"d"']
    assert run("query", "deps", "--ancestors", "b")[1].split() == ['"vertex"', '"a"']
    assert run("query", "deps", "--out", "all.parquet")[0] == 0
    assert pq.read_table("all.parquet").num_rows == 6
    assert "vertices                        4\n" in run("stats", "deps")[1]
    assert "checksums" not in run("stats", "deps")[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["query", "deps", "a", "x"], "got 'x', which the graph does not have"),
        (["query", "deps", "a"], "expected two vertices: where it begins and where it ends; got 1"),
        (["query", "nothing", "a", "b"], "that 'dyntc build' has written; got 'nothing', which is not there"),
        (["query", ".", "a", "b"], "got '.', which holds something else"),
        (["explain", "deps"], "two vertices, or --pairs FILE; got neither"),
        (["build", "edges.csv", "deps"], "a folder without a closure; got 'deps', which has one. Say --replace."),
        (["build", "edges.csv", "."], "an empty or new folder; got '.', which is neither"),
        (["build", "none.csv", "new"], "got 'none.csv', which is not"),
        (["build", "deps/CURRENT", "new"], "ends in .csv, .parquet or .delta, or --format csv|parquet|delta"),
        (["build", "edges.csv", "new", "--format", "parquet"], "a table in the format parquet; got 'edges.csv'"),
        (["build", "edges.csv", "new", "--src", "from"], "the columns from, dst, each once; got no 'from' among"),
        (["build", "edges.csv", "new", "--engine", "fast"], "an engine called 'auto'"),
        (["build", "edges.csv", "new", "--ids", "int"], "a table in the format csv"),
        (["apply", "edges.csv", "deps"], "the columns op, src, dst, each once; got no 'op'"),
        (["apply", "changes.parquet", "deps", "--op", "src"], "'insert' or 'delete' in column 'src'; got 'b' in row 0"),
        (["bench", "--edges", "edges.csv"], "expected --changes beside --edges"),
    ],
)
def test_bad_input_is_exit_code_2_and_one_line(run, words, message):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith(f"dyntc {words[0]}: expected ")
    assert message in err
    assert err.count("\n") == 1
    assert not Path("new").exists()
    assert current_version() == "00000000"


def test_a_batch_with_a_bad_row_changes_nothing(run):
    Path("bad.csv").write_text("op,src,dst\ninsert,d,e\nreplace,a,b\n")
    code, _, err = run("apply", "bad.csv", "deps")
    assert (code, "got 'replace' in row 1" in err) == (2, True)
    Path("bad.csv").write_text("op,src,dst\ninsert,d,\n")
    assert "column 'dst'; got null in row 0" in run("apply", "bad.csv", "deps")[2]
    assert run("query", "deps", "d", "e", "--unknown", "false")[0] == 1
    Path("bad.csv").write_text("op,src,dst\ninsert,a,b\n")
    assert "which is there already" in run("apply", "bad.csv", "deps", "--strict")[2]
    assert current_version() == "00000000"


def test_numbers_stay_numbers_and_words_words(run):
    Path("numbers.csv").write_text("src,dst\n1,2\n2,3\n")
    run("build", "numbers.csv", "numbers")
    assert run("query", "numbers", "1", "3")[0] == 0
    assert "a vertex of type int64; got 'x'" in run("query", "numbers", "x", "3")[2]
    run("build", "numbers.csv", "words", "--ids", "string")
    Path("more.csv").write_text("op,src,dst\ninsert,3,007\n")
    run("apply", "more.csv", "words")
    assert run("query", "words", "1", "007")[0] == 0


def test_a_second_writer_is_told(folder):
    one, _ = store.load(folder / "deps")
    other, _ = store.load(folder / "deps")
    for closure in (one, other):
        closure.insert([("d", "e")])
    store.save(one, folder / "deps", "auto")
    with pytest.raises(
        store.StoreError, match=r"to be the only writer; got version 1 in .* another process has written"
    ):
        store.save(other, folder / "deps", "auto")
    assert store.manifest_of(folder / "deps")["version"] == 1
    assert not list((folder / "deps").glob(".*"))


@pytest.mark.parametrize("name", ["CURRENT", "manifest.json", "edges.parquet", "vertices.parquet"])
def test_a_flipped_bit_is_an_error_that_names_the_file(folder, name):
    path = next(folder.joinpath("deps").rglob(name))
    written, draw = path.read_bytes(), np.random.default_rng(len(name))
    for place in range(len(written)):
        damaged = bytearray(written)
        damaged[place] ^= 1 << int(draw.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(store.StoreError, match=name):
            store.load(folder / "deps")
    path.write_bytes(written)
    assert store.load(folder / "deps")[0].reaches("a", "d")


@pytest.mark.parametrize("cut", [0, 1, 100])
def test_a_file_that_was_cut_off_or_is_gone(run, cut):
    assert run("apply", "changes.parquet", "deps")[0] == 0
    path = Path("deps/00000001/edges.parquet")
    path.write_bytes(path.read_bytes()[:cut])
    code, out, err = run("query", "deps", "a", "b")
    assert (code, out) == (2, "")
    assert err == (
        "dyntc query: expected the file 'deps/00000001/edges.parquet' as it was written, with the checksum in "
        "'deps/00000001/manifest.json'; got one with another checksum. "
        "Restore the file, or build the closure again: dyntc build EDGES deps --replace.\n"
    )
    path.unlink()
    assert "; got none: No such file or directory. Restore the file" in run("query", "deps", "a", "b")[2]
    assert run("build", "edges.csv", "deps", "--replace")[0] == 0
    assert (current_version(), run("query", "deps", "a", "d")[0]) == ("00000002", 0)


def test_the_version_before_is_not_taken_for_the_current_one(run):
    """One flipped bit of CURRENT names the other version that is kept."""
    assert run("apply", "changes.parquet", "deps")[0] == 0
    path = Path("deps/CURRENT")
    path.write_text(path.read_text().replace("00000001", "00000000"))
    assert "the file 'deps/00000000/manifest.json' as it was written" in run("query", "deps", "a", "d")[2]


def test_a_folder_without_checksums_is_refused_and_built_again_by_one_command(run):
    Path("deps/CURRENT").write_text("00000000\n")
    for words in (("query", "deps", "a", "d"), ("stats", "deps"), ("apply", "changes.parquet", "deps")):
        code, out, err = run(*words)
        assert (code, out) == (2, "")
        assert err == (
            f"dyntc {words[0]}: expected a closure with checksums; got the folder 'deps', which an earlier release has "
            "written without. Build it again: dyntc build EDGES deps --replace; where EDGES is "
            "deps/00000000/edges.parquet, these are its own edges, unchecked.\n"
        )
    assert run("build", "deps/00000000/edges.parquet", "deps", "--replace")[0] == 0
    assert run("query", "deps", "a", "d")[0] == 0


def test_a_folder_in_another_format(run, monkeypatch):
    with monkeypatch.context() as later:
        later.setattr(store, "FORMAT", 7)
        assert run("build", "edges.csv", "deps", "--replace")[0] == 0
    assert "a closure in format 2; got format 7" in run("stats", "deps")[2]


def test_replacing_is_another_version(run):
    assert run("build", "edges.csv", "deps", "--replace")[0] == 0
    assert current_version() == "00000001"


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
    commands = ["demo", "build", "apply", "query", "explain", "stats", "bench"]
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


def test_delta_in_and_out(spark, folder, monkeypatch):
    monkeypatch.setattr(tables, "_spark", lambda: spark)
    try:
        tables.write(EDGES, "edges.delta")
    except Exception as error:  # noqa: BLE001  (whatever a session without Delta says)
        pytest.skip(f"this session has no Delta: {str(error)[:80]}")
    assert tables.format_of("edges.delta") == "delta"
    assert main(["build", "edges.delta", "again"]) == 0
    assert main(["query", "again", "--out", "pairs.delta"]) == 0
    assert tables.read("pairs.delta").num_rows == 6
    assert folder
