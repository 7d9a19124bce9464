"""Search: try skills for one goal fact after another in the private env, keep the actions that work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from . import articulation
from .geometry import Array
from .goal import Fact, holds
from .grasp import CAREFUL, DARING, Grasp
from .handling import grasp_candidates, pick, put, spots
from .inserting import entrance, insert, insertions
from .motion import OutOfSteps, Rehearsal
from .sliding import slides

GRASPS = 12
SPOTS = 3
SETTLE = 10  # control steps


def plan(move: Rehearsal, facts: Sequence[Fact]) -> bool:
    """Rehearse everything that makes the facts hold; tell whether all were reached."""
    reached = True
    with suppress(OutOfSteps):
        move.await_rest()
    targets = [fact.target for fact in facts]
    for fact in in_order(move, facts):
        if not holds(move.env.problem, fact):
            reached = achieve(move, fact, crowded=targets.count(fact.target) > 1) and reached
    return reached


def in_order(move: Rehearsal, facts: Sequence[Fact]) -> list[Fact]:
    """Sort facts: what opens first, then placings, then what closes; opening what must take an object is added."""
    closed = [
        Fact(kind="open", subject=fact.target)
        for fact in facts
        if fact.target is not None and move.scene.joint_names(fact.target)
    ]
    order = {"close": 2, "on": 1, "in": 1}
    return sorted([*dict.fromkeys(closed), *facts], key=lambda fact: order.get(fact.kind, 0))


def achieve(move: Rehearsal, fact: Fact, crowded: bool = False) -> bool:
    """Rehearse one fact; on failure leave the rehearsal where it was.

    A way after which the fact lasts is preferred to one that solves the task for a moment only, as
    LIBERO's protocol counts.
    """
    start = move.mark()
    moment: tuple[Array, ...] = ()
    for _ in attempts(move, fact, crowded):
        if settled(move, fact):
            return True
        if move.solved_at is not None and not moment:
            moment = tuple(move.actions[: move.solved_at])
        move.rewind(start)
    move.rewind(start)
    move.repeat(moment[len(start.actions) :])
    return bool(moment)


def settled(move: Rehearsal, fact: Fact) -> bool:
    """Wait for a fact to hold, for as long as things may still be falling."""
    for _ in range(SETTLE):
        if holds(move.env.problem, fact):
            return True
        try:
            move.hold(1)
        except OutOfSteps:
            break
    return holds(move.env.problem, fact)


def attempts(move: Rehearsal, fact: Fact, crowded: bool) -> Iterator[None]:
    """Rehearse different ways to make a fact hold, yielding after each; every way starts where the call did."""
    if fact.target is None:
        yield from articulation.ways(move, fact)
        return
    direction = entrance(move.scene, fact.target, fact.subject)
    if direction is not None:
        yield from _insertions(move, fact.subject, fact.target, direction)
        return
    careful = grasp_candidates(move.scene, fact.subject, GRASPS, CAREFUL)
    yield from _placings(move, fact.subject, fact.target, careful, crowded)
    yield from slides(move, fact)
    if not careful:
        daring = grasp_candidates(move.scene, fact.subject, GRASPS, DARING)
        yield from _placings(move, fact.subject, fact.target, daring, crowded)


def _placings(move: Rehearsal, name: str, target: str, grasps: Sequence[Grasp], crowded: bool) -> Iterator[None]:
    start = move.mark()
    for grasp in grasps:
        if _picked(move, name, grasp):
            held = move.mark()
            for spot in spots(move.scene, name, target, crowded)[:SPOTS]:
                with suppress(OutOfSteps):  # the attempt is judged by what it reached
                    put(move, name, spot)
                yield
                move.rewind(held)
        move.rewind(start)


def _insertions(move: Rehearsal, name: str, target: str, direction: Array) -> Iterator[None]:
    start = move.mark()
    for insertion in insertions(move.scene, name, target, direction):
        if _picked(move, name, insertion.grasp):
            with suppress(OutOfSteps):
                insert(move, name, insertion)
            yield
        move.rewind(start)


def _picked(move: Rehearsal, name: str, grasp: Grasp) -> bool:
    try:
        return pick(move, name, grasp)
    except OutOfSteps:
        return False
