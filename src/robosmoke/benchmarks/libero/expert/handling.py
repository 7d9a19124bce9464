"""Skills for free objects: pick one up, carry it, put it down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .geometry import UP, Array, points_of, turn
from .grasp import Care, Grasp, grasps_in, spread, view_along
from .motion import OPEN, Rehearsal
from .scene import Region, Scene

PREGRASP = 0.07  # where the straight approach begins, before the grasp
LIFT = 0.05
MARGIN = 0.03  # between what is carried and what lies below its path
CARRY_SPEED = 0.75


def grasp_candidates(scene: Scene, name: str, count: int, care: Care) -> list[Grasp]:
    """Return different grasps of a free object from above, best first."""
    subject = scene.bodies(name)
    boxes = scene.boxes(without=scene.robot)
    _, current = scene.gripper()
    centre = points_of(scene.boxes(only=subject)).mean(axis=0)
    return spread(grasps_in(view_along(boxes, subject, -UP), centre, current, care), count)


def pick(move: Rehearsal, name: str, grasp: Grasp) -> bool:
    """Grasp a free object and lift it a little; tell whether it came along."""
    scene = move.scene
    bodies = scene.bodies(name)
    before = scene.pose(name)[0][2]
    reach(move, grasp)
    if (
        not move.go(grasp.position, grasp.rotation, 0.004, limit=40)
        and move.distance(grasp.position, grasp.rotation)[0] > 0.03
    ):
        return False
    move.grasp()
    if not scene.gripped(bodies):
        return False
    here, rotation = scene.gripper()
    move.go(here + LIFT * UP, rotation, 0.015, CARRY_SPEED)
    risen = scene.pose(name)[0][2] - before
    return bool(risen > 0.5 * LIFT and scene.gripped(bodies))


def reach(move: Rehearsal, grasp: Grasp) -> None:
    """Come to where a grasp's straight approach begins, over whatever lies between, the gripper open."""
    move.grip = OPEN
    start = grasp.position - PREGRASP * grasp.approach
    here, _ = move.scene.gripper()
    height = move.scene.corridor_height(here, start, 0.04, without=()) + 0.05
    if here[2] < min(height, start[2]) - 0.01:
        move.go(np.array([here[0], here[1], max(height, start[2])]), grasp.rotation, 0.03)
    if height > start[2]:
        move.go(np.array([start[0], start[1], height]), grasp.rotation, 0.03)
    move.go(start, grasp.rotation, 0.015)


_PARTS = (0.0, -0.5, 0.5, -0.85, 0.85)  # of the region's half size


@dataclass(frozen=True, kw_only=True)
class Spot:
    """Where an object's origin shall come to rest: xy [2], support height, and a turn about the vertical."""

    place: Array
    support: float
    yaw: float


def spots(scene: Scene, name: str, target: str, crowded: bool = False) -> list[Spot]:
    """Return places for a held object on or in a target, the most promising first.

    Low places come before high ones, then central ones, or outer ones where a region gets several objects.
    """
    region = scene.region(target)
    bodies = scene.bodies(name)
    origin = scene.pose(name)[0]
    base = _footprint(scene, name) - origin[:2]
    if region is None:
        place, ceiling, shifts = scene.pose(target)[0][:2], scene.top(scene.bodies(target)) + 0.1, np.zeros((1, 2))
    else:
        place, ceiling, shifts = region.centre[:2], region.centre[2] + region.reach[2] + 0.05, _shifts(region)
    ranked = []
    for yaw in (0.0, np.pi / 2, -np.pi / 2):
        c, s = np.cos(yaw), np.sin(yaw)
        turned = base @ np.array([[c, s], [-s, c]])
        for shift in shifts:
            points = np.append(turned + place + shift, np.full((len(turned), 1), ceiling), axis=1)
            support = float(scene.height_below(points, without=bodies).max())
            away = float(np.linalg.norm(shift))
            cost = support + (-0.4 if crowded else 0.2) * away + 0.03 * abs(yaw)
            ranked.append((cost, Spot(place=place + shift, support=support, yaw=yaw)))
    ranked.sort(key=lambda pair: pair[0])
    return [spot for _, spot in ranked]


def _footprint(scene: Scene, name: str) -> Array:
    corners = points_of(scene.boxes(only=scene.bodies(name)))
    low = corners[:, 2].min()
    base = corners[corners[:, 2] < low + 0.04][:, :2]
    return np.unique(np.round(base, 3), axis=0)


def _shifts(region: Region) -> Array:
    half = np.maximum(region.reach[:2] - 0.01, 0.0)
    shifts = [(a * half[0], b * half[1]) for a in _PARTS for b in _PARTS]
    return np.unique(np.array(shifts), axis=0)


def put(move: Rehearsal, name: str, spot: Spot) -> None:
    """Carry a held object to a spot, lower it until something supports it, let go and retreat."""
    carry(move, name, spot)
    if not move.scene.gripped(move.scene.bodies(name)):
        return  # it slipped out of the hand on the way
    lower(move, name, spot)
    release(move)


def carry(move: Rehearsal, name: str, spot: Spot) -> None:
    """Bring a held object above a spot, over whatever lies between."""
    scene = move.scene
    bodies = scene.bodies(name)
    origin = scene.pose(name)[0]
    here, rotation = scene.gripper()
    target = np.array([*spot.place, origin[2]])
    path = scene.corridor_height(origin, target, 0.06, without=bodies)
    rise = max(path, spot.support) + MARGIN - scene.bottom(bodies)
    if rise > 0.005:
        move.go(here + rise * UP, rotation, 0.02, CARRY_SPEED)
    spin = turn(UP, spot.yaw) @ rotation
    for tolerance in (0.02, 0.006):  # twice: the object may have shifted in the hand on the way
        here, axes = scene.gripper()
        origin = scene.pose(name)[0]
        offset = (spin @ axes.T) @ (here - origin)
        goal = np.array([spot.place[0] + offset[0], spot.place[1] + offset[1], here[2]])
        move.go(goal, spin, tolerance, CARRY_SPEED, limit=110)


def lower(move: Rehearsal, name: str, spot: Spot) -> None:
    """Lower a held object until it is supported or the arm stalls."""
    scene = move.scene
    bodies = scene.bodies(name)
    drop = scene.bottom(bodies) - spot.support
    here, rotation = scene.gripper()
    if drop > 0.02:
        move.go(here - (drop - 0.012) * UP, rotation, 0.006, 0.8)
    for _ in range(14):
        if scene.supported(bodies):
            break
        here, _ = scene.gripper()
        move.step(move.towards(here - 0.008 * UP, rotation, 0.4))
        if scene.gripper()[0][2] > here[2] - 0.0005:
            break


def release(move: Rehearsal) -> None:
    """Open the gripper and back off along its approach."""
    move.hold(6, OPEN)
    here, rotation = move.scene.gripper()
    move.go(here - 0.09 * rotation[:, 2], rotation, 0.02)
