"""The closure in lanes beside the engine of an earlier commit, in one run; and beside other libraries.

The engine before kept sorted rows (``refresh``). It is taken from the history of this repository with
``git archive`` and runs in a process of its own, as today's engine does; the two take turns. For each graph: building,
single deletions and insertions (of edges drawn at random, each put back), batches (there and back), questions, rows and
all pairs listed, bytes a pair, and the peak of memory. One core, seconds of the processor. The two must agree
on the pairs and on how many of them a batch changed, and with the counts that others published.

    python -m benchmarks lanes [--quick]
    python -m benchmarks.lanes --graphs FOLDER grid150 usroads    (some graphs; FOLDER has those of the literature)
    python -m benchmarks.lanes --before COMMIT                    (another commit; "none" measures without)
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from benchmarks import lanes_peers
from benchmarks.harness import Line, report
from benchmarks.lanes_contest import ROOT, Answer, Contestant, Match, same, warm
from benchmarks.lanes_graphs import GRAPHS, LITERATURE, QUICK, Graph, Target, literature

#: The last commit whose default engine kept sorted rows; and the two engines.
BEFORE, ROWS, LANES = "363a66d", "dyntc_spark.closure.refresh:Refresh", "dyntc_spark.engines.lanes.engine:Lanes"
PEER_SECONDS = 100.0


def before(commit: str, folder: Path) -> Contestant | None:
    """Take the package of an earlier commit out of the history; None with a message where that cannot be done."""
    git = shutil.which("git")
    if commit == "none" or git is None:
        print("measured without the engine before" + ("" if git else ": there is no git here"), flush=True)
        return None
    archive = folder / "package.tar"
    command = [git, "-C", str(ROOT), "archive", f"--output={archive}", commit, "dyntc_spark", "conf", "sql"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  (git)
    if done.returncode:
        print(
            f"measured without the engine before: git has no commit {commit} here ({done.stderr.strip()})", flush=True
        )
        return None
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "package", filter="data")
    return Contestant(ROWS, (folder / "package", ROOT), folder)


def measured(graph: Graph, path: Path, contestants: dict[str, Contestant]) -> dict[str, Answer]:
    """Return what each contestant takes for each phase, in seconds, and its sizes."""
    with contextlib.ExitStack() as stack:
        workers = {name: stack.enter_context(one.started()) for name, one in contestants.items()}
        for worker in workers.values():
            warm(worker, path.with_name("warm.npz"))
        return Match(graph, workers).play(path)


# --- telling -----------------------------------------------------------------------------------

SIZES = {"pairs", "bytes", "row_bytes", "built", "peak", "digest"}
PEAKS = {"peak of memory, built": "built", "peak of memory, batches too": "peak"}


def lines(name: str, graph: Graph, target: Target, results: dict[str, Answer]) -> list[Line]:
    """Return what a graph gave: lanes by themselves where there is a bound, and beside the engine before."""
    ours, theirs = results["lanes"], results.get("rows")
    found = []
    for phase in (phase for phase in ours if phase not in SIZES):
        seconds = ours[phase]
        if theirs is None or phase in target.most:
            found.append(_at_most(name, phase, seconds, target, *(("us", 1e6) if seconds < 1e-4 else ("ms", 1e3))))
        if theirs is not None:
            line = Line(f"{name}: {phase}", theirs[phase] / max(seconds, 1e-9), "x as fast")
            line.detail = {who: f"{1e3 * taken[phase]:.4f} ms" for who, taken in results.items()}
            if phase in target.times:
                line.bound, line.kept = f">= {target.times[phase]:g}", line.value >= target.times[phase]
            found.append(line)
    sizes = {who: one["row_bytes"] / max(one["pairs"] + graph.vertices, 1) for who, one in results.items()}
    line = _at_most(name, "bytes a pair", sizes["lanes"], target, "", 1)
    line.detail = {"vertices": f"{graph.vertices:,}", "edges": f"{len(graph.edges):,}", "pairs": f"{ours['pairs']:,}"}
    line.detail |= {who: f"{size:.4f}" for who, size in sizes.items()}
    found.append(line)
    for phase, kind in PEAKS.items():
        line = _at_most(name, phase, ours[kind], target, "MB", 1e-6)
        line.detail = {who: f"{one[kind] / 1e6:.0f} MB" for who, one in results.items()}
        found.append(line)
    return found


def _at_most(name: str, phase: str, value: float, target: Target, unit: str, factor: float) -> Line:
    """Return a figure of lanes by themselves, in some unit, with its bound if it has one."""
    line, most = Line(f"{name}: {phase}", factor * value, unit), target.most.get(phase)
    if most is not None:
        line.bound, line.kept = f"<= {factor * most:g}", value <= most
    return line


def beside_peers(name: str, path: Path, ours: Answer) -> list[Line]:
    """Let other libraries close the graph, where it is small enough for them."""
    found = []
    for peer, (_, most) in lanes_peers.PEERS.items():
        if ours["pairs"] > most:
            continue
        theirs = lanes_peers.closed(peer, path, PEER_SECONDS)
        if "skipped" in theirs:
            print(f"{name}: {peer} left out: {theirs['skipped']}", flush=True)
            continue
        same(f"{name}: digest of {peer}", [(theirs["pairs"], theirs["total"])], tuple(ours["digest"]))
        detail = {"lanes": f"{1e3 * ours['build']:.3f} ms", peer: f"{1e3 * theirs['seconds']:.3f} ms"}
        if "row_bytes" in theirs:
            detail["bytes a pair"] = f"{theirs['row_bytes'] / max(theirs['pairs'], 1):.3f}"
        found.append(Line(f"{name}: build, {peer}", theirs["seconds"] / ours["build"], "x as fast", detail=detail))
    return found


def run(
    *,
    quick: bool = False,
    names: tuple[str, ...] = (),
    folder: Path | None = None,
    commit: str = BEFORE,
    peers: bool = True,
) -> bool:
    """Measure, print the table, and say whether the bounds were kept."""
    chosen = names or (QUICK if quick else (*GRAPHS, *(LITERATURE if folder else ())))
    unknown = [name for name in chosen if name not in GRAPHS and (folder is None or name not in LITERATURE)]
    if unknown:
        sys.exit(f"no graph {unknown[0]!r}; there are {', '.join([*GRAPHS, *LITERATURE])}, the last with --graphs")
    found = []
    with tempfile.TemporaryDirectory(prefix="dyntc-lanes-") as place:
        lanes, rows = Contestant(LANES, (ROOT,), Path(place)), before(commit, Path(place))
        every = {"lanes": lanes, **({} if rows is None else {"rows": rows})}
        for one in every.values():  # compiles, so that no later process does
            with one.started() as worker:
                warm(worker, Path(place, "warm.npz"))
        for name in chosen:
            made, target = GRAPHS[name] if name in GRAPHS else (None, LITERATURE[name][1])
            graph = made() if made else literature(folder or Path(), name)
            path = Path(place, "graph.npz")
            graph.save(path)
            results = measured(graph, path, every if graph.rows else {"lanes": lanes})
            of_graph = lines(name, graph, target, results)
            if peers:
                of_graph += beside_peers(name, path, results["lanes"])
            for line in of_graph:  # a long run is of use before its end
                print(f"{line.name}: {line.value:.3f} {line.unit} {line.bound} {line.detail or ''}", flush=True)
            found += of_graph
    return report("lanes" + ("-quick" if quick else ""), found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"graphs: {', '.join([*GRAPHS, *LITERATURE])}; by default all")
    parser.add_argument("--graphs", type=Path, help="the folder with the files of the literature")
    parser.add_argument("--before", default=BEFORE, metavar="COMMIT", help=f"by default {BEFORE}; none to do without")
    parser.add_argument("--no-peers", action="store_true", help="leave other libraries out")
    parser.add_argument("--quick", action="store_true", help="small graphs only")
    given = parser.parse_args()
    kept = run(
        quick=given.quick,
        names=tuple(given.names),
        folder=given.graphs,
        commit=given.before,
        peers=not given.no_peers,
    )
    sys.exit(0 if kept else 1)
