"""The figures of an evaluation: rates with their count and interval, LeRobot's keys among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from robosmoke.evaluation.plan import EvalPlan
from robosmoke.evaluation.record import EvalRecord
from robosmoke.schema import Document, Record
from robosmoke.vocabulary import EpisodeStatus

METRICS_NAME = "metrics.json"
_Z_95 = NormalDist().inv_cdf(0.975)


class Rate(Record, frozen=True, kw_only=True):
    """A success rate in percent over ``n_episodes`` completed episodes, with its 95 % Wilson interval in [0, 1].

    All three are null when none completed: nothing measured is not 0 %.
    """

    n_episodes: int
    n_successes: int
    pc_success: float | None
    wilson_95: tuple[float, float] | None


class TaskFigures(Record, frozen=True, kw_only=True):
    """How one task came out."""

    suite: str
    task: str
    success_any: Rate
    n_errored: int
    avg_sum_reward: float | None


class EvalSummary(Document, frozen=True, kw_only=True):
    """``metrics.json`` of an evaluation; ``eval_s`` sums the episodes' own times, in seconds.

    ``pc_success`` counts episodes whose predicate held at any step (``success_any``); ``success_end`` counts
    those where it held at the last, and is null under ``on_success = stop``. Errored episodes are in neither.
    """

    env: str
    environment: str
    task: str
    policy: str
    pc_success: float | None
    n_episodes: int
    n_planned: int
    n_errored: int
    n_missing: int
    n_lost_workers: int
    success_any: Rate
    success_end: Rate | None
    avg_sum_reward: float | None
    avg_max_reward: float | None
    env_steps: int
    eval_s: float
    eval_ep_s: float | None
    task_descriptions: dict[str, str]
    per_task: tuple[TaskFigures, ...]


def summarise(plan: EvalPlan, records: Sequence[EvalRecord]) -> EvalSummary:
    """Summarise the records of a plan (of its shard, if it has one), in any order."""
    ordered = sorted(records, key=lambda record: record.episode.index)
    completed = [record for record in ordered if record.status is EpisodeStatus.COMPLETED]
    by_task: dict[tuple[str, str], list[EvalRecord]] = {(task.suite, task.task): [] for task in plan.tasks}
    for record in ordered:
        by_task[record.episode.suite, record.episode.task].append(record)
    any_rate = rate([bool(record.success_any) for record in completed])
    eval_s = math.fsum(record.duration_s for record in ordered)
    return EvalSummary(
        env=plan.benchmark,
        environment=plan.environment,
        task=",".join(task.task for task in plan.tasks),
        policy=plan.policy,
        pc_success=any_rate.pc_success,
        n_episodes=len(completed),
        n_planned=len(plan.mine()),
        n_errored=len(ordered) - len(completed),
        n_missing=len(plan.mine()) - len(ordered),
        n_lost_workers=sum(len(record.lost) for record in ordered),
        success_any=any_rate,
        success_end=rate([bool(record.success_end) for record in completed]) if plan.on_success == "continue" else None,
        avg_sum_reward=_mean([record.sum_reward for record in completed]),
        avg_max_reward=_mean([record.max_reward for record in completed]),
        env_steps=sum(record.steps for record in ordered),
        eval_s=eval_s,
        eval_ep_s=eval_s / len(ordered) if ordered else None,
        task_descriptions={f"{task.suite}/{task.task}": task.instruction for task in plan.tasks},
        per_task=tuple(_figures(suite, task, found) for (suite, task), found in by_task.items()),
    )


def rate(successes: Sequence[bool]) -> Rate:
    """Return the rate of some completed episodes."""
    count, solved = len(successes), sum(successes)
    return Rate(
        n_episodes=count,
        n_successes=solved,
        pc_success=100 * solved / count if count else None,
        wilson_95=wilson(solved, count) if count else None,
    )


def describe_rate(rate: Rate) -> str:
    """Write a rate with its count and interval."""
    if rate.pc_success is None or rate.wilson_95 is None:
        return "no episode completed"
    low, high = (100 * bound for bound in rate.wilson_95)
    return (
        f"{rate.n_successes} of {rate.n_episodes} = {rate.pc_success:.1f} % (95 % interval {low:.1f} to {high:.1f} %)"
    )


def wilson(successes: int, count: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a proportion (Wilson 1927), ``count`` at least 1."""
    share, z2 = successes / count, _Z_95**2
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = _Z_95 / (1 + z2 / count) * math.sqrt(share * (1 - share) / count + z2 / (4 * count**2))
    low = 0.0 if successes == 0 else middle - half
    return low, 1.0 if successes == count else middle + half


def _figures(suite: str, task: str, records: Sequence[EvalRecord]) -> TaskFigures:
    completed = [record for record in records if record.status is EpisodeStatus.COMPLETED]
    return TaskFigures(
        suite=suite,
        task=task,
        success_any=rate([bool(record.success_any) for record in completed]),
        n_errored=len(records) - len(completed),
        avg_sum_reward=_mean([record.sum_reward for record in completed]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return math.fsum(present) / len(present) if present else None
