"""The negative controls: a policy that does nothing and one that acts at random."""

from __future__ import annotations

import gymnasium
import numpy as np
from numpy.typing import NDArray

from robosmoke.guest.env import Observation
from robosmoke.schema import Episode


class ZeroPolicy:
    """Send zeros, or the nearest action in the space, at every step."""

    name = "zero"
    observation_keys: tuple[str, ...] = ()

    def start(self, episode: Episode, action_space: gymnasium.spaces.Box) -> _Constant:
        """Begin an episode."""
        return _Constant(np.clip(np.zeros(action_space.shape), action_space.low, action_space.high))


class RandomPolicy:
    """Sample uniformly from the action space, seeded by the episode alone."""

    name = "random"
    observation_keys: tuple[str, ...] = ()

    def start(self, episode: Episode, action_space: gymnasium.spaces.Box) -> _Uniform:
        """Begin an episode."""
        return _Uniform(action_space, np.random.default_rng([episode.seed, episode.index]))


class _Constant:
    def __init__(self, action: NDArray[np.float64]) -> None:
        self._chunk = action[None]

    def act(self, observation: Observation) -> NDArray[np.float64]:
        return self._chunk


class _Uniform:
    def __init__(self, space: gymnasium.spaces.Box, rng: np.random.Generator) -> None:
        self._space, self._rng = space, rng

    def act(self, observation: Observation) -> NDArray[np.float64]:
        return self._rng.uniform(self._space.low, self._space.high)[None]
