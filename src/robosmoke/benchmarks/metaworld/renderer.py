"""Draw one env's pictures in a GL context that belongs to it alone.

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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosmoke.errors import SetupError

# The scenes hold about 60 geoms and sites; MuJoCo silently drops what exceeds the limit.
_MAX_GEOMS = 1000


class Renderer:
    """Render scenes of one compiled model, at any size, off screen.

    ``model`` supplies meshes and textures once; `draw` takes the model and data of the moment, which
    may be any copy of it. Raises `SetupError` where no GL context can be made.
    """

    def __init__(self, model: Any) -> None:
        import mujoco

        try:
            gl_context = mujoco.GLContext(model.vis.global_.offwidth, model.vis.global_.offheight)
            gl_context.make_current()
            self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150)
        except (ImportError, AttributeError, RuntimeError, mujoco.FatalError) as error:
            raise SetupError(
                f"metaworld: no off-screen GL context ({error}): set MUJOCO_GL to egl or osmesa, and install"
                " libegl1, libgl1-mesa-dri and libosmesa6"
            ) from error
        self._gl_context = gl_context
        self._scene = mujoco.MjvScene(model, maxgeom=_MAX_GEOMS)
        self._option = mujoco.MjvOption()
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


def _free(context: Any, gl_context: Any) -> None:
    gl_context.make_current()
    context.free()
    gl_context.free()
