"""The main job: the closure of a real graph is built, changed and asked, in this process and on Spark.

The graph is that of a Debian release's packages, the changes are those of its
security updates (`dyntc_spark.datasets`). Run it with ``dyntc demo`` or
``python -m dyntc_spark.demo``.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dyntc_spark import DynamicClosure, datasets
from dyntc_spark.graph.pictures import svg
from dyntc_spark.graph.pictures.picture import PictureOptions
from dyntc_spark.warm_up import warm_up

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SINGLE_CHANGES = 200
QUESTIONS = 2_000
SEED = 7
DRAWN = "vlc-plugin-base"  # the updates took decoders from it, and so from all that need it

SAME_CYCLE = """
    SELECT a.src AS package, count(*) + 1 AS on_a_cycle_of
    FROM deps_closure AS a JOIN deps_closure AS b ON b.src = a.dst AND b.dst = a.src
    GROUP BY a.src ORDER BY on_a_cycle_of DESC, package LIMIT 3
"""
MOST_NEEDED = "SELECT dst AS package, count(*) AS needed_by FROM deps_closure GROUP BY dst ORDER BY 2 DESC LIMIT 3"


def main(picture: str = "dyntc-demo.svg", *, spark: bool = True) -> int:
    """Run all parts, and print what they find; 0 if the answers of all agree."""
    edges, changes = datasets.debian_dependencies(), datasets.debian_security_changes()
    warm_up()  # what is compiled now is not part of the times
    c = build(edges)
    agree = change(c, edges, changes, Path(picture))
    if spark and find_spec("pyspark") is None:
        print("\nOn Spark: left out, there is no pyspark here.")
    elif spark:
        from dyntc_spark import session  # noqa: PLC0415  (only now is Spark needed)

        started = session.local()
        try:
            agree = on_spark(started, c, changes) and agree
            in_sql(started, c)
        finally:
            started.stop()
    print("\nAll answers agree." if agree else "\nANSWERS DIFFER.")
    return 0 if agree else 1


def build(edges: pa.Table) -> DynamicClosure:
    """Close the graph in this process, and ask some questions."""
    _heading("Build: which package needs which, directly or not")
    started = time.perf_counter()
    c = DynamicClosure.from_edges(edges)
    seconds = time.perf_counter() - started
    stats = c.stats()
    print(f"{stats['vertices']:,} packages, {stats['edges']:,} dependencies: {stats['pairs']:,} pairs")
    _took("read, numbered and closed in", seconds)
    needed = c.reaches("0ad", "perl-base", unknown="false")
    print("Does 0ad, a game, need perl-base?", "Yes:" if needed else "No.")
    if needed:
        print("  " + " → ".join(["0ad", *c.arrow.explain("0ad", "perl-base")["dst"].to_pylist()]))
    print(f"  {c.arrow.ancestors('openssl').num_rows:,} packages need openssl, it needs", end=" ")
    print(f"{c.arrow.descendants('openssl').num_rows}")
    return c


def change(c: DynamicClosure, edges: pa.Table, changes: pa.Table, picture: Path) -> bool:
    """Apply the real batch and draw it, then single changes; compare times and answers with a build from scratch."""
    _heading("Change: what the security updates changed, as one batch")
    batch, _ = _timed(lambda: c.apply(changes))
    stats, changed = c.stats(), c.arrow.changes()
    became = changed["op"].to_pylist()
    print(f"{stats['inserted']} dependencies inserted, {stats['deleted']} deleted:", end=" ")
    print(f"{became.count('insert'):,} pairs became reachable, {became.count('delete'):,} unreachable")
    draw(c, picture)
    scratch = DynamicClosure.from_edges(edges, engine="recompute")
    scratch.apply(changes)
    rebuild = min(_timed(lambda: scratch.reset(c.arrow.edges()))[0] for _ in range(3))
    engine = float(stats["details"].get("seconds_of_last_batch", batch))
    again = float(scratch.stats()["details"].get("seconds_of_last_batch", rebuild))
    _took("the batch, with reading and numbering", batch)
    _took("a build from scratch, likewise", rebuild)
    print(f"  in the engines alone: {engine * 1e3:.1f} ms against {again * 1e3:.1f} ms")

    every = c.arrow.edges()
    rows = np.random.default_rng(SEED).choice(every.num_rows, SINGLE_CHANGES, replace=False)
    singles = [
        _timed(partial(step, [edge]))[0]
        for edge in zip(*(every[name].take(rows).to_pylist() for name in ("src", "dst")), strict=True)
        for step in (c.delete, c.insert)
    ]
    single = statistics.median(singles)
    _took(f"one change alone, the median of {len(singles)} deletions and insertions", single)
    print(f"  a build from scratch takes {rebuild / single:,.0f} times as long")
    return _same(c, scratch, "in process, engine lanes", "engine recompute")


def on_spark(spark: SparkSession, c: DynamicClosure, changes: pa.Table) -> bool:
    """Move a closure to Spark's DataFrames of blocks, apply the same changes there, and compare the answers."""
    from pyspark.sql import functions as F  # noqa: N812

    _heading("On Spark: the same state as a DataFrame of blocks")
    moved = DynamicClosure.from_edges(c.arrow.edges(), spark=spark, vertices=c.arrow.vertices())
    seconds, _ = _timed(moved.on_spark)
    print(moved)
    _took("moved there in", seconds)
    blocks = moved.blocks().groupBy("matrix", "codec")
    _show(blocks.agg(F.count("*").alias("blocks"), F.sum("nnz").alias("nnz"), F.sum("bytes").alias("bytes")))
    back = pa.table({"op": ["insert" if op == "delete" else "delete" for op in changes["op"].to_pylist()]})
    back = back.append_column("src", changes["src"]).append_column("dst", changes["dst"])
    seconds, _ = _timed(lambda: moved.apply(back))
    _took("the security changes undone there in", seconds)
    before = c.arrow.edges()
    c.apply(back)
    agree = _same(c, moved, "in process", "on Spark")
    for closure in (c, moved):
        closure.apply(changes)
    agree = _same(c, moved, "in process, changed again", "on Spark") and agree
    return agree and c.arrow.edges().num_rows == before.num_rows


