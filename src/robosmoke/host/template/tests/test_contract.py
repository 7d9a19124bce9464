"""Hold the benchmark to every robosmoke check on every task, and its expert to its rate."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from robosmoke.catalog import find
from robosmoke.guest.checks.controls import require_rate
from robosmoke.guest.checks.registry import Check, checks
from robosmoke.guest.checks.subject import TaskSubject
from robosmoke.schema import SmokeRequest, write

MANIFEST = find("mybenchmark").manifest
TASKS = [pytest.param(task, id=task.name) for task in MANIFEST.tasks]
CHECKS = [pytest.param(check, id=check.label) for check in checks()]


@pytest.fixture(scope="module", params=TASKS)
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TaskSubject]:
    """Give one task, with the request file that lets a check open it in a new process."""
    out = tmp_path_factory.mktemp("run")
    names = tuple(task.name for task in MANIFEST.tasks)
    file = out / "request.json"
    write(file, SmokeRequest(manifest=MANIFEST, environment="default", tasks=names, seed=MANIFEST.smoke.seed))
    made = TaskSubject(
        manifest=MANIFEST,
        task=request.param,
        environment="default",
        seed=MANIFEST.smoke.seed,
        out=out,
        request=file,
    )
    yield made
    made.close()


@pytest.mark.parametrize("check", CHECKS)
def test_the_benchmark_keeps_the_promise(check: Check, subject: TaskSubject) -> None:
    """Run one check on one task; it raises with what was promised, what was seen and the likely mistake."""
    check.function(subject)


def test_the_expert_reaches_its_rate(subject: TaskSubject) -> None:
    """Compare the expert's episode with the rate that benchmark.toml demands."""
    require_rate(MANIFEST, [subject.episode("expert")])
