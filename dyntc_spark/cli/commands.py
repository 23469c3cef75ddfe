"""What the commands do: read files, ask or change the closure in a folder, write answers."""

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

from dyntc_spark.cli import store, tables
from dyntc_spark.errors import InputError, OptionError, SetupError, UnreachableError
from dyntc_spark.graph.closure import DynamicClosure
from dyntc_spark.graph.kinds import canonical

YES, NO, FAILED = 0, 1, 2


def build(options: Namespace) -> int:
    """Read edges, close them, and write the closure into a folder."""
    folder = Path(options.store)
    if store.holds_closure(folder) and not options.replace:
        raise OptionError("a folder without a closure", f"{options.store!r}, which has one", "Say --replace.")
    if folder.exists() and not store.holds_closure(folder) and any(folder.iterdir()):
        raise store.StoreError("an empty or new folder", f"{options.store!r}, which is neither", "Choose another.")
    kinds = dict.fromkeys((options.src, options.dst), KINDS[options.ids]) if options.ids != "auto" else None
    edges = tables.read(options.edges, options.format, kinds)
    closure = DynamicClosure.from_edges(edges, engine=options.engine, src=options.src, dst=options.dst)
    if store.holds_closure(folder):
        closure._renumber(store.next_version(folder))  # noqa: SLF001  (of this package)
    store.save(closure, folder, options.engine)
    stats = closure.stats()
    print(f"{options.store}: {stats['vertices']:,} vertices, {stats['edges']:,} edges, {stats['pairs']:,} pairs")
    return YES


def apply(options: Namespace) -> int:
    """Apply a batch of changes to the closure in a folder, and write the next version."""
    folder = Path(options.store)
    kind = store.kind_of(folder)
    kinds = {options.op: pa.string(), options.src: kind, options.dst: kind}
    changes = tables.read(options.changes, options.format, kinds)
    closure, manifest = store.load(folder)
    before = closure.stats()
    closure.apply(changes, strict=options.strict, op=options.op, src=options.src, dst=options.dst)
    store.save(closure, folder, manifest["engine"], manifest)
    if options.out:
        tables.write(closure.arrow.changes(), options.out, options.out_format)
    stats = closure.stats()
    counts = ", ".join(f"{stats[name] - before[name]:,} {name.replace('_', ' ')}" for name in store.COUNTS)
    gained = stats["pairs"] - before["pairs"]
    print(f"version {closure.version}: {counts}; {stats['pairs']:,} pairs ({gained:+,})", file=_notes(options.out))
    return YES


def query(options: Namespace) -> int:
    """Answer one pair, a table of pairs, or what one vertex reaches or is reached by."""
    folder = Path(options.store)
    kind = store.kind_of(folder)
    closure, _ = store.load(folder)
    if options.vertices:
        source, target = _pair(options, kind)
        found = closure.reaches(source, target, unknown=options.unknown)
        print("true" if found else "false")
        return YES if found else NO
    if options.pairs:
        kinds = {options.src: kind, options.dst: kind}
        pairs = tables.read(options.pairs, options.format, kinds)
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
    folder = Path(options.store)
    kind = store.kind_of(folder)
    closure, _ = store.load(folder)
    if options.pairs:
        kinds = {options.src: kind, options.dst: kind}
        pairs = tables.read(options.pairs, options.format, kinds)
        tables.write(
            closure.arrow.explain(pairs, src=options.src, dst=options.dst), options.out or "-", options.out_format
        )
        return YES
    if not options.vertices:
        raise InputError("two vertices, or --pairs FILE", "neither", "For example: dyntc explain STORE a b.")
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


def stats(options: Namespace) -> int:
    """Show the sizes of the closure in a folder, without reading it."""
    manifest = store.manifest_of(Path(options.store))
    if options.json:
        print(json.dumps(manifest, indent=2))
        return YES
    details, _ = manifest.pop("details"), manifest.pop("checksums")
    for name, value in [*manifest.items(), *((f"engine: {key}", value) for key, value in details.items())]:
        _print_line(name, value)
    return YES


def bench(options: Namespace) -> int:
    """Run the suite of benchmarks; or measure an engine on a graph, when one or the other is named."""
    return _measure(options) if options.edges or options.engine else suite(options.full)


def suite(full: bool, root: Path = Path(__file__).parents[2]) -> int:
    """Run the suite, which a source checkout has beside the package."""
    if not (root / "benchmarks" / "suite" / "__main__.py").is_file():
        raise SetupError(
            "a source checkout, which has the suite of benchmarks",
            "an installed package, which has not",
            "Clone the project and run: python3 run.py bench suite --quick. "
            "To measure an engine here: dyntc bench --engine lanes.",
        )
    command = [sys.executable, "-m", "benchmarks.suite", "full" if full else "quick"]
    return subprocess.run(command, cwd=root, check=False).returncode and FAILED  # noqa: S603  (our own program)


def _measure(options: Namespace) -> int:
    """Measure build, batch, single changes and questions, each against a build from scratch."""
    from dyntc_spark import datasets  # noqa: PLC0415

    engine = options.engine or "auto"
    if options.edges and not options.changes:
        raise InputError("--changes beside --edges", "only --edges", "Changes have the columns op, src, dst.")
    edges = tables.read(options.edges, options.format) if options.edges else datasets.debian_dependencies()
    changes = tables.read(options.changes, options.format) if options.edges else datasets.debian_security_changes()
    DynamicClosure.from_edges(edges.slice(0, 100), engine=engine)  # compiled once
    read = {"src": options.src, "dst": options.dst}
    build_seconds, closure = _timed(partial(DynamicClosure.from_edges, edges, engine=engine, **read))
    scratch = float("inf")
    for _ in range(options.repeat):
        scratch = min(scratch, _timed(partial(closure.reset, edges, **read))[0])
    batch, _ = _timed(partial(closure.apply, changes, **read))
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


def _pair(options: Namespace, kind: pa.DataType) -> tuple[Any, Any]:
    if len(options.vertices) != 2:
        raise InputError("two vertices: where it begins and where it ends", f"{len(options.vertices)}", "Quote spaces.")
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


KINDS = {"string": pa.string(), "int": pa.int64()}
