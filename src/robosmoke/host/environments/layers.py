"""The three images under a run: the base, an environment's dependencies, the wheels."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from docker.errors import DockerException, ImageNotFound

import docker
from robosmoke.errors import SetupError
from robosmoke.host.environments.build import ImageBuild, build_image
from robosmoke.host.environments.cache import locked
from robosmoke.host.environments.lock import Lock
from robosmoke.host.environments.settings import Settings
from robosmoke.host.environments.source import dockerfile
from robosmoke.host.environments.wheels import Wheel
from robosmoke.manifest import Environment


@dataclass(frozen=True, kw_only=True)
class Dependencies:
    """What the image of one environment's dependencies is made of."""

    environment: Environment
    lock: Lock
    key: str
    base_image: str
    base_digest: str
    settings: Settings = field(repr=False)
    log: Path


def image_id(client: docker.DockerClient, name: str) -> str | None:
    """Return the digest of a local image, or None when the engine has none of that name."""
    try:
        return str(client.images.get(name).id)
    except ImageNotFound:
        return None


def base_digest(client: docker.DockerClient, name: str) -> str:
    """Return the digest of a base image, pulled when the engine does not have it.

    Raises `SetupError` when it cannot be had.
    """
    found = image_id(client, name)
    if found is not None:
        return found
    try:
        return str(client.images.pull(*_repository_and_tag(name)).id)
    except DockerException as error:
        raise SetupError(
            f"base image {name}: the engine neither has it nor can pull it ({str(error).splitlines()[0]}):"
            " load it, or set ROBOSMOKE_BASE_IMAGE"
        ) from error


def ensure_dependencies(client: docker.DockerClient, parts: Dependencies) -> bool:
    """Build an environment's image unless it is there; return whether it was built now."""
    tag = dependencies_tag(parts.key)
    with locked(parts.settings.cache / "images" / parts.key):
        if image_id(client, tag) is not None:
            return False
        environment = parts.environment
        torch = {"torch"} if environment.torch else set()
        build_image(
            client,
            ImageBuild(
                recipe="benchmark",
                tag=tag,
                key=parts.key,
                arguments={
                    "ROBOSMOKE_BASE": _ensure_base(client, parts),
                    "PYTHON_VERSION": environment.python,
                    "TORCH_VERSION": environment.torch,
                    "APT_PACKAGES": " ".join(sorted(environment.apt)),
                },
                settings=parts.settings,
                log=parts.log,
                files={"lock.txt": parts.lock.text, "constraints.txt": parts.lock.constraints},
                wanted=frozenset({*parts.lock.pins, *torch}),
            ),
        )
    return True


def ensure_wheels(client: docker.DockerClient, parts: Dependencies, wheels: tuple[Wheel, ...]) -> str:
    """Return the digest of the image with the wheels in its last layer, built unless it is there."""
    digest = hashlib.sha256("".join(f"{wheel.name} {wheel.digest}\n" for wheel in wheels).encode()).hexdigest()
    tag = f"robosmoke/wheels:{parts.key}-{digest[:32]}"
    with locked(parts.settings.cache / "images" / f"{parts.key}-{digest[:32]}"):
        if image_id(client, tag) is None:
            build_image(
                client,
                ImageBuild(
                    recipe="wheels",
                    tag=tag,
                    key=parts.key,
                    arguments={"ROBOSMOKE_ENVIRONMENT": dependencies_tag(parts.key)},
                    settings=parts.settings,
                    log=parts.log,
                    folders={f"wheels/{wheel.name}": wheel.folder for wheel in wheels},
                    installs=False,
                ),
            )
    found = image_id(client, tag)
    if found is None:
        raise SetupError(f"image {tag}: vanished after its build: is another process removing images?")
    return found


def dependencies_tag(key: str) -> str:
    """Return the tag of the image that holds an environment's dependencies."""
    return f"robosmoke/environment:{key}"


def _ensure_base(client: docker.DockerClient, parts: Dependencies) -> str:
    """Return the tag of the base, shared by every environment on one base image."""
    recipe = dockerfile("base").read_text(encoding="utf-8")
    key = hashlib.sha256(f"{parts.base_digest}\n{recipe}".encode()).hexdigest()[:32]
    tag = f"robosmoke/base:{key}"
    with locked(parts.settings.cache / "images" / f"base-{key}"):
        if image_id(client, tag) is None:
            build_image(
                client,
                ImageBuild(
                    recipe="base",
                    tag=tag,
                    key=key,
                    arguments={"BASE_IMAGE": parts.base_image},
                    settings=parts.settings,
                    log=parts.log,
                    wanted=frozenset({"uv"}),
                ),
            )
    return tag


def _repository_and_tag(name: str) -> tuple[str, str | None]:
    repository, colon, tag = name.rpartition(":")
    if "@" in name or not colon or "/" in tag:
        return name, None
    return repository, tag
