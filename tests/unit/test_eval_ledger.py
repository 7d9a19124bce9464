"""Each episode is on the disk once, as it ends, whatever happened to the writer."""

from __future__ import annotations

from pathlib import Path

import pytest

from robosmoke.errors import RecordError, UsageError
from robosmoke.evaluation.ledger import LEDGER_NAME, Ledger, read_ledger
from robosmoke.evaluation.plan import EvalPlan, build_plan
from robosmoke.evaluation.record import Attempt, EvalRecord, canonical
from robosmoke.evaluation.request import EvalRequest
from robosmoke.manifest import Manifest
from robosmoke.vocabulary import EpisodeStatus


@pytest.fixture
def plan(manifest: Manifest) -> EvalPlan:
    """Give a plan of four episodes."""
    return build_plan(manifest, EvalRequest(benchmark=manifest.name, episodes=2))


def record_of(plan: EvalPlan, index: int, **fields: object) -> EvalRecord:
    known = {
        "episode": plan.episodes[index],
        "policy": "expert",
        "status": EpisodeStatus.COMPLETED,
        "on_success": "stop",
        "success_any": True,
        "worker": "0 (pid 1)",
        "host": "here",
        "ended": "now",
    }
    return EvalRecord(**{**known, **fields})  # type: ignore[arg-type]


def test_what_was_appended_is_read_back_when_the_folder_is_opened_again(tmp_path: Path, plan: EvalPlan) -> None:
    with Ledger(tmp_path, plan) as ledger:
        ledger.append(record_of(plan, 2))
    with Ledger(tmp_path, plan) as ledger:
        assert list(ledger.records) == [2]
        ledger.append(record_of(plan, 0))
    assert [record.episode.index for record in read_ledger(tmp_path)] == [2, 0]


@pytest.mark.parametrize("cut", [1, 2, 40, 400])
def test_a_torn_last_line_is_dropped_and_the_next_one_starts_afresh(tmp_path: Path, plan: EvalPlan, cut: int) -> None:
    with Ledger(tmp_path, plan) as ledger:
        ledger.append(record_of(plan, 0))
        ledger.append(record_of(plan, 1))
    path = tmp_path / LEDGER_NAME
    path.write_bytes(path.read_bytes()[:-cut])
    with Ledger(tmp_path, plan) as ledger:
        assert list(ledger.records) == [0]
        ledger.append(record_of(plan, 1))
    assert [record.episode.index for record in read_ledger(tmp_path)] == [0, 1]


def test_an_episode_has_one_record(tmp_path: Path, plan: EvalPlan) -> None:
    with Ledger(tmp_path, plan) as ledger:
        ledger.append(record_of(plan, 1))
        with pytest.raises(RecordError, match="episode 1 has a record already"):
            ledger.append(record_of(plan, 1))


def test_a_record_of_another_plan_is_refused(tmp_path: Path, plan: EvalPlan, manifest: Manifest) -> None:
    other = build_plan(manifest, EvalRequest(benchmark=manifest.name, episodes=2, seed=9))
    with Ledger(tmp_path, plan) as ledger:
        ledger.append(record_of(plan, 1))
    with pytest.raises(RecordError, match=r"jsonl:1: episode 1 is not in this folder's plan"):
        Ledger(tmp_path, other)


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path, plan: EvalPlan) -> None:
    with Ledger(tmp_path, plan) as ledger:
        ledger.append(record_of(plan, 0))
    path = tmp_path / LEDGER_NAME
    path.write_bytes(path.read_bytes() + b"{}\n" + path.read_bytes())
    with pytest.raises(RecordError, match=r"episodes\.jsonl:2: is not an episode's record"):
        Ledger(tmp_path, plan)


def test_a_second_writer_is_refused(tmp_path: Path, plan: EvalPlan) -> None:
    with Ledger(tmp_path, plan), pytest.raises(UsageError, match="another process is running this evaluation"):
        Ledger(tmp_path, plan)


def test_canonical_bytes_hold_the_result_and_nothing_of_how_it_was_run(plan: EvalPlan) -> None:
    one = [record_of(plan, 0, duration_s=1.0), record_of(plan, 1)]
    lost = (Attempt(worker="3", cause="was killed"),)
    other = [
        record_of(plan, 1, worker="9", host="there", ended="later", lost=lost),
        record_of(plan, 0, duration_s=2.0),
    ]
    assert canonical(one) == canonical(other)
    assert canonical(one) != canonical([record_of(plan, 0, success_any=False), record_of(plan, 1)])
