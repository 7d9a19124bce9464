"""Run one episode: a policy's chunks into ``advance``, pictures only when somebody reads them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosmoke.errors import InvalidAction, SetupError
from robosmoke.guest.env import BenchmarkEnv
from robosmoke.guest.policies.base import Controller, Policy
from robosmoke.guest.video import VideoWriter
from robosmoke.schema import Episode, EpisodeRecord, Video
from robosmoke.vocabulary import Blame, EpisodeStatus


class _Blamed(Exception):
    """Carry who broke an episode out of the step loop."""

    def __init__(self, blame: Blame, cause: Exception) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.blame = blame


class _Progress:
    """What an episode has given so far."""

    def __init__(self, success_at_reset: bool) -> None:
        self.rewards: list[float] = []
        self.successes: list[bool] = [success_at_reset]

    def first_success(self) -> int | None:
        """Return the step of the first success; 0 is a task solved at reset."""
        return self.successes.index(True) if any(self.successes) else None


def run_episode(
    env: BenchmarkEnv,
    policy: Policy,
    episode: Episode,
    *,
    control: str | None = None,
    video: VideoWriter | None = None,
) -> EpisodeRecord:
    """Run one episode to its end and record it; a faulty env or policy raises nothing.

    An env or policy that raises, or a reward that is not finite, gives an ``errored`` record
    with the blame; its success is then unknown, not false. `MemoryError` and `SetupError`, for which
    neither is to blame, are raised.
    """
    start = time.perf_counter()
    progress = _Progress(False)
    error: _Blamed | None = None
    try:
        _play(env, policy, episode, progress, video)
    except _Blamed as blamed:
        error = blamed
    except BaseException:
        if video is not None:
            video.abandon()
        raise
    completed = error is None
    success = any(progress.successes) if completed else None
    return EpisodeRecord(
        episode=episode,
        policy=policy.name,
        control=control,
        status=EpisodeStatus.COMPLETED if completed else EpisodeStatus.ERRORED,
        on_success=env.on_success,
        steps=len(progress.rewards),
        horizon=env.task.horizon,
        success_any=success,
        success_end=progress.successes[-1] if completed and env.on_success == "continue" else None,
        first_success_step=progress.first_success() if completed else None,
        sum_reward=float(np.sum(progress.rewards)) if completed else None,
        max_reward=max(progress.rewards) if completed else None,
        blame=error.blame if error else None,
        error=str(error) if error else None,
        video=_finish(video, episode, policy, success),
        duration_s=round(time.perf_counter() - start, 4),
    )


def _play(env: BenchmarkEnv, policy: Policy, episode: Episode, progress: _Progress, video: VideoWriter | None) -> None:
    options = None if episode.init_state is None else {"init_state": episode.init_state}
    with _blame(Blame.ENV):
        _, info = env.reset(seed=episode.seed, options=options)
        progress.successes[0] = info["success"]
    with _blame(Blame.POLICY):
        controller = policy.start(episode, env.action_box)
    _film(env, video)
    done = False
    while not done:
        chunk = _next_chunk(env, policy, controller)
        while len(chunk) and not done:
            part = chunk[: video.plan.steps_until_frame(len(progress.rewards))] if video else chunk
            done = _advance(env, part, progress)
            chunk = chunk[len(part) :]
            if video and (done or len(progress.rewards) % video.plan.stride == 0):
                _film(env, video)


def _next_chunk(env: BenchmarkEnv, policy: Policy, controller: Controller) -> NDArray[np.floating[Any]]:
    with _blame(Blame.ENV):
        observation = env.observe(policy.observation_keys)
    with _blame(Blame.POLICY):
        chunk = np.asarray(controller.act(observation))
        if chunk.ndim != 2 or len(chunk) == 0:
            raise InvalidAction(f"act() returned shape {chunk.shape}: a chunk is [H, A] with H >= 1")
        return chunk


def _advance(env: BenchmarkEnv, actions: NDArray[np.floating[Any]], progress: _Progress) -> bool:
    try:
        with _blame(Blame.ENV):
            outcome = env.advance(actions)
    except _Blamed as blamed:
        if isinstance(blamed.__cause__, InvalidAction):
            raise _Blamed(Blame.POLICY, blamed.__cause__) from blamed.__cause__
        raise
    progress.rewards.extend(outcome.rewards.tolist())
    progress.successes.extend(outcome.successes.tolist())
    if not np.isfinite(outcome.rewards).all():
        raise _Blamed(Blame.ENV, ValueError(f"reward is {outcome.rewards[~np.isfinite(outcome.rewards)][0]}"))
    return outcome.done


def _film(env: BenchmarkEnv, video: VideoWriter | None) -> None:
    if video:
        with _blame(Blame.ENV):
            frame = env.picture(env.manifest.review_camera, video.plan.width_px, video.plan.height_px)
        video.add(frame)


def _finish(video: VideoWriter | None, episode: Episode, policy: Policy, success: bool | None) -> Video | None:
    if video is None:
        return None
    if success is None:
        video.abandon()
        return None
    outcome = "success" if success else "failure"
    return video.finish(f"{episode.suite}.{episode.task}.{policy.name}.seed{episode.seed}.review.{outcome}")


class _blame:  # noqa: N801  (reads as a statement: with _blame(Blame.ENV))
    """Turn any exception inside the block into one that names the culprit."""

    def __init__(self, blame: Blame) -> None:
        self._blame = blame

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        # Neither env nor policy is to blame for a machine without memory or GL.
        if isinstance(error, Exception) and not isinstance(error, (_Blamed, MemoryError, SetupError)):
            raise _Blamed(self._blame, error) from error
