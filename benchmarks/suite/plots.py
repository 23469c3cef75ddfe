"""The pictures: one message each, few lines, and the names at the lines. Every number in a title is of the results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.suite import compare, systems

SIZE = (8.0, 4.5)
#: The workload that pictures show if it is there, else the next one.
MAIN = ("debian", "debian-part", "lineage")
OURS, OTHER_ENGINE, PEERS = "#00796b", "#e65100", "#757575"
OURS_IS, OTHER_ENGINE_IS, PEERS_IS = "green", "orange", "grey"
MOST_BARS = 9
LEAST_GAP = 0.06  #: between labels, of the height of a picture
Curve = list[tuple[float, float]]


def draw(results: dict[str, Any], path: Path) -> list[Path]:
    """Draw the pictures beside the results at ``path``; none without matplotlib."""
    try:
        import matplotlib as mpl  # noqa: PLC0415  (pictures are optional)
    except ImportError:
        return []
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "dyntc"  # the same file for the same results
    main = next((name for name in MAIN if name in results["workloads"]), next(iter(results["workloads"]), ""))
    drawn = [
        _batches(results, path, main),
        _init(results, path, main),
        _recent(results, path),
        _what_if(results, path),
    ]
    return [each for each in drawn if each is not None]


def curve(results: dict[str, Any], workload: str, system: str, script: str) -> Curve:
    """Return the seconds of a system by size of batches."""
    seconds, found = compare.medians(results), []
    for group in results["workloads"][workload]["groups"]:
        kind, _, size = group.partition("/")
        if kind == script and (workload, group, system) in seconds:
            found.append((float(size), seconds[workload, group, system]))
    return found


def _batches(results: dict[str, Any], path: Path, workload: str) -> Path | None:
    """Draw what a batch costs where changes are followed, beside what a new start costs."""
    script = _script(results, workload)
    lines = {name: curve(results, workload, name, script) for name in ("lanes", "lanes@spark")}
    lines = {name: points for name, points in lines.items() if len(points) > 1}
    if "lanes" not in lines:
        return None
    other = _fastest_other(_init_seconds(results, workload))
    figure, axes = _logarithmic()
    ends = []
    for name, points in lines.items():
        axes.plot(*zip(*points, strict=True), "-" if name == "lanes" else "--", marker=".", color=OURS, linewidth=2)
        ends.append((points[-1][1], f"{NAMES[name]}: follows changes", OURS))
    last = lines["lanes"][-1][0]
    if other:
        axes.axhline(other[0], linestyle=":", color=PEERS)
        ends.append((other[0], f"{other[1]}: starts again", PEERS))
    _label_ends(axes, last, ends)
    size, ours = min(lines["lanes"], key=lambda point: abs(point[0] - 10))
    changes = "1 change takes" if size == 1 else f"{size:.0f} changes take"
    title = f"{_facts(results, workload)}\n{changes} {brief(ours)}"
    if other:
        title += f"; the fastest other library starts again in {brief(other[0])}"
    axes.set_xlabel("changes in a batch")
    axes.set_title(title, loc="left")
    return _saved(figure, path, f"batches-{workload}")


def _init(results: dict[str, Any], path: Path, workload: str) -> Path | None:
    """Draw what finding all pairs costs each system."""
    seconds = {name: value for name, value in _init_seconds(results, workload).items() if name not in STUDIES}
    title = f"{_facts(results, workload)}: all {results['workloads'][workload]['pairs']:,} pairs"
    return _bars(seconds, path, f"init-{workload}", title)


def _recent(results: dict[str, Any], path: Path) -> Path | None:
    """Draw ``centres`` beside ``lanes`` on edges that came recently and go again."""
    if "recent" not in results["workloads"]:
        return None
    lines = {name: curve(results, "recent", name, "recent") for name in ("lanes", "centres")}
    if any(len(points) < 2 for points in lines.values()):
        return None
    figure, axes = _logarithmic()
    ends = []
    for (name, points), color in zip(lines.items(), (OURS, OTHER_ENGINE), strict=True):
        axes.plot(*zip(*points, strict=True), marker=".", color=color, linewidth=2)
        ends.append((points[-1][1], f"engine {name}", color))
    _label_ends(axes, lines["lanes"][-1][0], ends)
    (_, ours), (_, theirs) = lines["lanes"][0], lines["centres"][0]
    fast, ratio = ("lanes", theirs / ours) if ours < theirs else ("centres", ours / theirs)
    title = f"{_facts(results, 'recent')}, edges that come and go: {fast} is {ratio:.2g} times as fast for one"
    axes.set_xlabel("edges that come, as many go")
    axes.set_title(title, loc="left")
    return _saved(figure, path, "recent")


def _what_if(results: dict[str, Any], path: Path) -> Path | None:
    """Draw what the question costs which pairs a batch would change, for the largest graph that peers answer it on."""
    seconds, best = compare.medians(results), None
    for workload, facts in results["workloads"].items():
        phase = facts.get("what_if", "")
        here = {name: value for (where, what, name), value in seconds.items() if (where, what) == (workload, phase)}
        found = {name: value for name, value in here.items() if name not in STUDIES}
        peers = [name for name in found if not systems.is_ours(name)]
        if "lanes" in found and peers and (best is None or (len(peers), facts["pairs"]) > best[0]):
            best = (len(peers), facts["pairs"]), workload, found, phase.partition("/")[2]
    if best is None:
        return None
    _, workload, found, size = best
    return _bars(found, path, "what-if", f"{_facts(results, workload)}: what would {size} changes change?")


# --- parts of pictures ---------------------------------------------------------------------------

NAMES = {"lanes": "lanes", "lanes@spark": "lanes on Spark"}
STUDIES = {name for name in systems.ALL if name.partition("@")[0] in {"logarithmic", "divide_conquer", "recompute"}}
AGAIN = {name for name in (*systems.PEERS, *systems.SPARK_PEERS) if name not in {"Pathway", compare.NO_STORE}}


def _script(results: dict[str, Any], workload: str) -> str:
    """Return the first script with batches of several sizes."""
    groups = [group.partition("/")[0] for group in results["workloads"][workload]["groups"]]
    return next((script for script in groups if groups.count(script) > 1), "")


def _init_seconds(results: dict[str, Any], workload: str) -> dict[str, float]:
    seconds = compare.medians(results)
    return {name: value for (where, what, name), value in seconds.items() if (where, what) == (workload, "init")}


def _fastest_other(seconds: dict[str, float]) -> tuple[float, str] | None:
    """Return what the fastest other library takes, and its name."""
    return min(((value, name) for name, value in seconds.items() if name in AGAIN), default=None)


def _bars(seconds: dict[str, float], path: Path, name: str, title: str) -> Path | None:
    """Draw a bar for each system, the fastest first, with its time at its end; the title ends with the message."""
    if len(seconds) < 2:
        return None
    chosen = sorted(seconds.items(), key=lambda each: each[1])
    kept = [each for each in chosen if each[0] in NAMES]
    kept += [each for each in chosen if each[0] not in NAMES][: MOST_BARS - len(kept)]
    kept.sort(key=lambda each: -each[1])
    figure, axes = _axes()
    colors = [OURS if each in NAMES else OTHER_ENGINE if systems.is_ours(each) else PEERS for each, _ in kept]
    bars = axes.barh([_name(each) for each, _ in kept], [value for _, value in kept], color=colors)
    axes.bar_label(bars, [brief(value) for _, value in kept], padding=4)
    axes.set_xscale("log")
    axes.margins(x=0.15)
    others = f", {OTHER_ENGINE_IS}: other engines of this library" if OTHER_ENGINE in colors else ""
    axes.set(xticks=[], xlabel=f"logarithmic scale; {OURS_IS}: lanes{others}, {PEERS_IS}: others")
    other = _fastest_other(seconds)
    if "lanes" in seconds and other:
        title += f"\nlanes: {brief(seconds['lanes'])}; the fastest other library: {brief(other[0])}"
    axes.set_title(title, loc="left")
    axes.minorticks_off()
    axes.grid(visible=False)
    for side in ("bottom", "top", "right"):
        axes.spines[side].set_visible(False)
    return _saved(figure, path, name)


def _name(system: str) -> str:
    """Return how a picture calls a system."""
    engine, _, backend = system.partition("@")
    if not systems.is_ours(system):
        return {"search": "search, stores nothing"}.get(system, system)
    return f"engine {engine}" + (" on Spark" if backend else "")


def _label_ends(axes: Any, x: float, ends: Sequence[tuple[float, str, str]]) -> None:
    """Write the names of lines behind their last points, one above the other where these are near."""
    low, high = axes.get_ylim()
    for _ in range(2):  # again, where the names need a higher picture
        step, above, places = (high / low) ** LEAST_GAP, 0.0, []
        for y, name, color in sorted(ends):
            above = max(y, above * step)
            places.append((above, name, color))
        high = max(high, above * step)
    axes.set_ylim(low, high)
    for above, name, color in places:
        place = {"textcoords": "offset points", "va": "center", "annotation_clip": False}
        axes.annotate(name, (x, above), (6, 0), color=color, fontsize=9, **place)


def _facts(results: dict[str, Any], workload: str) -> str:
    return f"{workload}, {results['workloads'][workload]['vertices']:,} vertices"


def brief(seconds: float) -> str:
    """Return seconds with the unit that suits them.

    Examples
    --------
    >>> brief(2), brief(0.0031), brief(2e-6)
    ('2 s', '3.1 ms', '2 µs')
    """
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def _axes() -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(SIZE, layout="constrained")
    axes = figure.subplots()
    axes.grid(alpha=0.2)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _logarithmic() -> tuple[Any, Any]:
    """Return axes with logarithmic scales, on which numbers are written out."""
    figure, axes = _axes()
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: brief(value))
    return figure, axes


def _saved(figure: Any, path: Path, name: str) -> Path:
    file = path.with_name(f"{path.stem}-{name}.svg")
    figure.savefig(file, metadata={"Date": None})
    return file
