"""The plan lists every episode from its arguments alone, and refuses what does not exist."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from robosmoke.errors import UsageError
from robosmoke.evaluation.plan import EvalPlan, build_plan, first_difference
from robosmoke.evaluation.request import EvalRequest
from robosmoke.manifest import Manifest
from robosmoke.schema import decode, encode


def plan_of(manifest: Manifest, **options: Any) -> EvalPlan:
    return build_plan(manifest, EvalRequest(benchmark=manifest.name, **options))


def test_equal_requests_give_equal_bytes_and_execution_is_not_in_them(manifest: Manifest) -> None:
    one = plan_of(manifest, episodes=4, workers=1, executor="inline")
    assert encode(one) == encode(plan_of(manifest, episodes=4, workers=7, recycle_after=3))
    assert decode(encode(one), EvalPlan, source="plan.json") == one


def test_episodes_count_per_task_and_no_two_of_a_task_share_a_seed(manifest: Manifest) -> None:
    episodes = plan_of(manifest, episodes=3, seed=5).episodes
    assert [(episode.index, episode.task, episode.seed) for episode in episodes] == [
        (0, "reach-left", 5),
        (1, "reach-left", 6),
        (2, "reach-left", 7),
        (3, "reach-right", 5),
        (4, "reach-right", 6),
        (5, "reach-right", 7),
    ]


def test_init_states_go_round_when_there_are_more_episodes(manifest: Manifest) -> None:
    episodes = plan_of(manifest, tasks=("reach-left",), episodes=5, init_states="0,2").episodes
    assert [(episode.init_state, episode.seed) for episode in episodes] == [(0, 0), (2, 1), (0, 2), (2, 3), (0, 4)]


@pytest.mark.parametrize(("text", "count"), [("none", 10), ("all", 3), ("1-2", 2), ("0,0", 1)])
def test_the_default_number_of_episodes_is_one_per_init_state_else_ten(
    text: str, count: int, manifest: Manifest
) -> None:
    assert len(plan_of(manifest, tasks=("reach-left",), init_states=text).episodes) == count


def test_max_steps_replaces_every_horizon(manifest: Manifest) -> None:
    assert {task.horizon for task in plan_of(manifest, max_steps=9).tasks} == {9}


def test_shards_are_disjoint_and_together_the_whole(manifest: Manifest) -> None:
    whole = plan_of(manifest, episodes=5)
    parts = [plan_of(manifest, episodes=5, shard=f"{index}/3") for index in range(3)]
    assert sorted(episode.index for part in parts for episode in part.mine()) == list(range(10))
    assert {encode(part.whole()) for part in parts} == {encode(whole)}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"policy": "exprt"}, "known: zero, random, expert, python:MODULE:FACTORY"),
        ({"policy": "torch:x.pt"}, "known: zero"),
        ({"policy": "python:module"}, "known: zero"),
        ({"tasks": ("reach-lft",)}, "did you mean 'reach-left'?"),
        ({"suites": ("mybenchmrk",)}, "did you mean 'mybenchmark'?"),
        ({"environment": "defalt"}, "did you mean 'default'?"),
        ({"init_states": "0-9"}, "has 0 to 2"),
        ({"init_states": "x"}, "neither a number nor a range"),
        ({"shard": "3/3"}, "i from 0 to N - 1"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(options: dict[str, Any], words: str, manifest: Manifest) -> None:
    with pytest.raises(UsageError, match=r"\A.*\Z") as caught:
        plan_of(manifest, **options)
    assert words in str(caught.value)


@pytest.mark.parametrize("field", ["episodes", "max_steps", "chunk", "workers", "threads", "recycle_after"])
def test_a_count_below_one_is_refused_by_name(field: str) -> None:
    with pytest.raises(UsageError, match=f"{field} is 0"):
        EvalRequest(benchmark="mybenchmark", **{field: 0})


def test_a_difference_is_named_with_its_place_and_both_values(manifest: Manifest) -> None:
    one = plan_of(manifest, episodes=2)
    changed = msgspec.structs.replace(one.episodes[3], seed=99)
    other = msgspec.structs.replace(one, episodes=(*one.episodes[:3], changed))
    assert first_difference(one, other) == "episodes[3].seed: 1 there, 99 here"
    assert first_difference(one, plan_of(manifest, episodes=3)) == "episodes: 4 there, 6 here"
    assert first_difference(one, plan_of(manifest, episodes=2)) is None
