"""What a release has to pass: every check in order, with a table of what came of it. It uses the standard library only.

    python3 run.py release-check                  run every step that has not passed at this commit
    python3 run.py release-check --list           name the steps, their commands, and what is known of them
    python3 run.py release-check --only soak docs run these steps, also if they have passed
    python3 run.py release-check --keep           count what passed at earlier commits, too

It takes hours. What it finds is kept after each step, so that it goes on where it was interrupted; another commit
starts anew. What a step prints goes to ``.release/STEP.log``, too. A step that fails does not stop the others. The
table is written into ``docs/explanation/release.md``. A release is a commit that passed every step.
"""

from __future__ import annotations

import argparse
import contextlib
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
BEGIN, END = "<!-- release-check: begin -->", "<!-- release-check: end -->"
RUN = ("python3", "run.py")
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
    variables: dict[str, str] = field(default_factory=dict)  #: of its environment
    shows: str = ""  #: what of its output belongs into the table, as a regular expression


def _slow(name: str, what: str, minutes: float, *words: str, **rest) -> Step:
    return Step(name, what, (*RUN, "test", "--slow", *words), minutes, **rest)


SCRIPTS = ("tests/engines/test_lanes.py", "tests/engines/test_lanes_long.py", "tests/engines/test_engines_machine.py")
STORAGE = tuple(f"tests/faults/test_{name}.py" for name in ("steps", "storage", "two_writers", "lost_blocks", "held"))
THREADS = ("tests/graph/test_threads.py", "tests/graph/test_views_together.py")
#: What has a step of its own is not among the other slow tests.
NAMED = ("tests/faults", "tests/store/test_power_cut.py", "tests/fuzz", "tests/test_without_pyspark.py")
NAMED += (*SCRIPTS, *THREADS)

STEPS = (
    Step("test", "every check and every test but the slow ones", (*RUN, "test"), 40),
    _slow(
        "kills",
        "writers killed at every step of a commit and at any moment, 110 with Spark and 110 without",
        30,
        "-s",
        "tests/faults/test_driver_killed.py",
        shows=r"\d+ kills.*|published but not acknowledged: \d+",
    ),
    _slow(
        "executor-kills",
        "executors killed while each engine works",
        15,
        "tests/faults/test_executor_killed.py",
        variables={"DYNTC_TEST_SPARK": "cluster"},
    ),
    _slow("storage", "full, locked and damaged disks, two writers, lost blocks, memory", 15, *STORAGE),
    _slow("power-loss", "every file since the last one on the disk empty, cut or gone", 10, NAMED[1]),
    _slow("threads", "threads that ask while others change", 10, *THREADS),
    _slow(
        "scripts", "ten thousand scripts and batches, each answer compared; kernels that check indices", 40, *SCRIPTS
    ),
    _slow("fuzz", "thousands of drawn inputs, right and wrong", 15, "tests/fuzz"),
    _slow("slow", "the other slow tests", 60, *(f"--ignore={name}" for name in NAMED)),
    Step(
        "soak",
        "mixed actions with restarts for 30 minutes",
        (*RUN, "soak", "--minutes", "30"),
        30,
        shows=r"(?:actions: \d+|restarts: \d+|divergences: \d+|MiB of Python.*)",
    ),
    Step(
        "install",
        "both commands of the README in a new clone in a path with a space, without Java, twice",
        (*RUN, "check-install", "--test", "--no-java"),
        120,
        shows=r"(?:demo|test), (?:first|second) time: exit code \d+ after \d+ s",
    ),
    _slow("wheel", "the wheel alone in an empty environment", 5, "tests/test_without_pyspark.py"),
    Step("docs", "the site with every notebook", (*RUN, "docs"), 3),
    Step("matrix", "a part of the tests with each version of Python and pyspark", (*RUN, "matrix"), 30),
    Step("literature", "closures of the literature, small ones", (*RUN, "bench", "literature", "--quick"), 2),
)


@dataclass
class Outcome:
    """What came of a step."""

    commit: str
    date: str
    code: int
    seconds: float
    counts: dict[str, int]
    shown: list[str]


class State:
    """What is known, in a file that is written after each step."""

    def __init__(self, path: Path, commit: str, *, keep: bool) -> None:
        self._path = path
        known: dict[str, dict] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        found = {name: Outcome(**outcome) for name, outcome in known.items()}
        self.outcomes = {name: one for name, one in found.items() if keep or one.commit == commit}

    def passed(self, name: str) -> bool:
        """Return whether a step is known to have passed."""
        return name in self.outcomes and self.outcomes[name].code == 0

    def note(self, name: str, outcome: Outcome) -> None:
        """Keep an outcome; the file is whole at every moment."""
        self.outcomes[name] = outcome
        new = self._path.with_suffix(".new")
        text = json.dumps({name: asdict(one) for name, one in self.outcomes.items()}, indent=1)
        new.write_text(text, encoding="utf-8")
        new.replace(self._path)


class Check:
    """The steps at one commit of a checkout."""

    def __init__(self, steps: Sequence[Step], root: Path = ROOT, *, keep: bool = False) -> None:
        self.steps, self._root = steps, root
        self._commit = _commit(root)
        self._logs = root / ".release"
        self._logs.mkdir(exist_ok=True)
        self.state = State(self._logs / "state.json", self._commit, keep=keep)

    def run(self, only: Sequence[str] = ()) -> int:
        """Run the steps that have not passed, or those that are named; 1 unless all of these pass."""
        for step in self.steps:
            if (only and step.name not in only) or (not only and self.state.passed(step.name)):
                continue
            _say(f"{step.name}: {step.what} (about {step.minutes:g} minutes)")
            self.state.note(step.name, self._outcome(step))
            self.write()
        wanted = [step.name for step in self.steps if not only or step.name in only]
        bad = [name for name in wanted if not self.state.passed(name)]
        print(*self.table(), sep="\n")
        _say(f"not passed: {', '.join(bad)}" if bad else "passed")
        return int(bool(bad))

    def _outcome(self, step: Step) -> Outcome:
        begun, date = time.monotonic(), time.strftime("%Y-%m-%d")
        log = self._logs / f"{step.name}.log"
        code = _ran(step, self._root, log)
        text = log.read_text(encoding="utf-8", errors="replace").partition("\n")[2]  # without the command
        shown = re.findall(step.shows, text) if step.shows else []
        return Outcome(self._commit, date, code, round(time.monotonic() - begun, 1), counts(text), shown[:6])

    def table(self) -> Iterator[str]:
        """Yield the table of all steps."""
        yield "| step | what | outcome | tests | takes | date | commit |"
        yield "|---|---|---|---|---|---|---|"
        for step in self.steps:
            found = self.state.outcomes.get(step.name)
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


def _commit(root: Path) -> str:
    """Return the commit, and whether files differ from it; the page that this writes does not count."""

    def git(*words: str) -> str:
        command = [shutil.which("git") or "git", *words]
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", f":(exclude){PAGE}")
    return git("rev-parse", "--short", "HEAD") + ("-dirty" if changed else "")


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
    parser.add_argument("--keep", action="store_true", help="count what passed at earlier commits")
    options = parser.parse_args(words)
    check = Check(steps, root, keep=options.keep)
    if options.list:
        for step in steps:
            found = check.state.outcomes.get(step.name)
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
