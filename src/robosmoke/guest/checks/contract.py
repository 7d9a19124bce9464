"""RS2xx: the Gymnasium contract."""

from __future__ import annotations

import json

import gymnasium
import numpy as np

from robosmoke.errors import CheckFailed, EnvClosed, InvalidAction
from robosmoke.guest.checks.registry import check
from robosmoke.guest.checks.subject import TaskSubject
from robosmoke.guest.env import BenchmarkEnv

CONTRACT_STEPS = 10


@check("RS201", "spaces", "every observation lies in its space, at reset and at every step", cost="cheap")
def spaces(subject: TaskSubject) -> None:
    """Reset and step with in-space actions, one camera on; compare with the space each time."""
    camera = subject.manifest.camera[0].name
    with subject.fresh(cameras=(camera,)) as env:
        observation, _ = env.reset(seed=subject.seed)
        _require_in_space(env, observation, "at reset")
        for step, action in enumerate(subject.actions(2), start=1):
            _require_in_space(env, env.step(action)[0], f"at step {step}")
    # Without cameras: many more steps for the price of one picture.
    subject.env.reset(seed=subject.seed)
    for step, action in enumerate(subject.actions(CONTRACT_STEPS), start=1):
        _require_in_space(subject.env, subject.env.step(action)[0], f"at step {step}")


def _require_in_space(env: BenchmarkEnv, observation: object, when: str) -> None:
    space = env.observation_space
    assert isinstance(space, gymnasium.spaces.Dict)
    if not isinstance(observation, dict) or type(observation) is not dict:
        raise CheckFailed(f"RS201 spaces: {when} the observation is a {type(observation).__name__}, not a plain dict")
    if set(observation) != set(space.spaces):
        raise CheckFailed(
            f"RS201 spaces: {when} the keys are {sorted(observation)}, the space declares {sorted(space.spaces)}"
        )
    for key, part in space.spaces.items():
        value = observation[key]
        if part.contains(value):
            continue
        box = part if isinstance(part, gymnasium.spaces.Box) else None
        seen = f"shape {value.shape} {value.dtype}"
        if box is not None and value.shape == box.shape:
            outside = (value < box.low) | (value > box.high)
            seen += f", {int(outside.sum())} of {value.size} values outside, e.g. index {int(np.argmax(outside))}"
        raise CheckFailed(
            f"RS201 spaces: {when} {key!r} is not in its space {part}: {seen}. Most likely the space"
            " is declared from other bounds or another dtype than the simulator's."
        )


@check("RS202", "actions", "in-space actions are accepted, malformed ones are refused", cost="instant")
def actions(subject: TaskSubject) -> None:
    """Send samples, then a wrong shape, a NaN and an out-of-space action."""
    env, space = subject.env, subject.env.action_box
    env.reset(seed=subject.seed)
    space.seed(subject.seed)
    env.step(space.sample().astype(np.float64))
    span = space.high - space.low
    malformed = {
        "a wrong shape": np.zeros((*space.shape, 2)),
        "a NaN": np.full(space.shape, np.nan),
        "an out-of-space value": space.high + span,
    }
    for what, action in malformed.items():
        try:
            env.step(action)
        except InvalidAction:
            continue
        raise CheckFailed(
            f"RS202 actions: {what} was executed without a word. Most likely the adapter overrides"
            " step() and passes the action on unchecked."
        )


@check("RS203", "horizon", "the env truncates exactly at the horizon", cost="cheap")
def horizon(subject: TaskSubject) -> None:
    """Send the zero action until the end, and count the steps."""
    record = subject.episode("zero")
    if record.error:
        raise CheckFailed(f"RS203 horizon: the episode broke after {record.steps} steps: {record.error}")
    if record.success_any:
        raise CheckFailed("RS203 horizon: doing nothing solved the task, so its horizon was never reached")
    if record.steps != subject.task.horizon:
        raise CheckFailed(
            f"RS203 horizon: truncated after {record.steps} steps, the manifest says {subject.task.horizon}."
            " Most likely a second time limit is at work, or the count is off by one."
        )


@check("RS204", "language", "the task has an instruction, the same from metadata and env", cost="instant")
def language(subject: TaskSubject) -> None:
    """Compare the manifest's instruction with the env's."""
    said = subject.env.task_description
    if not subject.task.instruction.strip() or said != subject.task.instruction:
        raise CheckFailed(
            f"RS204 language: metadata says {subject.task.instruction!r}, the env says {said!r}:"
            " a language-conditioned policy would be given the wrong task"
        )


@check("RS205", "success-key", "success is a plain bool at reset and at every step", cost="instant")
def success_key(subject: TaskSubject) -> None:
    """Look at ``info`` after reset and steps, and at what JSON makes of it."""
    infos = [subject.env.reset(seed=subject.seed)[1]]
    infos += [subject.env.step(action)[4] for action in subject.actions(3)]
    for step, info in enumerate(infos):
        where = "reset" if step == 0 else f"step {step}"
        if "success" not in info:
            raise CheckFailed(f"RS205 success-key: info has no 'success' at {where}: a missing key reads as 0 %")
        if type(info["success"]) is not bool:
            raise CheckFailed(f"RS205 success-key: success is a {type(info['success']).__name__} at {where}")
        json.dumps(info, allow_nan=False)


@check("RS206", "buffers", "what was returned does not change later", cost="instant")
def buffers(subject: TaskSubject) -> None:
    """Keep observation and info of one step, take more steps, and look again."""
    first, _ = subject.env.reset(seed=subject.seed)
    kept = {key: value.copy() for key, value in first.items()}
    for action in subject.actions(5):
        subject.env.step(action)
    changed = [key for key in kept if not np.array_equal(kept[key], first[key])]
    if changed:
        raise CheckFailed(
            f"RS206 buffers: the observation returned by reset changed {changed} when the env was stepped."
            " Most likely the simulator's own array is returned; copy it."
        )


@check("RS207", "finite-reward", "every reward is a finite float", cost="instant")
def finite_reward(subject: TaskSubject) -> None:
    """Step with random actions and look at each reward."""
    subject.env.reset(seed=subject.seed)
    for step, action in enumerate(subject.actions(CONTRACT_STEPS), start=1):
        reward = subject.env.step(action)[1]
        if type(reward) is not float or not np.isfinite(reward):
            raise CheckFailed(f"RS207 finite-reward: step {step} gave {reward!r}: means over it are lost silently")


@check("RS208", "close", "close twice is fine, use after close says so, another env then works", cost="cheap")
def close(subject: TaskSubject) -> None:
    """Render, close twice, use the closed env, then build, reset and render another one."""
    camera = subject.manifest.review_camera
    with subject.fresh(cameras=(camera,)) as env:
        env.reset(seed=subject.seed)
        env.close()
        env.close()
        try:
            env.reset(seed=subject.seed)
        except EnvClosed:
            pass
        else:
            raise CheckFailed("RS208 close: a closed env was reset without a word")
    with subject.fresh(cameras=(camera,)) as env:
        env.reset(seed=subject.seed)
