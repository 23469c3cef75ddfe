"""The pictures: what keeping a closure current costs, against the size of batches and of graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.suite import compare, systems

SIZE = (9.0, 5.5)
#: Systems of one kind share a style: ours in process, ours on Spark, others that follow changes, others from scratch.
STYLES = {"near": "-", "far": "--", "follows": "-.", "scratch": ":"}


def draw(results: dict[str, Any], path: Path) -> list[Path]:
    """Draw all pictures beside the results at ``path``; none without matplotlib."""
    try:
        import matplotlib as mpl  # noqa: PLC0415  (pictures are optional)
    except ImportError:
        return []
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "dyntc"  # the same file for the same results
    drawn = [_batches(results, path, name) for name in results["workloads"] if _curves(results, name)]
    return [*drawn, *_sizes(results, path)]


def _curves(results: dict[str, Any], workload: str) -> dict[tuple[str, str], list[tuple[int, float]]]:
    """Return seconds by size of batches for each system and script."""
    seconds = compare.medians(results)
    found: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for group in results["workloads"][workload]["groups"]:
        script, _, size = group.partition("/")
        for system in systems.ALL:
            value = seconds.get((workload, group, system))
            if value is not None and script != "real":
                found.setdefault((system, script), []).append((int(size), value))
    return {key: curve for key, curve in found.items() if len(curve) > 1}


def _batches(results: dict[str, Any], path: Path, workload: str) -> Path:
    """Draw cost against size of batches; where a curve meets the cheapest recompute, a cross."""
    figure, axes = _axes()
    curves = _curves(results, workload)
    scripts = list(dict.fromkeys(script for _, script in curves))
    for number, ((system, script), curve) in enumerate(curves.items()):
        if script == scripts[0]:
            axes.plot(*zip(*curve, strict=True), _style(system), marker=".", label=system, color=f"C{number % 10}")
    for found in compare.crossovers(results):
        if found.workload == workload and found.script == scripts[0] and found.size is not None:
            axes.plot(found.size, found.recompute_seconds, "kx", markersize=8)
    floor = next((f for f in compare.crossovers(results) if f.workload == workload), None)
    if floor:
        axes.axhline(floor.recompute_seconds, color="grey", linewidth=0.8)
        axes.annotate(f"from scratch: {floor.recompute}", (1, floor.recompute_seconds), va="bottom", fontsize=8)
    facts = results["workloads"][workload]
    axes.set(
        xlabel="changes in a batch",
        ylabel="seconds a batch",
        title=f"{workload}: {facts['vertices']:,} vertices, {facts['pairs']:,} pairs, {scripts[0]}; x: crossover",
    )
    return _saved(figure, axes, path, f"batches-{workload}")


def _sizes(results: dict[str, Any], path: Path) -> list[Path]:
    """Draw cost of a batch of ten, and of Init, against the pairs of the closure."""
    seconds, drawn = compare.medians(results), []
    for what, phases in (("batch of 10", ("mixed/10", "delete-heavy/10")), ("init", ("init",))):
        figure, axes = _axes()
        number = 0
        for system in systems.ALL:
            points = sorted(
                (facts["pairs"], seconds[workload, phase, system])
                for workload, facts in results["workloads"].items()
                for phase in phases
                if (workload, phase, system) in seconds
            )
            if len(points) > 2:
                axes.plot(*zip(*points, strict=True), _style(system), marker=".", label=system, color=f"C{number % 10}")
                number += 1
        if not number:
            continue
        axes.set(xlabel="pairs of the closure, all workloads", ylabel=f"seconds: {what}", title=f"{what} against size")
        drawn.append(_saved(figure, axes, path, f"sizes-{what.replace(' ', '-')}"))
    return drawn


def _style(system: str) -> str:
    if systems.is_ours(system):
        return STYLES["far" if "@" in system else "near"]
    return STYLES["follows" if system == "Pathway" else "scratch"]


def _axes() -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(SIZE, layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(alpha=0.3)
    return figure, axes


def _saved(figure: Any, axes: Any, path: Path, name: str) -> Path:
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    file = path.with_name(f"{path.stem}-{name}.svg")
    figure.savefig(file, metadata={"Date": None})
    return file
