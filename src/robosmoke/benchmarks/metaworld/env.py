"""Give Meta-World's tasks the robosmoke contract.

Non-obvious behaviour:

- Upstream ignores ``reset(seed=…)``. Here a seed draws object and goal positions from the task's own
  ranges, by the task's own rejection rule, with a generator of its own. An ``init_state`` k is the k-th
  training task of ``MT1(task, seed=42)``, whatever the seed.
- Every episode steps a new upstream env on a new copy of the once compiled model, because upstream's
  resets move bodies and sites inside the model and keep attributes from the episode before.
- ``state`` is upstream's 39 numbers: hand position (3, m), gripper opening (1, from 0 closed to 1),
  up to two objects (14: position, quaternion, padded with zeros), the same 18 of one step earlier, and the
  goal (3, m). Upstream's own space keeps goal bounds of zero; the bounds here hold every observation.
- ``agent_position`` is the first four numbers of ``state``, the name and content LeRobot uses.
- In seven tasks (dial-turn, door-lock, drawer-open, faucet-open, lever-pull, window-open, window-close) upstream's
  reset moves a body or a joint last and computes no positions from it, so its first observation and picture
  show the object where it stood before, in window-close even as solved. Here both show the world as it is.
  Physics, rewards and all later observations are upstream's bit for bit, but for numbers 18 to 35 of the
  first step's ``state``, which repeat the observation at reset.
- Upstream says nothing about success at reset: its predicate is evaluated there with a zero action, and
  the attributes which that touches are put back.
- Upstream raises on step 501 of an episode; that limit is lifted, the base's horizon counts alone.
- The corner cameras hang upside down: their pictures are rotated by 180 degrees. ``gripperPOV`` and
  ``topview`` look straight down, where the world has no up; theirs is the camera's own, away from the robot's base.
- Goal markers (green balls) are part of every picture, as they are upstream.
"""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from robosmoke.guest.env import BenchmarkEnv, Landmark, Tick, transformed
from robosmoke.guest.rendering import Renderer, place_in_picture

# metaworld/sawyer_xyz_env.py: _HAND_SPACE, metres.
_HAND_LOW, _HAND_HIGH = (-0.525, 0.348, -0.0525), (0.525, 1.025, 0.7)
# The union of the goal spaces of all fifty tasks, metres.
_GOAL_LOW, _GOAL_HIGH = (-0.5, 0.4, -0.15), (0.51, 1.0, 0.5)
_OBJECTS = 14

# The seed of MT1 under which the numbered init states are drawn.
_MT1_SEED = 42

# The elbow is seen by every camera that does not hang on the hand, far from the picture's centre.
_LANDMARK_BODY = "right_l3"
# What the hand's own camera sees: the ball at the tip of the left finger.
_LANDMARK_SITE = "leftEndEffector"
_SITE_CAMERA = "gripperPOV"
_STRIKING_RGBA = (0.0, 1.0, 1.0, 1.0)


