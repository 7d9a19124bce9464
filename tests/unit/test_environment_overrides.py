"""Overrides: a derived environment that shows what was replaced."""

from __future__ import annotations

import pytest

from robosmoke.errors import UsageError
from robosmoke.host.environments.overrides import with_overrides
from robosmoke.manifest import Environment

ENVIRONMENT = Environment(name="default", requirements=("mujoco==3.3.0",), torch="2.13.0")


def test_the_label_shows_every_override() -> None:
    """A derived environment can never be taken for its parent."""
    derived = with_overrides(ENVIRONMENT, ["numpy<2", "mujoco==3.9"])
    assert derived.label == "default[mujoco==3.9,numpy<2]"


def test_the_last_override_of_a_name_counts() -> None:
    """Names are compared as packaging does: case, dots and dashes do not matter."""
    derived = with_overrides(with_overrides(ENVIRONMENT, ["Dm.Control==1.0"]), ["dm_control==1.1"])
    assert derived.overrides == ("dm_control==1.1",)


def test_torch_changes_the_step_of_its_own() -> None:
    """Torch is installed alone, so its override is the version of that step."""
    assert with_overrides(ENVIRONMENT, ["torch==2.12.1"]).torch == "2.12.1"


@pytest.mark.parametrize(
    "text", ["mujoco", "mujoco=3", "../evil", "mujoco @ https://example.org/m.whl", "", "torch>=2"]
)
def test_refuses_what_is_no_version(text: str) -> None:
    """Only a requirement with a version is an override; the message shows one."""
    with pytest.raises(UsageError, match="--override"):
        with_overrides(ENVIRONMENT, [text])


def test_refuses_torch_where_there_is_none() -> None:
    """An override that would do nothing is an error."""
    with pytest.raises(UsageError, match="has no torch"):
        with_overrides(Environment(name="plain"), ["torch==2.12.1"])
