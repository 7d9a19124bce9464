"""The manifest is read strictly, and a fault is named by file, key path and message."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from robosmoke.errors import ManifestError, UsageError
from robosmoke.manifest import Manifest, read_manifest

GOOD = """
schema = 1
name = "arm"
title = "Arm"
summary = "An arm"
url = "https://example.org"
env = "env:Arm"
expert = "expert:Arm"
control_hz = 10
on_success = "stop"
on_success_source = "its paper"
review_camera = "top"

[smoke]
expert_rate = 1.0

[environment.default]
requirements = ["arm==1"]
variables = { A = "1" }

[environment.other]
inherits = "default"
requirements = ["arm==2"]

[environment.third]
inherits = "other"
memory_mb = 1

[[camera]]
name = "top"

[suite.lift]
horizon = 60
wait_steps = 5

[[suite.lift.tasks]]
name = "cube"
instruction = "Lift the cube."
smoke = true

[[suite.lift.tasks]]
name = "can"
instruction = "Lift the can."
horizon = 90

[suite.stack]
horizon = 10

[[suite.stack.tasks]]
name = "can"
instruction = "Stack the can."
"""


def read_text(folder: Path, text: str) -> Manifest:
    (folder / "benchmark.toml").write_text(text)
    return read_manifest(folder / "benchmark.toml", package="arms")


FAULTS = [
    ('title = "Arm"', 'titel = "Arm"', "top level: Object contains unknown field `titel`"),
    ('title = "Arm"', "", "top level: Object missing required field `title`"),
    ("schema = 1", "schema = 2", "schema: version 2 is not supported, this robosmoke reads 1"),
    ('name = "arm"', 'name = "my-arm"', "name: 'my-arm' must be a Python identifier"),
    ("control_hz = 10", "control_hz = 0", "control_hz: must be above 0"),
    ('on_success = "stop"', 'on_success = "halt"', "on_success: Invalid enum value 'halt'"),
    ('review_camera = "top"', 'review_camera = "side"', "review_camera: 'side' is not among the cameras"),
    ("expert_rate = 1.0", "expert_rate = 0", "smoke.expert_rate: must lie in (0, 1]"),
    ("expert_rate = 1.0", "expert_rate = 1.0\nexpert_episodes = 0", "smoke.expert_episodes: must be at least 1"),
    ("memory_mb = 1", "memory = 1", "environment.third: Object contains unknown field `memory`"),
    ("memory_mb = 1", "memory_mb = 0", "environment.third.memory_mb: must be at least 1"),
    ("memory_mb = 1", "torch = 2", "environment.third.torch: Expected `str`, got `int`"),
    ("memory_mb = 1", 'excluded = ["six==1"]', "environment.third.excluded[0]: 'six==1' must be the name of a"),
    ("[environment.default]", "[environment.standard]", "environment.other.inherits: inherits 'default', which is not"),
    ('inherits = "default"', 'inherits = "third"', "environment.third.inherits: inherits 'other', which is a cycle"),
    ('inherits = "default"', 'inherits = "other"', "environment.other.inherits: inherits 'other', which is a cycle"),
    ('inherits = "default"', "inherits = [1]", "environment.other.inherits: Expected `str`, got `array`"),
    ("[environment.third]", '[environment."a b"]', "environment.a b: a name holds letters, digits"),
    ("smoke = true", "smoke = false", "suite: no task has smoke = true"),
    ("smoke = true", 'smoke = "yes"', "suite.lift.tasks[0].smoke: Expected `bool`, got `str`"),
    ("horizon = 90", "horizont = 90", "suite.lift.tasks[1]: Object contains unknown field `horizont`"),
    ("horizon = 90", "horizon = 0", "suite.lift: a horizon is at least 1 step"),
    (
        'name = "can"\ninstruction = "Lift',
        'name = "cube"\ninstruction = "Lift',
        "suite.lift.tasks: has two tasks of one",
    ),
    ("schema = 1", "schema = = 1", "is not TOML: "),
    (
        "[suite.lift]",
        '[[expected]]\ncheck = "RS603"\nreason = "r"\nlink = "l"\ntask = "cub"\n\n[suite.lift]',
        "expected[0].task: unknown task 'cub': did you mean 'cube'?",
    ),
    (
        "[suite.lift]",
        '[[expected]]\ncheck = "RS60"\nreason = "r"\nlink = "l"\n\n[suite.lift]',
        "expected[0].check: 'RS60' is not the code of a check, such as 'RS603'",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), FAULTS, ids=[message.split(":")[0] for _, _, message in FAULTS])
def test_a_fault_reads_file_key_path_message(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in GOOD
    with pytest.raises(ManifestError) as caught:
        read_text(tmp_path, GOOD.replace(old, new, 1))
    assert str(caught.value).startswith(f"{tmp_path / 'benchmark.toml'}: {message}")
    assert "\n" not in str(caught.value)


def test_a_missing_default_environment_is_named(tmp_path: Path) -> None:
    text = GOOD.replace("[environment.default]", "[environment.base]").replace('"default"', '"base"')
    with pytest.raises(ManifestError, match="environment: needs one named 'default'"):
        read_text(tmp_path, text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"benchmark\.toml: cannot be read: No such file"):
        read_manifest(tmp_path / "benchmark.toml")


def test_an_environment_inherits_through_two_generations_and_keeps_its_own_name(tmp_path: Path) -> None:
    third = read_text(tmp_path, GOOD).environment["third"]
    assert (third.name, third.requirements, third.variables, third.memory_mb) == ("third", ("arm==2",), {"A": "1"}, 1)


def test_tasks_take_horizon_and_wait_steps_from_their_suite_unless_they_say_their_own(tmp_path: Path) -> None:
    tasks = read_text(tmp_path, GOOD).tasks
    assert [(task.suite, task.index, task.horizon, task.wait_steps) for task in tasks] == [
        ("lift", 0, 60, 5),
        ("lift", 1, 90, 5),
        ("stack", 0, 10, 0),
    ]


def test_a_task_is_found_by_name_and_by_suite_and_name(tmp_path: Path) -> None:
    manifest = read_text(tmp_path, GOOD)
    assert manifest.task("cube").instruction == "Lift the cube."
    assert manifest.task("stack/can").instruction == "Stack the can."


def test_an_unknown_task_gets_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown task of arm 'cubes': did you mean 'cube'\\? known: can, can, cube"):
        read_text(tmp_path, GOOD).task("cubes")


def test_a_label_shows_every_override(tmp_path: Path) -> None:
    environment = read_text(tmp_path, GOOD).environment["default"]
    assert environment.label == "default"
    derived = msgspec.structs.replace(environment, overrides=("a==1", "b==2"))
    assert derived.label == "default[a==1,b==2]"
