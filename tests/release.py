"""What a release has to pass: every check in order, with a table of what came of it. It uses the standard library only.

    python3 run.py release-check                  run every step that has not passed
    python3 run.py release-check --list           name the steps, their commands, and what is known of them
    python3 run.py release-check --only soak docs run these steps, also if they have passed

It takes hours. What it finds is kept after each step, in a file that can be committed: so it goes on where it was
interrupted, also on another machine. A step has passed if nothing that it reads has changed since: most steps read the
code, their own tests, and what tests share. So a corrected page or another step's test does not make them run again.
Where one process would take too long, two can run different steps in one checkout. What a step prints goes to
``.release/STEP.log``, too. A step that fails does not stop the others. The table is written into
``docs/explanation/release.md``. A release is a commit at which every step has passed.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = "docs/explanation/release.md"
STATE = "benchmarks/published/release.json"
PROJECT = "pyproject.toml"
#: What the outcome of a step can depend on. Paths are git's; those that begin with ``:(exclude)`` are left out.
CODE = ("dyntc_spark", "sql", "conf", PROJECT, "run.py")
#: The code and what tests share: all their files but those that begin with a t, as ``test_...py`` does.
SHARED = (*CODE, ":(glob)tests/**/[!t]*", ":(exclude)tests/release.py", ":(exclude)tests/test_release.py")
BENCHMARKS = (*SHARED, "benchmarks/*.py")
EVERYTHING = (".",)
OURS = (f":(exclude){PAGE}", f":(exclude){STATE}")
BEGIN, END = "<!-- release-check: begin -->", "<!-- release-check: end -->"
RUN = ("python3", "run.py")
#: What of pyproject.toml only the checks of style and types read: the versions of ruff and mypy, and their sections.
#: Only the step ``install`` runs these checks. For steps that name pyproject.toml this part is left out; those that
#: read everything read it, too.
STYLE = re.compile(
    r'^ *"(?:mypy|ruff)\b[^\n]*\n|^\[+tool\.(?:mypy|ruff)\b.*?(?=^\[|\Z)',
    re.MULTILINE | re.DOTALL,
)
#: The line that pytest ends with, such as "== 3 passed, 1 skipped in 0.12s ==".
PYTEST = re.compile(r"^[= ]*((?:\d+ [a-z]+, )*\d+ [a-z]+) in [\d.]+s(?: \(.*\))?[= ]*$", re.MULTILINE)
INTERRUPTED = 130


@dataclass(frozen=True)
class Step:
    """A command that has to end with code 0."""

    name: str
    what: str
    command: tuple[str, ...]
    minutes: float  #: about, on two cores that do nothing else
    reads: tuple[str, ...]  #: paths, for git
    variables: dict[str, str] = field(default_factory=dict)  #: of its environment
    shows: str = ""  #: what of its output belongs into the table, as a regular expression


def _slow(name: str, what: str, minutes: float, *words: str, **rest) -> Step:
    """Return a step of slow tests: what it reads are the paths among its words."""
    reads = (*SHARED, *(word for word in words if word.startswith("tests/")))
    return Step(name, what, (*RUN, "test", "--slow", *words), minutes, **{"reads": reads, **rest})


SCRIPTS = ("tests/engines/test_lanes.py", "tests/engines/test_lanes_long.py", "tests/engines/test_engines_machine.py")
STORAGE = tuple(f"tests/faults/test_{name}.py" for name in ("steps", "storage", "two_writers", "lost_blocks", "held"))
THREADS = ("tests/graph/test_threads.py", "tests/graph/test_views_together.py")
SITE = "tests/test_docs.py"
#: What has a step of its own is not among the other slow tests.
NAMED = ("tests/faults", "tests/store/test_power_cut.py", "tests/fuzz", "tests/test_without_pyspark.py", SITE)
NAMED += (*SCRIPTS, *THREADS)
INNER = ("tests/blocks", "tests/matrices", "tests/engines", "tests/kernels")
PAPER = (*INNER, *(f"--ignore={name}" for name in SCRIPTS))

STEPS = (
    Step(
        "install",
        "the README's commands, so every check and all tests but the slow ones: in a new clone, twice, without Java",
        (*RUN, "check-install", "--test", "--no-java"),
        30,
        EVERYTHING,
        shows=r"(?:demo|test), (?:first|second) time: exit code \d+ after \d+ s",
    ),
    _slow(
        "kills",
        "writers killed at every step of a commit and at any moment, 110 with Spark and 110 without",
        50,
        "-s",
        "tests/faults/test_driver_killed.py",
        shows=r"\d+ kills.*",
    ),
    _slow(
        "executor-kills",
        "executors killed while each engine works",
        10,
        "tests/faults/test_executor_killed.py",
        variables={"DYNTC_TEST_SPARK": "cluster"},
    ),
    _slow("storage", "full, locked and damaged disks, two writers, lost blocks, memory", 30, *STORAGE),
    _slow("power-loss", "every file since the last one on the disk empty, cut or gone", 5, NAMED[1]),
    _slow("threads", "threads that ask while others change", 4, *THREADS),
    _slow("scripts", "ten thousand scripts and batches, each answer compared; kernels that check indices", 5, *SCRIPTS),
    _slow("fuzz", "thousands of drawn inputs, right and wrong", 1, "tests/fuzz"),
    _slow(
        "paper", "the engines and matrices of the paper in process: ten thousand scripts", 55, *PAPER, "-m", "not spark"
    ),
    _slow("paper-spark", "the engines and matrices of the paper on Spark: 200 scripts", 45, *PAPER, "-m", "spark"),
    _slow(
        "slow",
        "the other slow tests",
        20,
        *(f"--ignore={name}" for name in (*NAMED, *INNER)),
        reads=(*BENCHMARKS, "tests", "notebooks"),
    ),
    Step(
        "soak",
        "mixed actions with restarts for 30 minutes",
        (*RUN, "soak", "--minutes", "30"),
        30,
        (*SHARED, "benchmarks/soak.py"),
        shows=r"(?:actions: \d+|restarts: \d+|divergences: \d+|MiB of Python.*)",
    ),
    _slow("wheel", "the wheel alone in an empty environment", 1, "tests/test_without_pyspark.py"),
    _slow("docs", "the site with every notebook", 3, SITE, reads=EVERYTHING),
    Step(
        "matrix",
        "a part of the tests with each version of Python and pyspark",
        (*RUN, "matrix"),
        10,
        (*SHARED, "tests", "README.md"),
    ),
    Step(
        "literature", "closures of the literature, small ones", (*RUN, "bench", "literature", "--quick"), 2, BENCHMARKS
    ),
)


@dataclass
class Outcome:
    """What came of a step."""

    content: str  #: of what the step reads, as a hash
    commit: str
    date: str
    code: int
    seconds: float
    counts: dict[str, int]
    shown: list[str]


class State:
    """What is known, in a file that is written after each step; two processes may write it."""

    def __init__(self, path: Path, scratch: Path) -> None:
        self._path, self._scratch = path, scratch
        self.outcomes = self._read()

    def _read(self) -> dict[str, Outcome]:
        known = json.loads(self._path.read_text(encoding="utf-8")) if self._path.exists() else {}
        return {name: Outcome(**outcome) for name, outcome in known.items()}

    def note(self, name: str, outcome: Outcome) -> None:
        """Keep an outcome beside what others have noted; the file is whole at every moment."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._scratch / "state.json"
        with (self._scratch / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.outcomes = {**self._read(), name: outcome}
            text = json.dumps({name: asdict(one) for name, one in sorted(self.outcomes.items())}, indent=1)
            new.write_text(text + "\n", encoding="utf-8")
            new.replace(self._path)


class Check:
    """The steps in one checkout."""

    def __init__(self, steps: Sequence[Step], root: Path = ROOT) -> None:
        self.steps, self._root = steps, root
        self._logs = root / ".release"
        self._logs.mkdir(exist_ok=True)
        self._contents = {paths: _content(root, paths) for paths in {step.reads for step in steps}}
        self.state = State(root / STATE, self._logs)

    def outcome(self, step: Step) -> Outcome | None:
        """Return what came of a step, unless something that it reads has changed since."""
        found = self.state.outcomes.get(step.name)
        return found if found is not None and found.content == self._contents[step.reads] else None

    def passed(self, step: Step) -> bool:
        """Return whether a step has passed with what is here now."""
        found = self.outcome(step)
        return found is not None and found.code == 0

    def run(self, only: Sequence[str] = ()) -> int:
        """Run the steps that have not passed, or those that are named; 1 unless all of these pass."""
        for step in self.steps:
            if (only and step.name not in only) or (not only and self.passed(step)):
                continue
            _say(f"{step.name}: {step.what} (about {step.minutes:g} minutes)")
            self.state.note(step.name, self._run(step))
            self.write()
        bad = [step.name for step in self.steps if (not only or step.name in only) and not self.passed(step)]
        print(*self.table(), sep="\n")
        _say(f"not passed: {', '.join(bad)}" if bad else "passed")
        return int(bool(bad))

    def _run(self, step: Step) -> Outcome:
        content, commit = _content(self._root, step.reads), _commit(self._root)
        begun, date = time.monotonic(), time.strftime("%Y-%m-%d")
        log = self._logs / f"{step.name}.log"
        code = _ran(step, self._root, log)
        text = log.read_text(encoding="utf-8", errors="replace").partition("\n")[2]  # without the command
        shown = re.findall(step.shows, text) if step.shows else []
        seconds = round(time.monotonic() - begun, 1)
        return Outcome(content, commit, date, code, seconds, counts(text), shown[:6])

    def table(self) -> Iterator[str]:
        """Yield the table of all steps."""
        yield "| step | what | outcome | tests | takes | date | commit |"
        yield "|---|---|---|---|---|---|---|"
        for step in self.steps:
            found = self.outcome(step)
            if found is None:
                yield f"| `{step.name}` | {step.what} | not run | | | | |"
                continue
            outcome = "; ".join(["passed" if found.code == 0 else f"failed, code {found.code}", *found.shown])
            tests = ", ".join(f"{count:,} {kind}" for kind, count in found.counts.items())
            took = f"{found.seconds / 60:.0f} min" if found.seconds >= 120 else f"{found.seconds:.0f} s"
            name = f"`{step.name}` | {step.what}"
            yield f"| {name} | {outcome} | {tests} | {took} | {found.date} | {found.commit} |"

    def write(self) -> None:
        """Write the table between the marks of the page, where there is one."""
        page = self._root / PAGE
        if not page.exists():
            return
        before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
        _, end, after = rest.partition(END)
        if not (begin and end):
            sys.exit(f"{page} has no marks {BEGIN} and {END}; put them back")
        page.write_text("\n".join([before + begin, "", *self.table(), "", end + after]), encoding="utf-8")


def counts(text: str) -> dict[str, int]:
    """Add up what each run of pytest in a log says: passed, failed, skipped, errors."""
    found: dict[str, int] = {}
    for line in PYTEST.findall(text):
        for count, kind in re.findall(r"(\d+) ([a-z]+)", line):
            if kind in {"passed", "failed", "skipped", "error", "errors", "xfailed"}:
                found[kind] = found.get(kind, 0) + int(count)
    return found


def _ran(step: Step, root: Path, log: Path) -> int:
    """Run a command; what it prints is shown and kept. An interruption ends all that it has started."""
    command = [sys.executable if word == "python3" else word for word in step.command]
    variables = " ".join(f"{name}={value}" for name, value in step.variables.items())
    with (
        log.open("w", encoding="utf-8") as kept,
        subprocess.Popen(
            command,
            cwd=root,
            env={**os.environ, **step.variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process,
    ):
        print(f"$ {variables} {' '.join(step.command)}".replace("$  ", "$ "), file=kept, flush=True)
        try:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                kept.write(line)
                kept.flush()
            return process.wait()
        except BaseException:
            _end(process)
            raise


def _end(process: subprocess.Popen[str]) -> None:
    """End a process and those of its session: politely, then at once."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, sign)
            process.wait(timeout=20)


def _git(root: Path, *words: str) -> str:
    command = [shutil.which("git") or "git", *words]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def listed(root: Path, paths: Sequence[str]) -> list[str]:
    """Return the files that these paths name, without those that this program writes."""
    return _git(root, "ls-files", "--", *paths, *OURS).splitlines()


def _content(root: Path, paths: Sequence[str]) -> str:
    """Return a hash of these paths as they are now, without what we write, and without `STYLE` of a named `PROJECT`."""
    file = root / PROJECT
    project = STYLE.sub("", file.read_text(encoding="utf-8")) if PROJECT in paths and file.exists() else ""
    rest = (*paths, *OURS, *([f":(exclude){PROJECT}"] if project else []))
    stored = _git(root, "ls-files", "--stage", "--", *rest)
    changed = _git(root, "diff", "--binary", "--", *rest)
    return hashlib.sha256(f"{project}\n{stored}\n{changed}".encode()).hexdigest()[:16]


def _commit(root: Path) -> str:
    """Return the commit, and whether files differ from it; what this program writes does not count."""
    changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", *OURS)
    return _git(root, "rev-parse", "--short", "HEAD") + ("-dirty" if changed else "")


def _say(line: str) -> None:
    print(f"== {line}", flush=True)


def main(words: Sequence[str], steps: Sequence[Step] = STEPS, root: Path = ROOT) -> int:
    """Run what the words ask for; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="release-check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [step.name for step in steps]
    parser.add_argument("--list", action="store_true", help="name the steps")
    parser.add_argument("--only", nargs="+", default=[], metavar="STEP", choices=names, help=", ".join(names))
    options = parser.parse_args(words)
    check = Check(steps, root)
    if options.list:
        for step in steps:
            found = check.outcome(step)
            known = "" if found is None else f", {'passed' if found.code == 0 else 'failed'} at {found.commit}"
            variables = "".join(f"{name}={value} " for name, value in step.variables.items())
            print(f"{step.name:16}about {step.minutes:g} min{known}\n    {variables}{' '.join(step.command)}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(INTERRUPTED))  # so that what was started is ended
    try:
        return check.run(options.only)
    except KeyboardInterrupt:
        _say("interrupted; the same command goes on from here")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
