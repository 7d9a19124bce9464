"""The summary files of one pair, in the shapes LeRobot's tools read: ``metrics.json`` and ``eval_info.json``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from robosmoke.host.stats import mean, outcome, tally
from robosmoke.manifest import Manifest
from robosmoke.schema import SCHEMA_VERSION, EpisodeRecord, Run
from robosmoke.vocabulary import EpisodeStatus

EXPERT = "expert"


def metrics(run: Run, episodes: Sequence[EpisodeRecord], manifest: Manifest) -> dict[str, Any]:
    """Build ``metrics.json``: LeRobot's keys for the expert, then one breakdown per control.

    ``n_episodes`` counts completed episodes, the ones ``pc_success`` (percent) and
    ``avg_sum_reward`` rest on; both are null when there is none. ``eval_s`` is in seconds.
    ``task_descriptions`` maps ``<suite>_<index>`` to the instruction, as LeRobot numbers tasks.
    Raises `UsageError` when the run names a task the manifest does not have.
    """
    tasks = [manifest.task(name) for name in run.tasks] or list(manifest.smoke_tasks)
    expert = _of(episodes, EXPERT)
    return {
        "schema_version": SCHEMA_VERSION,
        "env": run.benchmark,
        "environment": run.environment,
        "invocation": run.invocation,
        "task": ",".join(task.name for task in tasks),
        "policy": ",".join(dict.fromkeys(record.policy for record in expert)) or EXPERT,
        **_breakdown(expert),
        "task_descriptions": {f"{task.suite}_{task.index}": task.instruction for task in tasks},
        "controls": {control: _breakdown(_of(episodes, control)) for control in controls(episodes)},
    }


def eval_info(episodes: Iterable[EpisodeRecord], manifest: Manifest) -> dict[str, Any]:
    """Build ``eval_info.json`` in LeRobot's multi-task shape from the expert's completed episodes.

    LeRobot's ``task_id`` is a task's index in its suite. The shape has no place for an episode
    that did not complete: those are left out here, and counted in ``metrics.json``.
    Raises `UsageError` when an episode names a task the manifest does not have.
    """
    expert = [record for record in episodes if record.control == EXPERT and outcome(record) is EpisodeStatus.COMPLETED]
    groups: dict[str, dict[int, list[EpisodeRecord]]] = {}
    for record in expert:
        task = manifest.task(f"{record.episode.suite}/{record.episode.task}")
        groups.setdefault(task.suite, {}).setdefault(task.index, []).append(record)
    eval_s = sum(record.duration_s for record in expert)
    return {
        "per_task": [
            {"task_group": group, "task_id": index, "metrics": _lists(records)}
            for group, tasks in groups.items()
            for index, records in sorted(tasks.items())
        ],
        "per_group": {
            group: _aggregate([record for index in sorted(tasks) for record in tasks[index]])
            for group, tasks in groups.items()
        },
        "overall": {
            **_aggregate(expert),
            "eval_s": eval_s,
            "eval_ep_s": eval_s / len(expert) if expert else None,
        },
    }


def controls(episodes: Iterable[EpisodeRecord]) -> list[str]:
    """List the controls that episodes name, the expert first."""
    found = dict.fromkeys(record.control for record in episodes if record.control)
    return sorted(found, key=lambda control: control != EXPERT)


def _of(episodes: Iterable[EpisodeRecord], control: str) -> list[EpisodeRecord]:
    return [record for record in episodes if record.control == control]


def _breakdown(records: Sequence[EpisodeRecord]) -> dict[str, Any]:
    counts = tally(records)
    completed = [record for record in records if outcome(record) is EpisodeStatus.COMPLETED]
    return {
        "pc_success": None if counts.rate is None else 100 * counts.rate,
        "n_episodes": counts.completed,
        "n_successes": counts.successes,
        "n_planned": counts.planned,
        "n_errored": counts.errored,
        "n_skipped": counts.skipped,
        "n_missing": counts.missing,
        "wilson_95": None if counts.interval is None else msgspec.to_builtins(counts.interval),
        "avg_sum_reward": mean(record.sum_reward for record in completed),
        "eval_s": sum(record.duration_s for record in records),
    }


def _lists(records: Sequence[EpisodeRecord]) -> dict[str, Any]:
    return {
        "sum_rewards": [record.sum_reward for record in records],
        "max_rewards": [record.max_reward for record in records],
        "successes": [bool(record.success_any) for record in records],
        "video_paths": _videos(records),
    }


def _aggregate(records: Sequence[EpisodeRecord]) -> dict[str, Any]:
    rate = tally(records).rate
    return {
        "avg_sum_reward": mean(record.sum_reward for record in records),
        "avg_max_reward": mean(record.max_reward for record in records),
        "pc_success": None if rate is None else 100 * rate,
        "n_episodes": len(records),
        "video_paths": _videos(records),
    }


def _videos(records: Iterable[EpisodeRecord]) -> list[str]:
    return [record.video.path for record in records if record.video is not None]
