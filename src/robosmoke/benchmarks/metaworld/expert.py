"""Act with Meta-World's own scripted policies.

Non-obvious behaviour:

- They read nothing but the 39 numbers of ``state``, the goal included, and act through actions alone.
- They ask for more than the action space holds, and count on being clipped; upstream warns at each step.
- Several leave success again after reaching it, so their rate at the end of a full episode is far lower
  than at any step.
"""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from robosmoke.guest.env import Observation
from robosmoke.manifest import Task
from robosmoke.schema import Episode


class MetaWorldExpert:
    """Solve one task with upstream's scripted policy; needs ``metaworld`` from the first start on."""

    name = "expert"
    observation_keys: tuple[str, ...] = ("state",)

    def __init__(self, task: Task) -> None:
        self._task = task

    def start(self, episode: Episode, action_space: gymnasium.spaces.Box) -> _Scripted:
        """Begin an episode with a new scripted policy."""
        from metaworld.policies import ENV_POLICY_MAP

        return _Scripted(ENV_POLICY_MAP[self._task.name](), action_space)


class _Scripted:
    def __init__(self, policy: Any, action_space: gymnasium.spaces.Box) -> None:
        self._policy, self._space = policy, action_space

    def act(self, observation: Observation) -> NDArray[np.float64]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Constant\\(s\\) may be too high")
            action = self._policy.get_action(observation["state"])
        return np.clip(np.asarray(action, np.float64), self._space.low, self._space.high)[None]
