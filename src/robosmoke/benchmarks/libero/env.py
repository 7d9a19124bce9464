"""Give LIBERO's tasks the robosmoke contract.

Non-obvious behaviour:

- An episode starts as LIBERO's published protocol has it: seed, reset, stored init state, then the suite's
  wait steps with an open gripper. The seed draws where fixtures stand; the init state all else. Without an
  ``init_state`` the seed chooses one: number ``seed % 50``.
- Observations are read when asked for, at the end of the control step. Upstream samples them inside the step, up
  to two physics steps (4 ms) earlier.
- ``robot0_eef_quat`` is in x, y, z, w order, and that of the hand's body; ``robot0_eef_pos`` is the grip site's.
- Upstream withholds its end flag at its horizon and raises on the step after; its own horizon is switched off
  here, and the base's counts alone.
- Success is upstream's predicate at this instant. It is not latched: an object that slips off unsolves the task.
- Pictures are upright and not mirrored: upstream's raw ones, turned top to bottom (``flip_vertical``).
- `problem` and `restore` are for experts' dry runs and for placed controls; a policy sees neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from robosmoke.benchmarks.libero.marker import Marker
from robosmoke.benchmarks.libero.upstream import load_init_states, make_problem
from robosmoke.benchmarks.libero.world import World, numpy_seeded
from robosmoke.errors import UsageError
from robosmoke.guest.env import BenchmarkEnv, Landmark, Tick, transformed
from robosmoke.guest.rendering import Renderer, place_in_picture

# Wait with an open gripper, as openpi and LeRobot do.
WAIT_ACTION = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0)
# Panda's joint limits, radians (robosuite/models/assets/robots/panda/robot.xml). MuJoCo's limits give way a little.
_JOINT_LOW = (-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973)
_JOINT_HIGH = (2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973)
_JOINT_SLACK = 0.1
# A finger slides 40 mm (robosuite/models/assets/grippers/panda_gripper.xml), the right one to negative values.
_FINGER_M, _FINGER_SLACK = 0.04, 0.01
# A unit quaternion's rounding.
_UNIT = 1.0 + 1e-9
# robosuite draws collision geoms in group 0 and visual ones in group 1, and hides the former.
_COLLISION_GROUP = 0


class LiberoEnv(BenchmarkEnv):
    """Run one LIBERO task; needs hf-libero, its assets and torch from the first reset on."""

    _world: World | None = None
    _renderer: Renderer | None = None

    @cached_property
    def _marker(self) -> Marker:
        return Marker()

    def state_spaces(self) -> Mapping[str, gymnasium.spaces.Box]:
        """Return the spaces of pose (m), joints (rad), fingers (m) and their speeds per second, float64."""
        joint_low, joint_high = np.array(_JOINT_LOW) - _JOINT_SLACK, np.array(_JOINT_HIGH) + _JOINT_SLACK
        finger = np.array([_FINGER_M, 0.0])
        return {
            "robot0_eef_pos": gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float64),
            "robot0_eef_quat": gymnasium.spaces.Box(-_UNIT, _UNIT, (4,), np.float64),
            "robot0_gripper_qpos": gymnasium.spaces.Box(
                -finger[::-1] - _FINGER_SLACK, finger + _FINGER_SLACK, dtype=np.float64
            ),
            "robot0_gripper_qvel": gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64),
            "robot0_joint_pos": gymnasium.spaces.Box(joint_low, joint_high, dtype=np.float64),
            "robot0_joint_vel": gymnasium.spaces.Box(-np.inf, np.inf, (7,), np.float64),
        }

    def make_action_space(self) -> gymnasium.spaces.Box:
        """Return the space of OSC_POSE: hand x, y, z (1 is 50 mm), turn (1 is 0.5 rad), gripper (1 closes)."""
        return gymnasium.spaces.Box(-1.0, 1.0, (7,), np.float64)

    def begin(self, seed: int, init_state: int | None) -> bool:
        """Start an episode in a stored init state, fixtures drawn from the seed, and wait for it to settle."""
        number = seed % len(self._init_states) if init_state is None else init_state
        if self._world is None:
            with numpy_seeded(0):
                self._world = World(make_problem(self.task))
        self._world.reset(seed, self._init_states[number])
        for _ in range(self.task.wait_steps):
            self.tick(np.array(WAIT_ACTION))
        return self._world.solved()

    def tick(self, action: NDArray[np.float64]) -> Tick:
        """Execute one control step (50 ms)."""
        _, reward, solved, _ = self.problem.step(action)
        return Tick(float(reward), bool(solved))

    def read_state(self, key: str) -> NDArray[np.float64]:
        """Read one proprioceptive observation now."""
        data, robot = self._live.data, self.problem.robots[0]
        if key == "robot0_eef_pos":
            return np.array(data.site_xpos[robot.eef_site_id])
        if key == "robot0_eef_quat":
            hand = self._live.model.body(robot.robot_model.eef_name).id
            return np.array(data.xquat[hand][[1, 2, 3, 0]])
        where = {
            "robot0_gripper_qpos": (data.qpos, robot._ref_gripper_joint_pos_indexes),
            "robot0_gripper_qvel": (data.qvel, robot._ref_gripper_joint_vel_indexes),
            "robot0_joint_pos": (data.qpos, robot._ref_joint_pos_indexes),
            "robot0_joint_vel": (data.qvel, robot._ref_joint_vel_indexes),
        }
        values, places = where[key]
        return np.array(values[places])

    def picture(self, camera: str, width_px: int, height_px: int) -> NDArray[np.uint8]:
        """Render one camera now, upright: uint8 [height_px, width_px, 3]."""
        transform = self._camera(camera).transform
        world = self._live
        if self._renderer is None:
            self._renderer = Renderer(world.model, hidden_groups={_COLLISION_GROUP})
        with self._marker.shown(world, camera):
            top_first = self._renderer.draw(world.model, world.data, self._camera_id(camera), width_px, height_px)
        # Upstream hands pictures out as OpenGL has them, bottom row first: the manifest's transform starts from those.
        return np.ascontiguousarray(transformed(top_first[::-1], transform))

    def physics_state(self) -> NDArray[np.float64]:
        """Return MuJoCo's integration state, where the fixtures stand, and the controllers' memory."""
        return self._live.state()

    def landmark(self, camera: str) -> Landmark | None:
        """Project the marker, with the world's up as the picture's."""
        world = self._live
        aspect = self.options.width_px / self.options.height_px
        place = self._marker.place(world, camera)
        return place_in_picture(world.model, world.data, self._camera_id(camera), place, aspect)

    def paint_landmark(self, painted: bool) -> None:
        """Show the marker in pictures from now on, or hide it again."""
        self._marker.visible = painted

    def release(self) -> None:
        """Free the simulator and the GL context."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
        if self._world is not None:
            self._world.close()
            self._world = None

    # Ground truth, for experts and placed controls ------------------------------------------

    @property
    def problem(self) -> Any:
        """Return LIBERO's own env object; raises `UsageError` before the first reset and after close."""
        return self._live.problem

    def restore(self, state: NDArray[np.float64]) -> None:
        """Put the world into a state that `physics_state` returned in any env of this task; steps count from 0."""
        self._live.restore(state)
        self._steps, self._over = 0, False

    def solved(self) -> bool:
        """Evaluate the task's goal now."""
        return self._live.solved()

    @property
    def _live(self) -> World:
        if self._world is None:
            raise UsageError(f"{self.task.name}: nothing is simulated yet: call reset() first")
        return self._world

    @cached_property
    def _init_states(self) -> NDArray[np.float64]:
        return load_init_states(self.task)

    def _camera_id(self, camera: str) -> int:
        return int(self._live.model.camera(self._camera(camera).name.removesuffix("_image")).id)
