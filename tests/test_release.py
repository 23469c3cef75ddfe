"""The release check: real commands, one that fails, an interruption, changed files; and clones without Java."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import fresh_clone, release
from tests.release import STEPS, Check, Step, counts
from tests.waiting import eventually

ROOT = Path(__file__).parents[1]
GIT = shutil.which("git") or "git"


@pytest.fixture
def checkout(tmp_path):
    """Return a repository with one commit and a page for the table."""
    root = tmp_path / "a checkout"
    (root / "docs" / "explanation").mkdir(parents=True)
    (root / release.PAGE).write_text(f"# Page\n\n{release.BEGIN}\n{release.END}\n\nThe end.\n")
    (root / "code").write_text("x = 1")
    commit(root, "init", "--quiet")
    commit(root, "add", ".")
    commit(root, "commit", "--quiet", "-m", "first")
    return root


def commit(root, *words):
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    subprocess.run([GIT, *who, *words], cwd=root, check=True)


def step(name, code, reads=("code",), **rest):
    return Step(name, f"does {name}", ("python3", "-c", code), 0.1, reads, **rest)


def noting(name, more="", **rest):
    """Return a step that adds its name to a file."""
    code = f"open('ran', 'a').write('{name} '); print('== 2 passed, 1 skipped in 0.10s =='); {more}"
    return step(name, code, **rest)


def ran(root):
    return (root / "ran").read_text().split()


def test_every_step_runs_although_one_fails_and_only_that_one_runs_again(checkout, capfd):
    steps = [noting("one"), noting("two", "raise SystemExit(3)"), noting("three")]
    assert Check(steps, checkout).run() == 1
    assert ran(checkout) == ["one", "two", "three"]
    assert "== not passed: two" in capfd.readouterr().out
    page = (checkout / release.PAGE).read_text()
    assert re.search(
        r"\| `one` \| does one \| passed \| 2 passed, 1 skipped \| \d+ s \| \d{4}-\d\d-\d\d \| \w{7,} \|", page
    )
    assert "| `two` | does two | failed, code 3 |" in page
    assert page.startswith("# Page\n")
    assert page.endswith("\n\nThe end.\n")
    assert Check([steps[0], noting("two"), steps[2]], checkout).run() == 0
    assert ran(checkout) == ["one", "two", "three", "two"]
    assert "failed" not in (checkout / release.PAGE).read_text()


def test_a_step_runs_again_when_something_that_it_reads_has_changed(checkout):
    steps = [noting("one"), noting("two", reads=release.EVERYTHING)]
    assert Check(steps, checkout).run() == 0
    (checkout / "docs" / "page.md").write_text("words")
    commit(checkout, "add", "docs/page.md", release.STATE)
    commit(checkout, "commit", "--quiet", "-m", "a page, and what is known")
    assert Check(steps, checkout).run() == 0
    assert ran(checkout) == ["one", "two", "two"]
    clone = checkout.parent / "another machine"
    commit(checkout, "commit", "--quiet", "-a", "-m", "what is known now")
    commit(checkout, "clone", "--quiet", str(checkout), str(clone))
    assert Check(steps, clone).run() == 0
    assert not (clone / "ran").exists(), "the file that was committed says that both have passed"
    (checkout / "code").write_text("x = 2")
    assert [Check(steps, checkout).passed(each) for each in steps] == [False, False], "not committed, but changed"
    assert "| `one` | does one | not run |" in "\n".join(Check(steps, checkout).table())
    assert Check(steps, checkout).run(["one"]) == 0
    assert Check(steps, checkout).state.outcomes["one"].commit.endswith("-dirty")
    assert not Check(steps, clone).state.outcomes["one"].commit.endswith("-dirty"), "the page does not count"


def test_settings_of_style_and_types_matter_only_to_a_step_that_reads_everything(checkout):
    project = checkout / release.PROJECT
    project.write_text((ROOT / release.PROJECT).read_text())
    commit(checkout, "add", release.PROJECT)
    commit(checkout, "commit", "--quiet", "-m", "a project")
    steps = [noting("one", reads=("code", release.PROJECT)), noting("two", reads=release.EVERYTHING)]
    assert Check(steps, checkout).run() == 0
    for old, new, passed in (
        ('    "ruff>', '    "ruff!=0.1,>', [True, False]),
        ('select = ["ALL"]', 'select = ["E"]', [True, False]),
        ('    "mypy>', '    "mypy!=0.1,>', [True, False]),
        ("[tool.mypy]\nstrict = true", "[tool.mypy]\nstrict = false", [True, False]),
        ("[[tool.mypy.overrides]]", "[[tool.mypy.overrides]]\n# all", [True, False]),
        ('filterwarnings = ["error"]', 'filterwarnings = ["default"]', [False, False]),
        ('    "numpy>', '    "numpy!=2.1,>', [False, False]),
    ):
        before = project.read_text()
        assert before.count(old) == 1
        project.write_text(before.replace(old, new))
        assert [Check(steps, checkout).passed(each) for each in steps] == passed
        project.write_text(before)


def test_two_processes_may_run_different_steps(checkout):
    first, second = Check([noting("one"), noting("two")], checkout), Check([noting("one"), noting("two")], checkout)
    assert (first.run(["one"]), second.run(["two"])) == (0, 0)
    assert set(Check([], checkout).state.outcomes) == {"one", "two"}
    assert "not run" not in (checkout / release.PAGE).read_text()


def test_an_interrupted_run_goes_on_and_leaves_no_process(checkout):
    waits = "import os, subprocess, sys; open('ran', 'a').write('two '); "
    waits += "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
    waits += "open('pids', 'w').write(f'{os.getpid()} {child.pid} '); child.wait()"
    program = (
        "import sys; from pathlib import Path; from tests.release import main, Step\n"
        f"code = {waits!r} if not Path('pids').exists() else \"open('ran', 'a').write('again ')\"\n"
        "first = Step('one', 'one', ('python3', '-c', \"open('ran', 'a').write('one ')\"), 1, ('code',))\n"
        "sys.exit(main([], [first, Step('two', 'two', ('python3', '-c', code), 1, ('code',))], Path.cwd()))"
    )
    command, environment = [sys.executable, "-c", program], {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=checkout, env=environment, stdout=subprocess.DEVNULL) as running:
        assert eventually(lambda: len((checkout / "pids").read_text().split()) == 2 if exists(checkout) else False)
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=60) == release.INTERRUPTED
    pids = [int(pid) for pid in (checkout / "pids").read_text().split()]
    assert eventually(lambda: not any(alive(pid) for pid in pids))
    assert list(json.loads((checkout / release.STATE).read_text())) == ["one"]
    assert (
        subprocess.run(command, cwd=checkout, env=environment, stdout=subprocess.DEVNULL, check=False).returncode == 0
    )
    assert ran(checkout) == ["one", "two", "again"]


def exists(root):
    return (root / "pids").exists()


def alive(pid):
    """Return whether a process runs: one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_a_step_shows_goes_into_the_table(checkout, monkeypatch):
    monkeypatch.setenv("DYNTC_SEEN", "no")
    prints = step(
        "soak",
        "import os; print('actions: 12 and more'); print(os.environ['DYNTC_SEEN'])",
        variables={"DYNTC_SEEN": "yes"},
        shows=r"actions: \d+",
    )
    check = Check([prints], checkout)
    assert check.run() == 0
    assert "| passed; actions: 12 |" in "\n".join(check.table())
    assert (checkout / ".release" / "soak.log").read_text().splitlines()[-1] == "yes"


