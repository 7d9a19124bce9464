"""Environments as Docker images: a base, the dependencies by key, the wheels in the last layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import docker
from robosmoke.catalog import Benchmark
from robosmoke.host.environments.backend import GuestCall, ProcessEnd
from robosmoke.host.environments.container import ContainerRun, run_container
from robosmoke.host.environments.key import environment_key, torch_source
from robosmoke.host.environments.layers import Dependencies, base_digest, ensure_dependencies, ensure_wheels
from robosmoke.host.environments.lock import read_lock
from robosmoke.host.environments.settings import read_settings
from robosmoke.host.environments.source import dockerfile
from robosmoke.host.environments.stopping import exit_on_termination
from robosmoke.host.environments.wheels import guest_wheels
from robosmoke.manifest import Environment

DEFAULT_BASE_IMAGE = "debian:12.12-slim"
WHEELS = "/opt/robosmoke/wheels"


@dataclass(frozen=True, kw_only=True)
class PreparedImage:
    """A complete image, and how to run a container of it."""

    key: str
    details: Mapping[str, str]
    client: docker.DockerClient = field(repr=False)
    image: str
    environment: Environment
    wheels: tuple[str, ...]
    backend: str = "docker"

    def run(self, call: GuestCall) -> ProcessEnd:
        """Run ``python -m robosmoke`` with the call's arguments; leaves no container behind."""
        return self.execute(("-m", "robosmoke", *call.arguments), call)

    def execute(self, python_arguments: tuple[str, ...], call: GuestCall) -> ProcessEnd:
        """Run the image's Python with any arguments under the call's limits (its own ones are ignored)."""
        variables = {
            **self.environment.variables,
            "PYTHONPATH": ":".join(f"{WHEELS}/{name}" for name in self.wheels),
        }
        run = ContainerRun(
            image=self.image,
            key=self.key,
            python_arguments=python_arguments,
            variables=variables,
            shared_memory_mb=self.environment.shared_memory_mb,
            call=call,
        )
        return run_container(self.client, run)


class DockerBackend:
    """Realise environments as images of a reachable engine."""

    name = "docker"

    def __init__(self, client: docker.DockerClient) -> None:
        self._client = client

    def prepare(self, benchmark: Benchmark, environment: Environment, *, log: Path) -> PreparedImage:
        """Build what is missing of base, dependencies and wheel layer.

        Raises `SetupError`: no base image, no lock, a failed build.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
        log = log.absolute()
        settings = read_settings()
        lock = read_lock(benchmark, environment, log=log)
        base_image = settings.base_image or environment.base_image or DEFAULT_BASE_IMAGE
        digest = base_digest(self._client, base_image)
        recipe = {
            "backend": "docker",
            "base": digest,
            "torch": torch_source(environment, settings),
            **{name: dockerfile(name).read_text(encoding="utf-8") for name in ("base", "benchmark")},
        }
        parts = Dependencies(
            environment=environment,
            lock=lock,
            key=environment_key(environment, lock, recipe),
            base_image=base_image,
            base_digest=digest,
            settings=settings,
            log=log,
        )
        with exit_on_termination():
            installed = ensure_dependencies(self._client, parts)
            wheels = guest_wheels(benchmark, log=log)
            image = ensure_wheels(self._client, parts, wheels)
        return PreparedImage(
            key=parts.key,
            client=self._client,
            image=image,
            environment=environment,
            wheels=tuple(wheel.name for wheel in wheels),
            details={
                "installed": "yes" if installed else "no",
                "python": environment.python,
                "lock": lock.digest,
                "base_image": base_image,
                "base_digest": digest,
                "image_digest": image,
                "engine": str(self._client.version()["Version"]),
                **{f"wheel:{wheel.name}": wheel.digest for wheel in wheels},
            },
        )
