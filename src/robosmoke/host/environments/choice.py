"""Choose where environments are realised: in images of a Docker engine, or in venvs."""

from __future__ import annotations

from robosmoke.errors import SetupError
from robosmoke.host.environments.backend import Backend, BackendName
from robosmoke.host.environments.venv import VenvBackend


def choose_backend(name: BackendName) -> tuple[Backend, str]:
    """Return the backend asked for, and a sentence that says which it is and why.

    ``auto`` takes docker when an engine answers, else venv. Raises `SetupError` when docker is
    asked for and no engine answers.
    """
    if name == "venv":
        return VenvBackend(), "backend venv: asked for"
    # The docker SDK takes a moment to import, which a venv need not wait for.
    from robosmoke.host.environments.engine import find_engine
    from robosmoke.host.environments.image import DockerBackend

    engine = find_engine()
    if engine.client is not None:
        why = "asked for" if name == "docker" else "a Docker engine answers"
        return DockerBackend(engine.client), f"backend docker: {why} (engine {engine.version})"
    if name == "docker":
        raise SetupError(f"backend docker: {engine.problem}: start the engine, or use --backend venv")
    return VenvBackend(), f"backend venv: {engine.problem}"
