"""RS3xx: reset, seeds and replay."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosmoke.errors import CheckFailed
from robosmoke.guest.checks.registry import check
from robosmoke.guest.checks.subject import TRACE_STEPS, TaskSubject
from robosmoke.guest.env import BenchmarkEnv
from robosmoke.guest.trace import Trace, disturb_global_generators, trace


@check("RS301", "seed-repeats", "the same seed gives the same world, anywhere", cost="cheap")
def seed_repeats(subject: TaskSubject) -> None:
    """Repeat a reset: again, after disturbing the global generators, in a second env, in a new process."""
    name = "RS301 seed-repeats"
    reference = _start(subject.env, subject.seed)
    disturb_global_generators(1)
    _require_same(name, "with the global generators disturbed", reference, _start(subject.env, subject.seed))
    with subject.fresh() as env:
        disturb_global_generators(2)
        _require_same(name, "in a second env", reference, _start(env, subject.seed))
    foreign = subject.foreign_trace
    first = np.concatenate([foreign.states[0], foreign.observations[0]])
    _require_same(name, "in a new process", reference, first)


@check("RS302", "seed-varies", "other seeds give other worlds", cost="instant")
def seed_varies(subject: TaskSubject) -> None:
    """Reset with five seeds and count the distinct worlds."""
    worlds = {_start(subject.env, subject.seed + offset).tobytes() for offset in range(5)}
    if len(worlds) < 5:
        raise CheckFailed(
            f"RS302 seed-varies: 5 seeds gave {len(worlds)} distinct world(s). Most likely reset(seed=…) is ignored."
        )


@check("RS304", "reuse-equals-fresh", "the n-th reset equals a fresh env's", cost="cheap")
def reuse_equals_fresh(subject: TaskSubject) -> None:
    """Use an env for several episodes, then compare its reset and first steps with a fresh env's."""
    for offset in (3, 2, 1):
        trace(subject.env, subject.seed + offset, subject.actions(5))
    used = trace(subject.env, subject.seed, subject.actions(5))
    with subject.fresh() as env:
        fresh = trace(env, subject.seed, subject.actions(5))
    _require_same("RS304 reuse-equals-fresh", "after 3 earlier episodes", _flat(fresh), _flat(used))


@check("RS307", "replay", "the same actions give the same states, bit for bit", cost="cheap")
def replay(subject: TaskSubject) -> None:
    """Replay fixed actions in the same env and in a new process."""
    again = trace(subject.env, subject.seed, subject.actions(TRACE_STEPS))
    _require_same("RS307 replay", "in the same env", _flat(subject.reference_trace), _flat(again))
    _require_same("RS307 replay", "in a new process", _flat(subject.reference_trace), _flat(subject.foreign_trace))


def _start(env: BenchmarkEnv, seed: int) -> NDArray[np.float64]:
    """Return physics state and observations right after a reset, as one vector."""
    first = trace(env, seed, np.zeros((0, 1)))
    return np.concatenate([first.states[0], first.observations[0]])


def _flat(steps: Trace) -> NDArray[np.float64]:
    return np.concatenate([steps.states.ravel(), steps.observations.ravel(), steps.rewards])


def _require_same(check_name: str, where: str, wanted: NDArray[np.float64], seen: NDArray[np.float64]) -> None:
    if wanted.shape != seen.shape:
        raise CheckFailed(f"{check_name}: {where} the world has {seen.size} numbers instead of {wanted.size}")
    if not np.array_equal(wanted, seen, equal_nan=True):
        difference = np.abs(wanted - seen)
        raise CheckFailed(
            f"{check_name}: {where} {int((difference != 0).sum())} of {wanted.size} numbers differ, by up to"
            f" {np.nanmax(difference):.3g}. Most likely something is drawn from a generator that"
            " reset(seed=…) does not seed, or state is left over from an earlier episode."
        )
