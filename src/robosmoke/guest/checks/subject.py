"""What a check is run on: one task of one benchmark, with envs on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robosmoke.guest.env import BenchmarkEnv, EnvOptions
from robosmoke.guest.loading import make_env, make_expert
from robosmoke.guest.policies.base import Policy
from robosmoke.guest.policies.control import RandomPolicy, ZeroPolicy
from robosmoke.guest.rollout import run_episode
from robosmoke.guest.trace import Trace, trace, trace_in_new_process
from robosmoke.guest.video import VideoPlan, VideoWriter
from robosmoke.manifest import Manifest, Task
from robosmoke.schema import Episode, EpisodeRecord


@dataclass
class TaskSubject:
    """Give checks one task: a shared env, fresh ones, traces and finished episodes.

    The shared env is reset by every user, so nobody may rely on what an earlier check left.
    """

    manifest: Manifest
    task: Task
    environment: str
    seed: int
    out: Path
    request: Path
    on_episode: Callable[[EpisodeRecord], None] = lambda _record: None
    on_fact: Callable[[str, str], None] = lambda _key, _value: None
    _episodes: dict[tuple[str, int], EpisodeRecord] = field(default_factory=dict)

    @property
    def picture_px(self) -> int:
        """Return the side of the pictures that checks render, in pixels."""
        return self.manifest.smoke.picture_px

    @property
    def video_plan(self) -> VideoPlan:
        """Return which frames the review video of an episode holds."""
        side_px = self.manifest.smoke.video_px
        return VideoPlan(control_hz=self.manifest.control_hz, width_px=side_px, height_px=side_px)

    @cached_property
    def env(self) -> BenchmarkEnv:
        """Return the shared env, without cameras."""
        return make_env(self.manifest, self.task, self._options())

    @contextmanager
    def fresh(self, task: Task | None = None, *, cameras: tuple[str, ...] = ()) -> Iterator[BenchmarkEnv]:
        """Yield a new env of this task or another, closed at the end."""
        env = make_env(self.manifest, task or self.task, self._options(cameras))
        try:
            yield env
        finally:
            env.close()

    def other_task(self) -> Task | None:
        """Return another task of the benchmark, a smoke one if there is one."""
        others = [task for task in (*self.manifest.smoke_tasks, *self.manifest.tasks) if task != self.task]
        return others[0] if others else None

    def actions(self, steps: int) -> NDArray[np.float64]:
        """Return the fixed random actions [steps, A] that traces and contract checks execute."""
        space = self.env.action_box
        return np.random.default_rng([self.seed, 7]).uniform(space.low, space.high, (steps, *space.shape))

    @cached_property
    def reference_trace(self) -> Trace:
        """Return the trace of the shared env from this subject's seed."""
        return trace(self.env, self.seed, self.actions(TRACE_STEPS))

    @cached_property
    def foreign_trace(self) -> Trace:
        """Return the same trace taken in a new process."""
        return trace_in_new_process(self.request, self.task, self.seed, self.actions(TRACE_STEPS))

    def episode(self, control: str, repeat: int = 0) -> EpisodeRecord:
        """Run one of the control's episodes once, and return its record every time.

        The expert's first episode is filmed; ``repeat`` counts its further ones, each with the next seed.
        """
        key = (control, repeat)
        if key not in self._episodes:
            writer = VideoWriter(self.out, self.video_plan) if key == ("expert", 0) else None
            planned = self._planned(control, repeat)
            record = run_episode(self.env, self._policy(control), planned, control=control, video=writer)
            self._episodes[key] = record
            self.on_episode(record)
        return self._episodes[key]

    def _policy(self, control: str) -> Policy:
        if control == "expert":
            return make_expert(self.manifest, self.task)
        return ZeroPolicy() if control == "zero" else RandomPolicy()

    def _planned(self, control: str, repeat: int) -> Episode:
        """Return the episode's place in the smoke's plan: per task the expert's, then zero's and random's."""
        experts = self.manifest.smoke.expert_episodes
        place = [(task.suite, task.name) for task in self.manifest.tasks].index((self.task.suite, self.task.name))
        offset = repeat if control == "expert" else experts + ("zero", "random").index(control)
        return Episode(
            index=place * (experts + 2) + offset,
            benchmark=self.manifest.name,
            environment=self.environment,
            suite=self.task.suite,
            task=self.task.name,
            seed=self.seed + repeat,
        )

    def _options(self, cameras: tuple[str, ...] = ()) -> EnvOptions:
        return EnvOptions(cameras=cameras, width_px=self.picture_px, height_px=self.picture_px)

    def close(self) -> None:
        """Close the shared env, if it was made."""
        if "env" in self.__dict__:
            self.env.close()


TRACE_STEPS = 20
