"""What the parent, the supervisor and its workers say to each other: one line of JSON each."""

from __future__ import annotations

import msgspec

from robosmoke.errors import ExitCode, RobosmokeError, SetupError, UsageError
from robosmoke.evaluation.plan import EvalPlan
from robosmoke.evaluation.record import EvalRecord
from robosmoke.manifest import Manifest
from robosmoke.schema import EpisodeRecord


class _Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="message"):
    pass


class WorkOrder(_Message, frozen=True, kw_only=True, tag="order"):
    """Run the ``pending`` episodes of a plan; limits are per worker, ``out`` is absolute."""

    manifest: Manifest
    plan: EvalPlan
    pending: tuple[int, ...]
    out: str
    workers: int
    episode_timeout_s: float
    worker_memory_mb: int
    recycle_after: int


class Played(_Message, frozen=True, kw_only=True, tag="played"):
    """A worker ended an episode; ``retire`` asks for a new worker, this one saw its env fail."""

    record: EpisodeRecord
    retire: bool


class Recorded(_Message, frozen=True, kw_only=True, tag="recorded"):
    """The supervisor passes a record on, with who ran it and who was lost over it."""

    record: EvalRecord


class Stopped(_Message, frozen=True, kw_only=True, tag="stopped"):
    """Nothing can go on: the message and exit code of the error."""

    error: str
    exit_code: int

    @classmethod
    def by(cls, error: RobosmokeError) -> Stopped:
        """Carry an error to another process."""
        return cls(error=str(error), exit_code=int(error.exit_code))

    def as_error(self) -> RobosmokeError:
        """Return the error that was carried."""
        kinds = {ExitCode.USAGE: UsageError, ExitCode.ENVIRONMENT: SetupError}
        return kinds.get(ExitCode(self.exit_code), RobosmokeError)(self.error)


Reply = Played | Stopped
Report = Recorded | Stopped
