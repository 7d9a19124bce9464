"""Candidate grasps from a depth map: where both fingers and the palm are free and something lies between.

The gripper is reduced to a few rectangles in its own frame (x closes, z approaches, origin at the grip
site); their sizes were measured on the collision meshes of robosuite 1.4's Panda gripper, opened fully.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .geometry import UP, Array, Box, depth_along, looking_along, points_of, turn, unit

TIP = 0.0092  # how far the finger tips lie beyond the grip site
PALM = 0.031  # how far the palm lies before the grip site
INNER, OUTER = 0.038, 0.056  # inner and outer face of an open finger, from the grip site
FINGER_HALF, PALM_HALF, PALM_REACH = 0.011, 0.02, 0.10
CELL = 0.005  # spacing of the depth map
DEEPEST = 0.026  # how far an object's top may stand above the finger tips
YAWS = 16


@dataclass(frozen=True, kw_only=True)
class Care:
    """What a grasp must keep: distance to everything else, and how deep it must hold, in metres."""

    clearance: float
    bite: float


CAREFUL, DARING = Care(clearance=0.004, bite=0.009), Care(clearance=0.0015, bite=0.004)


@dataclass(frozen=True, kw_only=True)
class Grasp:
    """A gripper pose [3], [3, 3] and its cost (lower is better)."""

    position: Array
    rotation: Array
    cost: float

    @property
    def approach(self) -> Array:
        """Return the direction [3] in which the gripper comes."""
        return np.asarray(self.rotation[:, 2])


@dataclass(frozen=True, kw_only=True)
class View:
    """A depth map along one approach: frame [3, 3], lower corner and depths [nu, nv], mask of the subject."""

    frame: Array
    corner: Array
    depth: Array
    mask: NDArray[np.bool_]

    def sample(self, points: Array) -> NDArray[np.int64]:
        """Return flat cell indices of points [..., 2], clipped to the map."""
        cells = np.rint((points - self.corner) / CELL).astype(np.int64)
        limits = np.array(self.depth.shape) - 1
        cells = np.clip(cells, 0, limits)
        return np.asarray(cells[..., 0] * self.depth.shape[1] + cells[..., 1])


def view_along(boxes: list[Box], subject: Collection[int], approach: Array) -> View:
    """Look at the subject's bodies along an approach direction, with all boxes as obstacles."""
    frame = looking_along(approach)
    corners = points_of([box for box in boxes if box.body in subject]) @ frame
    low, high = corners.min(axis=0), corners.max(axis=0)
    margin = PALM_REACH + 0.05
    corner = low[:2] - margin
    counts = np.ceil((high[:2] + margin - corner) / CELL).astype(int)
    u = corner[0] + CELL * np.arange(counts[0])
    v = corner[1] + CELL * np.arange(counts[1])
    start = low[2] - 0.15
    grid = np.stack(np.meshgrid(u, v, indexing="ij"), axis=-1).reshape(-1, 2)
    origins = np.concatenate([grid, np.full((len(grid), 1), start)], axis=1) @ frame.T
    near = [box for box in boxes if _overlaps(box, frame, corner, high[:2] + margin)]
    depth, index = depth_along(near, origins, frame[:, 2])
    owner = np.array([box.body in subject for box in near] + [False])
    shape = (counts[0], counts[1])
    depth = np.where(np.isfinite(depth), depth + start, high[2] + 1.0)
    return View(frame=frame, corner=corner, depth=depth.reshape(shape), mask=owner[index].reshape(shape))


def _overlaps(box: Box, frame: Array, low: Array, high: Array) -> bool:
    corners = (box.corners() @ frame)[:, :2]
    return bool((corners.max(axis=0) > low).all() and (corners.min(axis=0) < high).all())


def _rectangle(x: tuple[float, float], y: float, spacing: float = CELL) -> Array:
    xs = np.linspace(x[0], x[1], max(2, round((x[1] - x[0]) / spacing) + 1))
    ys = np.linspace(-y, y, max(3, round(2 * y / spacing) + 1))
    return np.stack(np.meshgrid(xs, ys, indexing="ij"), axis=-1)


FINGER = _rectangle((INNER, OUTER), FINGER_HALF).reshape(-1, 2)
BETWEEN = _rectangle((-INNER + 0.003, INNER - 0.003), 0.007)  # [nx, ny, 2]
PALM_FACE = _rectangle((-PALM_REACH, PALM_REACH), PALM_HALF, 0.01).reshape(-1, 2)


