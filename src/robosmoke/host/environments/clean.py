"""Remove what robosmoke left on this machine: containers, volumes and images by label, cache folders."""

from __future__ import annotations

import fcntl
import shutil
from dataclasses import dataclass
from pathlib import Path

from docker.errors import APIError, DockerException, NotFound

import docker
from robosmoke.errors import SetupError
from robosmoke.host.environments.labels import KEY, KIND, STAGE

_FOLDERS = ("environments", "wheels", "locks", "images")


@dataclass(frozen=True, kw_only=True)
class Cleaned:
    """What was removed, by name, and what is in use and was left."""

    removed: tuple[str, ...]
    left: tuple[str, ...] = ()


def clean_docker(client: docker.DockerClient, *, key: str = "") -> Cleaned:
    """Remove every container, volume and image with robosmoke's label, or those of one environment's ``key``.

    Containers that still run are stopped: call it when no run is going on. Raises `SetupError`
    when the engine fails; an image that something else uses is left and named.
    """
    removed: list[str] = []
    left: list[str] = []
    marked: dict[str, str | list[str] | bool] = {"label": f"{KEY}={key}" if key else KIND}
    try:
        for container in client.containers.list(all=True, filters=marked, ignore_removed=True):
            container.remove(force=True, v=True)
            removed.append(f"container {container.name}")
        for volume in client.volumes.list(filters=marked):
            volume.remove(force=True)
            removed.append(f"volume {volume.name}")
        for tag in _tags(client, marked):
            (removed if _remove_image(client, tag) else left).append(f"image {tag}")
        if not key:
            client.images.prune(filters={"dangling": True, "label": STAGE})
    except DockerException as error:
        raise SetupError(f"docker: cleaning stopped: {error}: is the engine well?") from error
    return Cleaned(removed=tuple(removed), left=tuple(left))


def clean_cache(cache: Path) -> Cleaned:
    """Remove the environments, wheels, locks and lock files of the cache; one being built is left."""
    removed: list[str] = []
    left: list[str] = []
    for kind in _FOLDERS:
        for path in sorted((cache / kind).glob("[!.]*")):
            if _held(path):
                left.append(str(path))
                continue
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            removed.append(str(path))
    return Cleaned(removed=tuple(removed), left=tuple(left))


def _tags(client: docker.DockerClient, marked: dict[str, str | list[str] | bool]) -> list[str]:
    """List robosmoke's tags, those that build on others first."""
    found = [tag for image in client.images.list(filters=marked) for tag in image.tags]
    order = {"robosmoke/wheels": 0, "robosmoke/environment": 1}
    return sorted(found, key=lambda tag: (order.get(tag.partition(":")[0], 2), tag))


def _remove_image(client: docker.DockerClient, tag: str) -> bool:
    try:
        client.images.remove(tag)
    except NotFound:
        return True
    except APIError as error:
        if error.status_code == 409:
            return False
        raise
    return True


def _held(path: Path) -> bool:
    """Tell whether a builder holds the lock beside a folder of the cache."""
    lock = path.with_name(f".{path.name}.lock")
    if not lock.exists():
        return False
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
