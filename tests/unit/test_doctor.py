"""The doctor tells what is missing from what is merely optional, and never fails itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from robosmoke.host.cli import main
from robosmoke.host.environments import doctor


def test_an_absent_engine_is_optional(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a Docker engine the doctor names it, says how to mend it, and does not call the machine unfit."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    absent = next(probe for probe in doctor.probes() if probe.name == "docker engine")
    assert (absent.ok, absent.required) == (False, False)
    main(["doctor"])
    printed = capsys.readouterr().out
    assert "optional docker engine: no Docker engine answers" in printed
    assert "fix: start the engine" in printed


def test_absent_libraries_make_a_machine_unfit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without GL the exit code is that of a broken environment, and the one command is printed."""
    monkeypatch.setattr(doctor, "missing_libraries", lambda _wanted: ("libEGL.so.1",))
    assert main(["doctor"]) == 3
    printed = capsys.readouterr().out
    assert "missing  GL libraries: missing: libEGL.so.1" in printed
    assert "apt-get install" in printed
