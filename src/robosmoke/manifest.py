"""The manifest: what one benchmark folder's ``benchmark.toml`` may say, strictly read."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from robosmoke.errors import ManifestError, unknown_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MANIFEST_NAME = "benchmark.toml"
OnSuccess = Literal["stop", "continue"]
Transform = Literal["none", "rotate_180", "flip_vertical"]
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_CHECK_CODE = re.compile(r"RS[0-9]{3}")
_DISTRIBUTION_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Refuse unknown keys, so that a typo is an error and not a silent default."""


class Task(_Strict, frozen=True, kw_only=True):
    """One task of a suite; ``horizon`` counts control steps, wait steps not included."""

    name: str
    instruction: str
    suite: str = ""
    index: int = 0
    horizon: int = 0
    wait_steps: int = 0
    smoke: bool = False


class Suite(_Strict, frozen=True, kw_only=True):
    """A named list of tasks that share a horizon (steps) and settling wait steps."""

    name: str = ""
    horizon: int
    wait_steps: int = 0
    init_states: int = 0
    tasks: tuple[Task, ...]


class Camera(_Strict, frozen=True, kw_only=True):
    """A camera the env offers, and the declared transform from raw to upright pixels."""

    name: str
    transform: Transform = "none"


class Environment(_Strict, frozen=True, kw_only=True):
    """Where a benchmark is installed; realised as a venv or an image.

    ``excluded`` names distributions that a requirement declares and nothing here imports: neither they
    nor what only they need is locked.
    """

    name: str = ""
    python: str = "3.11"
    runner: Literal["native", "lerobot"] = "native"
    inherits: str = ""
    requirements: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    torch: str = ""
    apt: tuple[str, ...] = ()
    base_image: str = ""
    variables: dict[str, str] = {}
    memory_mb: int = 4096
    shared_memory_mb: int = 256
    timeout_s: int = 1800
    default_smoke: bool = True
    overrides: tuple[str, ...] = ()

    @property
    def all_requirements(self) -> tuple[str, ...]:
        """List what is installed by name, the pinned torch with it."""
        return (*([f"torch=={self.torch}"] if self.torch else []), *self.requirements)

    @property
    def label(self) -> str:
        """Name the environment with every override shown: ``default[mujoco==3.9]``."""
        return self.name + (f"[{','.join(self.overrides)}]" if self.overrides else "")


class Expected(_Strict, frozen=True, kw_only=True):
    """A fault of the simulator that is known upstream, with its reason and link.

    ``check`` is a check's code; that there is such a check is known, and demanded, where the checks are.
    """

    check: str
    reason: str
    link: str
    task: str = "*"


class Smoke(_Strict, frozen=True, kw_only=True):
    """What the smoke runs, and what it demands.

    The expert plays ``expert_episodes`` episodes per task, seeds counted up from ``seed``, and must solve at
    least ``expert_rate`` of all; ``test_timeout_s`` bounds each test.
    """

    expert_rate: float
    seed: int = 0
    expert_episodes: int = 1
    test_timeout_s: int = 300
    picture_px: int = 64
    video_px: int = 128


class Manifest(_Strict, frozen=True, kw_only=True):
    """One benchmark: the whole of its ``benchmark.toml``, names filled in."""

    schema: int
    name: str
    title: str
    summary: str
    url: str
    env: str
    expert: str
    control_hz: float
    on_success: OnSuccess
    on_success_source: str
    review_camera: str
    smoke: Smoke
    environment: dict[str, Environment]
    suite: dict[str, Suite]
    camera: tuple[Camera, ...]
    expected: tuple[Expected, ...] = ()
    package: str = ""

    @property
    def tasks(self) -> tuple[Task, ...]:
        """List every task of every suite, in manifest order."""
        return tuple(task for suite in self.suite.values() for task in suite.tasks)

    @property
    def smoke_tasks(self) -> tuple[Task, ...]:
        """List the tasks the default smoke runs."""
        return tuple(task for task in self.tasks if task.smoke)

    def task(self, name: str) -> Task:
        """Look a task up by name or ``suite/name``; raises `UsageError` with the nearest name."""
        for task in self.tasks:
            if name in (task.name, f"{task.suite}/{task.name}"):
                return task
        raise unknown_name(f"task of {self.name}", name, (task.name for task in self.tasks))


