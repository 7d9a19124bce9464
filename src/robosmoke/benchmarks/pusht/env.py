"""The PushT adapter over ``gym_pusht``.

Observations: ``state`` float64 [5] is (agent x, agent y, block x, block y) in px of a 512 px board with
y downwards, and the block's angle in rad within [0, 2π); ``agent_position`` float64 [2] is its first two.
Actions: float [2], the agent's target position in px, 10 Hz. The camera ``top`` shows the whole board.

*Non-obvious behaviour*

- The zero action is a position: it drives the agent into the top-left corner.
- The simulator calls coverage above 0.95 a success and ends the episode itself; the base does that here.
- The simulator has no numbered init states; its own ``reset_to_state`` moves the block while setting it,
  so the adapter does not offer it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from robosmoke.guest.env import BenchmarkEnv, Landmark, Tick

BOARD_PX = 512
PAINT = (255, 0, 255, 255)


class PushTAdapter(BenchmarkEnv):
    """Give PushT the robosmoke contract."""

    preload = ("gym_pusht.envs.pusht",)
    _sim: Any = None

    def state_spaces(self) -> Mapping[str, gymnasium.spaces.Box]:
        """Return the spaces of ``state`` and ``agent_position``."""
        high = np.array([BOARD_PX] * 4 + [2 * np.pi])
        return {
            "state": gymnasium.spaces.Box(np.zeros(5), high, dtype=np.float64),
            "agent_position": gymnasium.spaces.Box(0, BOARD_PX, (2,), np.float64),
        }

    def make_action_space(self) -> gymnasium.spaces.Box:
        """Return the space of target positions in px."""
        return gymnasium.spaces.Box(0, BOARD_PX, (2,), np.float32)

    def begin(self, seed: int, init_state: int | None) -> bool:
        """Draw agent and block from the seed; every episode gets a new physics space."""
        if self._sim is None:
            from gym_pusht.envs.pusht import PushTEnv

            self._sim = PushTEnv(obs_type="state", render_mode="rgb_array")
        _, info = self._sim.reset(seed=seed)
        return bool(info["is_success"])

    def tick(self, action: NDArray[np.float64]) -> Tick:
        """Drive the agent towards the target for 0.1 s; the reward is coverage / 0.95, at most 1."""
        _, reward, _, _, info = self._sim.step(action)
        return Tick(reward, info["is_success"])

    def read_state(self, key: str) -> NDArray[np.float64]:
        """Read ``state`` or ``agent_position``."""
        state: NDArray[np.float64] = self._sim.get_obs()
        return state if key == "state" else state[:2]

    def picture(self, camera: str, width_px: int, height_px: int) -> NDArray[np.uint8]:
        """Draw the board, scaled; no mark of the last action is drawn into it."""
        frame = self._sim._get_img(self._sim._draw(), width_px, height_px)
        return np.array(frame, np.uint8)

    def physics_state(self) -> NDArray[np.float64]:
        """Return position, angle, velocity and angular velocity of agent and block."""
        bodies = (self._sim.agent, self._sim.block)
        return np.array(
            [v for b in bodies for v in (*b.position, b.angle, *b.velocity, b.angular_velocity)], np.float64
        )

    def landmark(self, camera: str) -> Landmark:
        """Return the agent's place: the board's y axis points down, as the picture's does."""
        x_px, y_px = self._sim.agent.position
        return Landmark(x_px / BOARD_PX, y_px / BOARD_PX)

    def paint_landmark(self, painted: bool) -> None:
        """Paint the agent, or give it its own colour back."""
        for shape in self._sim.agent.shapes:
            if painted:
                self._own_colour = shape.color
            shape.color = PAINT if painted else self._own_colour

    def release(self) -> None:
        """Drop the simulator; it holds no window and no context."""
        self._sim = None
