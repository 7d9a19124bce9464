"""Hold the aggregates of an ``eval_info.json`` against its own episodes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from robosmoke.host.loose_json import Node
from robosmoke.host.stats import mean
from robosmoke.host.task_result import TaskResult

# LeRobot rounds nothing, but results pass through other tools: a tenth of a percent is no contradiction.
_PERCENT_TOLERANCE = 0.1
_RELATIVE_TOLERANCE = 1e-3


def disagreements(results: Sequence[TaskResult], root: Node) -> Iterator[str]:
    """Name each number that the episodes contradict: counts, rates, mean rewards, videos, list lengths.

    Raises `RecordError` where an aggregate is not of the type it must be.
    """
    if not sum(result.episodes for result in results):
        yield "no episode completed"
    labels = [result.label for result in results]
    for label in dict.fromkeys(label for label in labels if labels.count(label) > 1):
        yield f"{label}: is listed {labels.count(label)} times"
    for result in results:
        yield from _within(result)
    if root.has("per_group"):
        groups = root.object("per_group")
        recorded = dict.fromkeys(result.group for result in results)
        for name in dict.fromkeys([*recorded, *groups.value]):
            if not groups.has(name):
                yield f"per_group has no {name!r}, which has episodes"
            elif name not in recorded:
                yield f"per_group has {name!r}, which has no episode"
            else:
                yield from _claims(groups.object(name), [result for result in results if result.group == name])
    for key in ("overall", "aggregated"):
        if root.has(key):
            yield from _claims(root.object(key), results)


def _within(result: TaskResult) -> Iterator[str]:
    lengths = {
        "sum_rewards": len(result.sum_rewards),
        "max_rewards": len(result.max_rewards),
        "successes": len(result.successes),
    }
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{count} {name}" for name, count in lengths.items())
        yield f"{result.label}: its lists differ in length: {listed}"
    if len(result.videos) > result.episodes:
        yield f"{result.label}: {len(result.videos)} videos listed, {result.episodes} recorded as episodes"


def _claims(node: Node, results: Sequence[TaskResult]) -> Iterator[str]:
    """Compare one aggregate; a claim that is absent, or null where nothing was recorded, contradicts nothing."""
    successes = [success for result in results for success in result.successes if success is not None]
    count = sum(result.episodes for result in results)
    rate = 100 * sum(successes) / len(successes) if successes else None
    if node.has("n_episodes"):
        claimed_count = node.integer("n_episodes")
        if claimed_count != count:
            yield f"{node.key}: {count} episodes recorded, {claimed_count} claimed in n_episodes"
    yield from _compare(node, "pc_success", rate, absolute=_PERCENT_TOLERANCE, unit=" %")
    for key, values in (
        ("avg_sum_reward", [reward for result in results for reward in result.sum_rewards]),
        ("avg_max_reward", [reward for result in results for reward in result.max_rewards]),
    ):
        yield from _compare(node, key, _finite_mean(values), absolute=_RELATIVE_TOLERANCE, unit="")


def _compare(node: Node, key: str, recorded: float | None, *, absolute: float, unit: str) -> Iterator[str]:
    if not node.has(key):
        return
    claimed = node.number(key)
    if claimed is not None and not math.isfinite(claimed):
        claimed = None
    if recorded is None and claimed is None:
        return
    if (
        recorded is None
        or claimed is None
        or not math.isclose(recorded, claimed, abs_tol=absolute, rel_tol=_RELATIVE_TOLERANCE)
    ):
        yield f"{node.key}: {key} is {_shown(claimed, unit)} claimed against {_shown(recorded, unit)} recorded"


def _shown(value: float | None, unit: str) -> str:
    return "no number" if value is None else f"{value:.4g}{unit}"


def _finite_mean(values: Iterable[float | None]) -> float | None:
    """Average as LeRobot does: what is not finite is dropped."""
    return mean(value for value in values if value is not None and math.isfinite(value))
