"""Threads that ask a closure while others change it, and what every answer may be.

A script of batches is drawn from a seed, and what each version of the graph answers is worked out
beforehand by the slow twin. An answer is right when it is that of one whole version among those that
there were between the moment when it was asked for and the moment when it came.
"""

from __future__ import annotations

import contextlib
import random
import re
import sys
import threading
import time
from collections import Counter
from typing import NamedTuple

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import UnknownVertexError, UnreachableError
from dyntc_spark.graph.questions.arrow_answers import ArrowAnswers
from tests.graph.oracle import Plain

SIZE = 24
SECONDS = 120  # nothing here takes as long, unless threads wait for each other


class Version:
    """What a closure answers at one version."""

    def __init__(self, number, plain, before, counts, last):
        self.number = number
        self.edges, self.vertices, self.pairs = frozenset(plain.edges), frozenset(plain.vertices), plain.pairs()
        old = set() if before is None else before.pairs
        self.changes = {(*pair, "insert", number) for pair in self.pairs - old}
        self.changes |= {(*pair, "delete", number) for pair in old - self.pairs}
        self.changes = self.changes if before is not None else set()
        self.inserted, self.deleted = counts
        self.last = last

    def row(self, vertex, *, forwards):
        if vertex not in self.vertices:
            return None
        ends = (0, 1) if forwards else (1, 0)
        return frozenset(pair[ends[1]] for pair in self.pairs if pair[ends[0]] == vertex)


def drawn(seed, batches, size=SIZE, *, acyclic=False):
    """Draw the first edges and a script of batches, with the versions that come of them."""
    chance = random.Random(seed)  # noqa: S311

    def edge():
        ends = chance.sample(range(size), 2)
        return tuple(sorted(ends) if acyclic else ends)

    start = sorted({edge() for _ in range(size)})
    plain, script, counts = Plain(start), [], (0, 0)
    versions = [Version(0, plain, None, counts, (len(start), 0))]
    for number in range(1, batches + 1):
        gone = chance.sample(sorted(plain.edges), min(3, len(plain.edges)))
        new = [one for one in sorted({edge() for _ in range(3)}) if one not in plain.edges]
        if number % 3 == 0:  # a vertex that nobody has seen
            new.append((min(plain.vertices), 1000 + number))
        alone = sorted(plain.vertices - {vertex for edge in plain.edges for vertex in edge})
        if number % 7 == 0 and alone:
            script.append(("drop", alone))
            plain.vertices -= set(alone)
            inserted = deleted = 0
        else:
            changes = [("delete", *one) for one in gone] + [("insert", *one) for one in new]
            script.append(("apply", changes))
            before = set(plain.edges)
            plain.apply(changes)
            inserted, deleted = len(plain.edges - before), len(before - plain.edges)
        counts = counts[0] + inserted, counts[1] + deleted
        versions.append(Version(number, plain, versions[-1], counts, (inserted, deleted)))
    return start, script, versions


# --- questions: how to ask, and whether a version answers so -------------------------------------


def edges_of(table):
    return frozenset(zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True))


class Asked(NamedTuple):
    """What a thread asks with: the closure, its ``arrow`` as it was before the first batch, and its dice."""

    closure: DynamicClosure
    arrow: ArrowAnswers
    chance: random.Random


def _edges(asked):
    found = asked.arrow.edges()
    return found.num_rows, edges_of(found)


def _pairs(asked):
    found = asked.arrow.pairs()
    return found.num_rows, edges_of(found)


def _row(forwards):
    def ask(asked):
        vertex, arrow = asked.chance.randrange(SIZE), asked.arrow
        try:
            found = (arrow.descendants if forwards else arrow.ancestors)(vertex)
        except UnknownVertexError:
            return vertex, None
        return vertex, frozenset(found["vertex"].to_pylist())

    return ask, lambda answer, version: version.row(answer[0], forwards=forwards) == answer[1]


def _query(asked):
    every = [(v, w) for v in range(SIZE) for w in range(SIZE) if v != w]
    found = asked.arrow.query(every, "false")
    return frozenset(pair for pair, there in zip(every, found["reachable"].to_pylist(), strict=True) if there)


def _explain(asked):
    source, target = asked.chance.sample(range(SIZE), 2)
    try:
        found = asked.arrow.explain(source, target)
    except (UnknownVertexError, UnreachableError) as error:
        return source, target, type(error)
    return source, target, list(zip(found["src"].to_pylist(), found["dst"].to_pylist(), strict=True))


def _is_explained(answer, version):
    source, target, path = answer
    if path is UnknownVertexError:
        return not {source, target} <= version.vertices
    if path is UnreachableError:
        return {source, target} <= version.vertices and (source, target) not in version.pairs
    plain = Plain(version.edges)
    joined = [source, *(head for _, head in path)] == [*(tail for tail, _ in path), target]
    return joined and set(path) <= version.edges and plain.distances(source)[target] == len(path)


def _changes(asked):
    found = asked.arrow.changes().to_pylist()
    return {tuple(row[name] for name in ("src", "dst", "op", "version")) for row in found}, len(found)


def _repr(asked):
    return tuple(
        map(int, re.match(r"DynamicClosure\((\d+) v.* (\d+) edges?; .* version (\d+)\)", repr(asked.closure)).groups())
    )