def test_counts_are_added_up():
    last = "===== 1 failed, 40 passed, 2 skipped, 7 deselected in 70.00s (0:01:10) ====="
    text = f"= 3 passed in 0.1s =\nx\n{last}\n5 passed in 1s"
    assert counts(text) == {"passed": 48, "failed": 1, "skipped": 2}
    assert counts("nothing in 3.2s") == {}


def test_a_page_without_its_marks_is_left_alone(checkout):
    (checkout / release.PAGE).write_text("no marks")
    with pytest.raises(SystemExit, match="has no marks"):
        Check([noting("one")], checkout).run()
    assert (checkout / release.PAGE).read_text() == "no marks"


def test_the_steps_name_files_and_commands_that_are_there():
    assert len({each.name for each in STEPS}) == len(STEPS)
    files = [word.removeprefix("--ignore=") for each in STEPS for word in each.command if "tests/" in word]
    assert len(files) > 20
    assert all((ROOT / file).exists() for file in files)
    faults = {f"tests/faults/{path.name}" for path in (ROOT / "tests" / "faults").glob("test_*.py")}
    assert faults <= set(files), "the step 'slow' leaves the whole folder out"
    commands = {each.command[2] for each in STEPS}
    text = (ROOT / "run.py").read_text()
    assert all(f'"{command}"' in text for command in commands)
    manual = (ROOT / "CONTRIBUTING.md").read_text()
    assert [each.name for each in STEPS if f"`{each.name}`" not in manual] == []
    assert (ROOT / release.PAGE).read_text().count(release.BEGIN) == 1


