"""A process that dies is a broken run: the test it died in is named, what never ran is missing."""

from __future__ import annotations

import json

import pytest

DEATHS = {
    "segfault": "killed by SIGSEGV",
    "abort": "killed by SIGABRT",
    "exit-3": "exit 3",
    "exit-0": "exit 0",
    "hang-in-c": "timed out after 12 s",
}
TRACED = {"segfault": "read_address_0", "hang-in-c": "wait_in_c"}


@pytest.mark.parametrize("task", DEATHS)
def test_a_dying_simulator_breaks_the_run(task, faulty):
    smoked = faulty.smoke("--task", task, "--task", "sound")
    smoked.assert_red(verdict="broken", blame="env", exit_code=3)
    assert f"RS201 spaces on {task}" in smoked.run["reason"]
    assert DEATHS[task] in smoked.run["reason"]
    first, *rest = smoked.outcomes.values()
    assert first == "broken"
    assert set(rest) == {"missing"}
    assert f"{len(rest)} planned tests never ran" in smoked.run["reason"]
    assert TRACED.get(task, "") in (smoked.folder / "faults.log").read_text()
    assert not faulty.processes


def test_a_hang_ends_at_the_environments_own_limit_too(faulty):
    smoked = faulty.smoke("--task", "hang-in-c", environment="little-time")
    smoked.assert_red(verdict="broken", blame="env", exit_code=3)
    assert "timed out after 8 s" in smoked.run["reason"]


def test_memory_beyond_the_limit_blames_the_machine(faulty):
    smoked = faulty.smoke("--task", "out-of-memory", environment="little-memory")
    smoked.assert_red(verdict="broken", blame="machine", exit_code=3)
    assert "RS201 spaces on out-of-memory" in smoked.run["reason"]
    assert "out of memory (limit 400 MB)" in smoked.run["reason"]
    assert "memory_mb" in smoked.run["advice"]


def test_with_workers_a_crash_breaks_its_own_test_alone(faulty):
    smoked = faulty.smoke("--task", "segfault-once", "--task", "sound", "-n", "2")
    smoked.assert_red(verdict="broken", blame="env", exit_code=3)
    broken = [check for check in smoked.checks if check["outcome"] != "passed"]
    assert [(check["task"], check["outcome"]) for check in broken] == [("segfault-once", "broken")]
    assert f"{broken[0]['check']} {broken[0]['name']} on segfault-once" in smoked.run["reason"]


def test_a_test_that_always_crashes_runs_once_and_the_rest_of_its_task_goes_on(faulty):
    smoked = faulty.smoke("--task", "abort-when-painted", "-n", "2")
    smoked.assert_red(verdict="broken", blame="env", exit_code=3)
    assert [(check["check"], check["outcome"]) for check in smoked.checks if check["outcome"] != "passed"] == [
        ("RS402", "broken")
    ]
    journal = (smoked.folder / "journal.jsonl").read_text().splitlines()
    started = [json.loads(line)["test"] for line in journal if '"event":"started"' in line]
    assert len(started) == len(set(started))


def test_an_episode_that_a_crash_makes_the_next_worker_play_again_counts_once(faulty):
    smoked = faulty.smoke("--task", "abort-when-painted", "-n", "2", "-k", "RS601 or RS402 or RS903")
    journal = (smoked.folder / "journal.jsonl").read_text().splitlines()
    assert len([line for line in journal if '"control":"expert"' in line]) == 1
    assert smoked.checks[-1]["message"] == "1 of 1 episodes solved, 0 errored"


def test_when_the_experts_test_crashes_its_rate_and_the_reason_say_so(faulty):
    smoked = faulty.smoke("--task", "abort", "-n", "2", "-k", "RS601")
    smoked.assert_red(verdict="broken", blame="env", exit_code=3)
    of_task, of_pair = smoked.checks
    crash = "its worker process was killed by SIGABRT in the middle of this test"
    assert (of_task["outcome"], of_task["message"]) == ("broken", crash)
    assert (of_pair["outcome"], of_pair["blame"]) == ("failed", "env")
    assert of_pair["message"].endswith(f"; the expert's test on abort broke: {crash}")
    assert smoked.run["reason"] == f"RS601 expert-succeeds on abort: {crash}"


def test_one_test_left_of_a_crashed_task_does_not_wait_for_ever(faulty):
    """A worker holds its last test back until it knows the next one, which lies in another task."""
    smoked = faulty.smoke("--task", "abort-when-painted", "--task", "sound", "-n", "1", "-k", "RS402 or RS403")
    smoked.assert_red(verdict="broken", blame="env", exit_code=3)
    assert sorted(smoked.outcomes.values()) == ["broken", "passed", "passed", "passed"]


def test_a_guest_without_an_interpreter_leaves_no_records_and_says_so(faulty):
    smoked = faulty.smoke(environment="no-interpreter")
    smoked.assert_red(verdict="broken", blame="environment", exit_code=3)
    assert "left no records" in smoked.run["reason"]
    assert "run.log" in smoked.run["advice"]
