"""A closure on a Spark standalone cluster of several processes: connected graphs of up to 10^10 pairs.

``python -m benchmarks.scale_out [--quick] [--only GRAPH …] [--graphs FOLDER] [--workers 4]``

For each graph a cluster is started from the pyspark package (master and workers on 127.0.0.1), and a driver in a
process of its own. Printed are seconds, jobs and shipped bytes of Init, single changes, batches, counts and a query of
a view; the peak of memory of every process; the largest task's share of the state; and the work of all tasks when an
Init is cut into 1, 2, 8 or 32 of them. Each graph's results are a file, so that a run can go on where it
stopped: ``--only`` runs some, and the summary and the picture are of all files that are there.

``fe_ocean`` is not part of the project: ``--graphs`` names a folder with ``fe_ocean.parquet``, with the columns ``src``
and ``dst``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import RESULTS, Line, commit, report
from benchmarks.scale_out_driver import GRAPHS, Facts, median
from benchmarks.suite import memory
from benchmarks.suite.cluster import cluster

FULL = ("debian", "grid150", "layered24x2500", "fe_ocean", "grid450", "debian100")
QUICK = ("grid60", "layered6x200", "debian2")
CORES = "cores"  #: the part that times an Init with one core and with two
SCALED = ("grid250", "grid450")  #: of these graphs, with 10^9 and 10^10 pairs
TWICE = "grid300"  #: has about twice the work of the first of these, for two cores
MOST_LISTED = 3 * 10**8  #: pairs that are listed to count them; above, only the count of stats() is asked for
LEAST_FREE = 4 * 2**30  #: bytes of the machine's memory; a run ends when there are fewer
TICK = 0.2
#: Of version 0.1 on grid150: seconds of a batch that affects every row, and of pairs().count().
BATCH_OF_0_1, COUNT_OF_0_1 = 4.0, 37.0
#: What a process does, by a word of its command; the first that fits counts. JVMs come before Python workers, because
#: a JVM's command also names the module of its Python workers.
ROLES = {
    "deploy.master.Master": "master",
    "deploy.worker.Worker": "worker",
    "CoarseGrainedExecutorBackend": "executor",
    "SparkSubmit": "driver's JVM",
    "dyntc_spark.worker_daemon": "Python worker",
    "benchmarks.scale_out_driver": "driver's Python",
}
DRAWN = tuple(role for role in ROLES.values() if role not in {"master", "worker"})


class Watch(threading.Thread):
    """Reads the peak of memory of each process below this one, again and again, for some of them end early."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peaks: dict[int, tuple[str, int]] = {}
        self.least_free = memory.available()
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(TICK):
            self.look()

    def look(self) -> None:
        """Read them now."""
        self.least_free = min(self.least_free, memory.available())
        for pid in memory.descendants(os.getpid()):
            role = role_of(memory.command(pid))
            if role:
                self.peaks[pid] = role, max(memory.peak(pid), self.peaks.get(pid, ("", 0))[1])

    def end(self) -> dict[str, list[int]]:
        """Stop, and return the peaks by role, the largest first."""
        self.look()
        self._ended.set()
        found: dict[str, list[int]] = {}
        for role, peak in self.peaks.values():
            found.setdefault(role, []).append(peak)
        return {role: sorted(peaks, reverse=True) for role, peaks in found.items()}


def role_of(command: str) -> str | None:
    """Return what a process with this command does, if it is one of those that are watched."""
    return next((role for word, role in ROLES.items() if word in command), None)


