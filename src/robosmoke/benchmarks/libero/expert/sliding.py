"""Skill for what lies too flat to be picked up: slide it over its support with the closed fingers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from .geometry import UP, Array, depth_along, points_of, turn, unit
from .goal import Fact, holds
from .grasp import TIP, Grasp, looking_with
from .handling import reach
from .motion import CLOSED, OutOfSteps, Rehearsal
from .scene import Scene

# Of the gripper from the vertical (negative: leaning over the object) and about it, radians.
POSTURES = ((-0.4, 0.0), (-0.4, 0.45), (-0.4, -0.45), (0.0, 0.0), (0.0, 0.45), (0.0, -0.45))
PUSHES = 3  # contacts made anew where the fingers have slipped over the object
FINGER = 0.018  # half the thickness of the closed fingers along a push, metres
LEDGE = 0.003  # a rim higher than this above the inside can be pulled from within
AHEAD = 0.08  # how far ahead of the object the hand is led
PATIENCE = 20  # control steps without progress after which a way is given up
HOVER = 0.07  # above the object's origin, metres
NEAR = 0.008  # from the target's centre, where a slide ends


@dataclass(frozen=True, kw_only=True)
class Contact:
    """Where the fingers act: their place along the way from the object's origin, and the tips' height."""

    along: float
    height: float


def slides(move: Rehearsal, fact: Fact) -> Iterator[None]:
    """Rehearse sliding an object to a region on the surface it lies on."""
    scene = move.scene
    region = scene.region(fact.target or "")
    if region is None or abs(region.centre[2] - scene.bottom(scene.bodies(fact.subject))) > 0.03:
        return
    start = move.mark()
    way = region.centre - scene.pose(fact.subject)[0]
    direction = unit(way * np.array([1.0, 1.0, 0.0]))
    for contact in _contacts(scene, fact.subject, direction):
        for tilt, twist in POSTURES:
            approach = np.sin(tilt) * direction - np.cos(tilt) * UP
            across = turn(UP, twist) @ direction
            rotation = looking_with(approach, scene.gripper()[1], across)
            with suppress(OutOfSteps):
                for _ in range(PUSHES):
                    before = scene.pose(fact.subject)[0]
                    _slide(move, fact, region.centre, contact, rotation)
                    here, _ = scene.gripper()
                    move.go(here + 0.08 * UP, rotation, 0.02)
                    moved = np.linalg.norm(scene.pose(fact.subject)[0] - before)
                    if holds(move.env.problem, fact) or moved < 0.03:
                        break
                yield
            move.rewind(start)


def _contacts(scene: Scene, name: str, direction: Array) -> list[Contact]:
    bodies = scene.bodies(name)
    origin = scene.pose(name)[0]
    boxes = scene.boxes(only=bodies)
    along = (points_of(boxes) - origin) @ direction
    line = np.arange(along.min(), along.max(), 0.004)
    points = origin + line[:, None] * direction + UP
    depth, _ = depth_along(boxes, points, -UP)
    height = points[:, 2] - depth
    found = [Contact(along=float(along.min()) - FINGER, height=scene.bottom(bodies) + 0.006)]
    front = int(np.argmax(np.where(line > 0, height, -np.inf)))
    inner = (line > 0) & (line < line[front]) & (height < height.min() + 0.002)
    if inner.any() and height[front] - height.min() > LEDGE:
        inside = int(np.flatnonzero(inner)[-1])
        found.append(Contact(along=float(line[inside]) - FINGER / 2, height=float(height[inside]) + 0.001))
    return found


def _slide(move: Rehearsal, fact: Fact, target: Array, contact: Contact, rotation: Array) -> None:
    scene = move.scene
    best, stale = np.inf, 0
    direction = np.zeros(3)
    started = False
    while stale < PATIENCE:
        origin = scene.pose(fact.subject)[0]
        way = (target - origin) * np.array([1.0, 1.0, 0.0])
        left = float(np.linalg.norm(way))
        if left < NEAR or (left < 0.02 and holds(move.env.problem, fact)):
            return
        if left > 0.03 or not started:
            direction = unit(way)
        hand = origin + contact.along * direction
        hand[2] = contact.height
        hand = hand - TIP * rotation[:, 2]
        if not started:
            # Turning happens above the object, where there is room; then the hand backs down behind it.
            over = origin + HOVER * UP
            reach(move, Grasp(position=over, rotation=rotation, cost=0.0))
            move.grip = CLOSED
            for point, tolerance in ((over, 0.01), (hand + 0.04 * UP, 0.01), (hand, 0.006)):
                move.go(point, rotation, tolerance, limit=40)
            started = True
            continue
        move.step(move.towards(hand + min(AHEAD, left + 0.03) * direction, rotation, 1.0))
        stale = 0 if left < best - 0.001 else stale + 1
        best = min(best, left)
