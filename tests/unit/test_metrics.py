"""The summary files of a run, in LeRobot's keys and shapes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from robosmoke.errors import UsageError
from robosmoke.host.eval_info import import_eval_info
from robosmoke.host.metrics import eval_info, metrics
from robosmoke.manifest import Manifest
from robosmoke.schema import Episode, EpisodeRecord, Run, Video, write
from robosmoke.vocabulary import EpisodeStatus, Verdict

TASKS = [
    {"name": name, "instruction": f"do {name}", "suite": "arm", "index": n} for n, name in enumerate(("lift", "push"))
]
MANIFEST = msgspec.convert(
    {
        "schema": 1,
        "name": "arm",
        "title": "Arm",
        "summary": "",
        "url": "",
        "env": "env:Arm",
        "expert": "expert:Expert",
        "control_hz": 10.0,
        "on_success": "stop",
        "on_success_source": "",
        "review_camera": "front",
        "smoke": {"expert_rate": 1.0},
        "environment": {"default": {}},
        "suite": {"arm": {"name": "arm", "horizon": 50, "tasks": TASKS}},
        "camera": [{"name": "front"}],
    },
    Manifest,
)


def record(control: str, task: str, **changes: Any) -> EpisodeRecord:
    planned = Episode(index=0, benchmark="arm", environment="default", suite="arm", task=task, seed=0)
    values: dict[str, Any] = {
        "success_any": control == "expert",
        "sum_reward": 2.0,
        "max_reward": 1.0,
        "duration_s": 0.5,
    }
    return EpisodeRecord(
        episode=planned,
        policy=f"arm-{control}",
        control=control,
        on_success="stop",
        **{"status": EpisodeStatus.COMPLETED, **values, **changes},
    )


def run(*tasks: str) -> Run:
    return Run(
        invocation="i",
        benchmark="arm",
        title="Arm",
        environment="default",
        backend="venv",
        verdict=Verdict.PASSED,
        reason="",
        started="",
        wall_s=1.0,
        tasks=tasks,
    )


ERRORED = {"status": EpisodeStatus.ERRORED, "success_any": None, "sum_reward": None, "max_reward": None}


def test_the_top_level_holds_lerobots_keys_for_the_expert():
    found = metrics(run("arm/push", "arm/lift"), [record("expert", "push"), record("zero", "push")], MANIFEST)
    expected = {"env": "arm", "task": "push,lift", "policy": "arm-expert", "pc_success": 100.0, "n_episodes": 1}
    assert {key: found[key] for key in expected} == expected
    assert (found["avg_sum_reward"], found["eval_s"]) == (2.0, 0.5)
    assert found["task_descriptions"] == {"arm_1": "do push", "arm_0": "do lift"}


def test_each_control_has_its_own_counts_and_interval():
    found = metrics(run("push"), [record("zero", "push"), record("expert", "push", **ERRORED)], MANIFEST)
    assert list(found["controls"]) == ["expert", "zero"]
    assert found["controls"]["zero"]["pc_success"] == 0.0
    assert found["controls"]["zero"]["wilson_95"]["high"] == pytest.approx(0.7935, abs=5e-5)
    assert (found["controls"]["expert"]["n_planned"], found["controls"]["expert"]["n_errored"]) == (1, 1)


def test_no_completed_episode_is_null_and_never_zero():
    found = metrics(run("push"), [record("expert", "push", **ERRORED)], MANIFEST)
    assert (found["pc_success"], found["n_episodes"], found["avg_sum_reward"]) == (None, 0, None)


def test_a_task_of_another_benchmark_is_a_usage_error():
    with pytest.raises(UsageError, match="did you mean 'push'"):
        metrics(run("pusj"), [], MANIFEST)


def test_eval_info_numbers_tasks_by_their_index_and_holds_the_expert_alone():
    video = Video(kind="review", path="videos/a.mp4", poster="", frames=1, fps=1.0, width_px=2, height_px=2)
    found = eval_info(
        [
            record("expert", "push", video=video),
            record("expert", "lift", success_any=False),
            record("zero", "push"),
            record("expert", "lift", **ERRORED),
        ],
        MANIFEST,
    )
    assert [(entry["task_group"], entry["task_id"]) for entry in found["per_task"]] == [("arm", 0), ("arm", 1)]
    assert found["per_task"][1]["metrics"] == {
        "sum_rewards": [2.0],
        "max_rewards": [1.0],
        "successes": [True],
        "video_paths": ["videos/a.mp4"],
    }
    assert (found["per_group"]["arm"]["pc_success"], found["overall"]["n_episodes"]) == (50.0, 2)
    assert (found["overall"]["eval_s"], found["overall"]["eval_ep_s"]) == (1.0, 0.5)


@pytest.mark.parametrize("episodes", [[record("expert", "push"), record("expert", "lift")], []])
def test_what_is_exported_comes_back_without_a_disagreement(tmp_path, episodes):
    write(tmp_path / "eval_info.json", eval_info(episodes, MANIFEST))
    back = import_eval_info(tmp_path / "eval_info.json", "arm", "default", "expert")
    assert back.tally.successes == len(episodes)
    assert [finding for finding in back.findings if finding != "no episode completed"] == []