def told(task: Facts, watch: Watch | None) -> Facts:
    """Start a driver, and return what it tells; end it when the machine runs out of memory."""
    command = [sys.executable, "-m", "benchmarks.scale_out_driver", json.dumps(task)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as driver:  # noqa: S603
        found: list[Facts] = []

        def read() -> None:
            for line in driver.stdout or ():
                if not line.startswith("RESULT "):
                    print(line, end="", flush=True)
                else:
                    found.append(json.loads(line.removeprefix("RESULT ")))
                    if watch:
                        found[0]["peaks"] = watch.end()
                    driver.stdin.close()  # type: ignore[union-attr]  (it is a pipe)

        reader = threading.Thread(target=read)
        reader.start()
        while reader.is_alive():
            reader.join(1)
            if memory.available() < LEAST_FREE:
                driver.kill()
                print(watch.end() if watch else "", file=sys.stderr)
                sys.exit(f"{task['graph']}: stopped, for less than {LEAST_FREE >> 30} GiB of memory are free")
    if not found:
        sys.exit(f"{task['graph']}: the driver ended with code {driver.returncode}; its message is above")
    return found[0]


def measured(name: str, options: argparse.Namespace) -> Facts:
    """Measure one graph: everything on the cluster, and the work of its tasks in one process."""
    with graph_file(name, options) as (task, sizes):
        with cluster(options.workers, options.executor_memory) as address:
            watch = Watch()
            watch.start()
            begun = time.perf_counter()
            found = told(task | {"what": "all", "master": address, "cores": options.workers}, watch)
            found["least_free"], found["seconds"] = watch.least_free, time.perf_counter() - begun
        return found | sizes | told(task | {"what": "work"}, None)


@contextlib.contextmanager
def graph_file(name: str, options: argparse.Namespace) -> Iterator[tuple[Facts, Facts]]:
    """Write a graph; give what a driver has to know, and the sizes of the graph."""
    with tempfile.TemporaryDirectory() as folder:
        task = {"graph": name, "graphs": options.graphs, "file": str(Path(folder, "graph.npz"))}
        task |= {"driver_memory": options.driver_memory, "executor_memory": options.executor_memory}
        task |= {"most_listed": options.most_listed}
        yield task, told(task | {"what": "save"}, None)


def scaled(options: argparse.Namespace) -> Facts:
    """Time an Init with one core and with two, each the fastest of some.

    A task of Spark keeps two cores busy, with a thread of the executor and a Python worker. So all processes of a run
    are bound to as many cores of the machine as there are tasks at a time.
    """
    found: Facts = {}
    looks: Facts = {}
    for name, every in (dict.fromkeys(SCALED, (1, 2)) | {TWICE: (2,)}).items():
        with graph_file(name, options) as (task, _):
            looks[name] = told(task | {"what": "work"}, None)["work"][0]["looks"]
            for cores in every:
                with bound(cores), cluster(2, options.executor_memory) as address:
                    runs = told(task | {"what": "inits", "master": address, "cores": cores}, None)["init"]
                found.setdefault(name, []).append(min(run["seconds"] for run in runs))
    return {"seconds by cores": found, "looks": looks}


@contextlib.contextmanager
def bound(cores: int) -> Iterator[None]:
    """Bind this process, and those that it starts, to some cores of the machine."""
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(every)[:cores])
    try:
        yield
    finally:
        os.sched_setaffinity(0, every)


def lines(results: dict[str, Facts]) -> Iterator[Line]:
    """Yield what is printed, with the targets."""
    for name, found in results.items():
        if "init" not in found:
            continue
        yield Line(f"{name}: pairs", found["pairs"] / 1e6, "million")
        yield Line(f"{name}: bytes a pair", found["bytes"] / found["pairs"], "bytes")
        for phase, runs in found.items():
            if isinstance(runs, list) and runs and "shipped" in runs[0]:
                yield _phase(name, phase, runs)
        yield Line(f"{name}: largest task's share of the state", found["share"], "of 1")
        for role, peaks in found["peaks"].items():
            most = _most(f"{name}: memory, {role}, largest of {len(peaks)}", peaks[0] / 2**30, "GiB", 1.5)
            yield most if found["pairs"] > 5e9 else Line(most.name, most.value, most.unit)
        one = found["work"][0]
        for each in found["work"][1:]:
            what = f"{name}: work of {each['ranges']} tasks over one sweep"
            yield _most(what, each["seconds"] / one["seconds"], "times", 1.3 if each["ranges"] == 32 else None)
    yield from _scaling(results[CORES]) if CORES in results else ()


def _scaling(found: Facts) -> Iterator[Line]:
    """Yield how much faster two cores are with the same graph, and how they do with a graph of twice the work."""
    seconds, looks = found["seconds by cores"], found["looks"]
    for name in SCALED:
        one, two = seconds[name]
        line = Line(f"{name}: Init with 1 core over 2 cores", one / two, "times", ">= 1.6", one / two >= 1.6)
        line.detail = {"seconds": [round(one, 3), round(two, 3)]}
        yield line
    one, (two,) = seconds[SCALED[0]][0], seconds[TWICE]
    work = looks[TWICE] / looks[SCALED[0]]
    line = Line(f"work a second and core: {TWICE} with 2 cores over {SCALED[0]} with 1", work / 2 * one / two, "times")
    line.detail = {"seconds": [round(one, 3), round(two, 3)], "work": round(work, 2)}
    yield line