def in_sql(spark: SparkSession, c: DynamicClosure) -> None:
    """Ask in SQL."""
    _heading("In SQL: views that see every batch")
    c = DynamicClosure.from_edges(c.arrow.edges(), spark=spark)
    seconds, _ = _timed(lambda: c.create_views("deps"))
    _took("views created in", seconds)
    print("The most needed packages:")
    _show(spark.sql(MOST_NEEDED))
    print("Packages on the longest cycles:")
    _show(spark.sql(SAME_CYCLE))
    seconds, _ = _timed(lambda: c.insert([("openssl", "a-new-package")]))
    _took("openssl gets a new dependency; batch and views", seconds)
    _show(spark.sql("SELECT count(*) AS packages_that_need_it_now FROM deps_ancestors('a-new-package')"))


def draw(c: DynamicClosure, place: Path) -> None:
    """Write a picture of what the last batch changed around one package."""
    drawn = svg.document(c._parts.door, PictureOptions(around=DRAWN))  # noqa: SLF001  (what a notebook shows)
    place.write_text(drawn, encoding="utf-8")
    print(f"  in a picture: {DRAWN} and what is near it; green is new, red is gone: {place.resolve()}")


def _same(one: DynamicClosure, other: DynamicClosure, name: str, other_name: str) -> bool:
    """Ask both the same random questions, and how many pairs there are."""
    names = one.arrow.vertices()["vertex"]
    random = np.random.default_rng(SEED)
    near = one.arrow.edges()
    source, target = (random.integers(len(names), size=QUESTIONS) for _ in range(2))
    steps = random.integers(near.num_rows, size=QUESTIONS)
    asked = pa.table(
        {
            "src": pa.concat_arrays([names.take(source).combine_chunks(), near["src"].take(steps).combine_chunks()]),
            "dst": pa.concat_arrays([names.take(target).combine_chunks(), near["dst"].take(steps).combine_chunks()]),
        }
    )
    answers = [closure.arrow.query(asked, "false")["reachable"].to_pylist() for closure in (one, other)]
    counts = [closure.stats()["pairs"] for closure in (one, other)]
    agree: bool = answers[0] == answers[1] and counts[0] == counts[1]
    print(f"  {len(answers[0]):,} questions and {counts[0]:,} pairs, {name} and {other_name}:", end=" ")
    print("the same answers" if agree else f"DIFFERENT ({counts})")
    return agree


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def _took(what: str, seconds: float) -> None:
    print(f"  {what} {f'{seconds:.2f} s' if seconds >= 0.1 else f'{seconds * 1e3:.2g} ms'}")


def _heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def _show(answer: DataFrame) -> None:
    """Print a small DataFrame with its columns lined up."""
    rows = [answer.columns, *([str(value) for value in row] for row in answer.collect())]
    widths = [max(len(row[place]) for row in rows) for place in range(len(answer.columns))]
    for row in rows:
        print("  " + "  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
