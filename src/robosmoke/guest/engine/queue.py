"""The episodes still to run, handed out one at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from typing import NamedTuple

from robosmoke.schema import Episode


class TaskKey(NamedTuple):
    """What an env is built for."""

    suite: str
    task: str


def task_of(episode: Episode) -> TaskKey:
    """Return the task that an episode is of."""
    return TaskKey(episode.suite, episode.task)


class EpisodeQueue:
    """Hand out episodes so that a worker stays with its task, and tasks are spread over workers."""

    def __init__(self, episodes: Iterable[Episode]) -> None:
        self._waiting: dict[TaskKey, deque[Episode]] = {}
        self._count = 0
        for episode in episodes:
            self._waiting.setdefault(task_of(episode), deque()).append(episode)
            self._count += 1

    def __len__(self) -> int:
        return self._count

    def take(self, last: TaskKey | None, elsewhere: Collection[TaskKey]) -> Episode | None:
        """Take the next episode for a worker whose last task was ``last``; None when nothing waits.

        A worker without work of its own task takes from the task with most waiting per worker on it.
        """
        if not self._count:
            return None
        waiting = self._waiting
        if last is None or not waiting.get(last):
            busy = list(elsewhere)
            last = max(waiting, key=lambda task: len(waiting[task]) / (1 + busy.count(task)))
        self._count -= 1
        return waiting[last].popleft()

    def put_back(self, episode: Episode) -> None:
        """Queue an episode again, first of its task."""
        self._waiting[task_of(episode)].appendleft(episode)
        self._count += 1
