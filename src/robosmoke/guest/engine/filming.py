"""Film an evaluated episode: for people, or exactly what the policy read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import msgspec
import numpy as np
from numpy.typing import NDArray

from robosmoke.errors import SetupError, UsageError
from robosmoke.evaluation.plan import EvalPlan
from robosmoke.guest.engine.queue import task_of
from robosmoke.guest.env import BenchmarkEnv, Observation
from robosmoke.guest.policies.base import Controller, Policy
from robosmoke.guest.rollout import run_episode
from robosmoke.guest.video import VideoPlan, VideoWriter
from robosmoke.manifest import Manifest
from robosmoke.schema import Episode, EpisodeRecord
from robosmoke.vocabulary import EpisodeStatus


class Film:
    """Run episodes with the video that the plan asks for; raises `SetupError` when it cannot be written."""

    def __init__(self, manifest: Manifest, plan: EvalPlan, out: Path) -> None:
        self._manifest, self._filming, self._out = manifest, plan.filming, out
        self._picture_px = plan.picture_px
        self._cameras = {camera.name for camera in manifest.camera}
        self._first: dict[tuple[str, str], int] = {}
        for episode in plan.episodes:
            self._first.setdefault(task_of(episode), episode.index)

    def run(self, env: BenchmarkEnv, policy: Policy, episode: Episode) -> EpisodeRecord:
        """Run one episode, filmed if the plan has it so."""
        kind, of = self._filming.kind, self._filming.of
        if kind == "none" or (of == "first" and self._first[task_of(episode)] != episode.index):
            return run_episode(env, policy, episode)
        try:
            record = self._reviewed(env, policy, episode) if kind == "review" else self._seen(env, policy, episode)
            return self._unwanted(record) if of == "failures" and record.success_any else record
        except OSError as error:
            raise SetupError(f"{self._out / 'videos'}: cannot be written: {error}: free some space") from error

    def _reviewed(self, env: BenchmarkEnv, policy: Policy, episode: Episode) -> EpisodeRecord:
        side = self._filming.side_px
        plan = VideoPlan(
            control_hz=self._manifest.control_hz, width_px=side, height_px=side, fps_wanted=self._filming.fps
        )
        return run_episode(env, policy, episode, video=VideoWriter(self._out, plan))

    def _seen(self, env: BenchmarkEnv, policy: Policy, episode: Episode) -> EpisodeRecord:
        cameras = tuple(key for key in policy.observation_keys if key in self._cameras)
        if not cameras:
            raise UsageError(f"--video policy: the policy {policy.name} reads no picture: use --video review")
        side, fps = self._picture_px, self._filming.fps
        # A frame per observation, so its rate is that of playing, not of the control loop.
        plan = VideoPlan(control_hz=fps, width_px=side * len(cameras), height_px=side, fps_wanted=fps)
        writer = VideoWriter(self._out, plan)
        record = run_episode(env, _Filmed(policy, cameras, writer), episode)
        if record.status is not EpisodeStatus.COMPLETED:
            writer.abandon()
            return record
        outcome = "success" if record.success_any else "failure"
        name = f"{episode.suite}.{episode.task}.{policy.name}.seed{episode.seed}.policy.{outcome}"
        return msgspec.structs.replace(record, video=writer.finish(name, kind="policy"))

    def _unwanted(self, record: EpisodeRecord) -> EpisodeRecord:
        if record.video is not None:
            (self._out / record.video.path).unlink()
            (self._out / record.video.poster).unlink()
        return msgspec.structs.replace(record, video=None)


class _Filmed:
    """Write what a policy's controllers read into a video, cameras side by side."""

    def __init__(self, policy: Policy, cameras: tuple[str, ...], writer: VideoWriter) -> None:
        self.name, self.observation_keys = policy.name, policy.observation_keys
        self._policy, self._cameras, self._writer = policy, cameras, writer

    def start(self, episode: Episode, action_space: gymnasium.spaces.Box) -> Controller:
        """Begin an episode."""
        controller = self._policy.start(episode, action_space)
        return _FilmedController(controller, self._cameras, self._writer)


class _FilmedController:
    def __init__(self, controller: Controller, cameras: tuple[str, ...], writer: VideoWriter) -> None:
        self._controller, self._cameras, self._writer = controller, cameras, writer

    def act(self, observation: Observation) -> NDArray[np.floating[Any]]:
        frame = np.hstack([observation[camera] for camera in self._cameras])
        try:
            self._writer.add(frame)
        except OSError as error:
            raise SetupError(f"a video cannot be written: {error}: free some space") from error
        return self._controller.act(observation)
