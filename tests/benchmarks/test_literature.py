"""Graphs of the literature are what they say, their pairs are counted right, and a run goes on where it stopped."""

import json
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import literature, literature_worker
from benchmarks.literature_graphs import FILES, PAIRS, SECONDS, counted, gnp, made, on_cycles
from benchmarks.suite import ours
from dyntc_spark.cli.main import main as dyntc
from dyntc_spark.edges import Edges

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.long


def closure(edges, n):
    """Return the pairs of different vertices, by networkx."""
    graph = nx.DiGraph(zip(edges.sources.tolist(), edges.targets.tolist(), strict=True))
    graph.add_nodes_from(range(n))
    return {(u, v) for u in graph for v in nx.descendants(graph, u)}


@pytest.mark.parametrize("name", ["grid20", "tree5", "g400"])
def test_the_counts_agree_with_networkx(name):
    graph = made(name, None)
    pairs = len(closure(graph.edges, graph.vertices))
    assert counted(graph.edges, graph.vertices) == pairs
    assert graph.pairs in {None, pairs}


def test_vertices_on_cycles():
    edges = Edges.of([0, 1, 2, 3, 4], [1, 0, 3, 4, 4])
    assert on_cycles(edges, 6) == 3  # 0 and 1, and the loop at 4
    assert counted(edges, 6) == len(closure(edges, 6)) == 5


def test_a_random_digraph_has_its_share_of_edges():
    graph = gnp(300, 0.02)
    keys = graph.edges.sources * 300 + graph.edges.targets
    assert len(np.unique(keys)) == len(keys)
    assert not (graph.edges.sources == graph.edges.targets).any()
    assert 0.8 < len(keys) / (300 * 299 * 0.02) < 1.2


def test_grids_have_the_published_pairs():
    assert {name: made(name, None).pairs for name in PAIRS} == PAIRS
    assert set(SECONDS) <= set(FILES)


def test_every_pair_is_written_once_in_bounded_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(literature_worker, "CHUNK", 500)
    graph = made("g400", None)
    system = ours.Ours("lanes", "local")
    system.start(1)
    system.init(graph.edges, graph.vertices)
    most = max(len(part) for part in literature_worker._chunks(system))
    assert most < graph.vertices / 10
    count = literature_worker.write_pairs(system, tmp_path / "pairs.parquet")
    table = pq.read_table(tmp_path / "pairs.parquet")
    found = set(zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True))
    assert count == table.num_rows == len(found)
    assert found == closure(graph.edges, graph.vertices)


def literature_of(folder, *words):
    """Run the command, whose workers are processes; return its exit code and what is in its results."""
    code = literature.main(["--folder", str(folder), *map(str, words)])
    (file,) = folder.glob("*.json")
    return code, json.loads(file.read_text())["graphs"]


@pytest.mark.slow
def test_files_are_read_wrong_counts_are_failures_and_a_second_run_goes_on(tmp_path):
    graph = made("tree5", None)
    names = pa.table({"src": graph.edges.sources + 10**6, "dst": graph.edges.targets + 10**6})
    pq.write_table(names, tmp_path / "fe_body.parquet")
    pq.write_table(pa.table({"src": [1, 2], "dst": [2, 3]}), tmp_path / "usroads.parquet")
    code, found = literature_of(tmp_path / "results", "--graphs", tmp_path, "--only", "fe_body", "usroads")
    assert code == 1
    assert found["usroads"]["process"]["failed"] == "3 pairs, and not 871,365,688 (the published count)"
    record = found["fe_body"]
    assert record["graph"]["checked by"] == "a search"
    assert record["process"]["pairs"] == record["graph"]["expected"] == graph.pairs
    assert record["process"]["peaks"]["driver"] > 2**20
    more = ("--graphs", tmp_path, "--only", "fe_body", "--parquet", "--most-pairs", 3)
    code, found = literature_of(tmp_path / "results", *more)
    assert code == 0
    assert found["fe_body"]["process"] == record["process"], "what is known is not measured again"
    assert found["fe_body"]["parquet"]["skipped"] == f"{graph.pairs:,} pairs, more than --most-pairs 3"
    page = (tmp_path / "results" / "literature.md").read_text()
    assert "| fe_body |" in page
    assert "skipped: " in page
    assert "failed: 3 pairs, and not" in page


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(SystemExit, match=r"^usroads\.parquet is not there: say where with --graphs FOLDER$"):
        literature.main(["--folder", str(tmp_path), "--only", "usroads"])
    with pytest.raises(SystemExit, match="no graph 'grid1000000'; there are grid150"):
        literature.main(["--folder", str(tmp_path), "--only", "grid1000000"])


def test_dyntc_hands_its_options_on(monkeypatch):
    asked = []

    def ran(command, **_options):
        asked.append(command[2:])
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(subprocess, "run", ran)
    assert dyntc(["bench", "literature", "--graphs", "there", "--only", "grid150", "usroads", "--parquet"]) == 2
    assert asked == [
        [
            "benchmarks.literature",
            "--parquet",
            "--graphs",
            str(Path("there").absolute()),
            "--only",
            "grid150",
            "usroads",
        ]
    ]


@pytest.mark.slow
def test_the_quick_form(tmp_path):
    command = [sys.executable, "-m", "benchmarks", "literature", "--quick", "--folder", tmp_path]
    subprocess.run(command, cwd=ROOT, check=True)
    graphs = json.loads((tmp_path / "literature-quick.json").read_text())["graphs"]
    assert set(graphs) == {"grid20", "tree5", "g400"}
    for record in graphs.values():
        assert set(record) == {"commit", "graph", "process", "spark", "parquet"}
        assert record["spark"]["pairs"] == record["parquet"]["pairs"] == record["graph"]["expected"]
