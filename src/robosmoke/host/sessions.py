"""Ask nox for its sessions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from robosmoke.errors import SetupError


def nox_sessions(root: Path) -> str:
    """Return ``nox --list --json`` of the noxfile in ``root``; raises `SetupError` when nox fails."""
    command = [sys.executable, "-m", "nox", "--list", "--json", "--noxfile", str(root / "noxfile.py")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        last = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise SetupError(f"nox --list failed in {root}: {last}")
    return result.stdout
