"""Skill for regions under a roof: hold the object on its near side and bring it in along the open side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .geometry import UP, Array, depth_along, points_of, turn, unit
from .grasp import Grasp, grasps_in, spread, view_along
from .handling import Spot, carry, lower
from .motion import OPEN, Rehearsal
from .scene import Scene

TILTS = (0.0, 0.5, 0.9)  # of the gripper from the vertical, radians
HEADROOM = 0.35  # a roof nearer than this makes a region one to insert into, metres
AISLE = 0.30  # free way that an open side must have, metres
STAGE = 0.20  # how far outside the place the straight way in begins
INSET = 0.02  # kept between an object's origin and the region's border
GRASPS = 12


@dataclass(frozen=True, kw_only=True)
class Insertion:
    """A grasp [pose], the place to bring the object to, and the horizontal direction [3] of the way in."""

    grasp: Grasp
    spot: Spot
    direction: Array


def entrance(scene: Scene, target: str, name: str) -> Array | None:
    """Return the horizontal direction [3] in which a roofed region is entered; None for any other target."""
    region = scene.region(target)
    if region is None or region.parent is None:
        return None
    own = scene.bodies(name) | scene.robot
    fixture = scene.boxes(only=scene.bodies(region.parent), without=own)
    point = region.centre[None]
    if depth_along(fixture, point, UP)[0][0] > HEADROOM:
        return None
    sides = [turn(UP, quarter * np.pi / 2) @ np.array([1.0, 0.0, 0.0]) for quarter in range(4)]
    free = [float(depth_along(fixture, point, side)[0][0]) for side in sides]
    best = int(np.argmax(free))
    return -sides[best] if free[best] > AISLE else None


def insertions(scene: Scene, name: str, target: str, direction: Array) -> list[Insertion]:
    """Return grasps that leave the hand outside the roof once the object is in, the best first."""
    region = scene.region(target)
    if region is None:
        return []
    near = region.centre - direction * max(0.0, float(np.abs(direction) @ region.reach) - INSET)
    bodies = scene.bodies(name)
    floor = float(scene.height_below(np.array([near, region.centre]), without=bodies).max())
    origin = scene.pose(name)[0]
    ranked = []
    for grasp in _side_grasps(scene, name, direction):
        arm = (grasp.position - origin) * np.array([1.0, 1.0, 0.0])
        if np.linalg.norm(arm) < 0.02:
            continue
        out = unit(arm)
        yaw = float(np.arctan2(np.cross(out, -direction)[2], out @ -direction))
        radial = abs(float(grasp.rotation[:, 0] @ out))  # the hand is widest along its closing axis
        spot = Spot(place=near[:2], support=floor, yaw=yaw)
        cost = grasp.cost + 2 * radial + 0.3 * abs(yaw) - 4 * float(np.linalg.norm(arm))
        ranked.append((cost, Insertion(grasp=grasp, spot=spot, direction=direction)))
    ranked.sort(key=lambda pair: pair[0])
    kept = {id(grasp) for grasp in spread([item.grasp for _, item in ranked], GRASPS)}
    return [item for _, item in ranked if id(item.grasp) in kept]


def _side_grasps(scene: Scene, name: str, direction: Array) -> list[Grasp]:
    bodies = scene.bodies(name)
    boxes = scene.boxes(without=scene.robot)
    centre = points_of(scene.boxes(only=bodies)).mean(axis=0)
    _, current = scene.gripper()
    found = []
    for tilt in TILTS:
        approach = np.sin(tilt) * direction - np.cos(tilt) * UP
        found += grasps_in(view_along(boxes, bodies, approach), centre, current)
    return found


def insert(move: Rehearsal, name: str, insertion: Insertion) -> None:
    """Carry a held object before the entrance, bring it straight in, let go and back out."""
    scene, direction, spot = move.scene, insertion.direction, insertion.spot
    bodies = scene.bodies(name)
    stage = Spot(place=spot.place - STAGE * direction[:2], support=spot.support, yaw=spot.yaw)
    carry(move, name, stage)
    here, rotation = scene.gripper()
    drop = scene.bottom(bodies) - spot.support - 0.012
    move.go(here - drop * UP, rotation, 0.006, 0.8)
    here, _ = scene.gripper()
    move.go(here + STAGE * direction, rotation, 0.006, 0.6)
    lower(move, name, spot)
    move.hold(6, OPEN)
    here, _ = scene.gripper()
    move.go(here - 0.12 * direction, rotation, 0.02)
