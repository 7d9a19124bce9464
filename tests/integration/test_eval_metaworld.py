"""Evaluations in the real environments of Meta-World and PushT: one set of bytes, whatever happens to them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from robosmoke.catalog import find
from robosmoke.evaluation.ledger import LEDGER_NAME, read_ledger
from robosmoke.evaluation.record import canonical
from robosmoke.host.environments.guest_variables import guest_variables
from robosmoke.host.environments.venv import PreparedVenv, VenvBackend

from .watching import lines, living, until

# Two tasks that the expert solves at different steps, three episodes of each.
METAWORLD = ("metaworld", "--task", "push-v3", "door-open-v3", "--episodes", "3")
Command = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PreparedVenv]:
    """Prepare both environments, or use them from the cache."""
    log = tmp_path_factory.mktemp("install") / "install.log"
    return {
        name: VenvBackend().prepare(find(name), find(name).manifest.environment["default"], log=log)
        for name in ("metaworld", "pusht")
    }


@pytest.fixture
def evaluate(environments: dict[str, PreparedVenv], tmp_path: Path) -> Command:
    """Give a function that starts the guest entry in the benchmark's environment."""

    def start(*arguments: str) -> subprocess.Popen[str]:
        prepared = environments[arguments[0]]
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        variables = guest_variables(
            binaries=str(prepared.folder / "venv" / "bin"), home=str(home), temporary=str(tmp_path)
        )
        return subprocess.Popen(
            [str(prepared.folder / "venv" / "bin" / "python"), "-m", "robosmoke", "eval", *arguments],
            env={
                **variables,
                **prepared.environment.variables,
                "PYTHONPATH": ":".join(str(wheel.folder) for wheel in prepared.wheels),
            },
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return start


def ended(process: subprocess.Popen[str], code: int = 0) -> str:
    output = process.communicate(timeout=120)[0]
    assert process.returncode == code, output
    return output


def records(folder: Path) -> bytes:
    return canonical(read_ledger(folder))


def workers(home: Path) -> list[int]:
    """Return the workers of a run: supervisors whose parent is a supervisor."""
    parents = {
        pid: int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        for pid in living(home)
        if b"engine.supervisor" in Path(f"/proc/{pid}/cmdline").read_bytes()
    }
    return [pid for pid, parent in parents.items() if parent in parents]


@pytest.mark.parametrize("flags", [METAWORLD, ("pusht", "--policy", "random", "--episodes", "4")], ids=lambda f: f[0])
def test_inline_and_one_two_three_workers_give_the_same_bytes(
    flags: Sequence[str], evaluate: Command, tmp_path: Path
) -> None:
    ended(evaluate(*flags, "--executor", "inline", "--out", str(tmp_path / "inline")))
    inline = read_ledger(tmp_path / "inline")
    for count in (1, 2, 3):
        output = ended(evaluate(*flags, "--workers", str(count), "--out", str(tmp_path / str(count))))
        assert records(tmp_path / str(count)) == canonical(inline), output
    if flags is METAWORLD:
        assert len({record.steps for record in inline}) > 2, "it succeeds early, at different steps"
        assert max(record.steps for record in inline) < 500


def test_a_policy_that_sees_gives_the_same_bytes_in_workers_and_leaves_its_frames(
    evaluate: Command, tmp_path: Path
) -> None:
    """Pixels reach the actions: one different pixel would give other rewards."""
    policy = tmp_path / "seeing.py"
    policy.write_text(
        "import numpy as np\n"
        "class Seeing:\n"
        "    name, observation_keys = 'seeing', ('corner2', 'state')\n"
        "    def start(self, episode, action_space):\n"
        "        return self\n"
        "    def act(self, observation):\n"
        "        seed = int(observation['corner2'].astype(np.int64).sum())\n"
        "        return np.random.default_rng(seed).uniform(-1, 1, (5, 4))\n"
    )
    flags = ("metaworld", "--task", "push-v3", "door-open-v3", "--episodes", "1", "--max-steps", "20")
    flags = (*flags, "--policy", f"python:{policy}:Seeing", "--picture-px", "64", "--video", "policy")
    ended(evaluate(*flags, "--executor", "inline", "--out", str(tmp_path / "inline")))
    ended(evaluate(*flags, "--workers", "2", "--out", str(tmp_path / "two")))
    assert records(tmp_path / "two") == records(tmp_path / "inline")
    frames = [record.video.frames for record in read_ledger(tmp_path / "two") if record.video]
    assert frames == [4, 4]


def test_a_killed_parent_leaves_nothing_and_the_rest_runs_exactly_once(evaluate: Command, tmp_path: Path) -> None:
    ended(evaluate(*METAWORLD, "--executor", "inline", "--out", str(tmp_path / "whole")))
    folder, place = tmp_path / "run", "--out"
    for done in sorted(random.Random(time.time_ns()).sample(range(1, 6), 2)):
        process = evaluate(*METAWORLD, "--workers", "2", place, str(folder))
        until(lambda done=done: lines(folder) >= done, 60)
        process.kill()
        process.communicate()
        until(lambda: not living(tmp_path), 2)
        place = "--resume"
    # A crash in mid-write besides: the last record is torn, and its episode runs again.
    ledger = folder / LEDGER_NAME
    ledger.write_bytes(ledger.read_bytes()[:-50])
    ended(evaluate(*METAWORLD, "--executor", "inline", "--resume", str(folder)))
    assert sorted(record.episode.index for record in read_ledger(folder)) == list(range(6))
    assert records(folder) == records(tmp_path / "whole")


def test_a_killed_worker_costs_one_retry_and_no_result(evaluate: Command, tmp_path: Path) -> None:
    ended(evaluate(*METAWORLD, "--executor", "inline", "--out", str(tmp_path / "whole")))
    process = evaluate(*METAWORLD, "--workers", "2", "--out", str(tmp_path / "run"))
    until(lambda: workers(tmp_path), 60)
    victim = workers(tmp_path)[0]
    os.kill(victim, signal.SIGKILL)
    output = ended(process)
    assert records(tmp_path / "run") == records(tmp_path / "whole")
    lost = [attempt for record in read_ledger(tmp_path / "run") for attempt in record.lost]
    assert [attempt.worker.partition(" ")[2] for attempt in lost] == [f"(pid {victim})"]
    assert f"worker {lost[0].worker} was killed by SIGKILL" in output


def test_the_command_prepares_the_environment_and_runs_inside(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; from robosmoke.__main__ import main; sys.exit(main())"]
    flags = ["eval", "pusht", "--backend", "venv", "--policy", "zero", "--episodes", "2", "--max-steps", "20"]
    run = subprocess.run(
        [*command, *flags, "--out", str(tmp_path / "run"), "--min-success", "0.5"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1, run.stderr
    assert "pusht in default: 2 episodes of 1 task" in run.stdout
    assert "success: 0 of 2 = 0.0 % (95 % interval 0.0 to 65.8 %)" in run.stdout
    assert len(read_ledger(tmp_path / "run")) == 2


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--policy", "torch:x.pt"), "known: zero, random, expert, python:MODULE:FACTORY"),
        (("--task", "push-x"), "did you mean 'push-t'?"),
        (("--executor", "ray"), "invalid choice: 'ray'"),
    ],
)
def test_bad_usage_is_one_line_before_anything_is_prepared(flags: Sequence[str], words: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; from robosmoke.__main__ import main; sys.exit(main())"]
    run = subprocess.run([*command, "eval", "pusht", *flags], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
    assert words in run.stderr
    assert not list(tmp_path.iterdir())
