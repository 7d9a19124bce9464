"""Watch an evaluation that runs: its processes, its ledger, and a moment to come."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from robosmoke.evaluation.ledger import LEDGER_NAME


def living(folder: Path) -> set[int]:
    """Return the living processes whose environment or arguments name the folder, ours left out."""
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                alive = (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
            except OSError:
                continue
            if alive and str(folder).encode() in text:
                found.add(int(entry.name))
    return found


def until(condition: Callable[[], object], timeout_s: float = 30.0) -> None:
    """Wait for a condition; fail when it does not come true in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def lines(folder: Path) -> int:
    """Count the lines that the ledger holds by now."""
    path = folder / LEDGER_NAME
    return path.read_bytes().count(b"\n") if path.exists() else 0
