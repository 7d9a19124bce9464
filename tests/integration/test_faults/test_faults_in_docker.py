"""The same faults in a container end in the same words; whatever the guest had written comes out of it."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.docker
DOCKER = ("--backend", "docker")


def test_the_sound_task_is_green_in_docker(faulty):
    smoked = faulty.smoke(*DOCKER, "--task", "sound")
    assert (smoked.run["verdict"], smoked.run["backend"], smoked.exit_code) == ("passed", "docker", 0), smoked.printed
    smoked.assert_whole()
    assert smoked.report().returncode == 0


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("segfault", "killed by SIGSEGV"),
        ("exit-0", "exit 0"),
        ("hang-in-c", "timed out after 12 s"),
    ],
)
def test_a_dying_simulator_breaks_the_run_in_docker(task, words, faulty):
    smoked = faulty.smoke(*DOCKER, "--task", task, "--task", "sound")
    smoked.assert_red(verdict="broken", blame="env", exit_code=3)
    assert f"RS201 spaces on {task}" in smoked.run["reason"]
    assert words in smoked.run["reason"]
    first, *rest = smoked.outcomes.values()
    assert (first, set(rest)) == ("broken", {"missing"})


def test_a_container_beyond_its_memory_blames_the_machine(faulty):
    smoked = faulty.smoke(*DOCKER, "--task", "out-of-memory", environment="little-memory")
    smoked.assert_red(verdict="broken", blame="machine", exit_code=3)
    assert "RS201 spaces on out-of-memory" in smoked.run["reason"]
    assert "out of memory (limit 400 MB)" in smoked.run["reason"]
    assert "memory_mb" in smoked.run["advice"]


def test_a_container_beyond_its_time_is_stopped(faulty):
    smoked = faulty.smoke(*DOCKER, "--task", "hang-in-c", environment="little-time")
    smoked.assert_red(verdict="broken", blame="env", exit_code=3)
    assert "timed out after 8 s" in smoked.run["reason"]


def test_a_container_that_leaves_no_records_says_so(faulty):
    smoked = faulty.smoke(*DOCKER, environment="no-interpreter")
    smoked.assert_red(verdict="broken", blame="environment", exit_code=3)
    assert "left no records" in smoked.run["reason"]


def test_a_failing_build_is_named_with_its_last_lines(faulty, tmp_path):
    damaged = faulty.copied(tmp_path / "site")
    damaged.lock.write_text(re.sub(r"(?<=--hash=sha256:)[0-9a-f]{8}", "00000000", damaged.lock.read_text()))
    smoked = damaged.smoke(*DOCKER)
    smoked.assert_red(verdict="broken", blame="environment", exit_code=3)
    assert "docker build of robosmoke/environment" in smoked.run["reason"]
    assert "hash" in smoked.run["reason"].lower()
