"""Find the Docker engine, and say plainly why there is none."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from docker.errors import DockerException

import docker

_ANSWER_S = 60


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A reachable engine (``client`` and ``version``), or the ``problem`` with reaching one."""

    client: docker.DockerClient | None
    version: str = ""
    problem: str = ""


def find_engine() -> Engine:
    """Ask the engine for its version; needs the ``docker`` command too, which builds images."""
    if shutil.which("docker") is None:
        return Engine(client=None, problem="the docker command is not installed")
    try:
        client = docker.from_env(timeout=_ANSWER_S)
        version = client.version()["Version"]
    except DockerException as error:
        return Engine(client=None, problem=f"no Docker engine answers ({_reason(error)})")
    return Engine(client=client, version=str(version))


def _reason(error: BaseException) -> str:
    """Take the innermost cause: the outer ones only repeat it with more brackets."""
    text = str(error)
    for known in ("Permission denied", "Connection refused", "No such file or directory", "timed out"):
        if known in text:
            return known.lower()
    return text.splitlines()[0] if text else type(error).__name__
