"""Set a task's goal state directly, step, and read success back: a control that is no expert.

It shows that a task can be solved and that success is seen, where no policy shows it. Nothing is keyed by a
task: what is set where follows from the goal's BDDL predicates, tried one place after another.

Non-obvious behaviour:

- Drawers, doors and knobs are set to the range that their object calls open, closed, on or off, its middle first.
  Some objects call a joint closed only beyond the range they declare, so its ends and a little more are tried too.
- An object is let down onto its target from the target's upper side, in steps, until it touches something; the
  simulator then settles it. Places nearer to the target's centre, and the object's own way up, come first; if that
  leaves no room for a later object, further attempts begin at the target's sides.
- Objects that others stand on are set first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robosmoke.benchmarks.libero.env import WAIT_ACTION, LiberoEnv
from robosmoke.errors import SetupError

Array = NDArray[np.float64]
Predicate = Sequence[str]

# The articulation ranges that LIBERO's objects declare, by predicate.
_RANGES = {
    "open": "default_open_ranges",
    "close": "default_close_ranges",
    "turnon": "default_turnon_ranges",
    "turnoff": "default_turnoff_ranges",
}
# How an object is let down: from at most this high above its target, in steps, metres.
_DROP_M, _DROP_STEP_M = 0.20, 0.004
# Places tried: fractions of the target's half extents along x and y, turns about z (radians), ways to lie (w first).
_FRACTIONS = (0.0, 0.35, -0.35, 0.7, -0.7)
# Where to begin, one attempt each: the centre, then each side, which leaves room for a second object.
_FIRST = ((0.0, 0.0), (0.7, 0.0), (-0.7, 0.0), (0.0, 0.7), (0.0, -0.7))
_TURNS = (0.0, np.pi / 2, np.pi / 4, -np.pi / 4)
_TILTS = ((1.0, 0.0, 0.0, 0.0), (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0), (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0))
# How far beyond a declared range a joint is set at most, radians or metres.
_JOINT_SLACK = 0.01
# Half extents of an object that is a target itself: `On` wants the centres within 30 mm.
_ON_OBJECT_M = 0.02
# Control steps after which a placed object is judged, and in which the whole goal must be seen.
_SETTLE_STEPS, _WATCH_STEPS = 4, 25


@dataclass(frozen=True, kw_only=True)
class Placement:
    """What came of it: step of the first success (from 1), success at the last step, predicates unsolved there."""

    first_success_step: int | None
    held: bool
    unsolved: tuple[str, ...]

    @property
    def solved(self) -> bool:
        """Tell whether the simulator reported success."""
        return self.first_success_step is not None


def place(env: LiberoEnv) -> Placement:
    """Set the goal of an env that was reset under ``on_success = "continue"``, and watch it for 25 steps."""
    goal = [tuple(predicate) for predicate in env.problem.parsed_problem["goal_state"]]
    before = env.physics_state()
    for first in _FIRST:
        env.restore(before)
        _set_goal(env, goal, first=first)
        if env.solved():
            break
    successes = env.advance(np.tile(WAIT_ACTION, (_WATCH_STEPS, 1))).successes
    return Placement(
        first_success_step=int(np.argmax(successes)) + 1 if successes.any() else None,
        held=bool(successes[-1]),
        unsolved=tuple(" ".join(predicate) for predicate in goal if not env.problem._eval_predicate(predicate)),
    )


def _set_goal(env: LiberoEnv, goal: Sequence[tuple[str, ...]], *, first: tuple[float, float]) -> None:
    stated = {predicate[1] for predicate in goal if predicate[0] in _RANGES}
    placing = [predicate for predicate in goal if predicate[0] in ("in", "on")]
    # A drawer that the goal puts something into, and says nothing else about, is opened for it.
    drawers = [("open", target) for _, _, target in placing if target not in stated and _is_drawer(env, target)]
    for predicate in (*goal, *drawers):
        if predicate[0] in _RANGES:
            _articulate(env, predicate)
    for predicate in _supports_first(placing):
        _put(env, predicate, first=first)


def _is_drawer(env: LiberoEnv, target: str) -> bool:
    site = env.problem.object_sites_dict.get(target)
    return bool(site is not None and site.joints) and bool(_joint_range(env, ("open", target)))


def _joint_range(env: LiberoEnv, predicate: Predicate) -> Sequence[float]:
    site = env.problem.object_sites_dict.get(predicate[1])
    owner = env.problem.get_object(predicate[1] if site is None else site.parent_name)
    return owner.object_properties["articulation"].get(_RANGES[predicate[0]], ())  # type: ignore[no-any-return]


def _articulate(env: LiberoEnv, predicate: Predicate) -> None:
    """Set a joint to the first value about its range that its object agrees to and keeps."""
    low, high = min(_joint_range(env, predicate)), max(_joint_range(env, predicate))
    before = env.physics_state()
    for value in ((low + high) / 2, low, high, low - _JOINT_SLACK, high + _JOINT_SLACK):
        env.restore(before)
        env.problem.object_states_dict[predicate[1]].set_joint(float(value))
        env.problem.sim.forward()
        env.advance(np.tile(WAIT_ACTION, (_SETTLE_STEPS, 1)))
        if env.problem._eval_predicate(predicate):
            return


def _supports_first(predicates: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    ordered: list[tuple[str, ...]] = []
    left = list(predicates)
    while left:
        moved = {predicate[1] for predicate in left}
        ready = [predicate for predicate in left if predicate[2] not in moved] or left[:1]
        ordered += ready
        left = [predicate for predicate in left if predicate not in ready]
    return ordered


def _put(env: LiberoEnv, predicate: Predicate, *, first: tuple[float, float]) -> None:
    """Try places until the predicate holds after a few steps; the last one tried stays if none does."""
    body = _Body(env, predicate[1])
    before = env.physics_state()
    for pose in _poses(env, body, predicate[2], first=first):
        env.restore(before)
        if not body.let_down(pose):
            continue
        env.advance(np.tile(WAIT_ACTION, (_SETTLE_STEPS, 1)))
        if env.problem._eval_predicate(predicate):
            return


@dataclass(frozen=True, kw_only=True)
class _Pose:
    """Where to let an object down: over ``xy``, its centre from ``top`` to ``bottom``, turned to ``quat`` (w first)."""

    xy: Array
    top: float
    bottom: float
    quat: Array


def _poses(env: LiberoEnv, body: _Body, target: str, *, first: tuple[float, float]) -> Iterator[_Pose]:
    centre, half = _extents(env, target)
    # From above if it is open, else from below its ceiling, else from its middle.
    tops = (centre[2] + half[2] + _DROP_M, centre[2] + half[2], centre[2])
    places = sorted(itertools.product(_FRACTIONS, _FRACTIONS), key=lambda place: np.hypot(*np.subtract(place, first)))
    for tilt, turn in itertools.product(_TILTS, _TURNS):
        quat = _multiply(_about_z(turn), _multiply(np.array(tilt), body.quat))
        for fractions, top in itertools.product(places, tops):
            xy = centre[:2] + np.array(fractions) * half[:2]
            yield _Pose(xy=xy, top=top, bottom=centre[2] - half[2], quat=quat)


def _extents(env: LiberoEnv, target: str) -> tuple[Array, Array]:
    """Return centre and half extents [3] along the world's axes, metres."""
    problem = env.problem
    site = problem.object_sites_dict.get(target)
    if site is None:
        return np.array(problem.sim.data.body_xpos[problem.obj_body_id[target]]), np.full(3, _ON_OBJECT_M)
    turn = np.array(problem.sim.data.get_site_xmat(target)).reshape(3, 3)
    return np.array(problem.sim.data.get_site_xpos(target)), np.abs(turn) @ np.abs(np.asarray(site.size, np.float64))