class MetaWorldEnv(BenchmarkEnv):
    """Run one Meta-World task; needs ``metaworld`` and ``mujoco`` from the first reset on."""

    preload = ("mujoco", "metaworld.env_dict", "metaworld.policies")
    _raw: Any = None
    _renderer: Renderer | None = None
    _state: NDArray[np.float64]

    def state_spaces(self) -> Mapping[str, gymnasium.spaces.Box]:
        """Return the spaces of ``state`` [39] and ``agent_position`` [4], float64, metres."""
        arm_low, arm_high = np.array([*_HAND_LOW, 0.0]), np.array([*_HAND_HIGH, 1.0])
        objects = np.full(_OBJECTS, np.inf)
        low = np.concatenate([arm_low, -objects, arm_low, -objects, _GOAL_LOW])
        high = np.concatenate([arm_high, objects, arm_high, objects, _GOAL_HIGH])
        return {
            "state": gymnasium.spaces.Box(low, high, dtype=np.float64),
            "agent_position": gymnasium.spaces.Box(arm_low, arm_high, dtype=np.float64),
        }

    def make_action_space(self) -> gymnasium.spaces.Box:
        """Return the space of hand displacement x, y, z (1 is 10 mm) and gripper effort (1 closes)."""
        return gymnasium.spaces.Box(-1.0, 1.0, (4,), np.float64)

    def begin(self, seed: int, init_state: int | None) -> bool:
        """Start an episode on a new upstream env, in the drawn or the numbered world."""
        task = self._drawn_task(seed) if init_state is None else self._mt1_tasks[init_state]
        self._raw = self._world_class()
        self._raw.max_path_length = sys.maxsize
        self._raw.set_task(task)
        self._raw.reset()
        self._settle()
        return self._success_now()

    def tick(self, action: NDArray[np.float64]) -> Tick:
        """Execute one control step (12.5 ms)."""
        self._state, reward, _, _, info = self._raw.step(action)
        return Tick(float(reward), _solved(info))

    def read_state(self, key: str) -> NDArray[np.float64]:
        """Read ``state`` or ``agent_position``."""
        # Upstream shifts its frame stack whenever it observes, so the step's own observation is kept.
        return self._state if key == "state" else self._state[:4]

    def picture(self, camera: str, width_px: int, height_px: int) -> NDArray[np.uint8]:
        """Render one camera now, upright: uint8 [height_px, width_px, 3]."""
        transform = self._camera(camera).transform
        if self._renderer is None:
            self._renderer = Renderer(self._compiled_model)
        camera_id = self._raw.model.camera(camera).id
        raw = self._renderer.draw(self._raw.model, self._raw.data, camera_id, width_px, height_px)
        return np.ascontiguousarray(transformed(raw, transform))

    def physics_state(self) -> NDArray[np.float64]:
        """Return MuJoCo's integration state and every model field that a reset moves."""
        import mujoco

        model, data = self._raw.model, self._raw.data
        state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
        mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
        moved = (model.body_pos, model.body_quat, model.geom_pos, model.site_pos, model.eq_data)
        return np.concatenate([state, *(field.ravel() for field in moved)])

    def landmark(self, camera: str) -> Landmark | None:
        """Project the arm's elbow, or for the hand's camera a finger tip, with the world's up as the picture's."""
        camera_id = self._raw.model.camera(self._camera(camera).name).id
        data = self._raw.data
        on_hand = camera == _SITE_CAMERA
        place = data.site_xpos[self._landmark_site] if on_hand else data.geom_xpos[self._landmark_geom]
        aspect = self.options.width_px / self.options.height_px
        return place_in_picture(self._raw.model, data, camera_id, place, aspect)

    def paint_landmark(self, painted: bool) -> None:
        """Recolour the elbow and the finger tip, or give them the compiled model's colours back."""
        model, own = self._raw.model, self._compiled_model
        geom, site = self._landmark_geom, self._landmark_site
        model.geom_matid[geom] = -1 if painted else own.geom_matid[geom]
        model.geom_rgba[geom] = _STRIKING_RGBA if painted else own.geom_rgba[geom]
        model.site_rgba[site] = _STRIKING_RGBA if painted else own.site_rgba[site]

    def release(self) -> None:
        """Free the simulator and the GL context."""
        self._raw = None
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    # The upstream env ---------------------------------------------------------------------

    @cached_property
    def _upstream_class(self) -> Any:
        from metaworld.env_dict import ALL_V3_ENVIRONMENTS

        return ALL_V3_ENVIRONMENTS[self.task.name]

    @cached_property
    def _compiled_model(self) -> Any:
        """Compile the task's model once; nobody steps it."""
        return self._upstream_class().model

    @cached_property
    def _world_class(self) -> Any:
        """Derive the upstream class that starts from a copy of the compiled model."""
        compiled = self._compiled_model

        def initialize_simulation(_: Any) -> tuple[Any, Any]:
            import mujoco

            model = copy.copy(compiled)
            return model, mujoco.MjData(model)

        members = {"_initialize_simulation": initialize_simulation}
        return type(self._upstream_class.__name__, (self._upstream_class,), members)

    def _drawn_task(self, seed: int) -> Any:
        """Draw object and goal positions as upstream's task sampler does, from a generator of its own."""
        from metaworld.types import Task

        sampler = self._world_class()
        sampler.seed(seed)
        sampler.seeded_rand_vec, sampler._freeze_rand_vec, sampler._set_task_called = True, False, True
        sampler.reset()
        drawn = {"rand_vec": sampler._last_rand_vec, "env_cls": self._upstream_class, "partially_observable": False}
        return Task(env_name=self.task.name, data=pickle.dumps(drawn))

    @cached_property
    def _mt1_tasks(self) -> list[Any]:
        from metaworld import MT1

        return list(MT1(self.task.name, seed=_MT1_SEED).train_tasks)

    def _settle(self) -> None:
        """Bring positions and the observation up to date with what the reset moved; steps nothing."""
        import mujoco

        # Positions alone: a whole forward pass would overwrite the solver's warm start, and with it the trajectory.
        mujoco.mj_kinematics(self._raw.model, self._raw.data)
        mujoco.mj_camlight(self._raw.model, self._raw.data)
        now = self._raw._get_curr_obs_combined_no_goal()
        self._raw._prev_obs = now
        self._state = np.concatenate([now, now, self._raw._get_pos_goal()])

    def _success_now(self) -> bool:
        before = dict(vars(self._raw))
        _, info = self._raw.evaluate_state(self._state, np.zeros(4))
        vars(self._raw).update(before)
        return _solved(info)

    @property
    def _landmark_geom(self) -> int:
        model = self._raw.model
        # The body carries one mesh and, in some scenes, an invisible collision shape after it.
        return int(model.body(_LANDMARK_BODY).geomadr[0])

    @property
    def _landmark_site(self) -> int:
        return int(self._raw.model.site(_LANDMARK_SITE).id)


def _solved(info: Mapping[str, Any]) -> bool:
    # Upstream's flag is a float; a NaN would be true to `bool`.
    return bool(info["success"] == 1.0)
