"""Run episodes of a plan in this process, an env kept between the episodes of one task."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium
import msgspec
import numpy as np
from numpy.typing import NDArray

from robosmoke.evaluation.plan import EvalPlan
from robosmoke.evaluation.policy_spec import parse_policy
from robosmoke.guest.engine.filming import Film
from robosmoke.guest.engine.queue import TaskKey, task_of
from robosmoke.guest.engine.threads import apply_threads
from robosmoke.guest.env import BenchmarkEnv, EnvOptions, Observation
from robosmoke.guest.loading import make_env, make_expert
from robosmoke.guest.policies.base import Controller, Policy
from robosmoke.guest.policies.source import PolicySource
from robosmoke.guest.trace import disturb_global_generators
from robosmoke.manifest import Manifest, Task
from robosmoke.schema import Episode, EpisodeRecord
from robosmoke.vocabulary import Blame


class EpisodeRunner:
    """Run any episodes of a plan, in any order, one env alive at a time."""

    def __init__(self, manifest: Manifest, plan: EvalPlan, out: Path) -> None:
        self._manifest, self._plan = manifest, plan
        self._source = PolicySource(parse_policy(plan.policy), lambda task: make_expert(manifest, task))
        self._film = Film(manifest, plan, out)
        self._horizons = {TaskKey(task.suite, task.task): task.horizon for task in plan.tasks}
        self._env: BenchmarkEnv | None = None

    def run(self, episode: Episode) -> EpisodeRecord:
        """Run one episode; a faulty env or policy gives an errored record, and a faulty env is not used again.

        Raises `UsageError` and `SetupError` for what no episode is to blame for, `MemoryError`.
        """
        task = self._task(episode)
        policy: Policy = self._source.policy_for(task)
        apply_threads(self._plan.threads)
        if self._plan.n_action_steps is not None:
            policy = _Chunked(policy, self._plan.n_action_steps)
        # A policy that draws from a global generator acts alike whatever ran before it.
        disturb_global_generators(int(np.random.SeedSequence([episode.seed, episode.index]).generate_state(1)[0]))
        record = self._film.run(self._env_for(task), policy, episode)
        if record.blame is Blame.ENV:
            self.close()
        return msgspec.structs.replace(record, policy=self._plan.policy)

    def close(self) -> None:
        """Close the env, if there is one; what a faulty one raises then is printed."""
        env, self._env = self._env, None
        if env is not None:
            try:
                env.close()
            except Exception as error:  # noqa: BLE001  (its episode is recorded; its end must not cost another)
                print(f"robosmoke: closing the env: {type(error).__name__}: {error}", file=sys.stderr, flush=True)

    def _task(self, episode: Episode) -> Task:
        task = self._manifest.task(f"{episode.suite}/{episode.task}")
        return msgspec.structs.replace(task, horizon=self._horizons[task_of(episode)])

    def _env_for(self, task: Task) -> BenchmarkEnv:
        if self._env is None or self._env.task != task:
            # Closed first: two envs of different tasks in one process may spoil each other's GL contexts.
            self.close()
            side = self._plan.picture_px
            options = EnvOptions(width_px=side, height_px=side, on_success=self._plan.on_success)
            self._env = make_env(self._manifest, task, options)
        return self._env


class _Chunked:
    """Execute the first actions of each answer only."""

    def __init__(self, policy: Policy, n_action_steps: int) -> None:
        self.name, self.observation_keys = policy.name, policy.observation_keys
        self._policy, self._steps = policy, n_action_steps

    def start(self, episode: Episode, action_space: gymnasium.spaces.Box) -> Controller:
        """Begin an episode."""
        return _ChunkedController(self._policy.start(episode, action_space), self._steps)


class _ChunkedController:
    def __init__(self, controller: Controller, n_action_steps: int) -> None:
        self._controller, self._steps = controller, n_action_steps

    def act(self, observation: Observation) -> NDArray[np.floating[Any]]:
        chunk = np.asarray(self._controller.act(observation))
        # An answer that is no chunk goes on as it is, so that the rollout names its shape.
        return chunk[: self._steps] if chunk.ndim == 2 else chunk
