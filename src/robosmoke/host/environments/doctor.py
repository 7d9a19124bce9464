"""What this machine has of what robosmoke needs, and the command that adds what is missing."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from robosmoke.host.environments.libraries import GL_PACKAGES, PACKAGED, apt_command, missing_libraries
from robosmoke.host.environments.settings import read_settings
from robosmoke.host.environments.tools import find_uv

# An environment with a CUDA build of torch takes 6 GB, and its archives as much again.
_SPACE_GB = 12
_PYTHON = (3, 11)


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One thing looked for: whether it is well, what was found, and the fix (empty when well).

    Without what is not ``required`` every smoke still runs, in a venv and by pip.
    """

    name: str
    ok: bool
    found: str
    fix: str
    required: bool = True


def probes() -> list[Probe]:
    """Look for everything robosmoke uses; changes nothing and asks no network but the engine's socket."""
    every: tuple[Callable[[], Probe], ...] = (
        _python, _uv, _nox, _libraries, _docker_client, _docker_engine, _space, _cache,
    )  # fmt: skip
    return [probe() for probe in every]


def _python() -> Probe:
    ok = sys.version_info[:2] >= _PYTHON
    fix = "" if ok else "install Python 3.11 or newer and make the project's venv with it"
    return Probe(name="python", ok=ok, found=f"{platform.python_version()} ({sys.executable})", fix=fix)


def _uv() -> Probe:
    path = find_uv()
    fix = "" if path else f"{sys.executable} -m pip install uv"
    found = path or "none: pip is used, and no lock can be made"
    return Probe(name="uv", ok=path is not None, found=found, fix=fix, required=False)


def _nox() -> Probe:
    try:
        found = version("nox")
    except PackageNotFoundError:
        return Probe(name="nox", ok=False, found="none", fix=f"{sys.executable} -m pip install nox")
    return Probe(name="nox", ok=True, found=found, fix="")


def _libraries() -> Probe:
    missing = missing_libraries(tuple(PACKAGED.values()))
    found = f"missing: {', '.join(missing)}" if missing else ", ".join(PACKAGED.values())
    return Probe(name="GL libraries", ok=not missing, found=found, fix=apt_command(GL_PACKAGES) if missing else "")


def _docker_client() -> Probe:
    path = shutil.which("docker")
    fix = "" if path else apt_command(("docker.io",))
    found = path or "none: environments are venvs"
    return Probe(name="docker client", ok=path is not None, found=found, fix=fix, required=False)


def _docker_engine() -> Probe:
    # The docker SDK takes a moment to import, which the other probes need not wait for.
    from robosmoke.host.environments.engine import find_engine

    engine = find_engine()
    if engine.client is None:
        fix = "start the engine (systemctl start docker) and join the group docker, or use --backend venv"
        return Probe(name="docker engine", ok=False, found=engine.problem, fix=fix, required=False)
    engine.client.close()
    return Probe(name="docker engine", ok=True, found=engine.version, fix="")


def _space() -> Probe:
    folder = _existing(read_settings().cache)
    free_gb = shutil.disk_usage(folder).free / 2**30
    ok = free_gb >= _SPACE_GB
    fix = "" if ok else "robosmoke clean, or set ROBOSMOKE_CACHE to a folder on a larger disk"
    return Probe(name="disk space", ok=ok, found=f"{free_gb:.0f} GB free, {_SPACE_GB} wanted ({folder})", fix=fix)


def _cache() -> Probe:
    cache = read_settings().cache
    try:
        with tempfile.TemporaryFile(dir=_existing(cache)):
            return Probe(name="cache folder", ok=True, found=str(cache), fix="")
    except OSError as error:
        fix = "set ROBOSMOKE_CACHE to a folder you may write"
        return Probe(
            name="cache folder", ok=False, found=f"{cache}: {error.strerror or os.strerror(error.errno or 0)}", fix=fix
        )


def _existing(folder: Path) -> Path:
    """Return the nearest ancestor that exists: the cache is made on its first use."""
    return next(path for path in (folder, *folder.parents) if path.exists())
