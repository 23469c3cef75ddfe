"""Lineage of tables and columns, out of OpenLineage events.

A run tells of itself by several events, which add up. When it is complete, what it read and wrote is the lineage of its
job, in place of what an earlier run of the job told; a run that failed or was aborted tells nothing. Events
about a job without a run, and about a dataset, count at once. An edge is there as long as a job or a dataset
tells of it. Events may come twice, and late: a run that has ended tells nothing more.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from itertools import product
from typing import Any

import pyarrow as pa

from dyntc_spark.errors import InputError
from dyntc_spark.importers.documents import Edge, File, Part, edge_table, parsed, read_text

#: Labels: from table to table, from column to column, and from a column that only decides about rows or their order.
DATASET, DIRECT, INDIRECT = "dataset", "direct", "indirect"

_REMEDY = "Compare it with the specification of OpenLineage, version 1 or 2."
_ENDED = {"COMPLETE", "FAIL", "ABORT"}
_TYPES = {"START", "RUNNING", "OTHER", *_ENDED}
#: So many runs that have ended are known by their ids, to leave out what comes of them later.
_REMEMBERED = 10_000
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:?\d\d)?")

_Owner = tuple[str, str, str]  # a job or a dataset: what it is, namespace, name


@dataclass(slots=True)
class Told:
    """What one or several events tell."""

    inputs: set[str] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)
    columns: set[Edge] = field(default_factory=set)

    def add(self, other: Told) -> None:
        """Add what another event tells."""
        self.inputs |= other.inputs
        self.outputs |= other.outputs
        self.columns |= other.columns

    def edges(self) -> frozenset[Edge]:
        """Return the edges between tables, and those between columns."""
        return frozenset({(src, dst, DATASET) for src, dst in product(self.inputs, self.outputs)} | self.columns)


@dataclass(frozen=True, slots=True)
class Event:
    """An event that was read."""

    at: datetime
    owner: _Owner
    run: str | None  #: None: it counts at once
    kind: str
    told: Told


def openlineage(source: File | Iterable[Mapping[str, Any] | str | bytes]) -> pa.Table:
    """Return the lineage that events tell of: data flows from ``src`` to ``dst``.

    A table is ``namespace/name``, and a column ``namespace/name#column``. The labels are ``dataset`` between tables,
    and between columns ``direct``, where a value comes from, and ``indirect``, what it was filtered, joined, sorted or
    grouped by; what a column is computed from without more being said is ``direct``.

    Parameters
    ----------
    source
        A file, with an event on each line, or with one JSON array of events; or the events themselves, as
        dictionaries or as JSON. They count in the order of their ``eventTime``.

    Examples
    --------
    >>> from dyntc_spark import datasets
    >>> edges = openlineage(datasets.sample("openlineage.jsonl")).to_pylist()
    >>> [edge["dst"] for edge in edges if edge["src"].endswith("orders#amount") and edge["label"] == "direct"]
    ['warehouse://shop/staging.orders#amount', 'warehouse://shop/mart.revenue#revenue']
    """
    lineage = OpenLineage()
    lineage.changes(source)
    return lineage.edges()


class OpenLineage:
    """Lineage that is kept up to date by events, as they come: each call gives what they change.

    Runs that have begun and not ended are remembered, and the lineage of each job with the run that told of it; of
    other runs that have ended, the ids of the last 10,000. Events that come once more therefore change nothing.

    Examples
    --------
    >>> from dyntc_spark import datasets
    >>> lineage = OpenLineage()
    >>> lineage.changes(datasets.sample("openlineage.jsonl")).column_names
    ['op', 'src', 'dst', 'label']
    >>> lineage.changes(datasets.sample("openlineage.jsonl")).num_rows
    0
    """

    def __init__(self) -> None:
        self._runs: dict[str, Told] = {}  # that are under way
        self._ended: dict[str, set[_Owner]] = {}  # runs, the oldest first
        self._owned: dict[_Owner, tuple[datetime, str | None, frozenset[Edge]]] = {}
        self._owners: Counter[Edge] = Counter()

    def changes(self, source: File | Iterable[Mapping[str, Any] | str | bytes]) -> pa.Table:
        """Take events, and return what they change: ``op``, ``src``, ``dst``, ``label``, for `LabelledGraph.apply`.

        When one of them cannot be read, none counts.
        """
        events = sorted((_event(part) for part in _parts(source)), key=lambda event: event.at)
        before: dict[Edge, bool] = {}
        for event in events:
            self._take(event, before)
        changed = sorted((edge, not was) for edge, was in before.items() if was != (self._owners[edge] > 0))
        self._owners += Counter()  # forget those that no event names
        op = pa.array(["insert" if there else "delete" for _, there in changed], pa.string())
        columns = zip(*(edge for edge, _ in changed), strict=True) if changed else ((), (), ())
        names = ["op", "src", "dst", "label"]
        return pa.table([op, *(pa.array(column, pa.string()) for column in columns)], names)

    def edges(self) -> pa.Table:
        """Return the lineage as it is now: ``src``, ``dst``, ``label``."""
        return edge_table(edge for edge, count in self._owners.items() if count > 0)

    def _take(self, event: Event, before: dict[Edge, bool]) -> None:
        """Let an event count; note which of the edges that it concerns were there before."""
        told = event.told
        at, run, old = self._owned.get(event.owner, (event.at, None, frozenset[Edge]()))
        if event.run is not None:
            if event.run == run or self._has_ended(event.run, event):
                self._runs.pop(event.run, None)
                return
            known = self._runs.setdefault(event.run, Told())
            known.add(told)
            told = known
            if event.kind not in _ENDED:
                return
            del self._runs[event.run]
            self._end(event.run, event.owner)
            if event.kind != "COMPLETE":
                return
        if at > event.at:  # a later run was quicker
            return
        new = told.edges()
        for edge in old | new:
            before.setdefault(edge, self._owners[edge] > 0)
        self._owners.subtract(old)
        self._owners.update(new)
        self._owned[event.owner] = event.at, event.run, new

    def _has_ended(self, run: str, event: Event) -> bool:
        """Return whether an event comes after the end of its run.

        Some producers rename the job of a run under way, so that only an end has to be one of the same job.
        """
        owners = self._ended.get(run)
        return owners is not None and (event.kind not in _ENDED or event.owner in owners)

    def _end(self, run: str, owner: _Owner) -> None:
        self._ended.setdefault(run, set()).add(owner)
        if len(self._ended) > _REMEMBERED:
            del self._ended[next(iter(self._ended))]


# --- reading --------------------------------------------------------------------------------------


def _parts(source: File | Iterable[Mapping[str, Any] | str | bytes]) -> Iterator[Part]:
    """Return the events of a file, or of a list, with their places."""
    if isinstance(source, str | os.PathLike):
        yield from _of_file(source)
        return
    if isinstance(source, bytes | Mapping) or not isinstance(source, Iterable):
        raise InputError("a file, or a list of events", type(source).__name__, "Put a single event into a list.")
    for number, event in enumerate(source):
        place = f"event {number}"
        if isinstance(event, bytes | str):
            try:
                text = event if isinstance(event, str) else event.decode("utf-8")
            except UnicodeDecodeError as error:
                raise Part(event, "events", place, _REMEDY).error("text in UTF-8", "other bytes") from error
            yield parsed(text, "events", place, _REMEDY)
        else:
            yield Part(dict(event) if isinstance(event, Mapping) else event, "events", place, _REMEDY)


def _of_file(file: File) -> Iterator[Part]:
    text, name = read_text(file), os.fspath(file)
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):  # an event on each line
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                yield parsed(line, name, f"line {number}", _REMEDY)
        return
    if isinstance(whole, list):
        for number, event in enumerate(whole):
            yield Part(event, name, f"[{number}]", _REMEDY)
    else:
        yield Part(whole, name, "line 1", _REMEDY)


def _event(part: Part) -> Event:
    at = _moment(part)
    dataset = part.find("dataset", dict)
    if dataset is not None:
        owner = ("dataset", dataset.text("namespace"), dataset.text("name"))
        return Event(at, owner, None, "", Told(columns=set(_columns(dataset))))
    job, run = part.get("job"), part.find("run", dict)
    owner = ("job", job.text("namespace"), job.text("name"))
    inputs, outputs = (list(part.items(side)) for side in ("inputs", "outputs"))
    columns = {edge for output in outputs for edge in _columns(output)}
    told = Told({_dataset(each) for each in inputs}, {_dataset(each) for each in outputs}, columns)
    if run is None:
        return Event(at, owner, None, "", told)
    kind = part.find("eventType", str)
    if kind is not None and kind.value.upper() not in _TYPES:
        raise kind.error(f"one of {', '.join(sorted(_TYPES))}", f"{kind.value!r:.40}")
    return Event(at, owner, run.text("runId"), "OTHER" if kind is None else kind.value.upper(), told)


def _columns(output: Part) -> Iterator[Edge]:
    """Return the lineage of the columns of a dataset."""
    facets = output.find("facets", dict)
    lineage = facets.find("columnLineage", dict) if facets else None
    if lineage is None or lineage.value.get("_deleted"):
        return
    whole, fields = _dataset(output), lineage.get("fields")
    for column, of in fields.entries():
        of.get("inputFields", list)
        for each in of.items("inputFields"):
            yield from ((_field(each), f"{whole}#{column}", label) for label in _labels(each, DIRECT))
    for each in lineage.items("dataset"):  # what decides about all of them
        source = _field(each)
        yield from (
            (source, f"{whole}#{column}", label) for column in fields.value for label in _labels(each, INDIRECT)
        )


def _labels(source: Part, unless_told: str) -> set[str]:
    """Return how a column counts for another."""
    kinds = {transformation.text("type").lower() for transformation in source.items("transformations")}
    return kinds & {DIRECT, INDIRECT} or {unless_told}


def _dataset(part: Part) -> str:
    return f"{part.text('namespace')}/{part.text('name')}"


def _field(part: Part) -> str:
    return f"{_dataset(part)}#{part.text('field')}"


def _moment(part: Part) -> datetime:
    """Return the time of an event; one without a zone is taken as UTC."""
    text = part.text("eventTime")
    try:
        return _time(text)
    except (ValueError, OverflowError):
        raise part.error("a date and time as in RFC 3339, called 'eventTime'", f"{text!r:.60}") from None


def _time(text: str) -> datetime:
    """Read a time: `datetime.fromisoformat` of Python 3.10 takes neither Z nor nine digits of a second."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError
    day, clock, fraction, zone = found.groups()
    moment = datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=timezone.utc)
    moment += timedelta(microseconds=int(f"{fraction or '':0<6.6}"))
    if zone is None or zone in "Zz":
        return moment
    return moment - timedelta(hours=int(zone[:3]), minutes=int(zone[0] + zone[-2:]))
