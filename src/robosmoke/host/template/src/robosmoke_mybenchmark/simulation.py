"""A small simulator: a disc on a square table, driven by a force and slowed by drag.

Positions in m from the middle of a 2 m table, x to the right and y up; velocities in m/s; mass 1 kg.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

HALF_TABLE_M = 1.0
DISC_RADIUS_M = 0.08
GOAL_RADIUS_M = 0.12
POST_RADIUS_M = 0.07
POST_M = np.array([0.8, 0.8])
MAX_FORCE_N = 2.0
DRAG_N_S_PER_M = 2.0
MAX_SPEED_M_S = MAX_FORCE_N / DRAG_N_S_PER_M
SUBSTEPS = 10
SUBSTEP_S = 0.01
ARRIVED_M = 0.04
ARRIVED_M_S = 0.1

Colour = tuple[int, int, int]
DISC: Colour = (40, 80, 200)
GOAL: Colour = (40, 170, 70)
POST: Colour = (90, 60, 30)


class DiscTable:
    """Hold the disc, its goal and a post that marks the table's top right corner."""

    def __init__(self, seed: int, side: float) -> None:
        rng = np.random.default_rng(seed)
        self.position = rng.uniform(-0.2, 0.2, 2)
        self.velocity = np.zeros(2)
        self.goal = np.array([side * rng.uniform(0.6, 0.8), rng.uniform(-0.6, 0.6)])
        self.post_colour = POST

    def step(self, force: NDArray[np.float64]) -> None:
        """Apply a force [2], each part in [-1, 1] of the maximum, for 0.1 s; walls stop the disc."""
        limit = HALF_TABLE_M - DISC_RADIUS_M
        for _ in range(SUBSTEPS):
            push = MAX_FORCE_N * force - DRAG_N_S_PER_M * self.velocity
            self.velocity = np.clip(self.velocity + SUBSTEP_S * push, -MAX_SPEED_M_S, MAX_SPEED_M_S)
            moved = self.position + SUBSTEP_S * self.velocity
            self.position = np.clip(moved, -limit, limit)
            self.velocity[moved != self.position] = 0.0

    @property
    def distance_m(self) -> float:
        """Measure how far the disc is from its goal."""
        return float(np.linalg.norm(self.position - self.goal))

    @property
    def arrived(self) -> bool:
        """Tell whether the disc rests on the goal: passing over it is not enough."""
        return self.distance_m < ARRIVED_M and float(np.linalg.norm(self.velocity)) < ARRIVED_M_S

    def draw(self, width_px: int, height_px: int) -> NDArray[np.uint8]:
        """Draw the table from above: uint8 [height_px, width_px, 3], the first row at the far side."""
        x = (np.arange(width_px) + 0.5) / width_px * 2 - 1
        y = 1 - (np.arange(height_px) + 0.5) / height_px * 2
        light = 205 + 20 * x[None, :] + 20 * y[:, None]
        picture = np.repeat(light[:, :, None], 3, axis=2).astype(np.uint8)
        for centre, radius_m, colour in (
            (self.goal, GOAL_RADIUS_M, GOAL),
            (self.position, DISC_RADIUS_M, DISC),
            (POST_M, POST_RADIUS_M, self.post_colour),
        ):
            inside = (x[None, :] - centre[0]) ** 2 + (y[:, None] - centre[1]) ** 2 <= radius_m**2
            picture[inside] = colour
        return picture
