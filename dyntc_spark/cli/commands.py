"""What the commands do: read files, ask or change the closure at a location, write answers."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from dyntc_spark.cli import tables
from dyntc_spark.errors import InputError, OptionError, SetupError, StorageError, UnreachableError
from dyntc_spark.graph.closure import DynamicClosure
from dyntc_spark.graph.inputs.vertex_types import canonical
from dyntc_spark.graph.location import StoredVersion
from dyntc_spark.graph.parts import Parts
from dyntc_spark.graph.store.place import Place
from dyntc_spark.graph.store.store import Store

YES, NO, FAILED = 0, 1, 2
KINDS = {"string": pa.string(), "integer": pa.int64()}


def build(options: Namespace) -> int:
    """Read edges, close them, and save the closure."""
    place = _place(options.store)
    is_there = Store.commits(place) is not None
    if is_there and not options.replace:
        raise OptionError("a folder without a closure", f"{options.store!r}, which has one", "Say --replace.")
    edges = _read(options, options.edges, ("src", "dst"), KINDS[options.ids])
    if is_there:
        parts = Parts.read(StoredVersion.at(place))
        engine = parts.attachment.asked[0]
        if options.engine not in {"auto", engine}:
            raise OptionError(
                f"the engine {engine!r}, which {options.store!r} has",
                f"--engine {options.engine}",
                "Leave --engine out, or build into another folder.",
            )
        if options.multigraph and parts.door.now.graph.copies is None:
            raise OptionError(
                f"a set of edges, which {options.store!r} has",
                "--multigraph",
                "Leave it out, or build into another folder.",
            )
        parts.batches.reset(edges, src=options.src, dst=options.dst)
    else:
        parts = Parts.from_edges(
            edges, engine=options.engine, src=options.src, dst=options.dst, multigraph=options.multigraph
        )
        _make_folder(options.store, place)
        parts.location.save_at(place)
    stats = parts.maintenance.stats()
    print(f"{options.store}: {stats['vertices']:,} vertices, {stats['edges']:,} edges, {stats['pairs']:,} pairs")
    return YES


def apply(options: Namespace) -> int:
    """Apply a batch of changes to the closure at a location; that makes the next version."""
    closure = _opened(options.store)
    if options.out:
        tables.require_writable(options.out, options.out_format)
    changes = _read(options, options.changes, ("op", "src", "dst"), _kind(closure))
    pairs = closure.stats()["pairs"]
    done = closure.apply(changes, strict=options.strict, op=options.op, src=options.src, dst=options.dst)
    if options.out:
        tables.write(closure.arrow.changes(), options.out, options.out_format)
    now = closure.stats()["pairs"]
    counts = f"{done.inserted:,} inserted, {done.deleted:,} deleted, {done.ignored:,} ignored"
    change = f"{now - pairs:+,}" if done.won is None else f"+{done.won:,} -{done.lost:,}"
    print(f"version {done.version}: {counts}; {now:,} pairs ({change})", file=_notes(options.out))
    return YES


def query(options: Namespace) -> int:
    """Answer one pair, a table of pairs, or what one vertex reaches or is reached by."""
    _require_one_question(options, "pairs", "descendants", "ancestors")
    closure = _opened(options.store)
    kind = _kind(closure)
    if options.vertices:
        source, target = _pair(options, kind)
        found = closure.reaches(source, target, unknown=options.unknown)
        if options.out:
            ends = {"src": pa.array([source], kind), "dst": pa.array([target], kind)}
            tables.write(pa.table({**ends, "reachable": [found]}), options.out, options.out_format)
        else:
            print("true" if found else "false")
        return YES if found else NO
    if options.pairs:
        pairs = _read(options, options.pairs, ("src", "dst"), kind)
        answer = closure.arrow.query(pairs, options.unknown, options.src, options.dst)
    elif options.descendants is not None:
        answer = closure.arrow.descendants(_vertex(options.descendants, kind))
    elif options.ancestors is not None:
        answer = closure.arrow.ancestors(_vertex(options.ancestors, kind))
    else:
        answer = closure.arrow.pairs()
    tables.write(answer, options.out or "-", options.out_format)
    return YES


def explain(options: Namespace) -> int:
    """Show a shortest path, or one for each of many pairs."""
    if not options.pairs and not options.vertices:
        raise InputError("two vertices, or --pairs FILE", "neither", "For example: dyntc explain STORE a b.")
    _require_one_question(options, "pairs")
    closure = _opened(options.store)
    kind = _kind(closure)
    if options.pairs:
        pairs = _read(options, options.pairs, ("src", "dst"), kind)
        answer = closure.arrow.explain(pairs, src=options.src, dst=options.dst)
        tables.write(answer, options.out or "-", options.out_format)
        return YES
    source, target = _pair(options, kind)
    try:
        path = closure.arrow.explain(source, target)
    except UnreachableError:
        print(f"no path leads from {source} to {target}")
        return NO
    if options.out:
        tables.write(path, options.out, options.out_format)
    else:
        print(" → ".join(str(vertex) for vertex in [source, *path["dst"].to_pylist()]))
    return YES


def explore(options: Namespace) -> int:
    """Write a page about the closure at a location."""
    closure = _opened(options.store)
    around = None if options.around is None else _vertex(options.around, _kind(closure))
    most = {} if options.most is None else {"most": options.most}
    page = closure.explore(around, options.depth, **most)
    page.save(options.out)
    print(f"{options.out}: {page.shown:,} of {page.vertices:,} vertices")
    return YES


def stats(options: Namespace) -> int:
    """Show the sizes of the closure at a location."""
    told = _opened(options.store).stats()
    if options.json:
        print(json.dumps(told, indent=2, default=str))
        return YES
    details = told.pop("details")
    for name, value in [*told.items(), *((f"engine: {key}", value) for key, value in details.items())]:
        _print_line(name, value)
    return YES


def history(options: Namespace) -> int:
    """Show the versions of the closure at a location."""
    tables.write(_opened(options.store).arrow.history(), options.out or "-", options.out_format)
    return YES


def repair(options: Namespace) -> int:
    """Put damaged files of a location aside, and go on from what is left."""
    closure = DynamicClosure(Parts.read(StoredVersion.damaged(_place(options.store), options.version)))
    print(f"{options.store}: version {closure.version}")
    return YES


def bench(options: Namespace) -> int:
    """Run benchmarks of the checkout; or measure an engine on a graph, when one or the other is named."""
    if options.what == "literature":
        words = [f"--{name}" for name in ("spark", "parquet", "quick") if getattr(options, name)]
        words += ["--graphs", str(Path(options.graphs).absolute())] if options.graphs else []
        return in_checkout("literature", *words, *(["--only", *options.only] if options.only else []))
    if options.edges or options.engine:
        return _measure(options)
    return in_checkout("suite", "full" if options.full else "quick")


def in_checkout(name: str, *words: str, root: Path = Path(__file__).parents[2]) -> int:
    """Run a benchmark that a source checkout has beside the package."""
    if not (root / "benchmarks" / "__main__.py").is_file():
        raise SetupError(
            "a source checkout, which has the benchmarks",
            "an installed package, which has not",
            f"Clone the project and run: python3 run.py bench {name} --quick. "
            "To measure an engine here: dyntc bench --engine lanes.",
        )
    command = [sys.executable, "-m", f"benchmarks.{name}", *words]
    return subprocess.run(command, cwd=root, check=False).returncode and FAILED  # noqa: S603  (our own program)


def _measure(options: Namespace) -> int:
    """Measure build, batch, single changes and questions, each against a build from scratch."""
    from dyntc_spark import datasets  # noqa: PLC0415

    engine = options.engine or "auto"
    if options.edges and not options.changes:
        raise InputError("--changes beside --edges", "only --edges", "Changes have the columns op, src, dst.")
    if options.edges:
        edges = _read(options, options.edges, ("src", "dst"), pa.string())
        changes = _read(options, options.changes, ("op", "src", "dst"), pa.string())
    else:
        edges, changes = datasets.debian_dependencies(), datasets.debian_security_changes()
    DynamicClosure.from_edges(edges.slice(0, 100), engine=engine)  # compiled once
    read = {"src": options.src, "dst": options.dst}
    build_seconds, closure = _timed(partial(DynamicClosure.from_edges, edges, engine=engine, **read))
    scratch = float("inf")
    for _ in range(options.repeat):
        scratch = min(scratch, _timed(partial(closure.reset, edges, **read))[0])
    batch, _ = _timed(partial(closure.apply, changes, op=options.op, **read))
    sample = closure.arrow.edges().slice(0, 10_000).take(list(range(0, min(10_000, edges.num_rows), 100)))
    singles = [
        _timed(partial(change, sample.slice(row, 1)))[0]
        for row in range(sample.num_rows)
        for change in (closure.delete, closure.insert)
    ]
    asked = closure.arrow.edges().slice(0, 10_000)
    questions, _ = _timed(partial(closure.arrow.query, asked))
    results = {
        "engine": engine,
        "vertices": closure.stats()["vertices"],
        "edges": closure.stats()["edges"],
        "pairs": closure.stats()["pairs"],
        "first_build_seconds": build_seconds,
        "build_seconds": scratch,
        "batch_changes": changes.num_rows,
        "batch_seconds": batch,
        "single_change_seconds": statistics.median(singles),
        "query_seconds_per_pair": questions / max(asked.num_rows, 1),
        "build_over_batch": scratch / batch,
        "build_over_single_change": scratch / statistics.median(singles),
    }
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        for name, value in results.items():
            _print_line(name, value)
    return YES


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def _print_line(name: str, value: object) -> None:
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.3g}" if isinstance(value, float) else value
    print(f"{name.replace('_', ' '):32}{shown}")


def _place(store: str) -> Place:
    """Return the location that a word names: a path of this machine, or one with a scheme."""
    return Place(None, store if "://" in store or not store else str(Path(store).absolute().resolve()))


def _opened(store: str) -> DynamicClosure:
    """Open the closure at a location."""
    return DynamicClosure(Parts.read(StoredVersion.at(_place(store))))


def _make_folder(store: str, place: Place) -> None:
    if place.folder is None:
        return
    try:
        Path(place.folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            "a folder STORE that is there or can be made", f"{store!r}: {error.strerror}", "Name another STORE."
        ) from error


def _read(options: Namespace, path: str, names: tuple[str, ...], kind: pa.DataType) -> pa.Table:
    """Read a table with columns that options name; in CSV, vertices are of a kind."""
    columns = {getattr(options, name): pa.string() if name == "op" else kind for name in names}
    return tables.read(path, options.format, columns, header=not options.no_header, delimiter=options.delimiter)


def _kind(closure: DynamicClosure) -> pa.DataType:
    """Return the type of the vertices."""
    kind = closure.arrow.vertices().schema.field("vertex").type
    return pa.string() if pa.types.is_null(kind) else kind


def _require_one_question(options: Namespace, *flags: str) -> None:
    """Refuse vertices beside a flag that asks something else: one of the two would get no answer."""
    flag = next((flag for flag in flags if getattr(options, flag) is not None), None)
    if flag is not None and options.vertices:
        came = f"{' '.join(options.vertices)} and --{flag}"
        raise InputError(f"two vertices, or --{flag}", came, "Ask one after the other.")


def _pair(options: Namespace, kind: pa.DataType) -> tuple[Any, Any]:
    if len(options.vertices) != 2:
        remedy = "Put quotes around names with spaces."
        if options.command == "query":
            remedy += " For one vertex there are --descendants VERTEX and --ancestors VERTEX."
        raise InputError("two vertices: where it begins and where it ends", f"{len(options.vertices)}", remedy)
    source, target = (_vertex(text, kind) for text in options.vertices)
    return source, target


def _vertex(text: str, kind: pa.DataType) -> Any:  # noqa: ANN401  (a vertex of the graph's type)
    """Read a vertex out of a word; a struct or an array is written as JSON."""
    try:
        value = json.loads(text) if pa.types.is_nested(kind) else text
        column = pa.array([value], kind) if pa.types.is_nested(kind) else pa.array([text]).cast(kind)
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise InputError(f"a vertex of type {kind}", f"{text!r}", "That is the type in this graph.") from error
    return canonical(column, "vertex")[0].as_py()


def _notes(out: str | None) -> Any:  # noqa: ANN401  (a stream)
    """Return the stream for remarks: standard error where standard output takes the answer."""
    return sys.stderr if out == "-" else sys.stdout
