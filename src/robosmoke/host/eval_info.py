"""Import LeRobot's ``eval_info.json``, of several tasks or of a single env, into robosmoke's episode records."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from robosmoke.errors import RecordError
from robosmoke.host.claims import disagreements
from robosmoke.host.containment import PathRefused, contained
from robosmoke.host.loose_json import Node, read_loosely
from robosmoke.host.stats import Tally, tally
from robosmoke.host.task_result import TaskResult
from robosmoke.schema import Episode, EpisodeRecord
from robosmoke.vocabulary import Blame, EpisodeStatus

# The multi-task shape holds no seeds; a record needs one, and no seed is negative.
UNKNOWN_SEED = -1

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Source:
    """What the file itself does not say about its episodes."""

    benchmark: str
    environment: str
    policy: str


@dataclass(frozen=True, kw_only=True)
class ImportedVideo:
    """A video of one record, relative to the folder of the file; its existence is not tested."""

    index: int
    path: str


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What an ``eval_info.json`` says, and where it contradicts itself.

    ``findings`` names every disagreement, and makes the import red; ``refused`` names every video
    path that leaves the folder of the file: it is neither read nor copied.
    """

    records: tuple[EpisodeRecord, ...]
    videos: tuple[ImportedVideo, ...]
    refused: tuple[str, ...]
    findings: tuple[str, ...]
    tally: Tally

    @property
    def red(self) -> bool:
        """Tell whether something is wrong with the numbers: whatever the rate, that is red."""
        return bool(self.findings) or self.tally.errored > 0 or self.tally.completed == 0

    @property
    def reason(self) -> str:
        """Say in one line why the import is red, or that it is not."""
        if not self.tally.completed:
            return "no episode completed"
        if self.findings:
            return "; ".join(self.findings)
        if self.tally.errored:
            return f"{self.tally.errored} of {self.tally.planned} episodes errored"
        return f"{self.tally.completed} of {self.tally.planned} episodes completed"


def import_eval_info(path: Path, benchmark: str, environment: str, policy: str) -> Imported:
    """Read one ``eval_info.json``; a byte-order mark and bare NaN are accepted, nothing is written.

    Records are ordered by suite (as first met), then by the task's index in it. An episode whose
    reward is not a finite number, or whose success is absent, is ``errored``. The shape says neither
    steps nor horizon: both are 0. Seeds are `UNKNOWN_SEED` in the multi-task shape.
    Raises `RecordError`, one line with file and position or key, for anything that is not such a file.
    """
    root = read_loosely(path)
    results = _results(root, benchmark)
    source = Source(benchmark=benchmark, environment=environment, policy=policy)
    records: list[EpisodeRecord] = []
    videos: list[ImportedVideo] = []
    refused: list[str] = []
    for result in results:
        first = len(records)
        records += [_record(result, place, first + place, source) for place in range(result.episodes)]
        for place, recorded in enumerate(result.videos):
            try:
                inside = contained(path.parent, recorded)
            except PathRefused as error:
                refused.append(str(error))
                continue
            if place < result.episodes:
                videos.append(ImportedVideo(index=first + place, path=str(inside)))
    return Imported(
        records=tuple(records),
        videos=tuple(videos),
        refused=tuple(refused),
        findings=tuple(disagreements(results, root)),
        tally=tally(records),
    )


def _results(root: Node, benchmark: str) -> list[TaskResult]:
    """Read whichever of the two shapes the file has."""
    if root.has("per_task") and root.has("per_episode"):
        raise RecordError(f"{root.where}: holds both 'per_task' and 'per_episode': expected one of LeRobot's shapes")
    if root.has("per_task"):
        root.object("overall")
        results = [_task(entry) for entry in root.array("per_task")]
        order = {group: place for place, group in enumerate(dict.fromkeys(result.group for result in results))}
        return sorted(results, key=lambda result: (order[result.group], result.index))
    if root.has("per_episode"):
        root.object("aggregated")
        return [_single(root.array("per_episode"), benchmark)]
    # LeRobot writes the aggregate alone when nothing was evaluated; any other absence is a fault.
    if root.has("overall") and root.object("overall").number("n_episodes") == 0:
        return []
    raise RecordError(
        f"{root.where}: has no 'per_task' and no 'per_episode': expected LeRobot's eval_info.json, found"
        f" {root.keys or 'an empty object'}"
    )


def _task(entry: Node) -> TaskResult:
    metrics = entry.object("metrics")
    return TaskResult(
        group=entry.text("task_group"),
        index=entry.integer("task_id"),
        sum_rewards=tuple(metrics.numbers("sum_rewards")),
        max_rewards=tuple(metrics.numbers("max_rewards")),
        successes=tuple(metrics.booleans("successes")),
        seeds=(),
        videos=tuple(metrics.texts("video_paths")),
    )


def _single(entries: Iterable[Node], benchmark: str) -> TaskResult:
    """Read a single env's episodes, in the order of their numbers; the benchmark names the only task."""
    ordered = sorted(entries, key=lambda entry: entry.integer("episode_ix"))
    return TaskResult(
        group=benchmark,
        index=0,
        sum_rewards=tuple(entry.number("sum_reward") for entry in ordered),
        max_rewards=tuple(entry.number("max_reward") for entry in ordered),
        successes=tuple(entry.boolean("success") for entry in ordered),
        seeds=tuple(entry.integer("seed") if entry.has("seed") else UNKNOWN_SEED for entry in ordered),
        videos=(),
    )


def _record(result: TaskResult, place: int, index: int, source: Source) -> EpisodeRecord:
    sum_reward = _at(result.sum_rewards, place)
    max_reward = _at(result.max_rewards, place)
    success = _at(result.successes, place)
    faults = [
        f"{name} is {'absent' if value is None else value}, not a finite number"
        for name, value in (("sum_reward", sum_reward), ("max_reward", max_reward))
        if value is None or not math.isfinite(value)
    ]
    if success is None:
        faults.append("success is absent")
    return EpisodeRecord(
        episode=Episode(
            index=index,
            benchmark=source.benchmark,
            environment=source.environment,
            suite=result.group,
            task=result.label,
            seed=result.seeds[place] if place < len(result.seeds) else UNKNOWN_SEED,
        ),
        policy=source.policy,
        status=EpisodeStatus.ERRORED if faults else EpisodeStatus.COMPLETED,
        on_success="stop",
        success_any=None if faults else success,
        sum_reward=_finite(sum_reward),
        max_reward=_finite(max_reward),
        blame=Blame.ENV if faults else None,
        error="; ".join(faults) or None,
    )


def _at(values: tuple[T, ...], place: int) -> T | None:
    return values[place] if place < len(values) else None


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
