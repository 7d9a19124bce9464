"""Find the Docker engine, and say plainly why there is none."""

from __future__ import annotations

import os
import shutil
import socket
from dataclasses import dataclass

from docker.errors import DockerException

import docker

_ANSWER_S = 60
_SOCKET = "unix:///var/run/docker.sock"


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
    problem = _socket_problem()
    if problem:
        return Engine(client=None, problem=f"no Docker engine answers ({problem})")
    try:
        client = docker.from_env(timeout=_ANSWER_S)
        return Engine(client=client, version=str(client.version()["Version"]))
    except DockerException as error:
        return Engine(client=None, problem=f"no Docker engine answers ({error})")


def _socket_problem() -> str:
    """Try the engine's local socket: plainer words than the SDK's, which also leaks its own try."""
    scheme, _, path = os.environ.get("DOCKER_HOST", _SOCKET).partition("://")
    if scheme != "unix":
        return ""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError as error:
            return f"{path}: {error.strerror or error}"
    return ""
