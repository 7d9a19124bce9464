"""Complete hashed locks: compile them, store them beside the manifest, tell a stale one offline."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from robosmoke.catalog import Benchmark
from robosmoke.errors import SetupError, unknown_name
from robosmoke.host.environments.process import Job, require_success, run_job
from robosmoke.host.environments.settings import Settings, read_settings
from robosmoke.host.environments.source import base_dependencies
from robosmoke.host.environments.tools import require_uv
from robosmoke.manifest import Environment
from robosmoke.schema import write_atomically

_INPUTS = "# inputs: sha256:"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)")
# What only a CUDA build of torch depends on; it comes with torch, from torch's index.
_WITH_TORCH = re.compile(r"^(torch|triton|pytorch-triton.*|nvidia-.*|cuda-.*)$")
_TIMEOUT_S = 900.0


@dataclass(frozen=True, kw_only=True)
class Lock:
    """A lock's text: every distribution but torch's, pinned and hashed."""

    text: str

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the lock, 64 hex digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def pins(self) -> dict[str, str]:
        """Return the version of every distribution by name."""
        found = (_PIN.match(line) for line in self.text.splitlines())
        return {match[1]: match[2] for match in found if match}

    @property
    def constraints(self) -> str:
        """Return the pins without hashes, as constraints for torch's own step."""
        return "".join(f"{name}=={version}\n" for name, version in self.pins.items())


def lock_path(folder: Path, environment: Environment) -> Path:
    """Return where the lock of an environment of the benchmark in ``folder`` is stored."""
    return folder / "locks" / f"{environment.name}.txt"


def lock_is_current(folder: Path, environment: Environment) -> bool:
    """Tell without a network whether the stored lock was compiled from today's requirements."""
    path = lock_path(folder, environment)
    return path.is_file() and f"{_INPUTS}{_inputs_digest(environment)}\n" in path.read_text(encoding="utf-8")


def read_lock(benchmark: Benchmark, environment: Environment, *, log: Path) -> Lock:
    """Return the lock of an environment; overrides are resolved on top of it, in the cache.

    Raises `SetupError` for a missing or stale lock, and for overrides that do not resolve.
    """
    path = lock_path(benchmark.folder, environment)
    if not path.is_file():
        raise SetupError(f"{path}: there is no lock for environment {environment.label}: run 'nox -s lock'")
    base = path.read_text(encoding="utf-8")
    if environment.overrides:
        return _derived_lock(environment, base, log)
    if not lock_is_current(benchmark.folder, environment):
        raise SetupError(f"{path}: was compiled from other requirements than the manifest's: run 'nox -s lock'")
    return Lock(text=base)


def require_known_overrides(benchmark: Benchmark, environment: Environment) -> None:
    """Refuse an override of a package that the environment does not have: it would test nothing.

    Raises `UsageError` with the nearest name, `SetupError` where there is no lock to look in.
    """
    if not environment.overrides:
        return
    path = lock_path(benchmark.folder, environment)
    if not path.is_file():
        raise SetupError(f"{path}: there is no lock for environment {environment.label}: run 'nox -s lock'")
    known = {*Lock(text=path.read_text(encoding="utf-8")).pins, *(["torch"] if environment.torch else [])}
    for override in environment.overrides:
        name = canonicalize_name(Requirement(override).name)
        if name not in known:
            raise unknown_name(f"package in {benchmark.manifest.name}'s environment {environment.name}", name, known)


def write_lock(folder: Path, environment: Environment, *, log: Path) -> bool:
    """Compile and store the lock of an environment; return whether its text changed.

    Pins of the stored lock that still fit are kept: delete the file to take new versions.
    """
    path = lock_path(folder, environment)
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    text = compile_lock(environment, preferred=before, log=log).text
    if text != before:
        write_atomically(path, text.encode())
    return text != before


def compile_lock(environment: Environment, *, preferred: str, log: Path) -> Lock:
    """Resolve an environment's requirements and robosmoke's own into a complete hashed lock.

    ``preferred`` is the text of a lock whose versions are kept where they fit. Hashes are those of
    every file of a version, so one lock serves x86_64 and aarch64. Raises `SetupError`.
    """
    uv = require_uv("compiling a lock")
    settings = read_settings()
    with tempfile.TemporaryDirectory(prefix="robosmoke-lock-") as temporary:
        folder = Path(temporary)
        output = folder / "lock.txt"
        output.write_text(preferred, encoding="utf-8")
        (folder / "requirements.in").write_text("\n".join(_requirements(environment)) + "\n", encoding="utf-8")
        (folder / "overrides.txt").write_text("\n".join(environment.overrides) + "\n", encoding="utf-8")
        (folder / "excluded.txt").write_text("\n".join(environment.excluded) + "\n", encoding="utf-8")
        command = (
            *(uv, "pip", "compile", "requirements.in", "--output-file", str(output), "--override", "overrides.txt"),
            *("--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"),
            *("--python-version", environment.python, "--python-platform", "linux", "--no-progress", "--quiet"),
            *(("--excludes", "excluded.txt") if environment.excluded else ()),
        )
        end = run_job(
            Job(
                command=command,
                variables={**os.environ, **settings.installer_variables()},
                folder=folder,
                log=log,
                timeout_s=_TIMEOUT_S,
            )
        )
        require_success(
            end, f"lock of environment {environment.label}", "its requirements do not resolve, see the lines below"
        )
        body = without_torch(output.read_text(encoding="utf-8"))
    header = f"# Complete lock of environment {environment.label}, written by 'nox -s lock'.\n"
    return Lock(text=f"{header}{_INPUTS}{_inputs_digest(environment)}\n{body}")


def _derived_lock(environment: Environment, base: str, log: Path) -> Lock:
    settings: Settings = read_settings()
    name = hashlib.sha256(f"{_inputs_digest(environment)}\n{base}".encode()).hexdigest()[:32]
    path = settings.cache / "locks" / f"{name}.txt"
    if not path.is_file():
        write_atomically(path, compile_lock(environment, preferred=base, log=log).text.encode())
    return Lock(text=path.read_text(encoding="utf-8"))


def _requirements(environment: Environment) -> list[str]:
    torch = [f"torch=={environment.torch}"] if environment.torch else []
    return sorted({*environment.requirements, *base_dependencies(), *torch})


def _inputs_digest(environment: Environment) -> str:
    inputs = [environment.python, _requirements(environment), sorted(environment.overrides)]
    if environment.excluded:
        inputs.append(sorted(environment.excluded))
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


def without_torch(text: str) -> str:
    """Drop from a lock torch and what only its CUDA build needs, each with its hash lines."""
    kept: list[str] = []
    keep = True
    for line in text.splitlines():
        pin = _PIN.match(line)
        if pin:
            keep = not _WITH_TORCH.match(pin[1])
        if keep:
            kept.append(line)
    return "\n".join(kept) + "\n"
