"""Measure what the host adds to a smoke: ``nox -R -s pusht_smoke``, warm, minus the time inside pytest.

Run: .venv/bin/python bench/host_overhead.py [REPEATS]
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NOX = [sys.executable, "-m", "nox", "-R", "-s", "pusht_smoke", "--", "--backend", "venv"]


def measure(runs: Path) -> tuple[float, float]:
    """Run one warm smoke; returns (wall, inside pytest) in seconds."""
    start = time.perf_counter()
    subprocess.run([*NOX, "--runs", str(runs)], check=True, capture_output=True)
    wall_s = time.perf_counter() - start
    run = json.loads(max(runs.glob("*/pusht--default/run.json"), key=lambda path: path.stat().st_mtime).read_text())
    return wall_s, run["pytest_s"]


def main() -> None:
    """Warm up once, then print each figure's minimum, median and maximum."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repeats", nargs="?", type=int, default=5)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder))
        pairs = [measure(Path(folder)) for _ in range(repeats)]
    for name, values in {
        "wall": [wall for wall, _ in pairs],
        "inside pytest": [inside for _, inside in pairs],
        "host overhead": [wall - inside for wall, inside in pairs],
    }.items():
        print(f"{name:14} min {min(values):6.2f}  median {statistics.median(values):6.2f}  max {max(values):6.2f} s")


if __name__ == "__main__":
    main()
