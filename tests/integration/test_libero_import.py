"""hf-libero is imported without its side effects, in its real environment."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from robosmoke.catalog import find
from robosmoke.host.environments.venv import PreparedVenv, VenvBackend

QUIET = """
import os, sys
before = set(os.listdir(os.environ["TMPDIR"]))
from robosmoke.benchmarks.libero.upstream import import_libero
folder = import_libero()
from libero.libero import get_assets_path, get_libero_path
assert os.path.isdir(get_assets_path()), get_assets_path()
assert get_libero_path("assets") == get_assets_path()
assert "LIBERO_CONFIG_PATH" not in os.environ
assert {name for name in os.listdir(os.environ["TMPDIR"]) if "libero" not in name} <= before
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> PreparedVenv:
    benchmark = find("libero")
    log = tmp_path_factory.mktemp("log") / "install.log"
    return VenvBackend().prepare(benchmark, benchmark.manifest.environment["default"], log=log)


def run(prepared: PreparedVenv, code: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run code in the environment with a closed standard input and the home folder given."""
    (home.parent / "scratch").mkdir()
    return subprocess.run(
        [str(prepared.folder / "venv" / "bin" / "python"), "-c", code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={
            "HOME": str(home),
            "TMPDIR": str(home.parent / "scratch"),
            "MUJOCO_GL": "egl",
            "NUMBA_CACHE_DIR": str(home.parent / "numba"),
            "MPLCONFIGDIR": str(home.parent / "matplotlib"),
            "PYTHONPATH": ":".join(str(wheel.folder) for wheel in prepared.wheels),
        },
    )


def test_importing_asks_nothing_says_nothing_and_leaves_the_home_folder_alone(
    prepared: PreparedVenv, tmp_path: Path
) -> None:
    """Upstream asks where to put data sets, and reads an end of file as a crash."""
    home = tmp_path / "home"
    home.mkdir(mode=0o555)
    end = run(prepared, QUIET, home)
    assert end.returncode == 0, end.stderr
    assert end.stdout == ""
    assert list(home.iterdir()) == []
    assert list((tmp_path / "scratch").iterdir()) == []


def test_the_manifests_suites_are_upstreams_own_task_lists(prepared: PreparedVenv, tmp_path: Path) -> None:
    """Names, order and instructions are printed from hf-libero, and compared word by word."""
    home = tmp_path / "home"
    home.mkdir()
    end = run(prepared, "from robosmoke.benchmarks.libero.suites import suites_toml; print(suites_toml())", home)
    assert end.returncode == 0, end.stderr
    manifest = (find("libero").folder / "benchmark.toml").read_text(encoding="utf-8")
    assert end.stdout.strip() == manifest[manifest.index("[suite.") :].strip()
