"""The flags of an evaluation: each default is the request's, LeRobot's names are understood, faults are one line."""

from __future__ import annotations

import pytest

from robosmoke.errors import UsageError
from robosmoke.evaluation.arguments import parse
from robosmoke.evaluation.request import EvalRequest


def test_without_flags_the_request_has_its_own_defaults() -> None:
    assert parse(["pusht"]) == EvalRequest(benchmark="pusht")


def test_two_parses_share_no_list() -> None:
    assert parse(["pusht", "--task", "a", "b", "--task", "c"]).tasks == ("a", "b", "c")
    assert parse(["pusht", "--task", "d"]).tasks == ("d",)


def test_lerobots_names_mean_the_same() -> None:
    ours = parse(["pusht", "--episodes", "7", "--workers", "2"])
    assert parse(["pusht", "--n-episodes", "7", "--batch-size", "2"]) == ours
    assert parse(["pusht", "--n_episodes", "7", "--batch_size", "2"]) == ours


def test_automatic_workers_are_left_to_the_machine() -> None:
    assert parse(["pusht", "--workers", "auto"]).workers is None


@pytest.mark.parametrize(
    "flags",
    [
        ("--episodes", "x"),
        ("--episodes", "0"),
        ("--workers", "many"),
        ("--min-success", "2"),
        ("--video", "both"),
        ("--ray-address", "x"),
        ("--out", "a", "--resume", "a"),
        ("--episode-timeout", "inf"),
    ],
)
def test_a_bad_flag_is_a_usage_error_in_one_line(flags: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"\A.*\Z"):
        parse(["pusht", *flags])
