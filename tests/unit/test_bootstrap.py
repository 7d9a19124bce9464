"""The bootstrap runs on a bare Python, and says in one line what a machine lacks."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

# The bootstrap makes the host side, which starts at Python 3.11.
pytestmark = pytest.mark.host
ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "bootstrap.py"


@pytest.fixture
def bootstrap() -> ModuleType:
    """Give the script as a module."""
    module = ModuleType("bootstrap")
    module.__file__ = str(SCRIPT)
    exec(compile(SCRIPT.read_text(encoding="utf-8"), str(SCRIPT), "exec"), module.__dict__)
    return module


@pytest.fixture
def commands(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Collect the commands that would be run, all of which succeed."""
    seen: list[list[str]] = []

    def run(command: list[str], **_options: object) -> subprocess.CompletedProcess[str]:
        seen.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(bootstrap.subprocess, "run", run)
    return seen


def test_it_imports_the_standard_library_alone() -> None:
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_it_runs_where_nothing_is_installed() -> None:
    """Isolated, without site-packages; with every library found there is nothing to do."""
    script = (
        "import ctypes.util, runpy, sys; ctypes.util.find_library = lambda name: name;"
        "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, str(SCRIPT), "system"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_without_a_way_to_install_it_prints_the_one_command_and_exits_3(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap.ctypes.util, "find_library", lambda name: None if name == "EGL" else name)
    monkeypatch.setattr(bootstrap, "privilege", lambda: None)
    assert bootstrap.main(["system"]) == 3
    assert capsys.readouterr().err == (
        "robosmoke: rendering needs libraries that are missing: run"
        " `sudo apt-get install --yes --no-install-recommends libegl1 libgl1-mesa-dri`\n"
    )


def test_where_it_may_it_installs_only_what_is_missing(
    bootstrap: ModuleType, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap.ctypes.util, "find_library", lambda name: None if name == "OSMesa" else name)
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: name)
    monkeypatch.setattr(bootstrap, "privilege", lambda: ["sudo", "-n"])
    assert bootstrap.main(["system"]) == 0
    assert commands == [
        ["sudo", "-n", "apt-get", "update"],
        ["sudo", "-n", "apt-get", "install", "--yes", "--no-install-recommends", "libosmesa6"],
    ]


def test_the_venv_gets_the_project_and_its_test_requirements_and_then_its_mark(
    bootstrap: ModuleType, commands: list[list[str]], tmp_path: Path
) -> None:
    assert bootstrap.main(["venv", str(tmp_path)]) == 0
    assert commands[0][1:] == ["-m", "venv", str(tmp_path)]
    assert [word.rpartition("/")[2] for word in commands[-1][-3:]] == [
        f"{ROOT.name}[host]",
        "--group",
        "pyproject.toml:test",
    ]
    assert (tmp_path / ".complete").exists()


def test_a_step_that_fails_is_named_and_leaves_the_venv_incomplete(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(command: list[str], **_options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, int("pip" in command))

    monkeypatch.setattr(bootstrap.subprocess, "run", run)
    assert bootstrap.main(["venv", str(tmp_path)]) == 3
    assert f"this failed: {tmp_path}/bin/python -m pip install" in capsys.readouterr().err
    assert not (tmp_path / ".complete").exists()


def test_an_old_python_is_refused_with_what_to_do(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = type("version", (tuple,), {"major": 3, "minor": 10})((3, 10))
    monkeypatch.setattr(bootstrap.sys, "version_info", old)
    assert bootstrap.main(["venv", str(tmp_path)]) == 3
    assert capsys.readouterr().err == "robosmoke: Python 3.10 is too old: run make PYTHON=python3.11\n"
