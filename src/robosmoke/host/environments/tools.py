"""Find uv, and Python interpreters of a wanted version."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from robosmoke.errors import SetupError


def find_uv() -> str | None:
    """Return the path of uv: beside this Python first, then on PATH; None when there is none."""
    beside = Path(sys.executable).with_name("uv")
    if beside.is_file() and os.access(beside, os.X_OK):
        return str(beside)
    return shutil.which("uv")


def require_uv(purpose: str) -> str:
    """Return the path of uv; raises `SetupError` saying what it is needed for."""
    uv = find_uv()
    if uv is None:
        raise SetupError(f"{purpose} needs uv, which is not installed: run '{sys.executable} -m pip install uv'")
    return uv


def find_python(version: str) -> str:
    """Return an interpreter of one version (``3.11``) without uv: this one, or ``pythonX.Y`` on PATH.

    Raises `SetupError` with what to install.
    """
    candidates = [sys.executable, f"python{version}", "python3"]
    for candidate in candidates:
        path = shutil.which(candidate)
        if path is not None and _version_of(path) == version:
            return path
    raise SetupError(
        f"Python {version} is not installed: install uv, which fetches it ('{sys.executable} -m pip install uv'),"
        f" or python{version} with its venv module"
    )


def _version_of(python: str) -> str:
    """Ask an interpreter; a version manager's shim may exist for a version it does not have."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    answer = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    return answer.stdout.strip()
