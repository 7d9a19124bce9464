"""``robosmoke new`` writes a folder that is a working benchmark at once, or writes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from robosmoke.errors import UsageError
from robosmoke.host.scaffold import TEMPLATE, write_benchmark
from robosmoke.manifest import read_manifest


def test_the_folder_is_a_whole_package_under_the_new_name(tmp_path: Path) -> None:
    folder = write_benchmark("my_arm", tmp_path)
    assert folder == tmp_path / "robosmoke-my-arm"
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == {
        "pyproject.toml",
        "README.md",
        "src/robosmoke_my_arm/__init__.py",
        "src/robosmoke_my_arm/benchmark.toml",
        "src/robosmoke_my_arm/env.py",
        "src/robosmoke_my_arm/expert.py",
        "src/robosmoke_my_arm/simulation.py",
        "tests/test_contract.py",
    }


def test_no_placeholder_is_left_in_a_name_or_a_text(tmp_path: Path) -> None:
    folder = write_benchmark("my_arm", tmp_path)
    for path in folder.rglob("*"):
        assert "mybenchmark" not in path.name
        assert not path.is_file() or "mybenchmark" not in path.read_text().lower()


def test_a_name_that_holds_the_placeholder_is_replaced_once(tmp_path: Path) -> None:
    folder = write_benchmark("mybenchmark_two", tmp_path)
    manifest = read_manifest(folder / "src/robosmoke_mybenchmark_two/benchmark.toml")
    assert (manifest.name, manifest.title) == ("mybenchmark_two", "Mybenchmark Two")


def test_nothing_but_the_folder_is_left_beside_it(tmp_path: Path) -> None:
    write_benchmark("my_arm", tmp_path / "new" / "place")
    assert [path.name for path in (tmp_path / "new" / "place").iterdir()] == ["robosmoke-my-arm"]


@pytest.mark.parametrize(
    "name", ["", "My", "my-arm", "my__arm", "_arm", "arm_", "1arm", "class", "../arm", "a b", "ärm"]
)
def test_a_name_that_cannot_be_a_package_is_refused_and_nothing_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="benchmark name"):
        write_benchmark(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_name_of_a_known_benchmark_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is taken by"):
        write_benchmark("pusht", tmp_path)


def test_an_existing_folder_is_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "robosmoke-my-arm").mkdir()
    (tmp_path / "robosmoke-my-arm" / "work.txt").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        write_benchmark("my_arm", tmp_path)
    assert [path.name for path in (tmp_path / "robosmoke-my-arm").iterdir()] == ["work.txt"]


def test_a_place_that_cannot_be_written_is_a_usage_error_naming_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match="robosmoke-my-arm: cannot be written"):
        write_benchmark("my_arm", tmp_path / "file")


def test_the_new_benchmark_passes_its_contract_tests_at_once(tmp_path: Path) -> None:
    folder = write_benchmark("my_arm", tmp_path)
    # What an installer would leave: enough metadata for the entry point to be found.
    record = folder / "src" / "robosmoke_my_arm-0.1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: robosmoke-my-arm\nVersion: 0.1.0\n")
    (record / "entry_points.txt").write_text("[robosmoke.benchmarks]\nmy_arm = robosmoke_my_arm\n")
    path = os.pathsep.join([str(folder / "src"), str(TEMPLATE.parents[2])])
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", str(folder)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert tests.returncode == 0, tests.stdout + tests.stderr
    assert " passed" in tests.stdout
    assert "skipped" not in tests.stdout
