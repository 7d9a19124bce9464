"""Sweep LIBERO's tasks: construct, reset, step, picture and placed control, a JSON line each, resumable.

Run inside LIBERO's environment::

    python bench/libero_sweep.py OUT.jsonl [SUITE …]

A task whose line is in OUT already is skipped. Every few tasks a new process goes on, which bounds memory.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from robosmoke.benchmarks.libero.env import WAIT_ACTION, LiberoEnv
from robosmoke.benchmarks.libero.placed import place
from robosmoke.catalog import find
from robosmoke.guest.env import EnvOptions
from robosmoke.manifest import Task

TASKS_PER_PROCESS = 10
STEPS, SIDE_PX = 10, 128


def main(arguments: list[str]) -> None:
    """Sweep the suites named, or all; then print the totals."""
    out, suites = Path(arguments[0]), arguments[1:]
    while left := _left(out, suites):
        some = [f"{task.suite}/{task.name}" for task in left[:TASKS_PER_PROCESS]]
        subprocess.run([sys.executable, __file__, "--tasks", str(out), *some], check=True)
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    totals = Counter((line["suite"], line["outcome"]) for line in lines)
    for (suite, outcome), count in sorted(totals.items()):
        print(f"{suite:16} {outcome:12} {count}")


def _left(out: Path, suites: list[str]) -> list[Task]:
    done = {(line["suite"], line["task"]) for line in map(json.loads, out.open())} if out.is_file() else set()
    wanted = [task for task in find("libero").manifest.tasks if not suites or task.suite in suites]
    return [task for task in wanted if (task.suite, task.name) not in done]


def _sweep(out: Path, names: list[str]) -> None:
    manifest = find("libero").manifest
    for name in names:
        task = manifest.task(name)
        line: dict[str, Any] = {"suite": task.suite, "task": task.name}
        env = LiberoEnv(manifest, task, EnvOptions(width_px=SIDE_PX, height_px=SIDE_PX, on_success="continue"))
        try:
            line |= _measure(env)
        except Exception:  # noqa: BLE001  (one task's fault is a line of its own, and the sweep goes on)
            line |= {"outcome": "errored", "error": traceback.format_exc(limit=3)}
        env.close()
        line["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        with out.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")
        print(f"{line['outcome']:12} {name}", flush=True)


def _measure(env: LiberoEnv) -> dict[str, Any]:
    line: dict[str, Any] = {}
    with _timed(line, "construct_s"):
        _, info = env.reset(seed=0, options={"init_state": 0})
    with _timed(line, "reset_s"):
        env.reset(seed=0, options={"init_state": 1})
    with _timed(line, "ten_steps_s"):
        env.advance(np.tile(WAIT_ACTION, (STEPS, 1)))
    colours, marker_off = [], []
    with _timed(line, "four_frames_s"):
        for camera in env.manifest.camera:
            plain = env.picture(camera.name, SIDE_PX, SIDE_PX)
            env.paint_landmark(True)
            painted = env.picture(camera.name, SIDE_PX, SIDE_PX)
            env.paint_landmark(False)
            colours.append(len(np.unique(plain.reshape(-1, 3), axis=0)))
            marker_off.append(_marker_off(env, camera.name, plain, painted))
    line |= {"solved_at_reset": info["success"], "colours": colours, "marker_off": marker_off}
    env.reset(seed=0, options={"init_state": 0})
    with _timed(line, "placed_s"):
        placement = place(env)
    outcome = "held" if placement.held else "solved" if placement.solved else "unsolved"
    return line | {"outcome": outcome, "step": placement.first_success_step, "unsolved": placement.unsolved}


def _marker_off(env: LiberoEnv, camera: str, plain: np.ndarray, painted: np.ndarray) -> float | None:
    place_wanted = env.landmark(camera)
    changed = np.abs(plain.astype(int) - painted.astype(int)).sum(axis=2) > 60
    if place_wanted is None or not changed.any():
        return None
    rows, columns = np.nonzero(changed)
    seen = np.array([columns.mean(), rows.mean()]) / SIDE_PX
    return round(float(np.abs(seen - place_wanted).max()), 3)


class _timed:  # noqa: N801  (reads as a statement: with _timed(line, "reset_s"))
    def __init__(self, line: dict[str, Any], key: str) -> None:
        self._line, self._key = line, key

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._line[self._key] = round(time.perf_counter() - self._start, 2)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--tasks"]:
        _sweep(Path(sys.argv[2]), sys.argv[3:])
    else:
        main(sys.argv[1:])
