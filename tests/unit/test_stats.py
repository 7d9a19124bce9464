"""Rates and their intervals."""

from __future__ import annotations

import pytest

from robosmoke.host.stats import mean, tally, wilson
from robosmoke.schema import Episode, EpisodeRecord
from robosmoke.vocabulary import EpisodeStatus


def episode(status: EpisodeStatus, success: bool | None) -> EpisodeRecord:
    planned = Episode(index=0, benchmark="arm", environment="default", suite="s", task="t", seed=0)
    return EpisodeRecord(episode=planned, policy="p", status=status, on_success="stop", success_any=success)


@pytest.mark.parametrize(
    ("successes", "completed", "low", "high"),
    [(0, 1, 0, 0.7935), (0, 10, 0, 0.2775), (8, 10, 0.4902, 0.9433), (40, 50, 0.6696, 0.8876), (50, 50, 0.9287, 1)],
)
def test_the_interval_is_wilsons(successes, completed, low, high):
    interval = wilson(successes, completed)
    assert (interval.low, interval.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
    assert 0 <= interval.low <= successes / completed <= interval.high <= 1


def test_only_completed_episodes_count_in_the_rate():
    counts = tally(
        [
            episode(EpisodeStatus.COMPLETED, True),
            episode(EpisodeStatus.COMPLETED, False),
            episode(EpisodeStatus.ERRORED, True),
            episode(EpisodeStatus.SKIPPED, None),
            episode(EpisodeStatus.MISSING, None),
        ]
    )
    assert (counts.successes, counts.completed, counts.rate) == (1, 2, 0.5)
    assert counts.planned == counts.completed + counts.errored + counts.skipped + counts.missing == 5


def test_no_completed_episode_has_no_rate_and_no_interval():
    counts = tally([episode(EpisodeStatus.ERRORED, None)])
    assert (counts.rate, counts.interval) == (None, None)


def test_a_completed_episode_without_a_success_flag_counts_as_errored():
    assert tally([episode(EpisodeStatus.COMPLETED, None)]).errored == 1


def test_the_mean_of_nothing_is_nothing():
    assert mean([None]) is None
    assert mean([1.0, None, 2.0]) == 1.5
