"""A video holds the planned frames, and its file appears under its name only when it is whole."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest

from robosmoke.guest.video import VideoPlan, VideoWriter, decode_video


def frame(value: int, height: int = 48, width: int = 64) -> np.ndarray:
    """Give a picture with a bright bar whose place tells the frames apart."""
    picture = np.zeros((height, width, 3), np.uint8)
    picture[:, value % width] = 255
    return picture


def write(folder: Path, frames: int, *, side: tuple[int, int] = (48, 64), hz: float = 10.0):
    writer = VideoWriter(folder, VideoPlan(control_hz=hz, height_px=side[0], width_px=side[1]))
    for number in range(frames):
        writer.add(frame(number, *side))
    return writer


@pytest.mark.parametrize("control_hz", [5.0, 10.0, 20.0, 50.0, 80.0, 83.3])
@pytest.mark.parametrize("steps", [1, 2, 4, 5, 7, 8, 50, 299, 300])
def test_the_plan_counts_what_filming_by_its_own_intervals_gives(control_hz: float, steps: int) -> None:
    plan = VideoPlan(control_hz=control_hz, width_px=8, height_px=8)
    done, frames = 0, 1
    while done < steps:
        done += min(plan.steps_until_frame(done), steps - done)
        frames += 1
    assert frames == plan.frames(steps)


@pytest.mark.parametrize("control_hz", [1.0, 5.0, 10.0, 12.5, 20.0, 50.0, 80.0])
def test_a_video_plays_in_simulated_real_time(control_hz: float) -> None:
    plan = VideoPlan(control_hz=control_hz, width_px=8, height_px=8)
    assert plan.fps * plan.stride == pytest.approx(control_hz)
    assert plan.fps <= max(15.0, control_hz if control_hz < 15 else 0)


@pytest.mark.parametrize("side", [(48, 64), (47, 63)])
def test_a_video_decodes_to_the_frames_and_the_duration_that_its_record_says(
    tmp_path: Path, side: tuple[int, int]
) -> None:
    record = write(tmp_path, 12, side=side, hz=20.0).finish("episode")
    decoded = decode_video(tmp_path / record.path)
    assert (decoded.frames, record.frames) == (12, 12)
    assert (decoded.width_px, decoded.height_px) == (record.width_px, record.height_px) == (64, 48)
    assert decoded.duration_s == pytest.approx(12 / record.fps)


def test_the_poster_is_the_last_frame(tmp_path: Path) -> None:
    record = write(tmp_path, 5).finish("episode")
    with av.open(str(tmp_path / record.poster)) as picture:
        shown = next(picture.decode(video=0)).to_ndarray(format="rgb24")
    assert np.array_equal(shown, frame(4))


def test_the_frames_come_back_in_order(tmp_path: Path) -> None:
    record = write(tmp_path, 6).finish("episode")
    with av.open(str(tmp_path / record.path)) as video:
        places = [int(shown.to_ndarray(format="gray").mean(axis=0).argmax()) for shown in video.decode(video=0)]
    assert places == [0, 1, 2, 3, 4, 5]


def test_the_same_frames_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = (write(tmp_path / name, 6).finish("episode") for name in ("a", "b"))
    assert (tmp_path / "a" / first.path).read_bytes() == (tmp_path / "b" / second.path).read_bytes()


def test_no_video_has_its_name_before_it_is_whole(tmp_path: Path) -> None:
    writer = write(tmp_path, 3)
    assert [path.name.startswith(".partial-") for path in (tmp_path / "videos").iterdir()] == [True]
    writer.finish("episode")
    assert [path.name for path in (tmp_path / "videos").iterdir()] == ["episode.mp4"]


@pytest.mark.parametrize("frames", [0, 3])
def test_an_abandoned_video_leaves_nothing(tmp_path: Path, frames: int) -> None:
    write(tmp_path, frames).abandon()
    assert not list((tmp_path / "videos").iterdir())


def test_a_file_that_is_no_video_does_not_decode(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(b"\x00" * 100)
    with pytest.raises(av.FFmpegError):
        decode_video(tmp_path / "a.mp4")
