"""The adapter between the simulator and robosmoke.

Observations: ``state`` float64 [4] is the disc's position (m) and velocity (m/s); ``goal`` float64 [2] is
the goal's position (m). Actions: float32 [2] in [-1, 1], the force as a part of the maximum, 10 Hz. The
camera ``top`` looks straight down.

*Non-obvious behaviour* (keep this list: it is what the next reader needs most)

- Success asks for rest: a disc that races over the goal has not arrived.
- There are no numbered init states; the seed alone fixes an episode.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from robosmoke.errors import UsageError
from robosmoke.guest.env import BenchmarkEnv, Landmark, Tick

SIDES = {"reach-left": -1.0, "reach-right": 1.0}
PAINT = (255, 0, 255)


class DiscTableEnv(BenchmarkEnv):
    """Give the disc on its table the robosmoke contract."""

    # Any: the simulator is imported by the first reset, so that listing tasks never loads it.
    _sim: Any = None

    def state_spaces(self) -> Mapping[str, gymnasium.spaces.Box]:
        """Return the spaces of ``state`` and ``goal``."""
        return {
            "state": gymnasium.spaces.Box(-1.0, 1.0, (4,), np.float64),
            "goal": gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float64),
        }

    def make_action_space(self) -> gymnasium.spaces.Box:
        """Return the space of forces."""
        return gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def begin(self, seed: int, init_state: int | None) -> bool:
        """Set a table from the seed; raises `UsageError` for a numbered init state, of which there are none."""
        if init_state is not None:
            raise UsageError(f"{self.task.name}: init_state {init_state}: this benchmark has none, use a seed")
        from .simulation import DiscTable

        self._sim = DiscTable(seed, SIDES[self.task.name])
        return bool(self._sim.arrived)

    def tick(self, action: NDArray[np.float64]) -> Tick:
        """Push the disc for 0.1 s; the reward is minus the distance to the goal in m."""
        self._sim.step(action)
        return Tick(-self._sim.distance_m, self._sim.arrived)

    def read_state(self, key: str) -> NDArray[np.float64]:
        """Read ``state`` or ``goal``."""
        if key == "goal":
            return np.array(self._sim.goal)
        return np.concatenate([self._sim.position, self._sim.velocity])

    def picture(self, camera: str, width_px: int, height_px: int) -> NDArray[np.uint8]:
        """Draw the table from above, far side up."""
        drawn: NDArray[np.uint8] = self._sim.draw(width_px, height_px)
        return drawn

    def physics_state(self) -> NDArray[np.float64]:
        """Return position, velocity and goal."""
        return np.concatenate([self._sim.position, self._sim.velocity, self._sim.goal])

    def landmark(self, camera: str) -> Landmark:
        """Say where the post appears: the picture's y axis points down, the table's up."""
        from .simulation import HALF_TABLE_M, POST_M

        x, y = (POST_M / HALF_TABLE_M + 1) / 2
        return Landmark(float(x), float(1 - y))

    def paint_landmark(self, painted: bool) -> None:
        """Paint the post, or give it its own colour back."""
        from .simulation import POST

        self._sim.post_colour = PAINT if painted else POST

    def release(self) -> None:
        """Drop the simulator; it holds no window and no context."""
        self._sim = None
