"""The env base: ``advance`` steps physics, ``observe`` reads, and Gymnasium sees a plain eager env."""

from __future__ import annotations

import abc
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from robosmoke.errors import EnvClosed, InvalidAction, NotInstalled, UsageError, unknown_name
from robosmoke.manifest import Camera, Manifest, OnSuccess, Task, Transform

Observation = dict[str, NDArray[Any]]
# The key under which `observe` gives the whole physical state; it is in no observation space. A policy that asks
# for it is privileged: it knows what no robot can see.
PHYSICS_STATE = "physics_state"


@dataclass(frozen=True, kw_only=True)
class EnvOptions:
    """How an env is built; ``width_px`` and ``height_px`` size the observation pictures.

    ``transform`` gives observation pictures as a policy was trained on them, in place of upright ones: it starts
    from the simulator's raw picture, as the manifest's own transform of the camera does. Raises `UsageError`
    for a picture of no pixels.
    """

    cameras: tuple[str, ...] = ()
    width_px: int = 128
    height_px: int = 128
    on_success: OnSuccess | None = None
    transform: Transform | None = None

    def __post_init__(self) -> None:
        for side in ("width_px", "height_px"):
            if (size_px := getattr(self, side)) < 1:
                raise UsageError(f"{side}={size_px}: a picture is at least 1 pixel wide and high")


class Tick(NamedTuple):
    """What one simulator step gave: its reward and this instant's success predicate."""

    reward: float
    success: bool


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What ``advance`` did: ``rewards`` float64 [n], ``successes`` bool [n], n <= H steps executed."""

    rewards: NDArray[np.float64]
    successes: NDArray[np.bool_]
    terminated: bool
    truncated: bool

    @property
    def steps(self) -> int:
        """Count the control steps executed."""
        return len(self.rewards)

    @property
    def done(self) -> bool:
        """Tell whether the episode is over."""
        return self.terminated or self.truncated


class Landmark(NamedTuple):
    """Where a recolourable landmark must appear in an upright picture: fractions from the top left."""

    x: float
    y: float


def transformed(pixels: NDArray[np.uint8], transform: Transform) -> NDArray[np.uint8]:
    """Return a picture [height, width, 3] turned as a manifest's transform says; a view."""
    if transform == "none":
        return pixels
    return pixels[::-1, ::-1] if transform == "rotate_180" else pixels[::-1]


