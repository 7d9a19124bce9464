"""What somebody asks to be evaluated, with every option's default and meaning."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from robosmoke.errors import UsageError
from robosmoke.manifest import OnSuccess

Executor = Literal["inline", "processes"]
VideoKind = Literal["none", "review", "policy"]
VideoOf = Literal["all", "first", "failures"]

_COUNTS = (
    *("episodes", "max_steps", "chunk", "threads", "picture_px", "video_px"),
    *("workers", "worker_memory_mb", "recycle_after"),
)


@dataclass(frozen=True, kw_only=True)
class EvalRequest:
    """One evaluation as asked for; the plan is a function of its first part alone.

    Empty ``suites`` and ``tasks`` mean all of them. ``episodes`` counts per task; None is one per init state,
    or ten without any. ``init_states`` is ``none`` (the seed alone fixes an episode), ``all``, or a list such as
    ``0-4,7``. ``max_steps`` replaces every task's horizon (control steps), ``chunk`` bounds how many actions of
    each answer are executed, ``threads`` is the policy's thread count, ``picture_px`` the side of the pictures
    that it reads. ``shard`` is ``i/N``, i from 0. ``workers`` None takes what cores and memory allow,
    ``worker_memory_mb`` None what the manifest's environment may use. ``min_success`` lies in [0, 1].

    Raises `UsageError` for a number out of its range.
    """

    benchmark: str
    policy: str = "expert"
    environment: str = "default"
    suites: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    episodes: int | None = None
    init_states: str = "none"
    seed: int = 0
    on_success: OnSuccess | None = None
    max_steps: int | None = None
    chunk: int | None = None
    threads: int = 1
    picture_px: int = 256
    video: VideoKind = "none"
    video_of: VideoOf = "all"
    video_fps: float = 10.0
    video_px: int = 256
    shard: str = ""
    # How it is carried out: none of this changes a result.
    executor: Executor = "processes"
    workers: int | None = None
    episode_timeout_s: float = 1800.0
    worker_memory_mb: int | None = None
    recycle_after: int = 200
    out: Path | None = None
    resume: Path | None = None
    min_success: float | None = None

    def __post_init__(self) -> None:
        for name in _COUNTS:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} is {value}: it must be at least 1")
        for name in ("video_fps", "episode_timeout_s"):
            if not 0 < getattr(self, name) < math.inf:
                raise UsageError(f"{name} is {getattr(self, name)}: it must be a number above 0")
        if self.seed < 0:
            raise UsageError(f"seed is {self.seed}: it must be at least 0")
        if self.min_success is not None and not 0 <= self.min_success <= 1:
            raise UsageError(f"min_success is {self.min_success}: it must be a rate in [0, 1]")
        if self.out is not None and self.resume is not None:
            raise UsageError("out and resume exclude each other: resume writes into the folder it continues")
