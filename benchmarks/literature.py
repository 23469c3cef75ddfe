"""The closures that papers measure: our Init beside what others published, for the same graphs.

    python3 run.py bench literature                            the generated families: grids, trees, G(n, p)
    python3 run.py bench literature --graphs FOLDER            also the files usroads.parquet, fe_ocean.parquet, …
    python3 run.py bench literature --graphs FOLDER --spark --parquet --only grid250 usroads
    python3 run.py bench literature --quick                    small graphs of the same kinds: a minute

Files are Parquet with the columns ``src`` and ``dst``. Each part of a graph runs in a process of its own, so that peaks
of memory are its own; the results are written after each. A run that was interrupted goes on where it stopped,
as long as the commit is the same. The number of pairs is compared with the published one, with a formula,
or with a search that shares no code with the engine; a wrong number ends with exit code 1.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS, cause, commit
from benchmarks.literature_graphs import FILES, GENERATED, QUICK, SECONDS, SOURCES
from benchmarks.suite.report import brief, table

ROOT = Path(__file__).resolve().parents[1]
MOST_PAIRS, LIMIT = 300_000_000, 3_600.0
BYTES = ("bytes", "bytes with the graph")
Record = dict[str, Any]
NOTES = """\
What differs: the others are general Datalog engines, which list every pair; we keep words of 64 bits in runs, so a \
closure takes far less than a byte a pair, and Init does not write it out. The column Parquet is what it takes to list \
all pairs after that (`src`, `dst` as numbers of 32 bits, one thread, some million pairs at a time). The others' \
seconds are as published, on their hardware; ours are of this machine, the least of three runs, after kernels are \
compiled, from edges that are numbers in memory. Datalog's closure has the pair (v, v) of each vertex on a \
cycle: that many more. Trees and G(n, p) are drawn anew, so that published counts are of other graphs of the same \
kind; where no seconds of others stand, we know of none that we could cite for this graph."""


class Book:
    """The results, written after each step."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}.json"
        self._about = {"commit": commit(), "python": platform.python_version(), "machine": platform.machine()}
        self._about["cores"] = os.cpu_count()
        folder.mkdir(parents=True, exist_ok=True)
        kept: dict[str, Record] = {}
        if self.path.exists():
            kept = json.loads(self.path.read_text(encoding="utf-8"))["graphs"]
        self.graphs = {name: found for name, found in kept.items() if found["commit"] == self._about["commit"]}

    def record(self, name: str) -> Record:
        """Return what is known of a graph; what is put there is kept by `write`."""
        return self.graphs.setdefault(name, {"commit": self._about["commit"]})

    def write(self) -> None:
        """Write the results, and the page beside them."""
        text = json.dumps({"about": self._about, "graphs": self.graphs}, indent=1)
        self.path.write_text(text + "\n", encoding="utf-8")
        self.path.with_suffix(".md").write_text("\n".join(page(self._about, self.graphs)) + "\n", encoding="utf-8")


def measure(name: str, parts: Sequence[str], book: Book, options: argparse.Namespace) -> None:
    """Measure the parts of a graph that are not known yet."""
    record = book.record(name)
    left = [part for part in parts if part not in record or "failed" in record[part]]
    if not left:
        print(f"{name}: known already", flush=True)
        return
    with tempfile.TemporaryDirectory(prefix="dyntc-literature-") as folder:
        task = {
            "graph": name,
            "folder": None if options.graphs is None else str(options.graphs.resolve()),
            "file": str(Path(folder, "graph.npz")),
            "most": options.most_pairs,
        }
        for part in ("graph", *left):
            record[part] = told({**task, "part": part}, options.limit)
            _compare(record, part)
            print(f"{name}: {part}: {json.dumps(record[part])}", flush=True)
            book.write()
            if part == "graph" and "failed" in record[part]:
                break


