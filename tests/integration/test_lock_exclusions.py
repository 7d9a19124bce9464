"""Locks that leave out what a requirement declares and nothing imports."""

from __future__ import annotations

from pathlib import Path

from robosmoke.host.environments.lock import compile_lock
from robosmoke.manifest import Environment


def test_an_excluded_distribution_and_what_only_it_needs_are_not_locked(tmp_path: Path) -> None:
    """jinja2 declares markupsafe; excluded, it leaves the lock, and jinja2 stays."""
    environment = Environment(name="default", requirements=("jinja2==3.1.6",))
    assert "markupsafe" in compile_lock(environment, preferred="", log=tmp_path / "log").pins
    without = Environment(name="default", requirements=("jinja2==3.1.6",), excluded=("markupsafe",))
    pins = compile_lock(without, preferred="", log=tmp_path / "log").pins
    assert "markupsafe" not in pins
    assert pins["jinja2"] == "3.1.6"
