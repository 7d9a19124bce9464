"""Mark a point of the world in pictures, to show which way up and which way round they are.

Non-obvious behaviour:

- The marker borrows the gripper's grip site, which is invisible otherwise, while one picture is drawn: a
  bright ball beside the hand. It is drawn and never simulated.
- The hand's own camera turns with the hand, so its marker is given in the hand's frame; that of a fixed camera in
  the world's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from robosmoke.benchmarks.libero.world import World

_RGBA = (0.0, 1.0, 1.0, 1.0)
_HAND_CAMERA = "robot0_eye_in_hand_image"
# From the grip site, metres: to the robot's left at the hand's height, where nothing stands before it.
_WORLD_OFFSET = np.array([0.0, 0.25, 0.05])
_HAND_OFFSET = np.array([0.03, 0.02, 0.02])
# Radii that cover a few pixels of a 64-pixel picture, metres.
_WORLD_RADIUS, _HAND_RADIUS = 0.04, 0.008


class Marker:
    """Show a ball in the pictures drawn while it is ``visible``."""

    def __init__(self) -> None:
        self.visible = False

    def place(self, world: World, camera: str) -> NDArray[np.float64]:
        """Return the marker's centre [3] in the world, metres, as ``camera`` shows it."""
        site = _site(world)
        if camera == _HAND_CAMERA:
            turn = world.data.site_xmat[site].reshape(3, 3)
            return np.array(world.data.site_xpos[site] + turn @ _HAND_OFFSET)
        return np.array(world.data.site_xpos[site] + _WORLD_OFFSET)

    @contextmanager
    def shown(self, world: World, camera: str) -> Iterator[None]:
        """Put the marker into the scene inside the block, if it is visible."""
        if not self.visible:
            yield
            return
        site, radius = _site(world), _HAND_RADIUS if camera == _HAND_CAMERA else _WORLD_RADIUS
        borrowed = (
            (world.data.site_xpos, self.place(world, camera)),
            (world.model.site_size, np.full(3, radius)),
            (world.model.site_rgba, np.array(_RGBA)),
        )
        before = [field[site].copy() for field, _ in borrowed]
        try:
            for field, value in borrowed:
                field[site] = value
            yield
        finally:
            for (field, _), value in zip(borrowed, before, strict=True):
                field[site] = value


def _site(world: World) -> int:
    return int(world.problem.robots[0].eef_site_id)