def test_a_step_reads_the_code_its_own_tests_and_what_tests_share():
    files = {each.name: set(release.listed(ROOT, each.reads)) for each in STEPS}
    shared = {
        "dyntc_spark/machine.py",
        "sql/closure.sql",
        "tests/conftest.py",
        "tests/store/closures.py",
        "pyproject.toml",
    }
    assert all(shared <= found for found in files.values())
    assert {name for name in files["kills"] if "/test_" in name} == {"tests/faults/test_driver_killed.py"}
    assert "tests/engines/test_kleene.py" in files["paper"]
    assert "tests/graph/test_labels.py" in files["slow"]
    assert {name for name, found in files.items() if "README.md" in found} == {"install", "docs", "matrix"}
    assert {name for name, found in files.items() if "benchmarks/soak.py" in found} >= {"soak", "slow", "literature"}
    helpers = [path.name for path in (ROOT / "tests").rglob("t*.py") if not path.name.startswith("test_")]
    assert helpers == [], "the pattern of what tests share leaves names with a t out"


def test_steps_are_listed(checkout, capsys):
    assert release.main(["--list"], root=checkout) == 0
    out = capsys.readouterr().out
    assert "DYNTC_TEST_SPARK=cluster python3 run.py test --slow tests/faults/test_executor_killed.py" in out
    assert out.count("about ") == len(STEPS)
    with pytest.raises(SystemExit):
        release.main(["--only", "nothing"], root=checkout)


# --- a new clone ----------------------------------------------------------------------------------


def test_java_is_hidden_and_nothing_else(tmp_path):
    programs, others = tmp_path / "bin", tmp_path / "others"
    for folder in (programs, others):
        folder.mkdir()
    for name in ("java", "javac", "tool"):
        (programs / name).write_text("#!/bin/sh\necho ran\n")
        (programs / name).chmod(0o755)
    before = {"PATH": f"{programs}{os.pathsep}{others}", "JAVA_HOME": str(tmp_path), "HOME": "here"}
    after = fresh_clone.without_java(tmp_path / "links", before)
    assert (after["HOME"], "JAVA_HOME" in after) == ("here", False)
    first, second = after["PATH"].split(os.pathsep)
    assert second == str(others)
    assert sorted(path.name for path in Path(first).iterdir()) == ["tool"]
    done = subprocess.run(["tool"], env=after, capture_output=True, text=True, check=True)  # noqa: S607  (PATH is what is tested)
    assert done.stdout == "ran\n"


def test_commands_run_in_a_clone_until_one_fails(checkout, capfd):
    (checkout / "run.py").write_text(
        "import sys, os; print('in', os.path.dirname(__file__)); sys.exit('test' in sys.argv)"
    )
    commit(checkout, "add", "run.py")
    commit(checkout, "commit", "--quiet", "-m", "a program")
    assert fresh_clone.main([], checkout) == 0
    out = capfd.readouterr().out
    assert out.count("/a clone\n") == 2
    assert "demo, second time: exit code 0" in out
    assert fresh_clone.main(["--test"], checkout) == 1
    out = capfd.readouterr().out
    assert "test, first time: exit code 1" in out
    assert "second" not in out
    assert fresh_clone.main(["--no-java"], checkout) == 1
    assert "was not installed" in capfd.readouterr().err