def told(task: Record, limit: float) -> Record:
    """Let a process of its own do a part, and return what it tells."""
    command = [sys.executable, "-m", "benchmarks.literature_worker", json.dumps(task)]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    environment = {**os.environ, "PYTHONPATH": paths}  # for Spark's workers, too
    try:
        done = subprocess.run(  # noqa: S603  (our own program)
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not finished after {limit:g} s"}
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [""]
        return {"failed": f"exit {done.returncode}: {cause(last[0])}"}
    found: Record = json.loads(done.stdout.splitlines()[-1])
    return found


def _compare(record: Record, part: str) -> None:
    """Mark a part whose number of pairs is not the one that it has to be."""
    found, expected = record[part], record["graph"].get("expected")
    if "pairs" in found and found["pairs"] != expected:
        found["failed"] = f"{found['pairs']:,} pairs, and not {expected:,} ({record['graph']['checked by']})"


# --- the page ----------------------------------------------------------------------------------


def page(about: Record, graphs: dict[str, Record]) -> Iterator[str]:
    """Yield the lines of the table, and what has to be said about it."""
    yield "# Closures of the literature"
    yield ""
    yield (
        f"`dyntc bench literature`, commit {about['commit']}, {about['cores']} cores, Python {about['python']}, "
        f"{about['machine']}."
    )
    yield ""
    head = ["graph", "vertices", "edges", "pairs", "on cycles", "pairs checked by"]
    head += ["Init in process (processor)", "bytes a pair (with the graph)", "peak of memory"]
    head += ["Init on Spark, two cores", "all pairs to Parquet", "published by others"]
    yield from table(head, [list(_row(name, graphs[name])) for name in _order(graphs)])
    yield NOTES
    yield ""
    for name, source in SOURCES.items():
        yield f"- {name}: {source}."


def _order(graphs: dict[str, Record]) -> list[str]:
    return [name for name in (*QUICK, *GENERATED, *FILES) if "vertices" in graphs.get(name, {}).get("graph", {})]


def _row(name: str, record: Record) -> Iterator[str]:
    graph = record["graph"]
    yield name
    yield from (f"{graph[key]:,}" for key in ("vertices", "edges", "expected", "on cycles"))
    yield graph["checked by"]
    local = record.get("process", {})
    yield _cell(local, lambda: f"{brief(local['seconds'])} ({brief(local['cpu seconds'])})")
    sizes = [local[kind] / max(local["pairs"], 1) for kind in BYTES] if BYTES[0] in local else []
    yield _cell(local, lambda: "{:.2g} ({:.2g})".format(*sizes))
    yield _cell(local, lambda: f"{local['peaks'].get('driver', 0) / 2**20:,.0f} MiB")
    far, listed = record.get("spark", {}), record.get("parquet", {})
    yield _cell(far, lambda: brief(far["seconds"]))
    yield _cell(listed, lambda: f"{brief(listed['seconds'])}, {listed['bytes'] / 2**20:,.0f} MiB")
    yield "; ".join(map(str, SECONDS.get(name, ()))) or "-"


def _cell(found: Record, shown) -> str:
    """Return a cell: what was measured, why it was not, or nothing."""
    if not found:
        return "-"
    reason = next((f"{kind}: {found[kind]}" for kind in ("failed", "skipped") if kind in found), None)
    return reason or shown()


# --- the command -------------------------------------------------------------------------------


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="benchmarks literature", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = ", ".join([*GENERATED, *FILES, *QUICK])
    parser.add_argument("--graphs", type=Path, metavar="FOLDER", help=f"has {', '.join(f'{n}.parquet' for n in FILES)}")
    parser.add_argument("--only", nargs="+", default=[], metavar="GRAPH", help=f"some of {every}")
    parser.add_argument("--spark", action="store_true", help="Init on a local Spark of two cores, too")
    parser.add_argument("--parquet", action="store_true", help="write all pairs to Parquet, too")
    parser.add_argument("--quick", action="store_true", help="small graphs of the same kinds, all parts")
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where results go (default: benchmarks/results)")
    parser.add_argument(
        "--most-pairs", type=int, default=MOST_PAIRS, metavar="N", help="more are not written to Parquet (%(default)s)"
    )
    parser.add_argument(
        "--limit", type=float, default=LIMIT, metavar="SECONDS", help="for a part of a graph (%(default)s)"
    )
    return parser


def chosen(options: argparse.Namespace) -> list[str]:
    """Return the graphs to measure; end where one is not known, or its file is not there."""
    if not options.only:
        if options.quick:
            return list(QUICK)
        there = [name for name in FILES if options.graphs and (options.graphs / f"{name}.parquet").is_file()]
        return [*GENERATED, *there]
    for name in options.only:
        if name not in {*GENERATED, *QUICK, *FILES}:
            sys.exit(f"no graph {name!r}; there are {', '.join([*GENERATED, *FILES, *QUICK])}")
        if name in FILES and not (options.graphs and (options.graphs / f"{name}.parquet").is_file()):
            sys.exit(f"{name}.parquet is not there: say where with --graphs FOLDER")
    return list(options.only)


def main(words: Sequence[str] | None = None) -> int:
    """Measure what the arguments say; 1 if a number of pairs was wrong or a part failed."""
    options = arguments().parse_args(words)
    parts = ["process"]
    parts += ["spark"] if options.spark or options.quick else []
    parts += ["parquet"] if options.parquet or options.quick else []
    book = Book(options.folder, "literature-quick" if options.quick else "literature")
    names = chosen(options)
    for name in names:
        measure(name, parts, book, options)
    book.write()
    bad = [f"{n}: {p}: {f['failed']}" for n in names for p, f in book.graphs[n].items() if "failed" in f]
    print(*bad, f"written to {book.path} and {book.path.with_suffix('.md').name}", sep="\n")
    return int(bool(bad))


def run(*, quick: bool = False) -> bool:
    """Measure the generated families, or small graphs of the same kinds."""
    return main(["--quick"] if quick else []) == 0


if __name__ == "__main__":
    sys.exit(main())
