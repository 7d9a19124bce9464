"""RS9xx: what a run leaves behind."""

from __future__ import annotations

from robosmoke.errors import CheckFailed
from robosmoke.guest.checks.controls import failure_of
from robosmoke.guest.checks.registry import check
from robosmoke.guest.checks.subject import TaskSubject
from robosmoke.guest.video import decode_video


@check("RS903", "videos", "the episode's video decodes and has the planned frames, size and duration", cost="cheap")
def videos(subject: TaskSubject) -> None:
    """Decode the expert episode's video from start to end."""
    record, plan = subject.episode("expert"), subject.video_plan
    if record.video is None:
        error = failure_of([record])
        raise error(f"RS903 videos: the expert's episode left no video: {record.error or 'none was written'}")
    decoded = decode_video(subject.out / record.video.path)
    wanted = plan.frames(record.steps)
    if decoded.frames != wanted:
        raise CheckFailed(
            f"RS903 videos: {record.video.path} holds {decoded.frames} frames,"
            f" the plan for {record.steps} steps says {wanted}"
        )
    if (decoded.width_px, decoded.height_px) != (record.video.width_px, record.video.height_px):
        raise CheckFailed(f"RS903 videos: {record.video.path} is {decoded.width_px} by {decoded.height_px} pixels")
    simulated_s = record.steps / subject.manifest.control_hz
    if abs(decoded.duration_s - simulated_s) > 2 / plan.fps:
        raise CheckFailed(f"RS903 videos: {decoded.duration_s:.2f} s of video for {simulated_s:.2f} s of simulation")
