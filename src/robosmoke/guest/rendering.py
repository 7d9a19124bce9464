"""Draw one env's MuJoCo pictures in a GL context that belongs to it alone, and say where things fall in them.

Non-obvious behaviour:

- MuJoCo names its textures and buffers per GL context, and every call acts on whichever context is
  current. Two envs that leave each other's context current draw with each other's textures, and freeing
  one env deletes the other's. So this class makes its own context current before *every* call, freeing
  included.
- MuJoCo's EGL module terminates the shared display at interpreter exit. A renderer that nobody closed
  frees itself before that, or else its destructor would call into a display that is gone.
"""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosmoke.errors import SetupError
from robosmoke.guest.env import Landmark

# Scenes of the benchmarks hold 60 to 400 geoms and sites; MuJoCo silently drops what exceeds the limit.
_MAX_GEOMS = 1000
# A camera whose up axis rises less than this over the horizontal looks straight down or up.
_LEVEL = 0.2


class Renderer:
    """Render scenes of one compiled model, at any size, off screen.

    ``model`` supplies meshes and textures once; `draw` takes the model and data of the moment, which
    may be any copy of it. Geoms of ``hidden_groups`` are not drawn. Raises `SetupError` where no GL
    context can be made.
    """

    def __init__(self, model: Any, *, hidden_groups: Collection[int] = ()) -> None:
        import mujoco

        try:
            gl_context = mujoco.GLContext(model.vis.global_.offwidth, model.vis.global_.offheight)
            gl_context.make_current()
            self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150)
        except (ImportError, AttributeError, RuntimeError, mujoco.FatalError) as error:
            raise SetupError(
                f"no off-screen GL context ({error}): set MUJOCO_GL to egl or osmesa, and install"
                " libegl1, libgl1-mesa-dri and libosmesa6"
            ) from error
        self._gl_context = gl_context
        self._scene = mujoco.MjvScene(model, maxgeom=_MAX_GEOMS)
        self._option = mujoco.MjvOption()
        for group in hidden_groups:
            self._option.geomgroup[group] = 0
        self._size_px = (self._context.offWidth, self._context.offHeight)
        self._free = weakref.finalize(self, _free, self._context, gl_context)
        self._free.atexit = False
        atexit.register(self._free)

    def draw(self, model: Any, data: Any, camera_id: int, width_px: int, height_px: int) -> NDArray[np.uint8]:
        """Draw one fixed or tracking camera as the model has it: uint8 [height_px, width_px, 3], top row first."""
        import mujoco

        self._gl_context.make_current()
        if self._size_px != (width_px, height_px):
            mujoco.mjr_resizeOffscreen(width_px, height_px, self._context)
            self._size_px = (width_px, height_px)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        camera = mujoco.MjvCamera()
        camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, camera_id
        mujoco.mjv_updateScene(model, data, self._option, None, camera, mujoco.mjtCatBit.mjCAT_ALL, self._scene)
        viewport = mujoco.MjrRect(0, 0, width_px, height_px)
        mujoco.mjr_render(viewport, self._scene, self._context)
        pixels = np.empty((height_px, width_px, 3), np.uint8)
        mujoco.mjr_readPixels(pixels, None, viewport, self._context)
        return pixels[::-1]

    def close(self) -> None:
        """Free the buffers and the GL context; calling it again does nothing."""
        atexit.unregister(self._free)
        self._free()


def place_in_picture(
    model: Any, data: Any, camera_id: int, point: NDArray[np.float64], aspect: float
) -> Landmark | None:
    """Project a world point [3] into an upright picture of ``aspect`` (width by height); None outside it.

    Upright is what the world says: a camera whose own up axis points at the floor hangs upside down, and
    its picture is turned. One that looks straight down or up has only its own up.
    """
    axes = data.cam_xmat[camera_id].reshape(3, 3)
    right, up, back = axes.T @ (point - data.cam_xpos[camera_id])
    if back >= 0:
        return None
    # Height of the picture at unit distance is 2 tan(fovy / 2); pictures of other shapes crop or widen it in x.
    height = 2 * np.tan(np.radians(model.cam_fovy[camera_id]) / 2) * -back
    x, y = right / (height * aspect), up / height
    if axes[2, 1] < -_LEVEL:
        x, y = -x, -y
    return Landmark(float(0.5 + x), float(0.5 - y)) if max(abs(x), abs(y)) < 0.5 else None


def _free(context: Any, gl_context: Any) -> None:
    gl_context.make_current()
    context.free()
    gl_context.free()
