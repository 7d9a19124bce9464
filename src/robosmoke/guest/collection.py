"""Turn checks × tasks into pytest items, and hand each item its subject."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from robosmoke.errors import unknown_name
from robosmoke.guest.checks.registry import Check, checks
from robosmoke.guest.checks.subject import TaskSubject
from robosmoke.guest.env import BenchmarkEnv
from robosmoke.manifest import Manifest, Task
from robosmoke.schema import EpisodeRecord, SmokeRequest, encode_line, read

EPISODE_PROPERTY = "robosmoke_episode"
FACT_PROPERTY = "robosmoke_fact"


def request_of(config: pytest.Config) -> SmokeRequest:
    """Read the request this session was started with; raises `RecordError`."""
    return read(Path(config.getoption("--robosmoke-request")), SmokeRequest)


def out_of(config: pytest.Config) -> Path:
    """Return the folder that the session writes into."""
    return Path(os.environ.get("ROBOSMOKE_OUT") or Path(config.getoption("--robosmoke-request")).parent)


class SmokeCollection:
    """Parametrize tests over checks and tasks; keep one subject open, that of the current task.

    Raises `pytest.UsageError` for an expected fault of a check that does not exist: it would excuse nothing, unseen.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._request = request_of(config)
        _require_known_checks(self._request.manifest)
        self._request_path = Path(config.getoption("--robosmoke-request"))
        self._out = out_of(config)
        self._tasks = [self._request.manifest.task(name) for name in self._request.tasks]
        self._subject: TaskSubject | None = None

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Give a test marked ``checks("RS2")`` one item per check of that prefix and task."""
        if "task" not in metafunc.fixturenames and "subject" not in metafunc.fixturenames:
            return
        marker = metafunc.definition.get_closest_marker("checks")
        if marker is None:
            metafunc.parametrize("task", self._tasks, ids=[task.name for task in self._tasks])
            return
        chosen = [check for check in checks() if check.code.startswith(marker.args[0])]
        metafunc.parametrize(
            ("check", "task"),
            [self._item(check, task) for task in self._tasks for check in chosen],
        )

    def _item(self, check: Check, task: Task) -> object:
        faults = [
            pytest.mark.xfail(strict=True, reason=f"{fault.reason} ({fault.link})")
            for fault in self._request.manifest.expected
            if fault.check == check.code and fault.task in ("*", task.name)
        ]
        return pytest.param(check, task, id=f"{check.label}-{task.name}", marks=faults)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> object:
        """Share the tests among workers by task."""
        from robosmoke.guest.scheduling import TaskScheduling

        return TaskScheduling(config, log)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Run all items of a task together, so that its env is built once and one is alive at a time."""
        order = {task.name: place for place, task in enumerate(self._tasks)}

        def place(item: pytest.Item) -> int:
            callspec = getattr(item, "callspec", None)
            task = callspec.params.get("task") if callspec else None
            return order[task.name] if task else -1

        items.sort(key=place)

    @pytest.fixture
    def benchmark(self) -> Manifest:
        """Give the benchmark's manifest."""
        return self._request.manifest

    @pytest.fixture
    def subject(self, task: Task, request: pytest.FixtureRequest) -> TaskSubject:
        """Give the task's subject, whose episodes and facts go into the test's report."""
        if self._subject is None or self._subject.task != task:
            self._close()
            self._subject = TaskSubject(
                manifest=self._request.manifest,
                task=task,
                environment=self._request.environment,
                seed=self._request.seed,
                out=self._out,
                request=self._request_path,
            )
        properties = request.node.user_properties

        def keep(record: EpisodeRecord) -> None:
            properties.append((EPISODE_PROPERTY, encode_line(record).decode()))

        self._subject.on_episode = keep
        self._subject.on_fact = lambda key, value: properties.append((FACT_PROPERTY, f"{key}={value}"))
        return self._subject

    @pytest.fixture
    def env(self, subject: TaskSubject) -> BenchmarkEnv:
        """Give the task's env, reset."""
        subject.env.reset(seed=subject.seed)
        return subject.env

    @pytest.fixture
    def rollout(self, subject: TaskSubject) -> EpisodeRecord:
        """Give the record of a finished one-episode rollout with the expert."""
        return subject.episode("expert")

    def pytest_sessionfinish(self) -> None:
        """Close the last subject."""
        self._close()

    def _close(self) -> None:
        if self._subject is not None:
            self._subject.close()
            self._subject = None


def _require_known_checks(manifest: Manifest) -> None:
    known = {check.code for check in checks()}
    for index, fault in enumerate(manifest.expected):
        if fault.check not in known:
            message = unknown_name("check", fault.check, known)
            raise pytest.UsageError(f"the manifest of {manifest.name}: expected[{index}].check: {message}")
