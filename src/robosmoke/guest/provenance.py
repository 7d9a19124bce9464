"""Say what a result rests on: distributions with hashes, Python, CPU and platform."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import distributions
from pathlib import Path
from typing import Any


def facts() -> dict[str, Any]:
    """Return the environment's facts; opens no GL context and imports no simulator."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "kernel": platform.release(),
        "cpu_model": cpu_model(),
        "distributions": installed(),
    }


def installed() -> dict[str, dict[str, str]]:
    """Return version and RECORD hash of each distribution, by normalised name."""
    found: dict[str, dict[str, str]] = {}
    for distribution in distributions():
        name = distribution.metadata["Name"]
        if name:
            record = distribution.read_text("RECORD") or ""
            entry = {"version": distribution.version, "record_sha256": hashlib.sha256(record.encode()).hexdigest()}
            found.setdefault(name.lower().replace("_", "-"), entry)
    return dict(sorted(found.items()))


def cpu_model() -> str:
    """Return the CPU's model name as Linux gives it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
