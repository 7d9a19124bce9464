"""LeRobot's result files come in with their faults named, and robosmoke's go out in the same shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from robosmoke.errors import ExitCode, RecordError
from robosmoke.host.eval_info import UNKNOWN_SEED, Imported, import_eval_info
from robosmoke.schema import encode
from robosmoke.vocabulary import Blame, EpisodeStatus


def task(
    group: str, index: int, successes: list[Any], rewards: list[Any] | None = None, **metrics: Any
) -> dict[str, Any]:
    rewards = rewards or [float(bool(success)) for success in successes]
    lists = {"sum_rewards": rewards, "max_rewards": rewards, "successes": successes, "video_paths": []}
    return {"task_group": group, "task_id": index, "metrics": {**lists, **metrics}}


def single(index: int, success: bool, seed: int, reward: float = 1.0) -> dict[str, Any]:
    return {"episode_ix": index, "sum_reward": reward, "max_reward": reward, "success": success, "seed": seed}


@pytest.fixture
def imported(tmp_path: Path) -> Any:
    """Write a value, or text as it is, and import it."""

    def load(content: Any) -> Imported:
        path = tmp_path / "eval_info.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return import_eval_info(path, "arm", "lerobot", "act")

    return load


def test_several_tasks_come_in_ordered_within_their_suite(imported):
    result = imported(
        {
            "per_task": [
                task("spatial", 1, [True, False]),
                task("spatial", 0, [True, True]),
                task("object", 0, [False, False]),
            ],
            "per_group": {
                "spatial": {"pc_success": 75.0, "n_episodes": 4, "avg_sum_reward": 0.75},
                "object": {"pc_success": 0.0, "n_episodes": 2, "avg_sum_reward": 0.0},
            },
            "overall": {"pc_success": 50.0, "n_episodes": 6, "avg_sum_reward": 0.5, "avg_max_reward": 0.5},
        }
    )
    assert [record.episode.task for record in result.records[::2]] == ["spatial_0", "spatial_1", "object_0"]
    assert [record.episode.index for record in result.records] == list(range(6))
    assert (result.tally.successes, result.tally.completed) == (3, 6)
    assert result.tally.interval.low == pytest.approx(0.1876, abs=5e-5)
    assert result.tally.interval.high == pytest.approx(0.8124, abs=5e-5)
    assert not result.red
    assert {record.episode.seed for record in result.records} == {UNKNOWN_SEED}


def test_a_single_env_keeps_its_seeds(imported):
    episodes = [single(number, number in (1, 2, 3), 1000 + number) for number in (1, 0, 2, 3, 4)]
    result = imported({"per_episode": episodes, "aggregated": {"pc_success": 60.0, "avg_sum_reward": 1.0}})
    assert [record.episode.seed for record in result.records] == [1000, 1001, 1002, 1003, 1004]
    assert (result.tally.successes, result.tally.completed, result.red) == (3, 5, False)


def test_a_bare_nan_reward_is_an_errored_episode_and_what_is_written_is_strict(imported):
    result = imported(
        b'{"per_task": [{"task_group": "arm", "task_id": 0, "metrics": {"sum_rewards": [3.0, NaN],'
        b' "max_rewards": [1.0, NaN], "successes": [true, false]}}],'
        b' "overall": {"avg_sum_reward": 3.0, "pc_success": 50.0, "n_episodes": 2}}'
    )
    assert [record.status for record in result.records] == [EpisodeStatus.COMPLETED, EpisodeStatus.ERRORED]
    assert (result.records[1].sum_reward, result.records[1].success_any) == (None, None)
    assert (result.records[1].blame, result.records[1].error) == (
        Blame.ENV,
        "sum_reward is nan, not a finite number; max_reward is nan, not a finite number",
    )
    assert (result.tally.rate, result.tally.completed, result.tally.planned) == (1.0, 1, 2)
    assert result.findings == ()
    assert result.red
    assert b"NaN" not in b"".join(encode(record) for record in result.records)


def test_no_episode_at_all_is_red_without_a_rate(imported):
    result = imported(b'{"overall": {"avg_sum_reward": NaN, "pc_success": NaN, "n_episodes": 0, "eval_s": 0.1}}')
    assert (result.records, result.tally.rate) == ((), None)
    assert (result.red, result.reason) == (True, "no episode completed")


def test_a_byte_order_mark_is_accepted(imported):
    content = json.dumps({"per_episode": [single(0, True, 7)], "aggregated": {"pc_success": 100.0}}).encode()
    result = imported(b"\xef\xbb\xbf" + content)
    assert (result.tally.successes, result.tally.completed, result.red) == (1, 1, False)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (
            b'{"per_task": [{"task_group": "arm", "task_id": 0, "metrics": {"sum_rewards": [1.0, 2',
            r":1:\d+: .* expected",
        ),
        (b"", ":1:1: .* expected"),
        (b"{}", "'per_task'.*'per_episode'.*an empty object"),
        (b"[1, 2, 3]", "expected an object, found an array"),
        (b'"\xff"', "byte 1: is not UTF-8"),
        (b"[" * 100_000, "not usable JSON"),
        (b'{"per_task": [], "per_episode": []}', "both"),
        (b'{"per_task": []}', "'overall' is missing: expected an object"),
        (b'{"per_episode": []}', "'aggregated' is missing"),
        (b'{"overall": {"n_episodes": 5}}', "has no 'per_task'"),
        (b'{"overall": {}, "per_task": {}}', "per_task: expected an array, found an object"),
        (b'{"overall": {}, "per_task": [7]}', r"per_task\[0\]: expected an object, found a number"),
        (b'{"overall": {}, "per_task": [{}]}', r"per_task\[0\]: key 'metrics' is missing"),
        (
            json.dumps({"overall": {}, "per_task": [task("g", 0, [True, "yes"])]}).encode(),
            r"per_task\[0\]\.metrics\.successes\[1\]: expected a boolean or null, found a string",
        ),
        (
            json.dumps({"overall": {"n_episodes": "1"}, "per_task": [task("g", 0, [True])]}).encode(),
            "overall.n_episodes: expected an integer, found a string",
        ),
    ],
)
def test_what_is_no_eval_info_is_one_line_with_file_place_and_expectation(imported, tmp_path, content, named):
    with pytest.raises(RecordError, match=named) as caught:
        imported(content)
    assert str(tmp_path / "eval_info.json") in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code is ExitCode.USAGE
    assert [path.name for path in tmp_path.iterdir()] == ["eval_info.json"]


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(RecordError, match="cannot be read"):
        import_eval_info(tmp_path / "none.json", "arm", "lerobot", "act")


def test_every_disagreement_is_named_and_red(imported):
    result = imported(
        {
            "per_task": [
                task("arm", 0, [True, True, False], [9.0, 8.0, 1.0], video_paths=[f"{n}.mp4" for n in range(4)])
            ],
            "overall": {"avg_sum_reward": 6.0, "pc_success": 80.0, "n_episodes": 5},
        }
    )
    assert result.findings == (
        "arm_0: 4 videos listed, 3 recorded as episodes",
        "overall: 3 episodes recorded, 5 claimed in n_episodes",
        "overall: pc_success is 80 % claimed against 66.67 % recorded",
    )
    assert result.red


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"overall": {"avg_sum_reward": 9.0}}, "overall: avg_sum_reward is 9 claimed against 0.5 recorded"),
        ({"overall": {"avg_max_reward": None}}, "overall: avg_max_reward is no number claimed against 0.5 recorded"),
        ({"per_group": {}}, "per_group has no 'arm', which has episodes"),
        ({"per_group": {"arm": {}, "leg": {}}}, "per_group has 'leg', which has no episode"),
        ({"per_group": {"arm": {"n_episodes": 3}}}, "per_group.arm: 2 episodes recorded, 3 claimed in n_episodes"),
        ({"per_task": [task("arm", 0, [True]), task("arm", 0, [False])]}, "arm_0: is listed 2 times"),
    ],
)
def test_one_disagreement_is_one_finding(imported, change, finding):
    result = imported({"per_task": [task("arm", 0, [True, False])], "overall": {}, **change})
    assert result.findings == (finding,)


def test_lists_of_different_lengths_lose_no_episode(imported):
    result = imported({"per_task": [task("arm", 0, [True], [1.0, 2.0])], "overall": {}})
    assert [record.status for record in result.records] == [EpisodeStatus.COMPLETED, EpisodeStatus.ERRORED]
    assert result.findings == ("arm_0: its lists differ in length: 2 sum_rewards, 2 max_rewards, 1 successes",)


def test_paths_out_of_the_folder_are_refused_and_named_and_the_record_kept(imported):
    paths = ["../../../etc/passwd", "/etc/shadow", "videos/a.mp4"]
    result = imported({"per_task": [task("arm", 0, [True, True, True], video_paths=paths)], "overall": {}})
    assert len(result.records) == 3
    assert [path in refused for path, refused in zip(paths, result.refused, strict=False)] == [True, True]
    assert [(video.index, video.path) for video in result.videos] == [(2, "videos/a.mp4")]