def _phase(name: str, phase: str, runs: list[Facts]) -> Line:
    seconds, jobs = median(runs), max(run["jobs"] for run in runs)
    limit = {
        ("grid150", "every row"): BATCH_OF_0_1 / 20,
        ("grid150", "delete"): 0.5,
        ("grid150", "pairs().count()"): COUNT_OF_0_1 / 10,
        ("debian", "batch of 660"): 0.010,
    }.get((name, phase))
    found = _most(f"{name}: {phase}", seconds, "s", limit)
    each = [round(run["seconds"], 4) for run in runs]
    found.detail = {"jobs at most": jobs, "seconds": each, "shipped bytes": [run["shipped"] for run in runs]}
    return found


def _most(name: str, value: float, unit: str, limit: float | None) -> Line:
    return Line(name, value, unit) if limit is None else Line(name, value, unit, f"<= {limit:g}", value <= limit)


def draw(results: dict[str, Facts], path: Path) -> bool:
    """Draw the peak of memory of each kind of process, graph by graph; whether there is matplotlib."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  (pictures are optional)
    except ImportError:
        return False
    shown = dict(sorted(((n, found) for n, found in results.items() if "init" in found), key=lambda x: x[1]["pairs"]))
    roles = [role for role in DRAWN if any(role in found["peaks"] for found in shown.values())]
    figure = Figure((8, 4), layout="constrained")
    axes, width = figure.subplots(), 0.8 / len(roles)
    for number, role in enumerate(roles):
        places = [k + (number - (len(roles) - 1) / 2) * width for k in range(len(shown))]
        axes.bar(places, [f["peaks"].get(role, [0])[0] / 2**30 for f in shown.values()], width, label=role)
    sizes = ("vertices", "edges", "pairs")
    labels = ["\n".join([name, *(f"{f[size]:.1e} {size}" for size in sizes)]) for name, f in shown.items()]
    axes.set_xticks(range(len(shown)), labels, fontsize=8)
    axes.set(ylabel="GiB", title="memory grows with the graph, not with the pairs: the largest process of each kind")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(path, metadata={"Software": None})
    return True


def run(*, quick: bool = False, arguments: list[str] | None = None) -> bool:
    """Run graphs, write their results, and report on all that there are; whether all targets were reached."""
    options = _parser().parse_args(arguments if arguments is not None else ["--quick"] * quick)
    suite = "scale_out" + ("-quick" if options.quick else "")
    if options.quick:
        options.workers = min(options.workers, 2)
    options.folder.mkdir(parents=True, exist_ok=True)
    names = options.only or [*(QUICK if options.quick else FULL), *([] if options.quick else [CORES])]
    for name in names:
        if name != CORES and name not in GRAPHS and not Path(options.graphs or "", f"{name}.parquet").is_file():
            print(f"{name}: left out; --graphs names the folder of {name}.parquet", flush=True)
            continue
        print(f"{name} …", flush=True)
        found = scaled(options) if name == CORES else measured(name, options)
        about = {"workers": options.workers, "executor": options.executor_memory, "driver": options.driver_memory}
        about["commit"] = commit()
        file = options.folder / f"{suite}-{name}.json"
        file.write_text(json.dumps(found | {"about": about}, indent=1), encoding="utf-8")
    results = {
        name: json.loads(file.read_text(encoding="utf-8"))
        for name in dict.fromkeys((*FULL, CORES, *QUICK, *(options.only or ())))
        if (file := options.folder / f"{suite}-{name}.json").is_file()
    }
    kept = report(suite, list(lines(results)), options.folder)
    if draw(results, options.folder / f"{suite}.png"):
        print(f"  drawn in {suite}.png")
    return kept


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmarks.scale_out", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small graphs and two workers: a minute")
    parser.add_argument("--only", nargs="+", metavar="GRAPH", help=f"some of {', '.join((*FULL, CORES, *QUICK))}")
    parser.add_argument("--graphs", help="the folder of fe_ocean.parquet")
    parser.add_argument("--workers", type=int, default=4, help="worker processes, of one core each")
    parser.add_argument("--executor-memory", default="768m", help="heap of an executor")
    parser.add_argument("--driver-memory", default="768m", help="heap of the driver's JVM")
    parser.add_argument("--most-listed", type=float, default=MOST_LISTED, help="pairs() is counted up to so many pairs")
    parser.add_argument("--folder", type=Path, default=RESULTS)
    return parser


if __name__ == "__main__":
    sys.exit(0 if run(arguments=sys.argv[1:]) else 1)