class _Body:
    """A movable object: its free joint, its geoms, and its way up before it was moved."""

    def __init__(self, env: LiberoEnv, name: str) -> None:
        self._sim = env.problem.sim
        model = self._sim.model._model
        root = env.problem.obj_body_id[name]
        joint = model.body_jntadr[root]
        if joint < 0 or model.jnt_type[joint] != 0:
            raise SetupError(f"libero: {name} has no free joint, so it cannot be placed")
        self._qpos = slice(model.jnt_qposadr[joint], model.jnt_qposadr[joint] + 7)
        self._qvel = slice(model.jnt_dofadr[joint], model.jnt_dofadr[joint] + 6)
        self._geoms = np.flatnonzero(model.body_rootid[model.geom_bodyid] == root)
        self.quat = np.array(self._sim.data.qpos[self._qpos])[3:]

    def let_down(self, pose: _Pose) -> bool:
        """Lower the object until it touches something; return whether there was room for it at the top."""
        height, room = pose.top, False
        while height >= pose.bottom:
            self._set(pose, height)
            if self._touches():
                break
            room = True
            height -= _DROP_STEP_M
        if room:
            self._set(pose, height + _DROP_STEP_M)
        return room

    def _set(self, pose: _Pose, height: float) -> None:
        self._sim.data.qpos[self._qpos] = [*pose.xy, height, *pose.quat]
        self._sim.data.qvel[self._qvel] = 0.0
        self._sim.forward()

    def _touches(self) -> bool:
        data = self._sim.data._data
        mine = np.isin(data.contact.geom, self._geoms)
        # A contact between two of its own geoms is none.
        return bool((mine.any(axis=1) & ~mine.all(axis=1)).any())


def _about_z(turn: float) -> Array:
    return np.array([np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2)])


def _multiply(first: Array, second: Array) -> Array:
    """Multiply two quaternions, w first: turn by ``second``, then by ``first``."""
    w, v = first[0], first[1:]
    x, u = second[0], second[1:]
    return np.concatenate([[w * x - v @ u], w * u + x * v + np.cross(v, u)])
