"""Install into a venv in two steps: torch alone from its own index, then the hashed lock."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from robosmoke.errors import SetupError
from robosmoke.host.environments.lock import Lock
from robosmoke.host.environments.process import Job, require_success, run_job
from robosmoke.host.environments.settings import Settings
from robosmoke.host.environments.tools import find_python, find_uv
from robosmoke.manifest import Environment

_TIMEOUT_S = 3600.0


@dataclass(frozen=True, kw_only=True)
class Installation:
    """What to install where; ``folder`` receives ``venv/`` and the files the installer read."""

    environment: Environment
    lock: Lock
    folder: Path
    settings: Settings
    log: Path

    @property
    def python(self) -> Path:
        """Return the venv's interpreter."""
        return self.folder / "venv" / "bin" / "python"


def install(installation: Installation) -> None:
    """Make the venv and install everything but robosmoke, by uv where there is uv, else by pip.

    Raises `SetupError` with the last lines of the installer's log.
    """
    folder, environment = installation.folder, installation.environment
    uv = find_uv()
    (folder / "lock.txt").write_text(installation.lock.text, encoding="utf-8")
    (folder / "constraints.txt").write_text(installation.lock.constraints, encoding="utf-8")
    _run(installation, _make_venv(uv, environment.python), f"Python {environment.python}")
    if environment.torch:
        _run(installation, _torch_command(uv, installation), f"torch {environment.torch}")
    lock = ("--no-deps", "--require-hashes", "--requirement", "lock.txt")
    _run(installation, (*_installer(uv), *lock), "lock")


def _make_venv(uv: str | None, version: str) -> tuple[str, ...]:
    if uv is not None:
        return (uv, "venv", "--no-project", "--no-config", "--python", version, "venv")
    return (find_python(version), "-m", "venv", "venv")


def _installer(uv: str | None) -> tuple[str, ...]:
    if uv is not None:
        return (uv, "pip", "install", "--python", "venv/bin/python", "--no-progress")
    return ("venv/bin/python", "-m", "pip", "install", "--progress-bar", "off", "--disable-pip-version-check")


def _torch_command(uv: str | None, installation: Installation) -> tuple[str, ...]:
    """Build torch's own step; where torch comes from goes in by variable, see `_variables`."""
    settings, version = installation.settings, installation.environment.torch
    if uv is None and "UV_TORCH_BACKEND" in settings.torch_variables(version):
        raise SetupError(
            f"ROBOSMOKE_TORCH={settings.torch} needs uv: install uv, or set it to torch's index URL or to index"
        )
    return (*_installer(uv), f"torch=={version}", "--constraint", "constraints.txt")


def _run(installation: Installation, command: tuple[str, ...], what: str) -> None:
    environment = installation.environment
    end = run_job(
        Job(
            command=command,
            variables=_variables(installation, torch=what.startswith("torch ")),
            folder=installation.folder,
            log=installation.log,
            timeout_s=_TIMEOUT_S,
        )
    )
    advice = f"see {installation.log}; the network, the index settings or the lock are the usual causes"
    require_success(end, f"environment {environment.label}: installing {what} failed", advice)


def _variables(installation: Installation, *, torch: bool) -> dict[str, str]:
    variables = {**os.environ, **installation.settings.installer_variables()}
    # A caller's own venv must not become the target.
    for name in ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PIP_REQUIRE_VIRTUALENV", "PIP_TARGET", "PIP_USER"):
        variables.pop(name, None)
    if torch:
        variables |= installation.settings.torch_variables(installation.environment.torch)
    return variables
