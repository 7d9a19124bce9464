"""Reset, read and restore the whole state of one LIBERO problem.

Non-obvious behaviour:

- A reset draws fixtures (cabinet, stove, microwave) into ``model.body_pos``, which a stored init state does
  not restore. All drawing uses NumPy's global generator: it is seeded for the reset and put back after it.
- Drawing can fail to place everything; upstream then draws again, for ever. Here it does so a fixed number of times.
- Soft resets keep fixtures, lamp colours and the gripper's last command of the episode before: they are put
  back first, so that a used world resets to the same bits as a new one.
- The arm's controller keeps its goal and the gripper its command from one step to the next: both belong to the
  state.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosmoke.errors import SetupError

_PLACEMENT_ATTEMPTS = 100
_MODEL_FIELDS = ("body_pos", "body_quat", "site_rgba")


@contextmanager
def numpy_seeded(seed: int) -> Iterator[None]:
    """Seed NumPy's global generator inside the block, and give it its own state back after it."""
    before = np.random.get_state()  # noqa: NPY002  (upstream draws from the legacy global generator)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


class World:
    """Hold one LIBERO problem, and give it back the same bits for the same seed and init state."""

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self._pristine = {name: getattr(self.model, name).copy() for name in _MODEL_FIELDS}

    @property
    def model(self) -> Any:
        """Return the MuJoCo model itself, without robosuite's wrapper."""
        return self.problem.sim.model._model

    @property
    def data(self) -> Any:
        """Return the MuJoCo data itself, without robosuite's wrapper."""
        return self.problem.sim.data._data

    def reset(self, seed: int, init_state: NDArray[np.float64]) -> None:
        """Draw the fixtures from ``seed``, then set a stored init state [1 + nq + nv] and read it back.

        Raises `SetupError` when the state does not belong to this scene, or cannot be placed.
        """
        size = 1 + self.model.nq + self.model.nv
        if init_state.shape != (size,):
            raise SetupError(
                f"libero: a stored init state has {init_state.size} numbers, the scene {size}: hf-libero and the"
                " assets are of different versions"
            )
        for name, values in self._pristine.items():
            getattr(self.model, name)[:] = values
        with numpy_seeded(seed):
            self._draw()
        self.problem.robots[0].gripper.current_action[:] = 0.0
        self.problem.sim.set_state_from_flattened(init_state)
        self.problem.sim.forward()
        self._refresh()
        if not np.array_equal(self.problem.sim.get_state().flatten(), init_state):
            raise SetupError("libero: the simulator holds another state than the stored init state it was given")

    def _draw(self) -> None:
        from robosuite.utils.errors import RandomizationError

        for _ in range(_PLACEMENT_ATTEMPTS):
            try:
                self.problem.reset()
            except RandomizationError:
                continue
            return
        raise SetupError(f"libero: the scene could not be placed in {_PLACEMENT_ATTEMPTS} draws: try another seed")

    def solved(self) -> bool:
        """Evaluate the task's goal now."""
        return bool(self.problem._check_success())

    def _refresh(self) -> None:
        """Bring the lamps' colours up to date, as upstream does after setting a state."""
        self.solved()
        self.problem._post_process()

    def state(self) -> NDArray[np.float64]:
        """Return everything that the next steps depend on, as a fresh float64 vector."""
        import mujoco

        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        physics = np.empty(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, self.data, physics, kind)
        return np.concatenate([physics, *(part.ravel() for part in self._parts())])

    def restore(self, state: NDArray[np.float64]) -> None:
        """Put back what `state` returned, for this problem or another one of the same task."""
        import mujoco

        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        parts = self._parts()
        sizes = [mujoco.mj_stateSize(self.model, kind), *(part.size for part in parts)]
        physics, *values = np.split(np.asarray(state, np.float64), np.cumsum(sizes)[:-1])
        for part, value in zip(parts, values, strict=True):
            part[...] = value.reshape(part.shape)
        mujoco.mj_setState(self.model, self.data, physics, kind)
        mujoco.mj_forward(self.model, self.data)
        # The forward pass moves the solver's warm start, which is part of the state.
        mujoco.mj_setState(self.model, self.data, physics, kind)
        self.problem.robots[0].controller.new_update = True
        self._refresh()

    def _parts(self) -> tuple[NDArray[np.float64], ...]:
        """Return the arrays of state outside MuJoCo's own, to be read or written in place."""
        robot = self.problem.robots[0]
        controller = robot.controller
        return (
            self.model.body_pos,
            self.model.body_quat,
            controller.goal_pos,
            controller.goal_ori,
            robot.gripper.current_action,
        )

    def close(self) -> None:
        """Free the simulator."""
        self.problem.close()
