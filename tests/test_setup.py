"""run.py: what it installs and when, and what it says where something is missing."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dyntc_spark import machine

ROOT = Path(__file__).parents[1]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return run.py as a module whose project is an empty folder and which starts no program."""
    spec = importlib.util.spec_from_file_location("run", ROOT / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "pyproject.toml").write_text("first")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(module, "PYTHON", tmp_path / ".venv" / "python")
    monkeypatch.setattr(module, "STAMP", tmp_path / ".venv" / "stamp")
    monkeypatch.setattr(module, "java_is_missing", lambda: False)
    module.calls = []
    monkeypatch.setattr(module, "call", lambda command, _extra=None: module.calls.append(command) or 0)
    return module


@pytest.fixture
def installs(run, monkeypatch):
    """Return the arguments of every installation by pip; the virtual environment is always there."""
    done = []
    run.VENV.mkdir()
    run.PYTHON.touch()
    monkeypatch.setattr(run, "make_venv", lambda fresh: done.append(("fresh",)) if fresh else None)
    monkeypatch.setattr(run, "pip", lambda *arguments: done.append(arguments))
    return done


def test_a_second_run_installs_nothing(run, installs):
    run.install({"[delta]", "dev"})
    assert installs == [("--editable", ".[delta]", "--group=dev")]
    run.install({"[delta]", "dev"})
    run.install(set())
    assert len(installs) == 1


def test_one_more_part_takes_nothing_away(run, installs):
    run.install({"[delta]", "dev"})
    run.install({"bench"})
    run.install({"[delta]", "dev"})
    assert installs[1:] == [("--editable", ".[delta]", "--group=bench", "--group=dev")]


def test_a_changed_project_is_installed_again(run, installs):
    run.install(set())
    (run.ROOT / "pyproject.toml").write_text("second")
    run.install(set())
    assert installs == [("--editable", ".")] * 2


def test_another_python_gets_another_environment(run, installs, monkeypatch):
    run.install(set())
    monkeypatch.setattr(run.sys, "version", "3.99")
    run.install(set())
    assert installs[1:] == [("fresh",), ("--editable", ".")]


def test_an_interrupted_installation_is_done_again(run, installs):
    run.STAMP.write_text('{"python": "3.99"}')
    run.install(set())
    assert installs == [("fresh",), ("--editable", ".")]


def test_a_machine_without_java(run, installs, monkeypatch, capsys):
    monkeypatch.setattr(run, "java_is_missing", lambda: True)
    run.install({"dev"})
    assert installs == [("--editable", ".[java]", "--group=dev")]
    assert "no Java 17 or newer" in capsys.readouterr().out


def test_java_is_looked_for_as_the_session_does(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("run", ROOT / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    java = tmp_path / "a home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    monkeypatch.setenv("PATH", "")
    for version, missing in (("1.8.0_402", True), ("11.0.2", True), ("17", False), ("21.0.1", False)):
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        java.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "a home"))
        assert module.java_is_missing() == missing
    monkeypatch.delenv("JAVA_HOME")
    assert module.java_is_missing()
    assert module.OLDEST_JAVA == machine._OLDEST_JAVA


def test_a_python_that_makes_no_environments(run, monkeypatch):
    monkeypatch.setattr(run.importlib.util, "find_spec", lambda name: None if name == "ensurepip" else name)
    with pytest.raises(SystemExit, match=r"(?s)it lacks ensurepip\..*apt install python3-venv"):
        run.make_venv(fresh=False)


def test_an_environment_of_somebody_else_is_left_alone(run):
    (run.VENV / "lib").mkdir(parents=True)
    with pytest.raises(SystemExit, match=r"was not made by run\.py"):
        run.make_venv(fresh=False)
    assert (run.VENV / "lib").exists()


def test_an_environment_of_ours_is_made_again(run, monkeypatch):
    (run.VENV / "lib").mkdir(parents=True)
    run.STAMP.write_text("{}")
    versions = iter([None, (24, 0)])
    monkeypatch.setattr(run, "pip_version", lambda: next(versions))
    run.make_venv(fresh=False)
    assert [path.name for path in run.VENV.iterdir()] == ["stamp"]
    assert [command[1:4] for command in run.calls] == [["-m", "venv", str(run.VENV)], ["-m", "pip", "install"]]
    assert run.calls[1][-1] == "pip>=25.1"


def test_pip_that_fails(run, monkeypatch):
    monkeypatch.setattr(run, "call", lambda _command: 1)
    with pytest.raises(SystemExit, match=r"pip ended with code 1; its message is above\."):
        run.pip("--editable", ".")


def test_every_check_runs_although_one_fails(run, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(run, "install", lambda _parts: None)

    def call(command, extra, output):
        asked.append((command, extra))
        print("done", *command, file=output)
        return int("mypy" in command)

    monkeypatch.setattr(run, "call", call)
    assert run.main(["test"]) == 1
    kinds = [extra["DYNTC_TEST_SPARK"] for _, extra in asked]
    assert sorted(kinds) == [""] * 5 + ["classic", "classic", "cluster", "connect"]
    said, _, summary = capsys.readouterr().out.partition("== summary\n")
    assert said.count("done") == 9
    assert re.findall(r"(?m)^FAILED +(.*) \(", summary) == ["mypy"]
    assert summary.count("ok ") == 8


def test_quick_tests_start_no_spark(run, monkeypatch):
    asked = []
    monkeypatch.setattr(run, "install", lambda _parts: None)
    monkeypatch.setattr(run, "call", lambda command, _extra, _output: asked.append(command) or 0)
    assert run.main(["test", "--quick"]) == 0
    assert [command[-1] for command in asked if "pytest" in command] == ["not spark and not long"]


def test_arguments_of_test_go_to_pytest(run, monkeypatch):
    monkeypatch.setattr(run, "install", lambda _parts: None)
    assert run.main(["test", "-k", "codec"]) == 0
    assert run.calls == [[str(run.PYTHON), "-m", "pytest", "-k", "codec"]]


def test_docs_are_built_strictly(run, installs):
    assert run.main(["docs", "-d", "there"]) == 0
    assert installs == [("--editable", ".[delta]", "--group=docs")]
    assert run.calls == [[str(run.PYTHON), "-m", "mkdocs", "build", "--strict", "-d", "there"]]


def test_the_slow_tests_can_build_the_docs(run, installs):
    assert run.main(["test", "--slow"]) == 0
    assert installs == [("--editable", ".[delta]", "--group=dev", "--group=docs")]


def test_help_and_a_command_that_is_not_there(run, capsys):
    assert run.main(["--help"]) == 0
    assert "python3 run.py demo" in capsys.readouterr().out
    assert run.main([]) == 2
    assert run.main(["tset"]) == 2
    assert "no command 'tset'" in capsys.readouterr().err


def test_an_old_python_is_told_so():
    pretend = (
        "import runpy, sys; sys.version_info = (3, 6, 8, 'final', 0); runpy.run_path('run.py', run_name='__main__')"
    )
    ran = subprocess.run([sys.executable, "-c", pretend], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr.startswith("dyntc_spark needs Python 3.10 or newer; this is Python 3.6 (")
    assert "Traceback" not in ran.stderr


def test_an_old_python_can_read_run_py():
    ast.parse((ROOT / "run.py").read_text(encoding="utf-8"), feature_version=(3, 6))


def test_run_py_and_the_project_agree_on_python(run):
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'requires-python = ">={}.{}"'.format(*run.OLDEST_PYTHON) in project


def test_ci_runs_the_test_command():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").splitlines()[-1] == "exec python3 run.py test"
