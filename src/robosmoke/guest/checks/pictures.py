"""RS4xx: pictures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosmoke.errors import CheckFailed
from robosmoke.guest.checks.registry import check
from robosmoke.guest.checks.subject import TaskSubject
from robosmoke.guest.env import Landmark

# A painted landmark must show in at least this many pixels to have a place.
LANDMARK_MIN_PX = 2
# A landmark is a body, not a point, and may be half hidden: a tenth of the picture is allowed.
LANDMARK_TOLERANCE = 0.12


@check("RS401", "picture", "every camera gives a picture of the declared size that shows something", cost="cheap")
def picture(subject: TaskSubject) -> None:
    """Render each camera once, at the smallest size that decides."""
    subject.env.reset(seed=subject.seed)
    side = subject.picture_px
    for camera in subject.manifest.camera:
        frame = subject.env.picture(camera.name, side, side)
        if frame.shape != (side, side, 3) or frame.dtype != np.uint8:
            raise CheckFailed(
                f"RS401 picture: {camera.name} gave {frame.shape} {frame.dtype}, asked for ({side}, {side}, 3) uint8"
            )
        if len(np.unique(frame.reshape(-1, 3), axis=0)) < 8:
            raise CheckFailed(
                f"RS401 picture: {camera.name} shows fewer than 8 colours (mean {frame.mean():.1f}): blank."
                " Most likely the GL context failed, or the picture was read before the scene was drawn."
            )
    subject.on_fact("gl_renderer", subject.env.renderer_name())


@check("RS402", "upright", "a landmark falls where the world puts it in an upright picture", cost="cheap")
def upright(subject: TaskSubject) -> None:
    """Paint a landmark, and compare the centre of what changed with where geometry puts it."""
    env, side = subject.env, subject.picture_px
    seen_by_any = False
    for camera in subject.manifest.camera:
        expected = _landmark_off_centre(subject, camera.name)
        if expected is None:
            continue
        plain = env.picture(camera.name, side, side)
        env.paint_landmark(True)
        painted = env.picture(camera.name, side, side)
        env.paint_landmark(False)
        centre = _centre_of_change(plain, painted)
        if centre is None:
            continue
        seen_by_any = True
        off = float(np.abs(centre - np.array(expected)).max())
        if off > LANDMARK_TOLERANCE:
            mirrored = np.abs(centre - (1 - np.array(expected))).max() < LANDMARK_TOLERANCE
            raise CheckFailed(
                f"RS402 upright: in {camera.name} the landmark is at ({centre[0]:.2f}, {centre[1]:.2f}) from the"
                f" top left, geometry puts it at ({expected.x:.2f}, {expected.y:.2f})."
                + (" Most likely the picture is rotated by 180°." if mirrored else " Most likely it is flipped.")
            )
    if not seen_by_any:
        raise CheckFailed("RS402 upright: no camera shows the landmark, so no picture's orientation was tested")


def _landmark_off_centre(subject: TaskSubject, camera: str) -> Landmark | None:
    """Reset until the landmark lies off both centre lines, where every flip and turn would move it."""
    place = None
    for offset in range(5):
        subject.env.reset(seed=subject.seed + offset)
        place = subject.env.landmark(camera)
        if place and min(abs(place.x - 0.5), abs(place.y - 0.5)) > LANDMARK_TOLERANCE / 2:
            return place
    return place


def _centre_of_change(plain: NDArray[np.uint8], painted: NDArray[np.uint8]) -> NDArray[np.float64] | None:
    """Return the centre of the changed pixels as fractions (x, y), None when too few changed."""
    change = np.abs(plain.astype(int) - painted.astype(int)).sum(axis=2) > 60
    if change.sum() < LANDMARK_MIN_PX:
        return None
    rows, columns = np.nonzero(change)
    height, width = change.shape
    return np.array([(columns.mean() + 0.5) / width, (rows.mean() + 0.5) / height])


@check("RS403", "isolated-contexts", "another task's env in the process leaves this one's frames alone", cost="cheap")
def isolated_contexts(subject: TaskSubject) -> None:
    """Render this env, then one of another task, then this one again."""
    camera, side = subject.manifest.review_camera, subject.picture_px
    subject.env.reset(seed=subject.seed)
    before = subject.env.picture(camera, side, side)
    with subject.fresh(subject.other_task()) as other:
        other.reset(seed=subject.seed + 1)
        other.picture(camera, side, side)
        between = subject.env.picture(camera, side, side)
    after = subject.env.picture(camera, side, side)
    for when, frame in (("while the other env lives", between), ("after it was closed", after)):
        if not np.array_equal(before, frame):
            difference = float(np.abs(before.astype(int) - frame.astype(int)).mean())
            raise CheckFailed(
                f"RS403 isolated-contexts: {when} the same state renders differently, mean difference"
                f" {difference:.1f} of 255. Most likely the GL context is not made current before rendering."
            )
