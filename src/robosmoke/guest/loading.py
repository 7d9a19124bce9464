"""Load a benchmark's adapter classes from the names in its manifest."""

from __future__ import annotations

import importlib
from typing import Any, cast

import gymnasium

from robosmoke.errors import ManifestError
from robosmoke.guest.env import BenchmarkEnv, EnvOptions
from robosmoke.guest.policies.base import Policy
from robosmoke.manifest import Manifest, Task


def _load(manifest: Manifest, reference: str) -> Any:
    """Import ``module:name`` relative to the benchmark's package."""
    module_name, _, attribute = reference.partition(":")
    module = importlib.import_module(f"{manifest.package}.{module_name}")
    if not hasattr(module, attribute):
        raise ManifestError(f"{manifest.name}: {reference}: {module.__name__} has no {attribute!r}")
    return getattr(module, attribute)


def load_adapter(manifest: Manifest) -> type[BenchmarkEnv]:
    """Import the benchmark's env class; loads no simulator."""
    return cast(type[BenchmarkEnv], _load(manifest, manifest.env))


def make_env(manifest: Manifest, task: Task, options: EnvOptions | None = None) -> BenchmarkEnv:
    """Build one env of one task; loads no simulator until its first reset."""
    return load_adapter(manifest)(manifest, task, options)


def make_expert(manifest: Manifest, task: Task) -> Policy:
    """Build the benchmark's scripted expert for one task."""
    return cast(Policy, _load(manifest, manifest.expert)(task))


def register_envs() -> None:
    """Register one Gymnasium id per suite: ``robosmoke/<suite>-v0`` with a ``task`` argument; imports no simulator."""
    from robosmoke.catalog import benchmarks

    for benchmark in benchmarks().values():
        for suite in benchmark.manifest.suite:
            gymnasium.register(
                id=f"robosmoke/{suite}-v0",
                entry_point=cast(Any, _make_registered),
                kwargs={"benchmark": benchmark.manifest.name, "suite": suite},
                # The env truncates at its own horizon, and its spaces are tested by RS201.
                order_enforce=False,
                disable_env_checker=True,
            )


def _make_registered(benchmark: str, suite: str, task: int | str = 0, **options: Any) -> BenchmarkEnv:
    from robosmoke.catalog import find

    options.pop("render_mode", None)
    manifest = find(benchmark).manifest
    tasks = manifest.suite[suite].tasks
    chosen = manifest.task(f"{suite}/{task}") if isinstance(task, str) else tasks[task]
    return make_env(manifest, chosen, EnvOptions(**options))
