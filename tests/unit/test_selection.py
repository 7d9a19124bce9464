"""What is left out by choice never reads as the whole."""

from __future__ import annotations

import pytest

from robosmoke.catalog import find
from robosmoke.errors import UsageError
from robosmoke.host.conclusion import Conclusion
from robosmoke.host.environments.lock import require_known_overrides
from robosmoke.host.environments.overrides import with_overrides
from robosmoke.host.smoke import SmokeOptions, _selected
from robosmoke.vocabulary import Verdict

PASSED = Conclusion(
    checks=(), episodes=(), facts={}, verdict=Verdict.PASSED, reason="fine", blame=None, advice="", pytest_s=1.0
)


def test_a_part_of_the_tests_is_no_verdict() -> None:
    """A green run of what matches -k is not a passed smoke, with or without workers."""
    manifest = find("pusht").manifest
    options = SmokeOptions(tasks=manifest.smoke_tasks, keyword="RS601")
    assert _selected(PASSED, options, manifest).verdict is Verdict.FAILED


def test_left_out_tasks_are_counted_in_the_reason() -> None:
    """A run of one task says how many of the default ones it left out."""
    manifest = find("metaworld").manifest
    chosen = _selected(PASSED, SmokeOptions(tasks=(manifest.task("push-v3"),)), manifest)
    assert (chosen.verdict, chosen.reason) == (
        Verdict.PASSED,
        "fine; 5 of the 6 default tasks were left out by --task",
    )
    assert _selected(PASSED, SmokeOptions(tasks=manifest.tasks), manifest) is PASSED


def test_an_override_of_an_absent_package_is_refused() -> None:
    """A misspelt override would install nothing and pass, so it is an error with the nearest name."""
    benchmark = find("metaworld")
    environment = with_overrides(benchmark.manifest.environment["default"], ("mujocco==3.8.1",))
    with pytest.raises(UsageError, match="did you mean 'mujoco'"):
        require_known_overrides(benchmark, environment)
    require_known_overrides(benchmark, with_overrides(benchmark.manifest.environment["default"], ("mujoco==3.8.1",)))
