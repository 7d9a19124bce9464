"""The three closed vocabularies, and the exit code behind every word."""

from __future__ import annotations

from itertools import permutations

import pytest

from robosmoke.errors import (
    ExitCode,
    InterruptedRun,
    ManifestError,
    NotInstalled,
    RecordError,
    RobosmokeError,
    SetupError,
    UsageError,
    unknown_name,
)
from robosmoke.vocabulary import (
    CHECK_VERDICTS,
    EPISODE_VERDICTS,
    EXIT_CODES,
    CheckOutcome,
    EpisodeStatus,
    Verdict,
    is_red,
    worst,
)

VERDICTS = {"passed": 0, "failed": 1, "broken": 3, "skipped": 0, "missing": 1}
CHECKS = {
    "passed": "passed",
    "failed": "failed",
    "expected": "passed",
    "unexpectedly_passed": "failed",
    "skipped": "passed",
    "broken": "broken",
    "missing": "missing",
}
EPISODES = {"completed": "passed", "errored": "failed", "skipped": "passed", "missing": "missing"}


def test_every_word_has_one_exit_code() -> None:
    """The whole table, written out a second time."""
    assert {verdict.value: int(EXIT_CODES[verdict]) for verdict in Verdict} == VERDICTS
    assert {outcome.value: CHECK_VERDICTS[outcome].value for outcome in CheckOutcome} == CHECKS
    assert {status.value: EPISODE_VERDICTS[status].value for status in EpisodeStatus} == EPISODES


def test_the_table_holds_no_word_of_another_vocabulary() -> None:
    """The words overlap as strings, so a wrong member would go unseen in a look-up."""
    for table, vocabulary in ((EXIT_CODES, Verdict), (CHECK_VERDICTS, CheckOutcome), (EPISODE_VERDICTS, EpisodeStatus)):
        assert {type(word) for word in table} == {vocabulary}
        assert len(table) == len(vocabulary)


@pytest.mark.parametrize("verdict", Verdict)
def test_red_is_whatever_does_not_exit_green(verdict: Verdict) -> None:
    assert is_red(verdict) == (verdict in (Verdict.FAILED, Verdict.BROKEN, Verdict.MISSING))


def test_the_worst_verdict_does_not_depend_on_the_order() -> None:
    order = [Verdict.BROKEN, Verdict.FAILED, Verdict.MISSING, Verdict.PASSED, Verdict.SKIPPED]
    for first, second in permutations(order, 2):
        assert worst([first, second]) is order[min(order.index(first), order.index(second))]


def test_no_verdict_at_all_is_missing_and_never_green() -> None:
    assert worst([]) is Verdict.MISSING


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RobosmokeError, ExitCode.RED),
        (UsageError, ExitCode.USAGE),
        (ManifestError, ExitCode.USAGE),
        (RecordError, ExitCode.USAGE),
        (SetupError, ExitCode.ENVIRONMENT),
        (NotInstalled, ExitCode.ENVIRONMENT),
        (InterruptedRun, ExitCode.INTERRUPTED),
    ],
)
def test_every_error_has_its_exit_code(error: type[RobosmokeError], code: ExitCode) -> None:
    assert error.exit_code is code


def test_an_unknown_name_gets_the_nearest_one_and_the_known_ones() -> None:
    assert str(unknown_name("task", "push-v2", ["reach-v3", "push-v3"])) == (
        "unknown task 'push-v2': did you mean 'push-v3'? known: push-v3, reach-v3"
    )


def test_a_name_like_no_other_gets_no_suggestion() -> None:
    assert "did you mean" not in str(unknown_name("task", "zzz", ["reach-v3"]))


def test_a_long_list_of_names_is_cut_and_counted() -> None:
    assert str(unknown_name("task", "x", [f"t{n:02}" for n in range(50)])).endswith("t19, … (50 in all)")
