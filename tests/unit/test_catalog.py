"""Benchmarks are found in the built-in folder and through entry points, and none is imported for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from robosmoke import catalog
from robosmoke.errors import ManifestError, UsageError

MANIFEST = """
schema = 1
name = "{name}"
title = "Arm"
summary = "An arm"
url = "https://example.org"
env = "env:Arm"
expert = "expert:Arm"
control_hz = 10
on_success = "stop"
on_success_source = "its paper"
review_camera = "top"
smoke = {{ expert_rate = 1.0 }}
camera = [{{ name = "top" }}]
environment = {{ default = {{}} }}
suite = {{ lift = {{ horizon = 9, tasks = [{{ name = "cube", instruction = "Lift.", smoke = true }}] }} }}
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder on the path that packages can be installed into."""
    monkeypatch.syspath_prepend(tmp_path)
    catalog.benchmarks.cache_clear()
    yield tmp_path
    catalog.benchmarks.cache_clear()


def install(site: Path, name: str, package: str = "their_arms") -> None:
    """Leave what an installer would: the package, which must not be imported, and its metadata."""
    (site / package).mkdir()
    (site / package / "__init__.py").write_text("raise AssertionError('the catalogue imported a benchmark')\n")
    (site / package / "benchmark.toml").write_text(MANIFEST.format(name=name))
    entry_point(site, f"arm = {package}")


def entry_point(site: Path, line: str) -> None:
    record = site / "their_arms-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: their-arms\nVersion: 1.0\n")
    (record / "entry_points.txt").write_text(f"[robosmoke.benchmarks]\n{line}\n")


def test_a_third_partys_benchmark_is_found_with_its_distribution(site: Path) -> None:
    install(site, "arm")
    found = catalog.find("arm")
    assert found.folder == site / "their_arms"
    assert found.manifest.package == "their_arms"
    assert found.distribution is not None
    assert found.distribution.version == "1.0"


def test_every_built_in_folder_is_a_benchmark_of_its_own_name() -> None:
    folders = {path.parent.name for path in catalog.BUILTIN_FOLDER.glob("*/benchmark.toml")}
    built_in = {name for name, found in catalog.benchmarks().items() if found.distribution is None}
    assert {"metaworld", "pusht"} <= folders == built_in


def test_a_name_that_is_taken_is_refused_and_both_files_are_named(site: Path) -> None:
    install(site, "pusht")
    with pytest.raises(ManifestError, match=r"their_arms/benchmark\.toml: name: 'pusht' is taken by .*pusht/bench"):
        catalog.benchmarks()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("arm = nowhere_at_all", "'nowhere_at_all' is not a package"),
        ("arm = nowhere_at_all.arm", "No module named 'nowhere_at_all'"),
        ("arm = json.decoder", "'json.decoder' is not a package"),
        ("arm = json", r"json/benchmark\.toml: cannot be read"),
    ],
)
def test_an_entry_point_that_leads_nowhere_is_named(site: Path, line: str, message: str) -> None:
    entry_point(site, line)
    with pytest.raises(ManifestError, match=message):
        catalog.benchmarks()


def test_an_unknown_benchmark_gets_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="unknown benchmark 'pushed': did you mean 'pusht'\\?"):
        catalog.find("pushed")


def test_the_catalogue_imports_no_simulator_and_no_adapter() -> None:
    script = (
        "import sys; from robosmoke.catalog import benchmarks; benchmarks();"
        "print([m for m in ('numpy', 'gymnasium', 'mujoco', 'metaworld', 'gym_pusht', 'torch') if m in sys.modules],"
        " [m for m in sys.modules if m.startswith('robosmoke.benchmarks.')])"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed == "[] []\n"
