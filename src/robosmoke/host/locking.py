"""Lock every environment of some benchmarks, or tell which locks are out of date."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from robosmoke.catalog import Benchmark
from robosmoke.errors import ExitCode
from robosmoke.host.environments.lock import lock_is_current, write_lock


def lock_all(chosen: Sequence[Benchmark], *, check: bool) -> int:
    """Write the locks and print what changed; with ``check`` write nothing, red when one is stale."""
    stale = 0
    for benchmark in chosen:
        for environment in benchmark.manifest.environment.values():
            where = f"{benchmark.manifest.name}: {environment.name}"
            if check:
                current = lock_is_current(benchmark.folder, environment)
                stale += not current
                print(f"{where}: {'current' if current else 'out of date: run `robosmoke lock`'}")
                continue
            with tempfile.TemporaryDirectory() as scratch:
                changed = write_lock(benchmark.folder, environment, log=Path(scratch, "lock.log"))
            print(f"{where}: {'written' if changed else 'unchanged'}")
    return ExitCode.RED if stale else ExitCode.GREEN
