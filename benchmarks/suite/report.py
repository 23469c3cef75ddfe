"""Results for people: a line while it runs, and a page of tables in Markdown beside the JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.suite import compare, limits, plots, systems
from benchmarks.suite.plots import brief

Record = dict[str, Any]
PROFILE_SHARES = ("jobs", "transfer", "kernels", "tasks", "rest")
MEBI = 2**20


def line(record: Record) -> str:
    """Return a phase as one line."""
    if record["status"] != "ok":
        return f"{record['phase']:18} {record['status']}: {record['message']}"
    spread = f"{brief(record['median'])} ({brief(record['low'])} … {brief(record['high'])})"
    jobs = f", {record['jobs']:.1f} jobs, {record['shuffled'] / MEBI:.1f} MiB shuffled" if "jobs" in record else ""
    return f"{record['phase']:18} {spread}{jobs}"


def write(results: dict[str, Any], path: Path, before: dict[str, Any] | None = None) -> None:
    """Write the page and the pictures beside the results at ``path``, and what took less in a run ``before``."""
    pictures = plots.draw(results, path)
    page = path.with_suffix(".md")
    lines = [*_page(results, pictures), *(_slower(results, before) if before else ())]
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"\n{page}, {path.name} and {len(pictures)} pictures, after {results['about'].get('seconds', 0)} s")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a table in Markdown."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def _page(results: dict[str, Any], pictures: Sequence[Path]) -> Iterator[str]:
    about = results["about"]
    yield f"# The benchmark suite, mode {about['mode']}"
    yield ""
    yield (
        f"Commit {about.get('commit', '?')}, {about.get('seconds', '?')} s in all, "
        f"{about['cores']} cores, Python {about['python']}, {about['machine']}; "
        f"a cell may take {about['limit_seconds']:g} s. Medians; `suite-{about['mode']}.json` has every run and its "
        "spread. Made by `dyntc bench`."
    )
    yield ""
    for picture in pictures:
        yield f"![{picture.stem.replace('-', ' ')}]({picture.name})"
        yield ""
    for name, facts in results["workloads"].items():
        yield from _workload(results, name, facts)
    yield from _choices(results)
    yield from _crossovers(results)
    yield from _gaps(results)
    yield from _limits(results)
    yield from _growth(results.get("growth") or {})
    yield from _profile(results.get("profile") or {})


def _workload(results: dict[str, Any], name: str, facts: dict[str, Any]) -> Iterator[str]:
    kind = "acyclic" if facts["acyclic"] else f"largest component {facts['largest_component']:,}"
    yield f"## {name}: {facts['vertices']:,} vertices, {facts['edges']:,} edges, {facts['pairs']:,} pairs, {kind}"
    yield ""
    cells: dict[str, list[Record]] = {}
    for record in results["cells"]:
        if record["workload"] == name:
            cells.setdefault(record["system"], []).append(record)
    phases = ["init", *facts["groups"], "query/1", "query/100000"]
    phases += [facts["what_if"]] if "what_if" in facts else []
    head = ["system", *phases, "MiB driver / JVM / workers", "bytes a pair", "jobs a batch", "KiB shuffled a batch"]
    rows, notes = [], []
    for system in (known for known in systems.ALL if known in cells):
        done = {record["phase"]: record for record in cells[system] if record["status"] == "ok"}
        bad = [record for record in cells[system] if record["status"] != "ok"]
        mark = {
            "not tried": "-",
            "failed": "failed",
            "limit": f"> {results['about']['limit_seconds']:g} s",
            "wrong": "WRONG",
        }
        gap = mark[bad[0]["status"]] if bad else ""
        notes += [f"- `{system}`, {record['phase']}: {record['status']}: {record['message']}" for record in bad]
        rows.append([f"`{system}`", *(brief(done[p]["median"]) if p in done else gap for p in phases), *_sizes(done)])
    yield from table(head, rows)
    yield from notes
    yield ""


def _sizes(done: dict[str, Record]) -> list[str]:
    """Return memory, bytes a pair, jobs and bytes shuffled, as far as they are known."""
    peaks = {
        kind: max((r["memory"].get(kind, 0) for r in done.values()), default=0) for kind in ("driver", "jvm", "workers")
    }
    memory = " / ".join(f"{peak / MEBI:.0f}" if peak else "-" for peak in peaks.values())
    facts = done["init"]["facts"] if "init" in done else {}
    pair = f"{facts['bytes'] / facts['pairs']:.1f}" if facts.get("bytes") and facts.get("pairs") else ""
    batches = [
        record
        for phase, record in done.items()
        if "/" in phase and not phase.startswith(("query", "what-if")) and "jobs" in record
    ]
    if not batches:
        return [memory, pair, "", ""]
    jobs, shuffled = (sum(record[name] for record in batches) / len(batches) for name in ("jobs", "shuffled"))
    return [memory, pair, f"{jobs:.1f}", f"{shuffled / 1024:.0f}"]


def _choices(results: dict[str, Any]) -> Iterator[str]:
    found = compare.choices(results)
    batches = [choice for choice in found if not choice.phase.startswith("query")]
    over = [choice for choice in batches if choice.ratio > compare.WITHIN]
    kept = f"{len(batches) - len(over)} of {len(batches)} within a factor of {compare.WITHIN}"
    yield f"## The default engine against the cheapest of the others: {kept}"
    yield ""
    rows = [
        [c.workload, c.phase, c.backend, f"`{c.best}`", brief(c.best_seconds), brief(c.seconds), f"{c.ratio:.2f}"]
        for c in batches
    ]
    yield from table(["workload", "phase", "where", "cheapest", "it takes", "the default takes", "ratio"], rows)


def _slower(results: dict[str, Any], before: dict[str, Any]) -> Iterator[str]:
    """Yield what takes longer than in an earlier run would have taken on this machine."""
    speed = compare.machine(results, before)
    found = compare.slower(results, before, speed)
    yield f"## Slower than before: {len(found)} phases by more than a factor of {compare.NOISE}"
    yield ""
    yield f"The system `{compare.NO_STORE}`, which has not changed, takes {speed:.2f} of what it took then (median)."
    yield "By so much the machine is another, and the earlier times are multiplied by it."
    yield ""
    rows = [[s.workload, s.phase, s.backend, brief(s.best_seconds), brief(s.seconds), f"{s.ratio:.2f}"] for s in found]
    head = ["workload", "phase", "where", f"`{compare.BEFORE}` took", "the default takes", "ratio"]
    yield from table(head, rows)


def _crossovers(results: dict[str, Any]) -> Iterator[str]:
    yield "## Crossovers: changes a batch from which starting again is cheaper"
    yield ""
    rows = []
    for found in compare.crossovers(results):
        if found.size is None:
            at = f"above {found.largest:,}"
        elif found.size <= found.smallest:
            at = f"at {found.smallest:,} already"
        else:
            at = f"{found.size:,.0f}"
        rows.append(
            [
                found.workload,
                found.script,
                f"`{found.system}`",
                at,
                f"`{found.recompute}`",
                brief(found.recompute_seconds),
            ]
        )
    yield from table(["workload", "script", "system", "crossover", "cheapest from scratch", "it takes"], rows)


def _gaps(results: dict[str, Any]) -> Iterator[str]:
    found = compare.gaps(results)
    yield f"## Our best against the best peer: behind in {sum(gap.ratio > 1 for gap in found)} of {len(found)} phases"
    yield ""
    rows = [
        [
            g.workload,
            g.phase,
            f"`{g.ours}`",
            brief(g.our_seconds),
            f"`{g.peer}`",
            brief(g.peer_seconds),
            f"{g.ratio:.3g}",
        ]
        for g in found
    ]
    yield from table(["workload", "phase", "ours", "takes", "peer", "takes", "ours / peer"], rows)


def _limits(results: dict[str, Any]) -> Iterator[str]:
    if "limits" not in results:
        return
    rates = results["limits"]
    yield "## Against the machine"
    yield ""
    copied, worked = rates["bytes a second"] / 1e9, rates["operations a second"] / 1e9
    yield f"A copy moves {copied:.1f} GB/s; BLAS does {worked:.0f} billion operations a second."
    yield ""
    rows = [[g.what, g.limit, brief(g.seconds), brief(g.least), f"{g.ratio:.1f}"] for g in limits.gaps(results)]
    yield from table(["what", "limit", "takes", "at least", "times"], rows)


def _growth(growth: dict[str, Any]) -> Iterator[str]:
    if not growth:
        return
    yield "## Growth: exponents of seconds, in process, lineage graphs (R² in brackets)"
    yield ""
    kinds = ["init", "batch of 10", "touched pairs"]
    rows = [[f"`{name}`", *(_exponent(row.get(kind)) for kind in kinds)] for name, row in growth.items()]
    yield from table(["engine", "Init against n", "batch of 10 against n", "batch against touched pairs"], rows)


def _exponent(fit: dict[str, Any] | None) -> str:
    return "-" if not fit or fit["exponent"] is None else f"{fit['exponent']:.2f} ({fit['fit']:.2f})"


def _profile(profile: dict[str, Any]) -> Iterator[str]:
    if not profile:
        return
    yield "## Where the time goes on Spark"
    yield ""
    rows = []
    for cores, found in profile.items():
        for op in found["operations"]:
            shares = [brief(max(op[f"{kind} seconds"], 0)) for kind in PROFILE_SHARES]
            counts = [f"{op['jobs']:.1f}", f"{op['bytes'] / MEBI:.1f}"]
            takes = [brief(op["seconds"]), brief(op["in process"])]
            rows.append([cores, f"`{op['engine']}`", op["what"], *takes, *counts, *shares])
    head = ["cores", "engine", "operation", "takes", "in process", "jobs", "MiB to Python and back"]
    head += ["jobs that do nothing", "Arrow", "kernels", "tasks otherwise", "rest"]
    yield from table(head, rows)
    yield from _scaling(profile)
    for cores, found in profile.items():
        machine = found["machine"]
        rate = machine["bytes a second"] / MEBI
        yield f"- {cores}: an empty job {brief(machine['empty job'])}, {rate:.0f} MiB/s through Python and back."
    yield ""


def _scaling(profile: dict[str, Any]) -> Iterator[str]:
    """Compare the same operations on one core and on more."""
    if len(profile) < 2:
        return
    (_, one), (name, more) = profile.items()
    rows = [
        [f"`{a['engine']}`", a["what"], brief(a["seconds"]), brief(b["seconds"]), f"{a['seconds'] / b['seconds']:.2f}"]
        for a, b in zip(one["operations"], more["operations"], strict=True)
    ]
    yield from table(["engine", "operation", "1 core", name, "speed-up"], rows)
