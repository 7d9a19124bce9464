"""The plan: every episode of an evaluation, fixed before the first one runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from robosmoke.errors import UsageError, unknown_name
from robosmoke.evaluation.policy_spec import parse_policy
from robosmoke.evaluation.request import EvalRequest, VideoKind, VideoOf
from robosmoke.manifest import Manifest, OnSuccess, Suite, Task
from robosmoke.schema import Document, Episode, Record

PLAN_NAME = "plan.json"
EPISODES_WITHOUT_INIT_STATES = 10
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_SHARD = re.compile(r"(\d+)/(\d+)")


class PlannedTask(Record, frozen=True, kw_only=True):
    """One task with the horizon (control steps) that its episodes get."""

    suite: str
    task: str
    instruction: str
    horizon: int


class Filming(Record, frozen=True, kw_only=True):
    """Which episodes leave a video of which kind; ``side_px`` is that of a review video."""

    kind: VideoKind
    of: VideoOf
    fps: float
    side_px: int


class Shard(Record, frozen=True, kw_only=True):
    """Every ``count``-th episode of a plan, from the ``index``-th."""

    index: int
    count: int


class EvalPlan(Document, frozen=True, kw_only=True):
    """``plan.json`` of an evaluation: a function of the request and the manifest alone.

    ``n_action_steps`` null executes whole chunks. All shards of an evaluation have one plan but for ``shard``.
    """

    benchmark: str
    environment: str
    policy: str
    on_success: OnSuccess
    n_action_steps: int | None
    threads: int
    picture_px: int
    filming: Filming
    shard: Shard | None
    tasks: tuple[PlannedTask, ...]
    episodes: tuple[Episode, ...]

    def mine(self) -> tuple[Episode, ...]:
        """Return the episodes of this shard, or all."""
        if self.shard is None:
            return self.episodes
        return self.episodes[self.shard.index :: self.shard.count]

    def whole(self) -> EvalPlan:
        """Return the plan that this shard is a part of."""
        return msgspec.structs.replace(self, shard=None)


def build_plan(manifest: Manifest, request: EvalRequest) -> EvalPlan:
    """List every episode of a request; raises `UsageError` for a name or number that does not fit."""
    environment = request.environment.partition("[")[0]
    if environment not in manifest.environment:
        raise unknown_name(f"environment of {manifest.name}", environment, manifest.environment)
    parse_policy(request.policy)
    tasks = _tasks(manifest, request)
    return EvalPlan(
        benchmark=manifest.name,
        environment=request.environment,
        policy=request.policy,
        on_success=request.on_success or manifest.on_success,
        n_action_steps=request.chunk,
        threads=request.threads,
        picture_px=request.picture_px,
        filming=Filming(kind=request.video, of=request.video_of, fps=request.video_fps, side_px=request.video_px),
        shard=_shard(request.shard),
        tasks=tuple(
            PlannedTask(
                suite=task.suite,
                task=task.name,
                instruction=task.instruction,
                horizon=request.max_steps or task.horizon,
            )
            for task in tasks
        ),
        episodes=tuple(_episodes(manifest, request, tasks)),
    )


def first_difference(one: Any, other: Any, where: str = "") -> str | None:
    """Say where two plans (or parts of them) first differ, ``episodes[3].seed: 4 there, 5 here``; None if nowhere."""
    if isinstance(one, msgspec.Struct):
        one, other = msgspec.to_builtins(one), msgspec.to_builtins(other)
    if isinstance(one, dict) and isinstance(other, dict):
        pairs = [(f"{where}.{key}".lstrip("."), one.get(key), other.get(key)) for key in {**one, **other}]
    elif isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        if len(one) != len(other):
            return f"{where}: {len(one)} there, {len(other)} here"
        pairs = [(f"{where}[{index}]", *pair) for index, pair in enumerate(zip(one, other, strict=True))]
    else:
        return None if one == other else f"{where}: {one!r} there, {other!r} here"
    return next((found for place, a, b in pairs if (found := first_difference(a, b, place))), None)


def _tasks(manifest: Manifest, request: EvalRequest) -> tuple[Task, ...]:
    for suite in request.suites:
        if suite not in manifest.suite:
            raise unknown_name(f"suite of {manifest.name}", suite, manifest.suite)
    candidates = [task for task in manifest.tasks if not request.suites or task.suite in request.suites]
    if not request.tasks:
        return tuple(candidates)
    chosen: list[Task] = []
    for name in request.tasks:
        found = next((task for task in candidates if name in (task.name, f"{task.suite}/{task.name}")), None)
        if found is None:
            raise unknown_name(f"task of {manifest.name}", name, (task.name for task in candidates))
        if found not in chosen:
            chosen.append(found)
    return tuple(chosen)


def _episodes(manifest: Manifest, request: EvalRequest, tasks: Sequence[Task]) -> Iterator[Episode]:
    index = 0
    for task in tasks:
        states = _init_states(manifest.suite[task.suite], request.init_states)
        for place in range(request.episodes or len(states) or EPISODES_WITHOUT_INIT_STATES):
            yield Episode(
                index=index,
                benchmark=manifest.name,
                environment=request.environment,
                suite=task.suite,
                task=task.name,
                # Round after round over the init states, no two episodes of a task have one seed.
                seed=request.seed + place,
                init_state=states[place % len(states)] if states else None,
            )
            index += 1


def _init_states(suite: Suite, text: str) -> tuple[int, ...]:
    if text == "none":
        return ()
    if not suite.init_states:
        raise UsageError(f"--init-states {text}: suite {suite.name} has no numbered init states: leave it out")
    if text == "all":
        return tuple(range(suite.init_states))
    states: list[int] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise UsageError(f"--init-states {text}: {part!r} is neither a number nor a range such as 0-9")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last >= suite.init_states:
            raise UsageError(f"--init-states {text}: suite {suite.name} has 0 to {suite.init_states - 1}")
        states.extend(range(first, last + 1))
    return tuple(dict.fromkeys(states))


def _shard(text: str) -> Shard | None:
    if not text:
        return None
    match = _SHARD.fullmatch(text)
    if match is None or int(match[1]) >= int(match[2]):
        raise UsageError(f"--shard {text}: write i/N with i from 0 to N - 1, such as 0/4")
    return Shard(index=int(match[1]), count=int(match[2]))