def read_manifest(path: Path, *, package: str = "") -> Manifest:
    """Read and validate one ``benchmark.toml``.

    Raises `ManifestError` reading ``file: key.path: message`` for any fault.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ManifestError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ManifestError(f"{path}: is not TOML: {error}") from error
    try:
        manifest = _convert(_named(data, package))
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at ")
        raise ManifestError(f"{path}: {where.strip('`').lstrip('$.') or 'top level'}: {message}") from error
    _check_consistency(manifest, path)
    return manifest


def _convert(data: dict[str, Any]) -> Manifest:
    """Convert table by table first: msgspec calls the key of a table among tables ``[...]``, not by its name."""
    for group, kind in (("environment", Environment), ("suite", Suite)):
        tables = data.get(group)
        for name, table in tables.items() if isinstance(tables, dict) else ():
            _require(table, kind, f"{group}.{name}")
    return msgspec.convert(data, Manifest)


def _require(table: Any, kind: type[_Strict], where: str) -> None:
    try:
        msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        message, _, inner = str(error).partition(" - at ")
        raise msgspec.ValidationError(f"{message} - at `$.{where}{inner.strip('`').removeprefix('$')}`") from error


def _named(data: dict[str, Any], package: str) -> dict[str, Any]:
    """Fill in the names that TOML tables carry as keys, and resolve inheritance."""
    environments = data.get("environment")
    if isinstance(environments, dict):
        data["environment"] = {name: _inherit(environments, name, ()) for name in environments}
    suites = data.get("suite")
    if isinstance(suites, dict):
        for name, suite in suites.items():
            if not isinstance(suite, dict):
                continue
            suite["name"] = name
            for index, task in enumerate(suite.get("tasks", ())):
                if isinstance(task, dict):
                    task.update(suite=name, index=index)
                    task.setdefault("horizon", suite.get("horizon", 0))
                    task.setdefault("wait_steps", suite.get("wait_steps", 0))
    return {**data, "package": package}


def _inherit(environments: dict[str, Any], name: str, seen: tuple[str, ...]) -> Any:
    table = environments[name]
    if not isinstance(table, dict):
        return table
    parent = table.get("inherits")
    if not parent or not isinstance(parent, str):
        return {**table, "name": name}
    if parent in seen or parent not in environments:
        raise msgspec.ValidationError(
            f"inherits {parent!r}, which is {'a cycle' if parent in seen else 'not defined'}"
            f" - at `$.environment.{name}.inherits`"
        )
    return {**_inherit(environments, parent, (*seen, name)), **table, "name": name}


def _check_consistency(manifest: Manifest, path: Path) -> None:
    """Raise `ManifestError` for the first thing that the types alone cannot say."""
    for where, message in _inconsistencies(manifest):
        raise ManifestError(f"{path}: {where}: {message}")


def _inconsistencies(manifest: Manifest) -> Iterator[tuple[str, str]]:
    if manifest.schema != 1:
        yield "schema", f"version {manifest.schema} is not supported, this robosmoke reads 1"
    if not manifest.name.isidentifier():
        yield "name", f"{manifest.name!r} must be a Python identifier, it names a package and a session"
    if manifest.control_hz <= 0:
        yield "control_hz", "must be above 0"
    if "default" not in manifest.environment:
        yield "environment", "needs one named 'default'"
    for environment in manifest.environment.values():
        yield from _environment_faults(environment)
    if manifest.review_camera not in {camera.name for camera in manifest.camera}:
        yield "review_camera", f"{manifest.review_camera!r} is not among the cameras"
    for suite in manifest.suite.values():
        yield from _suite_faults(suite)
    yield from _smoke_faults(manifest)


def _environment_faults(environment: Environment) -> Iterator[tuple[str, str]]:
    where = f"environment.{environment.name}"
    if not _ENVIRONMENT_NAME.fullmatch(environment.name):
        yield where, "a name holds letters, digits, '.', '_' and '-' only"
    for limit in ("memory_mb", "shared_memory_mb", "timeout_s"):
        if getattr(environment, limit) < 1:
            yield f"{where}.{limit}", "must be at least 1"
    for index, name in enumerate(environment.excluded):
        if not _DISTRIBUTION_NAME.fullmatch(name):
            yield f"{where}.excluded[{index}]", f"{name!r} must be the name of a distribution, without a version"


def _suite_faults(suite: Suite) -> Iterator[tuple[str, str]]:
    if len({task.name for task in suite.tasks}) != len(suite.tasks):
        yield f"suite.{suite.name}.tasks", "has two tasks of one name"
    if any(task.horizon < 1 for task in suite.tasks):
        yield f"suite.{suite.name}", "a horizon is at least 1 step"


def _smoke_faults(manifest: Manifest) -> Iterator[tuple[str, str]]:
    if not manifest.smoke_tasks:
        yield "suite", "no task has smoke = true, so the default smoke would prove nothing"
    if not 0 < manifest.smoke.expert_rate <= 1:
        yield "smoke.expert_rate", "must lie in (0, 1]: a rate of 0 is no positive control"
    if manifest.smoke.expert_episodes < 1:
        yield "smoke.expert_episodes", "must be at least 1: without the expert there is no positive control"
    known = {"*", *(task.name for task in manifest.tasks)}
    for index, fault in enumerate(manifest.expected):
        if not _CHECK_CODE.fullmatch(fault.check):
            yield f"expected[{index}].check", f"{fault.check!r} is not the code of a check, such as 'RS603'"
        if fault.task not in known:
            yield f"expected[{index}].task", str(unknown_name("task", fault.task, known))
