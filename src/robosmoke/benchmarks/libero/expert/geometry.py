"""Frames, rotations and depth maps of boxes: the geometry the expert reasons with, in metres and radians."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

UP = np.array([0.0, 0.0, 1.0])
CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


def unit(vector: Array) -> Array:
    """Scale a vector [3] to length 1."""
    return np.asarray(vector / np.linalg.norm(vector))


def rotation_vector(rotation: Array) -> Array:
    """Return axis times angle [3] of a rotation matrix [3, 3]."""
    angle = np.arccos(np.clip((np.trace(rotation) - 1) / 2, -1.0, 1.0))
    skew = np.array([rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]])
    if angle < 1e-6:
        return np.zeros(3)
    if angle > np.pi - 1e-3:  # the skew part vanishes at a half turn: take the axis from the diagonal
        column = int(np.argmax(np.diag(rotation)))
        return np.asarray(angle * unit(rotation[:, column] + np.eye(3)[column]))
    return np.asarray(angle / (2 * np.sin(angle)) * skew)


def turn(axis: Array, angle: float) -> Array:
    """Return the rotation matrix [3, 3] about a unit axis [3] by an angle in radians."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross)


def looking_along(approach: Array) -> Array:
    """Return a right-handed frame [3, 3] whose third column is the approach direction [3]."""
    z = unit(approach)
    helper = np.array([0.0, 1.0, 0.0]) if abs(z[1]) < 0.9 else np.array([1.0, 0.0, 0.0])
    x = unit(np.cross(helper, z))
    return np.stack([x, np.cross(z, x), z], axis=1)


@dataclass(frozen=True, kw_only=True)
class Box:
    """One collision geom as a box: centre [3], axes as columns [3, 3], half sizes [3], and its body."""

    centre: Array
    axes: Array
    half: Array
    body: int

    def corners(self) -> Array:
        """Return the eight corners [8, 3] in the world."""
        return np.asarray(self.centre + (CORNERS * self.half) @ self.axes.T)


def points_of(boxes: Sequence[Box]) -> Array:
    """Return all corners [8 n, 3] of boxes in the world."""
    return np.concatenate([box.corners() for box in boxes])


def depth_along(boxes: Sequence[Box], origins: Array, direction: Array) -> tuple[Array, NDArray[np.int64]]:
    """Cast parallel rays from origins [n, 3]: distance [n] to the first box (inf: none), its index [n] (-1)."""
    depth = np.full(len(origins), np.inf)
    index = np.full(len(origins), -1)
    for i, box in enumerate(boxes):
        slope = box.axes.T @ direction
        slope = np.where(np.abs(slope) < 1e-9, 1e-9, slope)
        start = (origins - box.centre) @ box.axes
        one, two = (-box.half - start) / slope, (box.half - start) / slope
        near, far = np.minimum(one, two).max(axis=1), np.maximum(one, two).min(axis=1)
        hit = (near <= far) & (far > 0) & (np.maximum(near, 0.0) < depth)
        depth[hit] = np.maximum(near[hit], 0.0)
        index[hit] = i
    return depth, index
