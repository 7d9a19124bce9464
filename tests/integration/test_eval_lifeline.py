"""No process of an evaluation outlives the one that started it, and what was done is not lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from robosmoke.evaluation.ledger import read_ledger
from robosmoke.evaluation.record import canonical

from .watching import lines, living, until

TEMPLATE = Path(__file__).parents[2] / "src" / "robosmoke" / "host" / "template" / "src"
POLICIES = Path(__file__).parents[1] / "unit" / "eval_policies.py"
# No __main__ guard: a worker that imported this would start an evaluation of its own.
SCRIPT = f"""
import sys
from pathlib import Path
sys.path.append({str(TEMPLATE)!r})
from robosmoke.evaluation.request import EvalRequest
from robosmoke.guest.engine.evaluate import run_evaluation
from robosmoke.manifest import read_manifest
manifest = read_manifest(
    Path({str(TEMPLATE)!r}) / "robosmoke_mybenchmark" / "benchmark.toml", package="robosmoke_mybenchmark"
)
policy, place, folder = sys.argv[1:]
Path(folder + ".starts").open("a").write("start\\n")
print(run_evaluation(manifest, EvalRequest(
    benchmark="mybenchmark", policy="python:{POLICIES}:" + policy, episodes=20, workers=2, **{{place: Path(folder)}}
)).summary.n_episodes)
"""
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Give a function that starts an evaluation of 40 episodes from a script."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    def run(policy: str, folder: Path, place: str = "out") -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(script), policy, place, str(folder)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "EVAL_POLICIES": str(tmp_path)},
        )

    return run


@pytest.mark.parametrize("policy", ["Hangs", "HangsWithChild"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_two_seconds_after_its_end_nothing_is_left_though_a_worker_holds_the_interpreter_lock(
    policy: str, number: signal.Signals, start: Start, tmp_path: Path
) -> None:
    process = start(policy, tmp_path / "run")
    until(lambda: list(tmp_path.glob("hangs-*")))
    assert len(living(tmp_path)) >= 4, "parent, supervisor and two workers"
    process.send_signal(number)
    until(lambda: not living(tmp_path), timeout_s=2.0)
    process.communicate()


def test_a_supervisor_that_is_killed_takes_its_workers_along_and_ends_the_evaluation(
    start: Start, tmp_path: Path
) -> None:
    process = start("Hangs", tmp_path / "run")
    until(lambda: list(tmp_path.glob("hangs-*")))
    supervisor = next(
        pid
        for pid in living(tmp_path)
        if b"engine.supervisor" in Path(f"/proc/{pid}/cmdline").read_bytes()
        and int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) == process.pid
    )
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: not living(tmp_path), timeout_s=2.0)
    process.communicate()
    assert process.returncode != 0


def test_an_evaluation_killed_at_any_point_ends_as_an_undisturbed_one(start: Start, tmp_path: Path) -> None:
    undisturbed, folder = tmp_path / "undisturbed", tmp_path / "run"
    assert start("Slow", undisturbed).communicate()[0] == "40\n"
    place = "out"
    for done in (1, 9, 23):
        process = start("Slow", folder, place)
        until(lambda done=done: lines(folder) >= done)
        process.kill()
        process.communicate()
        until(lambda: not living(tmp_path), timeout_s=2.0)
        place = "resume"
    assert start("Slow", folder, place).communicate()[0] == "40\n"
    records = read_ledger(folder)
    assert sorted(record.episode.index for record in records) == list(range(40))
    assert canonical(records) == canonical(read_ledger(undisturbed))


def test_the_callers_main_module_runs_once_without_a_guard(start: Start, tmp_path: Path) -> None:
    assert start("Steady", tmp_path / "run").communicate()[0] == "40\n"
    assert (tmp_path / "run.starts").read_text() == "start\n"
