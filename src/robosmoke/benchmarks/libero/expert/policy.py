"""Solve LIBERO tasks with a few general skills, rehearsed in a private second env.

Non-obvious behaviour:

- The expert reads ``physics_state`` (privileged), puts its private env into that state, rehearses skills
  there until the goal's predicates hold, and answers with the rehearsed actions: the evaluated env sees
  plain OSC_POSE actions and nothing else.
- Rehearsal is deterministic, and so is the simulator: the evaluated env repeats it bit for bit.
- The goal and all geometry come from LIBERO's parsed BDDL problem and from the simulator; nothing is keyed
  by a task's name or number.
- A chunk may last the whole episode. If it ends without success, the expert plans again from what it then
  sees; where it finds no way it holds still.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import gymnasium
import numpy as np

from robosmoke.guest.env import EnvOptions, Observation
from robosmoke.manifest import Task
from robosmoke.schema import Episode

from .geometry import Array
from .goal import facts_of
from .motion import OPEN, PrivateEnv, Rehearsal
from .plan import plan

if TYPE_CHECKING:
    from robosmoke.guest.env import BenchmarkEnv

IDLE = 10  # control steps of holding still where no way is found


class LiberoExpert:
    """Solve one task from ground truth; needs LIBERO from the first start on."""

    name = "expert"
    observation_keys: tuple[str, ...] = ("physics_state",)

    def __init__(self, task: Task) -> None:
        self._task = task
        self._private: BenchmarkEnv | None = None

    def start(self, episode: Episode, action_space: gymnasium.spaces.Box) -> Rehearsed:
        """Begin an episode; the private env is made at the first start and kept."""
        from robosmoke.catalog import find
        from robosmoke.guest.loading import make_env

        if self._private is None:
            # Success must not end a rehearsal: the gripper has yet to let go.
            self._private = make_env(find("libero").manifest, self._task, EnvOptions(on_success="continue"))
            self._private.reset(seed=episode.seed)
        return Rehearsed(cast(PrivateEnv, self._private), self._task.horizon)


class Rehearsed:
    """Answer one episode's observations with rehearsed actions."""

    def __init__(self, private: PrivateEnv, horizon: int) -> None:
        self._private = private
        self._left = horizon
        self._lost = False

    def act(self, observation: Observation) -> Array:
        """Return the actions [H, 7] that lead from the observed state to the goal, or hold still [10, 7]."""
        actions: list[Array] = []
        if not self._lost and self._left > 0:
            self._private.restore(observation["physics_state"])
            move = Rehearsal(self._private, self._left)
            plan(move, facts_of(self._private.problem))
            actions = move.actions
            self._lost = not actions
        if not actions:
            actions = [np.append(np.zeros(6), OPEN)] * IDLE
        self._left -= len(actions)
        return np.array(actions)
