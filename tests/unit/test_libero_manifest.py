"""What LIBERO's manifest promises, without its simulator."""

from __future__ import annotations

from robosmoke.benchmarks.libero.suites import INIT_STATES, SUITES, WAIT_STEPS
from robosmoke.catalog import find


def test_all_130_tasks_are_listed_with_an_instruction_of_their_own_words() -> None:
    manifest = find("libero").manifest
    assert {name: len(suite.tasks) for name, suite in manifest.suite.items()} == {
        "libero_spatial": 10,
        "libero_object": 10,
        "libero_goal": 10,
        "libero_10": 10,
        "libero_90": 90,
    }
    for task in manifest.tasks:
        assert task.instruction.replace(" ", "_") in task.name


def test_horizons_waits_and_init_states_are_those_that_the_suites_are_printed_with() -> None:
    """The manifest's suites are printed by a command, not edited."""
    manifest = find("libero").manifest
    for facts in SUITES:
        suite = manifest.suite[facts.name]
        assert (suite.horizon, suite.wait_steps, suite.init_states) == (facts.horizon, WAIT_STEPS, INIT_STATES)
        assert [task.index for task in suite.tasks if task.smoke] == ([] if facts.smoke is None else [facts.smoke])


def test_the_two_environments_differ_by_mujoco_alone() -> None:
    environments = find("libero").manifest.environment
    default, older = set(environments["default"].requirements), set(environments["mujoco-3.3"].requirements)
    assert default ^ older == {"mujoco==3.8.1", "mujoco==3.3.1"}
