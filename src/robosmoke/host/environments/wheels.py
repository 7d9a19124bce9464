"""The wheels added to an environment when it is used: robosmoke's own and a third party's."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from email.parser import HeaderParser
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from robosmoke.catalog import Benchmark
from robosmoke.errors import SetupError
from robosmoke.host.environments.cache import build_once
from robosmoke.host.environments.process import Job, require_success, run_job
from robosmoke.host.environments.repack import editable_project, installed_files, repack
from robosmoke.host.environments.settings import Settings, read_settings
from robosmoke.host.environments.source import checkout
from robosmoke.host.environments.tools import find_uv

# What robosmoke's wheel is made from: a change anywhere else in the checkout rebuilds nothing.
_OWN_SOURCES = ("pyproject.toml", "README.md", "LICENSE", "src", "tests/smoke", "docker")
_NOT_SOURCES = frozenset({"__pycache__", "build", "dist", "node_modules", "runs", "venv"})
_TIMEOUT_S = 600.0
_Builder = Callable[[Path], dict[str, str]]


@dataclass(frozen=True, kw_only=True)
class Wheel:
    """One wheel: its unpacked ``folder`` (for PYTHONPATH, dist-info included) and its SHA-256."""

    name: str
    folder: Path
    digest: str


def guest_wheels(benchmark: Benchmark, *, log: Path) -> tuple[Wheel, ...]:
    """Return the wheels a benchmark's guest needs, built now only where a source file changed.

    Raises `SetupError` when a wheel cannot be built, or is not pure Python.
    """
    settings = read_settings()
    wheels = [_robosmoke_wheel(settings, log)]
    if benchmark.distribution is not None:
        wheels.append(_distribution_wheel(benchmark.distribution, settings, log))
    return tuple(wheels)


def _robosmoke_wheel(settings: Settings, log: Path) -> Wheel:
    root = checkout()
    if root is not None:
        return _built_wheel("robosmoke", root, _OWN_SOURCES, settings, log)
    try:
        return _distribution_wheel(distribution("robosmoke"), settings, log)
    except PackageNotFoundError as error:
        raise SetupError("robosmoke is neither a checkout nor installed: install it with pip or uv") from error


def _distribution_wheel(found: Distribution, settings: Settings, log: Path) -> Wheel:
    project = editable_project(found)
    if project is not None:
        return _built_wheel(found.name, project, (".",), settings, log)
    files = installed_files(found)
    digest = _digest((str(file), Path(str(file.locate())).read_bytes()) for file in files)

    def build(folder: Path) -> dict[str, str]:
        return _unpack(repack(found, files, folder), folder)

    return _cached_wheel(found.name, digest, build_folder=settings.cache, build=build)


def _built_wheel(name: str, project: Path, sources: tuple[str, ...], settings: Settings, log: Path) -> Wheel:
    paths = sorted({path for source in sources for path in _files(project / source)})
    digest = _digest((str(path.relative_to(project)), path.read_bytes()) for path in paths)

    def build(folder: Path) -> dict[str, str]:
        return _unpack(_build(name, project, folder, settings, log), folder)

    return _cached_wheel(name, digest, build_folder=settings.cache, build=build)


def _cached_wheel(name: str, digest: str, *, build_folder: Path, build: _Builder) -> Wheel:
    cached = build_once(build_folder / "wheels" / f"{name}-{digest[:32]}", build)
    return Wheel(name=name, folder=cached.path / "unpacked", digest=cached.facts["sha256"])


def _build(name: str, project: Path, folder: Path, settings: Settings, log: Path) -> Path:
    """Build a project's wheel by its own build backend, by uv where there is uv, else by pip."""
    uv = find_uv()
    command: tuple[str, ...] = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", "dist", str(project))
    if uv is not None:
        command = (uv, "build", "--wheel", "--no-progress", "--out-dir", "dist", str(project))
    variables = {**os.environ, **settings.installer_variables()}
    variables.pop("PYTHONPATH", None)
    end = run_job(Job(command=command, variables=variables, folder=folder, log=log, timeout_s=_TIMEOUT_S))
    require_success(end, f"wheel of {name}: building it from {project} failed", f"see {log}")
    wheels = list((folder / "dist").glob("*.whl"))
    if len(wheels) != 1:
        raise SetupError(f"wheel of {name}: its build backend left {len(wheels)} wheels: see {log}")
    return wheels[0]


def _unpack(wheel: Path, folder: Path) -> dict[str, str]:
    """Unpack a pure wheel into ``folder/unpacked`` and return its hash."""
    target = folder / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        described = [name for name in names if name.endswith(".dist-info/WHEEL")]
        pure = described and HeaderParser().parsestr(archive.read(described[0]).decode())["Root-Is-Purelib"] == "true"
        if not pure or any(".data/" in name.partition("/")[0] + "/" for name in names):
            raise SetupError(
                f"{wheel.name}: is not a pure Python wheel: list its compiled parts in the manifest's requirements"
            )
        archive.extractall(target)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    shutil.move(wheel, folder / wheel.name)
    return {"sha256": digest, "wheel": wheel.name}


def _files(path: Path) -> list[Path]:
    """List the files below a path, without caches, hidden folders and build products."""
    if path.is_file():
        return [path]
    found: list[Path] = []
    for folder, names, files in os.walk(path):
        names[:] = [name for name in names if name not in _NOT_SOURCES and not name.startswith(".")]
        found += [Path(folder, file) for file in files if not file.endswith((".pyc", ".egg-info"))]
    return found


def _digest(files: Iterable[tuple[str, bytes]]) -> str:
    """Hash names and contents, so that neither a rename nor a moved byte goes unseen."""
    total = hashlib.sha256()
    for name, content in files:
        total.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return total.hexdigest()
