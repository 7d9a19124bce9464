"""Count episodes and put an interval on every rate."""

from __future__ import annotations

from collections.abc import Iterable

from scipy.stats import binomtest

from robosmoke.schema import EpisodeRecord, Record
from robosmoke.vocabulary import EpisodeStatus

CONFIDENCE = 0.95


class Interval(Record, frozen=True, kw_only=True):
    """A confidence interval of a proportion, in [0, 1]."""

    low: float
    high: float


class Tally(Record, frozen=True, kw_only=True):
    """How the planned episodes of one control came out; ``planned`` is the sum of the four outcomes.

    ``rate`` (in [0, 1]) and ``interval`` rest on the completed episodes alone, and are null when
    there is none: nothing measured is not 0 %.
    """

    planned: int
    completed: int
    errored: int
    skipped: int
    missing: int
    successes: int
    rate: float | None
    interval: Interval | None


def wilson(successes: int, completed: int) -> Interval:
    """Return the 95 % Wilson score interval of ``successes`` out of ``completed``.

    Raises `ValueError` when nothing was completed or the counts contradict each other.
    """
    bounds = binomtest(successes, completed).proportion_ci(confidence_level=CONFIDENCE, method="wilson")
    # scipy's rounding leaves 0/n at -1e-17 and n/n at 1 - 1e-16: a bound is a proportion.
    return Interval(low=max(0.0, float(bounds.low)), high=min(1.0, float(bounds.high)))


def outcome(record: EpisodeRecord) -> EpisodeStatus:
    """Say how an episode counts: one that completed without a success flag measured nothing, so it errored."""
    if record.status is EpisodeStatus.COMPLETED and record.success_any is None:
        return EpisodeStatus.ERRORED
    return record.status


def tally(records: Iterable[EpisodeRecord]) -> Tally:
    """Count some episodes; an episode succeeds when the predicate held at any of its steps."""
    outcomes = [(outcome(record), bool(record.success_any)) for record in records]
    counts = {status: sum(found is status for found, _ in outcomes) for status in EpisodeStatus}
    completed = counts[EpisodeStatus.COMPLETED]
    successes = sum(success for found, success in outcomes if found is EpisodeStatus.COMPLETED)
    return Tally(
        planned=len(outcomes),
        completed=completed,
        errored=counts[EpisodeStatus.ERRORED],
        skipped=counts[EpisodeStatus.SKIPPED],
        missing=counts[EpisodeStatus.MISSING],
        successes=successes,
        rate=successes / completed if completed else None,
        interval=wilson(successes, completed) if completed else None,
    )


def mean(values: Iterable[float | None]) -> float | None:
    """Average the values that are there; null when none is."""
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None
