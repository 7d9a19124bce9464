"""The policy protocol: a policy starts a controller, which holds all state of one episode."""

from __future__ import annotations

from typing import Any, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray

from robosmoke.guest.env import Observation
from robosmoke.schema import Episode


class Controller(Protocol):
    """Act in one episode; nothing outlives it."""

    def act(self, observation: Observation) -> NDArray[np.floating[Any]]:
        """Return the next action chunk [H, A], executed open loop before the next call."""
        ...


class Policy(Protocol):
    """What is evaluated: it names the observations it reads, and starts controllers."""

    name: str
    observation_keys: tuple[str, ...]

    def start(self, episode: Episode, action_space: gymnasium.spaces.Box) -> Controller:
        """Begin an episode; two starts of one episode act alike."""
        ...