def _html(asked):
    text = asked.closure._repr_html_()
    told = re.search(
        r"<b>DynamicClosure\((\d+) v\D* (\d+) edges?; .* version (\d+)\)</b><br>(?:last batch: (.*?)<br>)?", text
    )
    last = told[4] or ""  # a build is no batch
    counts = tuple(int((re.search(rf"(\d+) {what}\b(?! \w)", last) or [0, 0])[1]) for what in ("inserted", "deleted"))
    return tuple(map(int, told.groups()[:3])), counts


def _stats(asked):
    found = asked.closure.stats()
    return tuple(found[name] for name in ("version", "vertices", "edges", "pairs", "inserted", "deleted"))


def _networkx(asked):
    found = asked.closure.to_networkx(closure=True)
    return frozenset(found.nodes), frozenset(found.edges)


def _components(asked):
    found = asked.arrow.components()
    return {(v, of) for v, of in zip(found["vertex"].to_pylist(), found["component"].to_pylist(), strict=True)}


def _are_components(answer, version):
    of = dict(answer)
    mutual = {(v, w) for v, w in version.pairs if (w, v) in version.pairs}
    return of.keys() == version.vertices and mutual == {(v, w) for v in of for w in of if v != w and of[v] == of[w]}


def _impact(asked):
    return sorted(map(tuple, (row.values() for row in asked.arrow.impact(top=10**6).to_pylist())))


def _is_impact(answer, version):
    above, below = Counter(w for _, w in version.pairs), Counter(v for v, _ in version.pairs)
    return answer == sorted((v, above[v], below[v]) for v in version.vertices)


def _what_if(asked):
    found = asked.arrow.what_if([("insert", 10**6, 0)]).to_pylist()
    return {row["version"] for row in found}, {row["dst"] for row in found}


def _size(version):
    return len(version.vertices), len(version.edges), version.number


QUESTIONS = {
    "edges": (_edges, lambda answer, version: answer == (len(version.edges), version.edges)),
    "vertices": (
        lambda asked: sorted(asked.arrow.vertices()["vertex"].to_pylist()),
        lambda answer, version: answer == sorted(version.vertices),
    ),
    "pairs": (_pairs, lambda answer, version: answer == (len(version.pairs), version.pairs)),
    "descendants": _row(True),
    "ancestors": _row(False),
    "query": (
        _query,
        lambda answer, version: answer == {pair for pair in version.pairs if max(pair) < SIZE},
    ),
    "explain": (_explain, _is_explained),
    "changes": (_changes, lambda answer, version: answer == (version.changes, len(version.changes))),
    "version": (lambda asked: asked.closure.version, lambda answer, version: answer == version.number),
    "repr": (_repr, lambda answer, version: answer == _size(version)),
    "html": (
        _html,
        lambda answer, version: answer == (_size(version), version.last if version.number else (0, 0)),
    ),
    "stats": (
        _stats,
        lambda answer, version: (
            answer
            == (
                version.number,
                len(version.vertices),
                len(version.edges),
                len(version.pairs),
                version.inserted,
                version.deleted,
            )
        ),
    ),
    "components": (_components, _are_components),
    "impact": (_impact, _is_impact),
    "what_if": (
        _what_if,
        lambda answer, version: answer == ({version.number + 1}, {0} | (version.row(0, forwards=True) or set())),
    ),
    "networkx": (_networkx, lambda answer, version: answer == (version.vertices, version.pairs)),
}


@contextlib.contextmanager
def switching_often():
    """Let Python change threads after almost every step."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class Askers:
    """Threads that ask as long as a block runs; what they are told is judged at its end.

    Parameters
    ----------
    closure
        To be asked.
    seed
        Of the questions.
    versions
        That the closure goes through, by number.
    questions
        The names of the questions to ask, for each thread.
    pause
        Seconds between two questions of a thread, where others need the processor.
    """

    def __init__(self, closure, seed, versions, *questions, pause=0.0):
        self.closure, self.seed, self.versions, self._pause = closure, seed, versions, pause
        self.answers = []  # of (question, first version, last version, answer)
        self.failures = []
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(number, names), daemon=True)
            for number, names in enumerate(questions)
        ]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind, *_):
        self._over.set()
        for thread in self._threads:
            thread.join(SECONDS)
        if kind is None:
            assert not any(thread.is_alive() for thread in self._threads), f"seed {self.seed}: a thread waits forever"
            self._judge()

    def _run(self, number, names):
        chance = random.Random(f"{self.seed} {number}")  # noqa: S311
        given = Asked(self.closure, self.closure.arrow, chance)
        asked = 0
        try:
            while not self._over.is_set() or asked < len(names):
                name = names[asked % len(names)]
                first = self.closure.version
                answer = QUESTIONS[name][0](given)
                self.answers.append((name, first, self.closure.version, answer))
                asked += 1
                if self._pause:
                    time.sleep(self._pause)
        except BaseException as error:  # noqa: BLE001  (it is the test that fails)
            self.failures.append(error)

    def _judge(self):
        for failure in self.failures:
            raise AssertionError(f"seed {self.seed}: {type(failure).__name__}: {failure}") from failure
        wrong = [
            (name, first, last)
            for name, first, last, answer in self.answers
            if not any(QUESTIONS[name][1](answer, version) for version in self.versions[first : last + 1])
        ]
        assert not wrong, (
            f"seed {self.seed}: {len(wrong)} of {len(self.answers)} answers are those of no version: {wrong[:5]}"
        )


def played(closure, script):
    """Let a closure have a script of batches."""
    for kind, given in script:
        (closure.drop if kind == "drop" else closure.apply)(given)
