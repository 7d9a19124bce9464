"""Closed-loop motions rehearsed in the private env; what is kept are the plain actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .geometry import Array, rotation_vector
from .scene import Scene

STEP_M, STEP_RAD = 0.05, 0.5  # what an action of 1 asks of OSC_POSE (robosuite's osc_pose.json)
OPEN, CLOSED = -1.0, 1.0
MOVING = 0.1  # metres per second
GAIN = 1.6  # above 1, since the controller approaches each asked point only by about half per step


class PrivateEnv(Protocol):
    """What the expert needs of its own second env."""

    problem: Any

    def restore(self, state: Array) -> None:
        """Put the env into a physics state."""

    def advance(self, actions: Array) -> Any:
        """Execute actions [H, 7]."""

    def physics_state(self) -> Array:
        """Return the whole physical state."""

    def solved(self) -> bool:
        """Tell whether the task's predicate holds now."""


class OutOfSteps(Exception):
    """The rehearsal would be longer than the episode has steps left."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A point of a rehearsal to come back to."""

    state: Array
    actions: tuple[Array, ...]
    grip: float
    solved_at: int | None


class Rehearsal:
    """Drive the private env step by step and record every action."""

    def __init__(self, env: PrivateEnv, budget: int) -> None:
        self.env = env
        self.scene = Scene(env.problem)
        self.budget = budget
        self.actions: list[Array] = []
        self.grip = OPEN
        self.solved_at: int | None = None

    def mark(self) -> Mark:
        """Remember this moment."""
        return Mark(
            state=self.env.physics_state(), actions=tuple(self.actions), grip=self.grip, solved_at=self.solved_at
        )

    def rewind(self, mark: Mark) -> None:
        """Return to a remembered moment."""
        self.env.restore(mark.state)
        self.actions[:] = mark.actions
        self.grip, self.solved_at = mark.grip, mark.solved_at

    def repeat(self, actions: Sequence[Array]) -> None:
        """Execute recorded actions [7] again."""
        for action in actions:
            self.grip = float(action[6])
            self.step(action[:6])

    def step(self, motion: Array) -> None:
        """Execute one step: motion [6] in action units; raises `OutOfSteps` beyond the budget."""
        if len(self.actions) >= self.budget:
            raise OutOfSteps
        action = np.append(np.clip(motion, -1.0, 1.0), self.grip)
        self.env.advance(action[None])
        self.actions.append(action)
        if self.solved_at is None and self.env.solved():
            self.solved_at = len(self.actions)

    def hold(self, steps: int, grip: float | None = None) -> None:
        """Keep still, with a new gripper command if one is given."""
        self.grip = self.grip if grip is None else grip
        position, rotation = self.scene.gripper()
        for _ in range(steps):
            self.step(self.towards(position, rotation, 1.0))

    def await_rest(self, limit: int = 40) -> None:
        """Keep still while any object is still falling or rolling: scenes may begin in mid-air."""
        while limit and self.scene.speed() > MOVING:
            self.hold(1)
            limit -= 1

    def grasp(self, limit: int = 30) -> None:
        """Close the gripper until the fingers stop, plus a few steps to build up force."""
        position, rotation = self.scene.gripper()
        self.grip, still = CLOSED, 0
        for _ in range(limit):
            before = self.scene.opening()
            self.step(self.towards(position, rotation, 1.0))
            still = still + 1 if before - self.scene.opening() < 0.0005 else 0
            if still == 4:
                return

    def towards(self, position: Array, rotation: Array, speed: float) -> Array:
        """Return the motion [6] in action units that leads straight to a pose."""
        here, axes = self.scene.gripper()
        shift = GAIN * (position - here) / STEP_M
        length = float(np.abs(shift).max())
        if length > speed:  # keep the direction, so that paths are straight
            shift *= speed / length
        spin = np.clip(GAIN * rotation_vector(rotation @ axes.T) / STEP_RAD, -speed, speed)
        return np.concatenate([shift, spin])

    def distance(self, position: Array, rotation: Array) -> tuple[float, float]:
        """Return how far the gripper is from a pose, in metres and radians."""
        here, axes = self.scene.gripper()
        return float(np.linalg.norm(position - here)), float(np.linalg.norm(rotation_vector(rotation @ axes.T)))

    def go(
        self, position: Array, rotation: Array, tolerance_m: float = 0.006, speed: float = 1.0, limit: int = 70
    ) -> bool:
        """Move to a pose [3], [3, 3]; stop at it, or where the arm no longer gets nearer; return which."""
        best, stale = np.inf, 0
        for _ in range(limit):
            metres, radians = self.distance(position, rotation)
            if metres < tolerance_m and radians < 0.04 + 4 * tolerance_m:
                return True
            error = metres + 0.1 * radians
            stale = 0 if error < best - 0.001 else stale + 1
            best = min(best, error)
            if stale >= 8:
                return False
            self.step(self.towards(position, rotation, speed))
        return False
