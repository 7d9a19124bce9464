"""The smallest real benchmark (the one that ``robosmoke new`` writes), and which tests need the host side."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import msgspec
import pytest

from robosmoke.manifest import Manifest, Task, read_manifest

TEMPLATE = Path(__file__).parents[2] / "src" / "robosmoke" / "host" / "template" / "src"
# The tests' own benchmark imports like an installed one; no entry point names it, so nothing lists it.
sys.path.append(str(TEMPLATE))

HOST_IMPORT = re.compile(r"^(?:from|import) robosmoke\.host\b", re.MULTILINE)
HOST_INSTALLED = importlib.util.find_spec("typer") is not None


def needs_host(file: Path) -> bool:
    """Tell from its imports whether a test file needs ``robosmoke[host]``."""
    return file.suffix == ".py" and file.exists() and bool(HOST_IMPORT.search(file.read_text(encoding="utf-8")))


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave the host's tests alone where only the guest side is installed: they could not be imported."""
    file = collection_path / "conftest.py" if collection_path.is_dir() else collection_path
    return True if not HOST_INSTALLED and needs_host(file) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the host's tests, so that ``-m "not host"`` is the guest side."""
    for item in items:
        if needs_host(item.path) or needs_host(item.path.parent / "conftest.py"):
            item.add_marker("host")


@pytest.fixture
def manifest() -> Manifest:
    """Give the smallest benchmark's manifest; its suite has three init states here."""
    read = read_manifest(TEMPLATE / "robosmoke_mybenchmark" / "benchmark.toml", package="robosmoke_mybenchmark")
    (suite,) = read.suite.values()
    return msgspec.structs.replace(read, suite={suite.name: msgspec.structs.replace(suite, init_states=3)})


@pytest.fixture
def task(manifest: Manifest) -> Task:
    """Give its first task: horizon 60 steps."""
    return manifest.tasks[0]
