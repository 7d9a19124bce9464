"""Traces: what a seed and fixed actions lead to, compared bit for bit across envs and processes."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosmoke.guest.env import BenchmarkEnv, EnvOptions
from robosmoke.guest.loading import make_env
from robosmoke.manifest import Task
from robosmoke.schema import SmokeRequest, read

NEW_PROCESS_TIMEOUT_S = 240


@dataclass(frozen=True, kw_only=True)
class Trace:
    """States and observations [n + 1, D] at reset and after each action; rewards [n]."""

    states: NDArray[np.float64]
    observations: NDArray[np.float64]
    rewards: NDArray[np.float64]


def trace(env: BenchmarkEnv, seed: int, actions: NDArray[np.float64]) -> Trace:
    """Reset with a seed, execute the actions [n, A] and keep what was seen, no pictures."""
    env.reset(seed=seed)
    keys = tuple(env.state_spaces())
    states = [env.physics_state()]
    observations = [_flat(env, keys)]
    rewards: list[float] = []
    for action in actions:
        outcome = env.advance(action[None])
        states.append(env.physics_state())
        observations.append(_flat(env, keys))
        rewards.extend(outcome.rewards.tolist())
        if outcome.done:
            break
    return Trace(states=np.array(states), observations=np.array(observations), rewards=np.array(rewards))


def trace_in_new_process(request: Path, task: Task, seed: int, actions: NDArray[np.float64]) -> Trace:
    """Take the same trace in a new interpreter whose global generators start elsewhere.

    Raises `RuntimeError` with the child's last line when it fails.
    """
    order = {"request": str(request), "task": f"{task.suite}/{task.name}", "seed": seed, "actions": actions.tolist()}
    child = subprocess.run(
        [sys.executable, "-m", "robosmoke.guest.trace"],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        timeout=NEW_PROCESS_TIMEOUT_S,
        check=False,
    )
    if child.returncode != 0:
        last = (child.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"the env failed in a new process (exit {child.returncode}): {last}")
    answer: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return Trace(**{key: np.array(value, np.float64) for key, value in answer.items()})


def disturb_global_generators(seed: int) -> None:
    """Reseed Python's, NumPy's and, where it is loaded, torch's global generators."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  (the legacy global generator is what must not matter)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def _flat(env: BenchmarkEnv, keys: tuple[str, ...]) -> NDArray[np.float64]:
    observation = env.observe(keys)
    parts = [np.ravel(observation[key]).astype(np.float64) for key in keys]
    return np.concatenate(parts) if parts else np.zeros(0)


def _main() -> None:
    """Answer one order from standard input with a trace on standard output (JSON floats round-trip)."""
    order = json.load(sys.stdin)
    request = read(Path(order["request"]), SmokeRequest)
    disturb_global_generators(987_654_321)
    side_px = request.manifest.smoke.picture_px
    env = make_env(
        request.manifest, request.manifest.task(order["task"]), EnvOptions(width_px=side_px, height_px=side_px)
    )
    result = trace(env, order["seed"], np.array(order["actions"], np.float64))
    env.close()
    print()
    print(json.dumps({key: value.tolist() for key, value in vars(result).items()}))


if __name__ == "__main__":
    _main()
