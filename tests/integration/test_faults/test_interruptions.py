"""A run that is stopped from outside leaves no process, and never reads as green."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

HANGING = ("--task", "hang-in-c", "--task", "sound")
START_S = 120.0
END_S = 2.0


@contextmanager
def hanging(faulty, started_tests, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Yield the command line once its guest hangs in a test."""
    process = subprocess.Popen(
        faulty.command(*HANGING, *arguments),
        env=faulty.variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + START_S
        while not started_tests(faulty):
            assert time.monotonic() < deadline
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for_silence(faulty) -> None:
    """Demand that no process of the run is left within two seconds."""
    deadline = time.monotonic() + END_S
    while faulty.processes and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not faulty.processes


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interruption_is_recorded_with_all_that_was_planned(number, faulty, started_tests):
    with hanging(faulty, started_tests) as process:
        process.send_signal(number)
        printed, errors = process.communicate(timeout=30)
    wait_for_silence(faulty)
    smoked = faulty.left(process.returncode, printed, errors)
    assert (smoked.exit_code, errors) == (4, f"\nrobosmoke: interrupted; records so far: {smoked.folder}\n")
    assert (smoked.run["verdict"], smoked.run["blame"]) == ("broken", "machine")
    assert "interrupted" in smoked.run["reason"]
    assert len(smoked.checks) > 1
    smoked.assert_whole()
    assert smoked.report().returncode == 1


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_killed_command_line_takes_its_guest_along(workers, faulty, started_tests):
    with hanging(faulty, started_tests, "-n", workers) as process:
        assert faulty.processes
        process.kill()
        printed, errors = process.communicate(timeout=30)
    wait_for_silence(faulty)
    smoked = faulty.left(process.returncode, printed, errors)
    assert not (smoked.folder / "run.json").exists()
    reported = smoked.report()
    assert reported.returncode == 1
    assert "missing" in reported.stdout
