"""Shards of one plan come together as the whole evaluation, or the reason why not is said."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from robosmoke.errors import UsageError
from robosmoke.evaluation.ledger import LEDGER_NAME, read_ledger
from robosmoke.evaluation.merge import merge
from robosmoke.evaluation.record import canonical
from robosmoke.evaluation.request import EvalRequest
from robosmoke.guest.engine.evaluate import EvalResult, run_evaluation
from robosmoke.manifest import Manifest


@pytest.fixture
def run(manifest: Manifest, tmp_path: Path):
    """Give a function that evaluates in this process: six episodes of two tasks."""

    def evaluate(name: str, **options: Any) -> EvalResult:
        request = EvalRequest(
            benchmark=manifest.name,
            episodes=3,
            executor="inline",
            out=tmp_path / name,
            **{"policy": "random", **options},
        )
        return run_evaluation(manifest, request)

    return evaluate


def test_merged_shards_are_the_undivided_evaluation(run, tmp_path: Path) -> None:
    whole = run("whole")
    folders = [run(f"shard-{index}", shard=f"{index}/4").out for index in (2, 0, 3, 1)]
    summary = merge(folders, tmp_path / "merged")
    merged = read_ledger(tmp_path / "merged")
    assert canonical(merged) == whole.canonical()
    assert [record.episode.index for record in merged] == list(range(6))
    assert (tmp_path / "merged" / "plan.json").read_bytes() == (whole.out / "plan.json").read_bytes()
    assert (summary.n_planned, summary.n_missing, summary.pc_success) == (6, 0, whole.summary.pc_success)


def test_videos_come_along(run, tmp_path: Path) -> None:
    folders = [run(f"{index}", shard=f"{index}/2", video="review", video_px=32).out for index in range(2)]
    merge(folders, tmp_path / "merged")
    for record in read_ledger(tmp_path / "merged"):
        assert record.video is not None
        assert (tmp_path / "merged" / record.video.path).stat().st_size > 0


def test_a_missing_shard_is_named_by_its_first_episode(run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"3 of 6 episodes have no record, the first is 1 "):
        merge([run("0", shard="0/2").out], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_an_episode_in_two_shards_is_refused(run, tmp_path: Path) -> None:
    one = run("0", shard="0/2").out
    shutil.copytree(one, tmp_path / "copy")
    with pytest.raises(UsageError, match="episode 0 was run in"):
        merge([one, tmp_path / "copy"], tmp_path / "merged")


def test_shards_of_different_plans_are_refused_with_the_place(run, tmp_path: Path) -> None:
    folders = [run("0", shard="0/2").out, run("1", shard="1/2", seed=4).out]
    with pytest.raises(UsageError, match=r"parts of different plans: episodes\[0\]\.seed: 0 there, 4 here"):
        merge(folders, tmp_path / "merged")


def test_a_folder_that_holds_something_is_not_written_to(run, tmp_path: Path) -> None:
    whole = run("whole")
    with pytest.raises(UsageError, match="is not empty"):
        merge([whole.out], whole.out)
    assert (whole.out / LEDGER_NAME).exists()
