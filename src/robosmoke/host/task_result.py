"""One task of an ``eval_info.json``, as the file has it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """One task as the file has it, before it is turned into records; null is an entry that is not there."""

    group: str
    index: int
    sum_rewards: tuple[float | None, ...]
    max_rewards: tuple[float | None, ...]
    successes: tuple[bool | None, ...]
    seeds: tuple[int, ...]
    videos: tuple[str, ...]

    @property
    def label(self) -> str:
        """Name the task as LeRobot's task descriptions do."""
        return f"{self.group}_{self.index}"

    @property
    def episodes(self) -> int:
        """Count the episodes: the longest list, so that a short one loses none."""
        return max(len(self.successes), len(self.sum_rewards), len(self.max_rewards))
