"""Encode review videos as their frames arrive, and a poster beside each."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosmoke.schema import Video

PARTIAL = ".partial-"


@dataclass(frozen=True, kw_only=True)
class VideoPlan:
    """Which steps of an episode become frames: the start, every ``stride``-th step, the end."""

    control_hz: float
    width_px: int
    height_px: int
    fps_wanted: float = 10.0

    @property
    def stride(self) -> int:
        """Count the control steps between two frames."""
        return max(1, round(self.control_hz / self.fps_wanted))

    @property
    def fps(self) -> float:
        """Return the playback rate in Hz at which the video runs in simulated real time."""
        return self.control_hz / self.stride

    def frames(self, steps: int) -> int:
        """Return the planned number of frames of an episode of ``steps`` control steps."""
        return 1 + math.ceil(steps / self.stride)

    def steps_until_frame(self, steps_done: int) -> int:
        """Return how many steps may run before the next frame is due."""
        return self.stride - steps_done % self.stride


class VideoWriter:
    """Write one H.264 mp4 under a temporary name; ``finish`` gives it its final one."""

    def __init__(self, out: Path, plan: VideoPlan) -> None:
        import av

        self.plan = plan
        self._out = out
        self._frames = 0
        self._last: NDArray[np.uint8] | None = None
        (out / "videos").mkdir(parents=True, exist_ok=True)
        (out / "posters").mkdir(parents=True, exist_ok=True)
        # Forked workers share their addresses, and a folder.
        self._partial = out / "videos" / f"{PARTIAL}{os.getpid()}-{id(self)}.mp4"
        self._container = av.open(str(self._partial), "w")
        rate = Fraction(plan.fps).limit_denominator(1000)
        stream: Any = self._container.add_stream("libx264", rate=rate)
        # yuv420p needs even sides; an odd picture is padded by its own last row or column.
        stream.width = plan.width_px + plan.width_px % 2
        stream.height = plan.height_px + plan.height_px % 2
        stream.pix_fmt = "yuv420p"
        # One thread and the fastest preset: bytes then do not depend on the machine's core count.
        stream.options = {"preset": "ultrafast", "crf": "23", "threads": "1"}
        self._stream = stream

    def add(self, frame: NDArray[np.uint8]) -> None:
        """Encode one frame: uint8 [height_px, width_px, 3]."""
        import av

        height, width = frame.shape[:2]
        padded = np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
        self._container.mux(self._stream.encode(av.VideoFrame.from_ndarray(padded, format="rgb24")))
        self._last = frame
        self._frames += 1

    def finish(self, name: str, kind: str = "review") -> Video:
        """Close the file, name it, write the last frame as its poster; returns the record."""
        self._container.mux(self._stream.encode(None))
        self._container.close()
        video = Path("videos") / f"{name}.mp4"
        poster = Path("posters") / f"{name}.png"
        self._partial.replace(self._out / video)
        assert self._last is not None, "a video has at least the first frame of its episode"
        _write_png(self._out / poster, self._last)
        return Video(
            kind=kind,
            path=video.as_posix(),
            poster=poster.as_posix(),
            frames=self._frames,
            fps=self.plan.fps,
            width_px=self._stream.width,
            height_px=self._stream.height,
        )

    def abandon(self) -> None:
        """Close and remove an unfinished video."""
        self._container.close()
        self._partial.unlink(missing_ok=True)


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """What decoding a video from its first to its last frame gave."""

    frames: int
    width_px: int
    height_px: int
    duration_s: float


def decode_video(path: Path) -> Decoded:
    """Decode a whole video; raises `av.FFmpegError` when it cannot be decoded."""
    import av

    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        frames = sum(1 for _ in container.decode(stream))
        rate = stream.average_rate
        return Decoded(
            frames=frames,
            width_px=stream.width,
            height_px=stream.height,
            duration_s=float(frames / rate) if rate else 0.0,
        )


def _write_png(path: Path, frame: NDArray[np.uint8]) -> None:
    import av

    codec: Any = av.CodecContext.create("png", "w")
    codec.width, codec.height, codec.pix_fmt = frame.shape[1], frame.shape[0], "rgb24"
    codec.time_base = Fraction(1, 1)
    picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
    packets = [*codec.encode(picture), *codec.encode(None)]
    path.write_bytes(b"".join(bytes(packet) for packet in packets))
