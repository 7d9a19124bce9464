"""Rates carry their count and interval, and an episode that did not complete is in none."""

from __future__ import annotations

import pytest

from robosmoke.evaluation.plan import build_plan
from robosmoke.evaluation.request import EvalRequest
from robosmoke.evaluation.summary import describe_rate, rate, summarise, wilson
from robosmoke.manifest import Manifest
from robosmoke.vocabulary import Blame, EpisodeStatus

from .test_eval_ledger import record_of


@pytest.mark.parametrize(
    ("successes", "count", "low", "high"),
    [(0, 1, 0, 0.7935), (0, 10, 0, 0.2775), (8, 10, 0.4902, 0.9433), (40, 50, 0.6696, 0.8876), (50, 50, 0.9287, 1)],
)
def test_the_interval_is_wilsons(successes: int, count: int, low: float, high: float) -> None:
    assert wilson(successes, count) == pytest.approx((low, high), abs=5e-5)


def test_nothing_completed_is_no_rate_and_not_zero() -> None:
    assert (rate([]).pc_success, rate([]).wilson_95) == (None, None)
    assert describe_rate(rate([])) == "no episode completed"


def test_errored_and_missing_episodes_are_counted_apart(manifest: Manifest) -> None:
    plan = build_plan(manifest, EvalRequest(benchmark=manifest.name, episodes=2))
    records = [
        record_of(plan, 0, sum_reward=1.0, steps=5, duration_s=2.0),
        record_of(plan, 1, success_any=False, sum_reward=2.0, steps=60, duration_s=1.0),
        record_of(plan, 3, status=EpisodeStatus.ERRORED, success_any=None, blame=Blame.POLICY, error="NaN"),
    ]
    summary = summarise(plan, records)
    assert (summary.n_planned, summary.n_episodes, summary.n_errored, summary.n_missing) == (4, 2, 1, 1)
    assert (summary.pc_success, summary.avg_sum_reward, summary.env_steps, summary.eval_s) == (50.0, 1.5, 65, 3.0)
    assert summary.success_end is None, "under stop the end is the success itself"
    left, right = summary.per_task
    assert (left.success_any.pc_success, right.success_any.pc_success, right.n_errored) == (50.0, None, 1)
