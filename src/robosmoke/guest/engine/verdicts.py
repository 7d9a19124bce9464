"""Complete an episode's record: who ran it, or that nobody could."""

from __future__ import annotations

import socket
from datetime import datetime, timezone

import msgspec

from robosmoke.evaluation.plan import EvalPlan
from robosmoke.evaluation.record import Attempt, EvalRecord
from robosmoke.schema import Episode, EpisodeRecord
from robosmoke.vocabulary import Blame, EpisodeStatus


def evaluated(record: EpisodeRecord, *, worker: str, lost: tuple[Attempt, ...] = ()) -> EvalRecord:
    """Add to an episode's record who ran it."""
    return EvalRecord(
        **msgspec.structs.asdict(record),
        worker=worker,
        host=socket.gethostname(),
        ended=datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        lost=lost,
    )


def lost_record(plan: EvalPlan, episode: Episode, error: str) -> EpisodeRecord:
    """Return the record of an episode that no worker could finish."""
    horizons = {(task.suite, task.task): task.horizon for task in plan.tasks}
    return EpisodeRecord(
        episode=episode,
        policy=plan.policy,
        status=EpisodeStatus.ERRORED,
        on_success=plan.on_success,
        horizon=horizons[episode.suite, episode.task],
        blame=Blame.WORKER,
        error=error,
    )
