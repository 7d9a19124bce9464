"""How many workers this machine, or the container around us, has room for."""

from __future__ import annotations

import os
from pathlib import Path

_MEBIBYTE = 2**20
_CGROUP = Path("/sys/fs/cgroup")


def automatic_workers(episodes: int, worker_memory_mb: int) -> int:
    """Return the workers that cores and free memory allow, no more than episodes, at least 1."""
    return max(1, min(cores(), available_mb() // worker_memory_mb, episodes))


def cores() -> int:
    """Count the cores this process may use, a container's quota included, at least 1."""
    count = len(os.sched_getaffinity(0))
    quota, _, period = _read(_CGROUP / "cpu.max").partition(" ")
    if quota.isdigit() and period.strip().isdigit():
        count = min(count, int(quota) // int(period))
    return max(1, count)


def available_mb() -> int:
    """Return the memory in MiB that can still be used, the machine's or what is left of a container's limit."""
    lines = _read(Path("/proc/meminfo")).splitlines()
    available = next(int(line.split()[1]) // 1024 for line in lines if line.startswith("MemAvailable"))
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        bound = _read(_CGROUP / limit).strip()
        if bound.isdigit():
            available = min(available, (int(bound) - int(_read(_CGROUP / used))) // _MEBIBYTE)
    return available


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