class BenchmarkEnv(gymnasium.Env[Any, Any], abc.ABC):
    """Give one task of one benchmark the robosmoke contract.

    An adapter fills in the hooks below; horizon, action validation, fresh arrays and the
    Gymnasium face live here, once. Construction loads no simulator and opens no GL context;
    the first ``reset`` does, in the process that steps it.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}
    # Modules that the first reset imports: loaded once before workers are forked, so they may open no GL context.
    preload: ClassVar[tuple[str, ...]] = ()

    def __init__(self, manifest: Manifest, task: Task, options: EnvOptions | None = None) -> None:
        self.manifest = manifest
        self.task = task
        self.options = options or EnvOptions()
        self.on_success: OnSuccess = self.options.on_success or manifest.on_success
        self.render_mode = "rgb_array"
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": manifest.control_hz}
        self._cameras = {camera.name: camera for camera in manifest.camera}
        for name in self.options.cameras:
            self._camera(name)
        # Asked for once: building a Gymnasium space costs as much as a tenth of a cheap simulator's step.
        self._state_spaces = dict(self.state_spaces())
        self._keys = (*self._state_spaces, *self.options.cameras)
        self.action_box = self.make_action_space()
        self.action_space = self.action_box
        picture = gymnasium.spaces.Box(0, 255, (self.options.height_px, self.options.width_px, 3), np.uint8)
        spaces: dict[str, gymnasium.Space[Any]] = {
            **self._state_spaces,
            **dict.fromkeys(self.options.cameras, picture),
        }
        self.observation_space = gymnasium.spaces.Dict(spaces)
        self._steps: int | None = None
        self._over = False
        self._closed = False

    # What an adapter must say ------------------------------------------------------------

    @abc.abstractmethod
    def state_spaces(self) -> Mapping[str, gymnasium.spaces.Box]:
        """Return the space of every non-picture observation; loads no simulator."""

    @abc.abstractmethod
    def make_action_space(self) -> gymnasium.spaces.Box:
        """Return the action space [A]; loads no simulator."""

    @abc.abstractmethod
    def begin(self, seed: int, init_state: int | None) -> bool:
        """Start an episode, wait steps included, a function of the arguments alone; return success."""

    @abc.abstractmethod
    def tick(self, action: NDArray[np.float64]) -> Tick:
        """Execute one control step with a valid action [A]; render nothing."""

    @abc.abstractmethod
    def read_state(self, key: str) -> NDArray[Any]:
        """Read one non-picture observation now."""

    @abc.abstractmethod
    def picture(self, camera: str, width_px: int, height_px: int) -> NDArray[np.uint8]:
        """Render one camera now, upright: uint8 [height_px, width_px, 3], a fresh array."""

    @abc.abstractmethod
    def physics_state(self) -> NDArray[np.float64]:
        """Return the whole physical state as a fresh float64 vector, for bitwise comparison."""

    @abc.abstractmethod
    def landmark(self, camera: str) -> Landmark | None:
        """Say where the landmark's centre must appear upright, from geometry alone; None if unseen."""

    @abc.abstractmethod
    def paint_landmark(self, painted: bool) -> None:
        """Recolour the landmark strikingly, or give it its own colour back."""

    @abc.abstractmethod
    def release(self) -> None:
        """Free the simulator and its GL context; called once."""

    # The engine's two methods -----------------------------------------------------------

    def advance(self, actions: NDArray[np.floating[Any]]) -> Outcome:
        """Execute up to H actions [H, A], stopping at the end of the episode; renders nothing.

        Raises `InvalidAction` for a wrong shape, a non-finite or an out-of-space action (before
        any step), and `UsageError` before the first reset or after the end of the episode.
        """
        chunk = self._validated(actions)
        if self._steps is None or self._over:
            raise UsageError("advance: the episode is over or was never started: call reset() first")
        rewards: list[float] = []
        successes: list[bool] = []
        terminated = truncated = False
        for action in chunk:
            tick = self.tick(action)
            self._steps += 1
            rewards.append(float(tick.reward))
            success = _predicate(tick.success, "tick")
            successes.append(success)
            terminated = success and self.on_success == "stop"
            truncated = not terminated and self._steps >= self.task.horizon
            if terminated or truncated:
                self._over = True
                break
        return Outcome(
            rewards=np.asarray(rewards, np.float64),
            successes=np.asarray(successes, np.bool_),
            terminated=terminated,
            truncated=truncated,
        )

    def observe(self, keys: Sequence[str]) -> Observation:
        """Render and read the keys asked for, now, as fresh arrays inside their declared spaces.

        The key ``physics_state`` gives the whole physical state (`physics_state`), to privileged policies.
        """
        self._require_started("observe")
        return {key: self._read(key) for key in keys}

    # The Gymnasium face -----------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; ``options={"init_state": k}`` selects a numbered initial condition.

        Raises `NotInstalled` naming what to install where the simulator is not.
        """
        self._require_open()
        super().reset(seed=seed)
        unknown = set(options or ()) - {"init_state"}
        if unknown:
            raise unknown_name("reset option", unknown.pop(), ["init_state"])
        init_state = (options or {}).get("init_state")
        known = self.manifest.suite[self.task.suite].init_states
        if init_state is not None and not 0 <= init_state < known:
            raise UsageError(f"init_state {init_state}: suite {self.task.suite} has {known}, counted from 0")
        # Without a seed, Gymnasium's own generator continues: unseeded resets vary, seeded ones repeat.
        drawn = int(self.np_random.integers(2**31)) if seed is None else seed
        try:
            began = self.begin(drawn, init_state)
        except ModuleNotFoundError as error:
            raise _not_installed(self.manifest, error) from error
        success = _predicate(began, "begin")
        self._steps, self._over = 0, False
        return self.observe(self._keys), _info(success)

    def step(self, action: NDArray[np.floating[Any]]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Execute one action [A] and observe eagerly everything in the observation space."""
        outcome = self.advance(np.asarray(action)[None])
        return (
            self.observe(self._keys),
            float(outcome.rewards[-1]),
            outcome.terminated,
            outcome.truncated,
            _info(bool(outcome.successes[-1])),
        )

    def render(self) -> NDArray[np.uint8]:
        """Return the review camera's picture at the env's picture size."""
        self._require_started("render")
        return self.picture(self.manifest.review_camera, self.options.width_px, self.options.height_px)

    def close(self) -> None:
        """Free everything; calling it again does nothing."""
        if not self._closed:
            self._closed = True
            self.release()

    def renderer_name(self) -> str:
        """Name the GL renderer of the current context, or say that pictures need no GL.

        Ask after a picture was taken: MuJoCo's bindings load OpenGL for it and leave the context current.
        """
        if "OpenGL" not in sys.modules:
            return "software (no OpenGL)"
        from OpenGL import GL

        name = GL.glGetString(GL.GL_RENDERER)
        return name.decode() if name else "no current OpenGL context"

    @property
    def task_description(self) -> str:
        """Return the task's language instruction (LeRobot's attribute name)."""
        return self.task.instruction

    # Shared mechanics -------------------------------------------------------------------

    def _camera(self, name: str) -> Camera:
        if name not in self._cameras:
            raise unknown_name(f"camera of {self.manifest.name}", name, self._cameras)
        return self._cameras[name]

    def _read(self, key: str) -> NDArray[Any]:
        if key in self._cameras:
            return self._policy_picture(key)
        if key == PHYSICS_STATE:
            return self.physics_state()
        spaces = self._state_spaces
        if key not in spaces:
            raise unknown_name(f"observation of {self.manifest.name}", key, [*spaces, *self._cameras])
        return np.array(self.read_state(key), dtype=spaces[key].dtype)

    def _policy_picture(self, camera: str) -> NDArray[np.uint8]:
        upright = self.picture(camera, self.options.width_px, self.options.height_px)
        if self.options.transform is None:
            return upright
        # Each transform undoes itself.
        raw = transformed(upright, self._camera(camera).transform)
        return np.ascontiguousarray(transformed(raw, self.options.transform))

    def _validated(self, actions: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        self._require_open()
        space = self.action_box
        chunk = np.asarray(actions, np.float64)
        if chunk.ndim != 2 or chunk.shape[1:] != space.shape or len(chunk) == 0:
            raise InvalidAction(
                f"actions of shape {chunk.shape}: expected [H, {space.shape[0]}] with H >= 1, one row per control step"
            )
        if not np.isfinite(chunk).all():
            raise InvalidAction("actions hold NaN or infinity: the policy's output is not a number")
        # One float32 rounding step of slack: policies compute in float32, bounds are decimal.
        slack = 1e-6 * np.maximum(1.0, np.abs(space.high))
        if (chunk < space.low - slack).any() or (chunk > space.high + slack).any():
            raise InvalidAction(
                f"actions reach [{chunk.min():.4g}, {chunk.max():.4g}], outside [{space.low.min():.4g},"
                f" {space.high.max():.4g}]: clip or un-normalise them in the policy"
            )
        return np.clip(chunk, space.low, space.high)

    def _require_open(self) -> None:
        if self._closed:
            raise EnvClosed(f"this {self.manifest.name} env was closed: make a new one")

    def _require_started(self, what: str) -> None:
        self._require_open()
        if self._steps is None:
            raise UsageError(f"{what}: call reset() first")


def _predicate(success: object, where: str) -> bool:
    """Refuse a success flag that is not a bool: an absent one would otherwise read as 0 %."""
    if not isinstance(success, (bool, np.bool_)):
        raise TypeError(f"{where}() gave success={success!r}: it must be a bool at reset and at every step")
    return bool(success)


def _not_installed(manifest: Manifest, error: ModuleNotFoundError) -> NotInstalled:
    """Name the module that is missing, and the requirements that bring it."""
    requirements = shlex.join(manifest.environment["default"].all_requirements)
    return NotInstalled(
        f"{manifest.name} needs what is not installed here ({error}): pip install {requirements},"
        f" or let robosmoke make the environment: robosmoke smoke {manifest.name}"
    )


def _info(success: bool) -> dict[str, Any]:
    """Return a fresh info dict; ``is_success`` is the name LeRobot reads."""
    return {"success": success, "is_success": success}
