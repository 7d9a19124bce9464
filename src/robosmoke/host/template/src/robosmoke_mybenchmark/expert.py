"""The expert: proportional control towards the goal, with damping so that the disc comes to rest."""

from __future__ import annotations

import gymnasium
import numpy as np
from numpy.typing import NDArray

from robosmoke.guest.env import Observation
from robosmoke.manifest import Task
from robosmoke.schema import Episode

STIFFNESS = 4.0
DAMPING = 2.0


class DiscTableExpert:
    """Solve every task from the observations alone."""

    name = "expert"
    observation_keys: tuple[str, ...] = ("state", "goal")

    def __init__(self, task: Task) -> None:
        self.task = task

    def start(self, episode: Episode, action_space: gymnasium.spaces.Box) -> _Controller:
        """Begin an episode; the control law needs no memory."""
        return _Controller(action_space)


class _Controller:
    def __init__(self, action_space: gymnasium.spaces.Box) -> None:
        self._space = action_space

    def act(self, observation: Observation) -> NDArray[np.float64]:
        position, velocity = observation["state"][:2], observation["state"][2:]
        force = STIFFNESS * (observation["goal"] - position) - DAMPING * velocity
        return np.clip(force, self._space.low, self._space.high)[None]