def grasps_in(view: View, subject_centre: Array, current: Array, care: Care = CAREFUL) -> list[Grasp]:
    """Return feasible grasps of a view, best first; ``current`` [3, 3] is the gripper's rotation now."""
    cells = np.argwhere(view.mask)
    if len(cells) == 0:
        return []
    cells = np.unique(cells // 2, axis=0) * 2
    centres = view.corner + CELL * cells
    heart = (subject_centre @ view.frame)[:2]
    found = [
        grasp
        for yaw in np.arange(YAWS) * np.pi / YAWS
        for grasp in _at_yaw(view, centres, float(yaw), heart, current, care)
    ]
    return sorted(found, key=lambda grasp: grasp.cost)


def _at_yaw(view: View, centres: Array, yaw: float, heart: Array, current: Array, care: Care) -> list[Grasp]:
    c, s = np.cos(yaw), np.sin(yaw)
    spin = np.array([[c, -s], [s, c]])
    depth, mask = view.depth.ravel(), view.mask.ravel()

    def cells(shape: Array, at: Array) -> NDArray[np.int64]:
        return view.sample(at.reshape(-1, *([1] * (shape.ndim - 1)), 2) + shape @ spin.T)

    inner = cells(BETWEEN, centres)
    own = mask[inner]
    top = np.where(own, depth[inner], np.inf).min(axis=(1, 2))
    left = depth[cells(-FINGER, centres)].min(axis=1)
    right = depth[cells(FINGER, centres)].min(axis=1)
    palm = depth[cells(PALM_FACE, centres)].min(axis=1)
    deepest = np.minimum(np.minimum(left, right) - TIP, palm + PALM) - care.clearance
    z = np.minimum(deepest, top + DEEPEST - TIP)
    bite = z + TIP - top
    level = (z + 0.004)[:, None, None]
    held = own & (depth[inner] < level)
    foreign = (~own & (depth[inner] < level + 0.004)).any(axis=(1, 2))
    rows = held.any(axis=1)  # [n, ny]
    xs = BETWEEN[:, 0, 0]
    first = np.where(held, xs[None, :, None], np.inf).min(axis=1)
    last = np.where(held, xs[None, :, None], -np.inf).max(axis=1)
    with np.errstate(invalid="ignore"):
        skew = np.std(first, axis=1) + np.std(last, axis=1)
        offset = np.abs(np.mean(first + last, axis=1) / 2)
        width = np.mean(last - first, axis=1)
    fits = (first.min(axis=1) > xs[0] + 1e-6) & (last.max(axis=1) < xs[-1] - 1e-6)
    good = rows.all(axis=1) & fits & ~foreign & (bite >= care.bite) & np.isfinite(z)
    found = []
    for i in np.flatnonzero(good):
        rotation = _rotation(view.frame, yaw, current)
        arm = float(np.linalg.norm(centres[i] - heart))
        swing = float(np.arccos(np.clip(rotation[:, 0] @ current[:, 0], -1, 1)))
        cost = (
            60 * skew[i]
            + 25 * max(0.0, offset[i] - 0.005)
            + 40 * max(0.0, 0.02 - bite[i])
            + 8 * arm
            + 4 * width[i]
            + 0.12 * swing
        )
        middle = np.append(centres[i], z[i])
        found.append(Grasp(position=view.frame @ middle, rotation=rotation, cost=float(cost)))
    return found


def _rotation(frame: Array, yaw: float, current: Array) -> Array:
    """Return the gripper's axes at a yaw, of the two equal ones that nearer to the current axes."""
    axes = turn(frame[:, 2], yaw) @ frame
    if axes[:, 0] @ current[:, 0] < 0:
        axes = axes @ np.diag([-1.0, -1.0, 1.0])
    return np.asarray(axes)


def looking_with(approach: Array, current: Array, across: Array) -> Array:
    """Return gripper axes [3, 3] for an approach, closing across a direction [3], of two the nearer to the current."""
    x = unit(np.cross(UP, across)) if abs(across[2]) < 0.9 else looking_along(approach)[:, 0]
    x = unit(x - approach * (x @ approach))
    if x @ current[:, 0] < 0:
        x = -x
    return np.stack([x, np.cross(approach, x), approach], axis=1)


def spread(grasps: list[Grasp], count: int, apart_m: float = 0.025, apart_rad: float = 0.6) -> list[Grasp]:
    """Pick the best grasps that differ from each other in place or direction."""
    chosen: list[Grasp] = []
    for grasp in grasps:
        if len(chosen) == count:
            break
        if all(_differ(grasp, other, apart_m, apart_rad) for other in chosen):
            chosen.append(grasp)
    return chosen


def _differ(one: Grasp, two: Grasp, apart_m: float, apart_rad: float) -> bool:
    far = np.linalg.norm(one.position - two.position) > apart_m
    cosine = np.clip((np.trace(one.rotation.T @ two.rotation) - 1) / 2, -1, 1)
    return bool(far or np.arccos(cosine) > apart_rad)
