"""A benchmark or a policy that breaks a promise is red by name, and all the rest still runs."""

from __future__ import annotations

import pytest

ENV_FAULTS = {
    "raises-in-reset": ("RS201 spaces on raises-in-reset", "RuntimeError: the scene file is corrupt"),
    "nan-reward": ("on nan-reward", "reward is nan"),
    "no-success": ("RS201 spaces on no-success", "success=None"),
    "prompting-import": ("RS201 spaces on prompting-import", "asks a question (input())"),
}
POLICY_FAULTS = {"nan-expert": "NaN or infinity", "raising-expert": "KeyError: 'layer_7.weight'"}


def test_the_sound_task_is_green(faulty):
    smoked = faulty.smoke("--task", "sound")
    assert (smoked.run["verdict"], smoked.exit_code) == ("passed", 0), smoked.printed
    assert set(smoked.outcomes.values()) == {"passed"}
    smoked.assert_whole()
    assert smoked.report().returncode == 0


@pytest.mark.parametrize("task", ENV_FAULTS)
def test_a_faulty_env_fails_with_the_blame_on_the_env(task, faulty):
    smoked = faulty.smoke("--task", task)
    smoked.assert_red(verdict="failed", blame="env", exit_code=1)
    for words in ENV_FAULTS[task]:
        assert words in smoked.run["reason"]
    assert not {"missing", "broken"} & set(smoked.outcomes.values())


@pytest.mark.parametrize("task", POLICY_FAULTS)
def test_a_faulty_expert_fails_with_the_blame_on_the_policy(task, faulty):
    smoked = faulty.smoke("--task", task)
    smoked.assert_red(verdict="failed", blame="policy", exit_code=1)
    assert f"RS601 expert-succeeds on {task}" in smoked.run["reason"]
    assert POLICY_FAULTS[task] in smoked.run["reason"]
    # What does not rest on the expert is not its victim.
    assert {check["check"] for check in smoked.checks if check["outcome"] != "passed"} == {"RS601", "RS903"}
    assert {check["blame"] for check in smoked.checks if check["outcome"] != "passed"} == {"policy"}


def test_a_faulty_task_does_not_hide_a_sound_one(faulty):
    smoked = faulty.smoke("--task", "raises-in-reset", "--task", "sound")
    smoked.assert_red(verdict="failed", blame="env", exit_code=1)
    assert {check["outcome"] for check in smoked.checks if check["task"] == "sound"} == {"passed"}
    assert smoked.report().returncode == 1
