"""Search: try skills for one goal fact after another in the private env, keep the actions that work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

from .goal import Fact, holds
from .grasp import Grasp
from .handling import grasp_candidates, pick, put, spots
from .motion import OutOfSteps, Rehearsal

GRASPS = 6
SPOTS = 3
SETTLE = 10  # control steps


def plan(move: Rehearsal, facts: Sequence[Fact]) -> bool:
    """Rehearse everything that makes the facts hold; tell whether all were reached."""
    reached = True
    for fact in facts:
        if not holds(move.env.problem, fact):
            reached = achieve(move, fact) and reached
    return reached


def achieve(move: Rehearsal, fact: Fact) -> bool:
    """Rehearse one fact; on failure leave the rehearsal where it was."""
    start = move.mark()
    for _ in attempts(move, fact):
        if settled(move, fact):
            return True
        move.rewind(start)
    move.rewind(start)
    return False


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


def attempts(move: Rehearsal, fact: Fact) -> Iterator[None]:
    """Rehearse different ways to make a fact hold, yielding after each; every way starts where the call did."""
    if fact.target is not None:
        yield from placings(move, fact.subject, fact.target)


def placings(move: Rehearsal, name: str, target: str) -> Iterator[None]:
    """Rehearse pick and place with different grasps and places."""
    for grasp in grasp_candidates(move.scene, name, GRASPS):
        start = move.mark()
        if not _picked(move, name, grasp):
            move.rewind(start)
            continue
        held = move.mark()
        for spot in islice(spots(move.scene, name, target), SPOTS):
            with suppress(OutOfSteps):  # the attempt is judged by what it reached
                put(move, name, spot)
            yield
            move.rewind(held)
        move.rewind(start)


def _picked(move: Rehearsal, name: str, grasp: Grasp) -> bool:
    try:
        return pick(move, name, grasp)
    except OutOfSteps:
        return False
