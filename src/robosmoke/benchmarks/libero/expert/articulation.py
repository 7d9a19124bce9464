"""Skills for joints: grip a link and lead it along its path, or push it with the closed fingers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from .geometry import UP, Array, points_of, turn, unit
from .goal import Fact, holds
from .grasp import CELL, TIP, Grasp, grasps_in, looking_with, spread, view_along
from .handling import reach, release
from .motion import CLOSED, OutOfSteps, Rehearsal
from .scene import Joint, Scene

RANGES = {
    "open": "default_open_ranges",
    "close": "default_close_ranges",
    "turnon": "default_turnon_ranges",
    "turnoff": "default_turnoff_ranges",
}
TILTS = (0.0, 0.6, 1.0, 1.5)  # of the gripper from the vertical, radians; the last is nearly horizontal
AHEAD_M, AHEAD_RAD = 0.05, 0.35  # how far ahead of the link the hand is led
GRIPS_PER_VIEW, PUSH_POINTS = 2, 3
PATIENCE = 18  # control steps without progress of the joint after which a way is given up
FIRM = 3  # control steps to go on after the predicate holds
STANDOFF = 0.05  # where a push begins, before the contact


def ways(move: Rehearsal, fact: Fact) -> Iterator[None]:
    """Rehearse different ways to bring a fixture's joints into the range a fact asks for."""
    names = move.scene.joint_names(fact.subject)
    values = move.env.problem.get_object(move.scene.parent(fact.subject)).object_properties["articulation"]
    wanted = values[RANGES[fact.kind]]
    for name in names:
        joint = move.scene.joint(name)
        goal = max(wanted, key=lambda value, now=joint.value: abs(value - now))  # type: ignore[misc]
        sign = float(np.sign(goal - joint.value))
        kinds = (_pushes, _grips) if fact.kind == "close" else (_grips, _pushes)
        for kind in kinds:
            yield from kind(move, fact, name, sign)


def heading(joint: Joint, point: Array, sign: float) -> Array:
    """Return the direction [3] in which a joint moves a point of its link."""
    if not joint.hinge:
        return joint.axis * sign
    arm = np.cross(joint.axis, point - joint.anchor) * sign
    return unit(arm) if np.linalg.norm(arm) > 1e-6 else joint.axis * 0.0


def displaced(joint: Joint, position: Array, rotation: Array, change: float) -> tuple[Array, Array]:
    """Return where a pose fixed to the link goes when its joint changes by radians or metres."""
    if not joint.hinge:
        return position + joint.axis * change, rotation
    spin = turn(joint.axis, change)
    return joint.anchor + spin @ (position - joint.anchor), spin @ rotation


def _grips(move: Rehearsal, fact: Fact, name: str, sign: float) -> Iterator[None]:
    start = move.mark()
    for grasp in _handle_grasps(move.scene, move.scene.joint(name), sign):
        with suppress(OutOfSteps):
            reach(move, grasp)
            move.go(grasp.position, grasp.rotation, 0.004, limit=40)
            move.grasp()
            if move.scene.gripped(move.scene.subtree(move.scene.joint(name).body)):
                _lead(move, fact, name, sign)
                release(move)
                yield
        move.rewind(start)


def _handle_grasps(scene: Scene, joint: Joint, sign: float) -> list[Grasp]:
    link = scene.subtree(joint.body)
    boxes = scene.boxes(without=scene.robot)
    centre = points_of(scene.boxes(only=link)).mean(axis=0)
    _, current = scene.gripper()
    towards = -heading(joint, centre, sign)
    towards[2] = 0.0
    found = []
    for tilt in TILTS if np.linalg.norm(towards) > 0.3 else TILTS[:1]:
        approach = -np.cos(tilt) * UP + (np.sin(tilt) * unit(towards) if tilt else 0.0)
        found.append(spread(grasps_in(view_along(boxes, link, approach), centre, current), GRIPS_PER_VIEW))
    # The steepest approach first where it offers something: it needs the least of the arm.
    return [grasp for view in found for grasp in view]


def _pushes(move: Rehearsal, fact: Fact, name: str, sign: float) -> Iterator[None]:
    start = move.mark()
    joint = move.scene.joint(name)
    for point in _push_points(move.scene, joint, sign):
        direction = heading(joint, point, sign)
        for tilt in TILTS:
            approach = -np.cos(tilt) * UP + np.sin(tilt) * direction
            # The hand is widest along its closing axis: that goes across the push, away from what lies ahead.
            rotation = looking_with(approach, move.scene.gripper()[1], across=direction)
            contact = point - TIP * approach + 0.02 * approach * np.cos(tilt)
            with suppress(OutOfSteps):
                grasp = Grasp(position=contact - STANDOFF * direction, rotation=rotation, cost=0.0)
                reach(move, grasp)
                move.grip = CLOSED
                if move.go(grasp.position, rotation, 0.012, limit=40):
                    _lead(move, fact, name, sign, contact, rotation)
                    back, _ = move.scene.gripper()
                    move.go(back - 0.06 * heading(joint, point, sign), rotation, 0.02)
                    yield
            move.rewind(start)


def _push_points(scene: Scene, joint: Joint, sign: float) -> list[Array]:
    """Return points [3] of the link's surface that face against its motion, the best lever first."""
    link = scene.subtree(joint.body)
    centre = points_of(scene.boxes(only=link)).mean(axis=0)
    view = view_along(scene.boxes(without=scene.robot), link, heading(joint, centre, sign))
    cells = np.argwhere(view.mask)
    depth = view.depth[view.mask]
    points = np.concatenate([view.corner + CELL * cells, depth[:, None]], axis=1) @ view.frame.T
    if joint.hinge:
        arms = points - joint.anchor
        lever = np.linalg.norm(arms - np.outer(arms @ joint.axis, joint.axis), axis=1)
        cost = -lever
    else:
        sideways = (points - centre) @ view.frame[:, :2]
        cost = np.linalg.norm(sideways, axis=1) + depth - depth.min()
    chosen: list[Array] = []
    for i in np.argsort(cost, kind="stable"):
        if all(np.linalg.norm(points[i] - other) > 0.04 for other in chosen):
            chosen.append(points[i])
        if len(chosen) == PUSH_POINTS:
            break
    return chosen


def _lead(
    move: Rehearsal,
    fact: Fact,
    name: str,
    sign: float,
    position: Array | None = None,
    rotation: Array | None = None,
) -> None:
    """Move the hand along the joint's path until the fact holds or the joint no longer moves."""
    begin = move.scene.joint(name)
    here, axes = move.scene.gripper()
    position = here if position is None else position
    rotation = axes if rotation is None else rotation
    ahead = AHEAD_RAD if begin.hinge else AHEAD_M
    best, stale, firm = begin.value * sign, 0, 0
    while stale < PATIENCE and firm < FIRM:
        now = move.scene.joint(name)
        goal = displaced(begin, position, rotation, now.value - begin.value + sign * ahead)
        move.step(move.towards(*goal, 0.6))
        value = move.scene.joint(name).value * sign
        stale = 0 if value > best + (0.004 if begin.hinge else 0.0007) else stale + 1
        best = max(best, value)
        firm = firm + 1 if holds(move.env.problem, fact) else 0
