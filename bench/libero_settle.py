"""Show how LIBERO's bowls settle and what a step costs: height and tilt at rest, per MuJoCo version.

Run inside each of LIBERO's environments::

    python bench/libero_settle.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import mujoco
import numpy as np

from robosmoke.benchmarks.libero.env import WAIT_ACTION, LiberoEnv
from robosmoke.catalog import find
from robosmoke.guest.env import EnvOptions

TASKS, OBJECT = (0, 5), "akita_black_bowl_1"
# With the ten wait steps of a reset: three seconds.
MORE_WAIT_STEPS, TIMED_STEPS = 50, 60


def main() -> None:
    """Print one line per task of libero_spatial, then the cost of a step."""
    manifest = find("libero").manifest
    for index in TASKS:
        task = manifest.suite["libero_spatial"].tasks[index]
        env = LiberoEnv(manifest, task, EnvOptions(on_success="continue"))
        env.reset(seed=0, options={"init_state": 0})
        env.advance(np.tile(WAIT_ACTION, (MORE_WAIT_STEPS, 1)))
        data, body = env.problem.sim.data, env.problem.obj_body_id[OBJECT]
        upright = float(data.body_xmat[body].reshape(3, 3)[2, 2])
        tilt = np.degrees(np.arccos(min(1.0, upright)))
        print(f"mujoco {mujoco.__version__} task {index}: {OBJECT} at {data.body_xpos[body][2]:.4f} m, {tilt:.1f} deg")
        print(f"  {_step_cost(env)}")
        env.close()


def _step_cost(env: LiberoEnv) -> str:
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (TIMED_STEPS, 7))
    start = env.physics_state()

    def timed(run: Callable[[], object]) -> float:
        env.restore(start)
        begin = time.perf_counter()
        run()
        return (time.perf_counter() - begin) / TIMED_STEPS * 1000

    ours, theirs = [], []
    for _ in range(5):
        ours.append(timed(lambda: env.advance(actions)))
        theirs.append(timed(lambda: [env.problem.step(action) for action in actions]))
    return f"ms per step, least of 5: {min(ours):.2f} by advance, {min(theirs):.2f} by the simulator's own step"


if __name__ == "__main__":
    main()
