"""Environments as virtual environments in the user's cache."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from robosmoke.catalog import Benchmark
from robosmoke.host.environments.backend import OUT_VARIABLE, GuestCall, ProcessEnd
from robosmoke.host.environments.cache import CachedFolder, build_once, forget
from robosmoke.host.environments.disk import writing
from robosmoke.host.environments.guest_variables import guest_variables
from robosmoke.host.environments.install import Installation, install
from robosmoke.host.environments.key import environment_key, torch_source
from robosmoke.host.environments.libraries import require_libraries
from robosmoke.host.environments.lock import read_lock
from robosmoke.host.environments.process import Job, run_job
from robosmoke.host.environments.settings import read_settings
from robosmoke.host.environments.warden import Warden
from robosmoke.host.environments.wheels import Wheel, guest_wheels
from robosmoke.manifest import Environment


@dataclass(frozen=True, kw_only=True)
class VenvBackend:
    """Realise environments as venvs; isolation is by folder and variables, not by kernel."""

    name: str = "venv"

    def prepare(self, benchmark: Benchmark, environment: Environment, *, log: Path) -> PreparedVenv:
        """Make the venv unless it is complete in the cache, and the wheels unless unchanged.

        Raises `SetupError`: missing libraries, Python or lock, a failed installation.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
        settings = read_settings()
        require_libraries(environment)
        lock = read_lock(benchmark, environment, log=log)
        key = environment_key(environment, lock, {"backend": "venv", "torch": torch_source(environment, settings)})

        def build(folder: Path) -> dict[str, str]:
            installation = Installation(
                environment=environment, lock=lock, folder=folder, settings=settings, log=log.absolute()
            )
            install(installation)
            return {"python": _python_version(folder), "lock": lock.digest}

        cached = _usable(settings.cache / "environments" / key, build)
        wheels = guest_wheels(benchmark, log=log.absolute())
        details = {
            **cached.facts,
            "installed": "yes" if cached.built else "no",
            **{f"wheel:{wheel.name}": wheel.digest for wheel in wheels},
        }
        return PreparedVenv(key=key, details=details, folder=cached.path, environment=environment, wheels=wheels)


@dataclass(frozen=True, kw_only=True)
class PreparedVenv:
    """A complete venv with the wheels to put on its path."""

    key: str
    details: Mapping[str, str]
    folder: Path
    environment: Environment
    wheels: tuple[Wheel, ...]
    backend: str = "venv"

    def run(self, call: GuestCall) -> ProcessEnd:
        """Run ``python -m robosmoke`` with the call's arguments; leaves no process behind."""
        return self.execute(("-m", "robosmoke", *call.arguments), call)

    def execute(self, python_arguments: tuple[str, ...], call: GuestCall) -> ProcessEnd:
        """Run the venv's Python with any arguments under the call's limits (its own ones are ignored)."""
        out, home = call.out.absolute(), self.folder / "home"
        with writing(out, "choose another run folder"):
            out.mkdir(parents=True, exist_ok=True)
        with writing(home, "set ROBOSMOKE_CACHE to another folder"):
            home.mkdir(exist_ok=True)
        with writing(Path(tempfile.gettempdir()), "set TMPDIR to another folder"):
            scratch = Path(tempfile.mkdtemp(prefix="robosmoke-"))
        job = Job(
            command=(str(self.folder / "venv" / "bin" / "python"), *python_arguments),
            variables={
                **guest_variables(binaries=str(self.folder / "venv" / "bin"), home=str(home), temporary=str(scratch)),
                **self.environment.variables,
                "PYTHONPATH": ":".join(str(wheel.folder) for wheel in self.wheels),
                OUT_VARIABLE: str(out),
            },
            folder=scratch,
            log=call.log.absolute(),
            timeout_s=call.timeout_s,
            memory_mb=call.memory_mb,
            echo=call.echo,
        )
        try:
            # After a kill -9 of ours the guest is ended by a warden of its own, a moment before.
            with Warden('sleep 1; rm -rf -- "$1"', str(scratch)):
                return run_job(job)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _usable(folder: Path, build: Callable[[Path], dict[str, str]]) -> CachedFolder:
    """Return the complete venv; one whose interpreter was removed from the machine is built again."""
    cached = build_once(folder, build)
    if (folder / "venv" / "bin" / "python").exists():
        return cached
    forget(folder)
    return build_once(folder, build)


def _python_version(folder: Path) -> str:
    lines = (folder / "venv" / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    facts = dict(line.split(" = ", 1) for line in lines if " = " in line)
    return facts.get("version_info") or facts.get("version", "")
