"""What a journal and the end of its process amount to: nothing planned vanishes, nothing is green by absence."""

from __future__ import annotations

from typing import Any

import pytest

from robosmoke.host.conclusion import Conclusion, conclude, conclude_stopped
from robosmoke.host.environments.backend import ProcessEnd
from robosmoke.journal import (
    JOURNAL_LOST,
    Ended,
    EpisodeEnded,
    Event,
    Finished,
    Planned,
    PlannedTest,
    Provenance,
    Started,
)
from robosmoke.schema import Episode, EpisodeRecord
from robosmoke.vocabulary import Blame, CheckOutcome, EpisodeStatus, Verdict

SPACES = PlannedTest(test="t[RS201-spaces-reach]", check="RS201", name="spaces", task="reach")
REPLAY = PlannedTest(test="t[RS307-replay-reach]", check="RS307", name="replay", task="reach")
RATE = PlannedTest(test="RS601-expert-succeeds", check="RS601", name="expert-succeeds", task=None)


def end(**changes: Any) -> ProcessEnd:
    values: dict[str, Any] = {
        "exit_code": 0,
        "signal": None,
        "timed_out": False,
        "out_of_memory": False,
        "wall_s": 10.0,
        "tail": (),
    }
    return ProcessEnd(**{**values, **changes})


def plan(*tests: PlannedTest, deselected: int = 0) -> Planned:
    return Planned(time=100.0, tests=tests, deselected=deselected)


def ran(test: PlannedTest, outcome: CheckOutcome = CheckOutcome.PASSED, **changes: Any) -> list[Event]:
    started = Started(time=101.0, test=test.test, deadline_s=5.0)
    return [started, Ended(time=102.0, test=test.test, outcome=outcome, duration_s=1.0, **changes)]


def judged() -> list[Event]:
    return [Ended(time=103.0, test=RATE.test, outcome=CheckOutcome.PASSED, duration_s=0.0)]


def finished(code: int = 0) -> list[Event]:
    return [Finished(time=104.0, exit_code=code)]


def outcomes(conclusion: Conclusion) -> list[str]:
    return [check.outcome.value for check in conclusion.checks]


def test_everything_passed_is_green() -> None:
    conclusion = conclude([plan(SPACES, RATE), *ran(SPACES), *judged(), *finished()], end())
    assert (conclusion.verdict, conclusion.blame) == (Verdict.PASSED, None)
    assert outcomes(conclusion) == ["passed", "passed"]
    assert conclusion.pytest_s == 4.0


@pytest.mark.parametrize("outcome", [CheckOutcome.EXPECTED, CheckOutcome.SKIPPED])
def test_an_expected_fault_and_a_skipped_check_stay_green(outcome: CheckOutcome) -> None:
    events = [plan(SPACES, RATE), *ran(SPACES, outcome), *judged(), *finished()]
    assert conclude(events, end()).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (CheckOutcome.FAILED, Verdict.FAILED),
        (CheckOutcome.UNEXPECTEDLY_PASSED, Verdict.FAILED),
        (CheckOutcome.BROKEN, Verdict.BROKEN),
    ],
)
def test_the_reason_names_check_task_and_message_once(outcome: CheckOutcome, verdict: Verdict) -> None:
    broken = ran(SPACES, outcome, message="RS201 spaces: outside", blame=Blame.ENV)
    conclusion = conclude([plan(SPACES, RATE), *broken, *judged(), *finished(1)], end(exit_code=1))
    assert (conclusion.verdict, conclusion.blame) == (verdict, Blame.ENV)
    assert conclusion.reason == "RS201 spaces on reach: outside"


def test_the_number_of_further_failures_is_said() -> None:
    faults = [*ran(SPACES, CheckOutcome.FAILED, message="a"), *ran(REPLAY, CheckOutcome.FAILED, message="b")]
    conclusion = conclude([plan(SPACES, REPLAY, RATE), *faults, *judged(), *finished(1)], end(exit_code=1))
    assert conclusion.reason == "RS201 spaces on reach: a (and 1 more)"


def test_a_broken_check_outranks_a_failed_one() -> None:
    faults = [
        *ran(SPACES, CheckOutcome.FAILED, message="a"),
        *ran(REPLAY, CheckOutcome.BROKEN, message="b", blame=Blame.MACHINE),
    ]
    conclusion = conclude([plan(SPACES, REPLAY), *faults, *finished(1)], end(exit_code=1))
    assert (conclusion.verdict, conclusion.blame) == (Verdict.BROKEN, Blame.MACHINE)
    assert conclusion.reason.startswith("RS307 replay on reach: b")


DEATHS = {
    "a signal": (end(exit_code=None, signal="SIGSEGV"), "killed by SIGSEGV in the middle of this test", Blame.ENV),
    "memory": (end(exit_code=None, out_of_memory=True, memory_mb=64), "out of memory (limit 64 MB)", Blame.MACHINE),
    "the run's limit": (end(exit_code=None, timed_out=True, timeout_s=9), "timed out after 9 s", Blame.ENV),
    "the test's deadline": (end(exit_code=1, wall_s=6.0), "timed out after 5 s: the test hangs", Blame.ENV),
    "an early exit 1": (end(exit_code=1, wall_s=5.9), "left with exit 1 in the middle of this test", Blame.ENV),
    "os._exit": (end(exit_code=42, wall_s=60.0), "left with exit 42 in the middle of this test", Blame.ENV),
    "a lost journal": (end(exit_code=JOURNAL_LOST), "the journal could no longer be written", Blame.MACHINE),
}


@pytest.mark.parametrize("death", DEATHS)
def test_a_process_that_dies_in_a_test_names_it_and_what_never_ran(death: str) -> None:
    how, message, blame = DEATHS[death]
    started = Started(time=101.0, test=REPLAY.test, deadline_s=5.0)
    conclusion = conclude([plan(SPACES, REPLAY, RATE), *ran(SPACES), started], how)
    assert outcomes(conclusion) == ["passed", "broken", "missing"]
    assert message in conclusion.checks[1].message
    assert conclusion.checks[2].message.startswith("never started")
    assert (conclusion.verdict, conclusion.blame) == (Verdict.BROKEN, blame)
    assert message in conclusion.reason


def test_the_reason_counts_what_never_ran() -> None:
    started = Started(time=101.0, test=SPACES.test, deadline_s=5.0)
    conclusion = conclude([plan(SPACES, REPLAY, RATE), started], end(exit_code=None, signal="SIGABRT"))
    assert conclusion.reason.endswith("; 2 planned tests never ran")


def test_out_of_memory_comes_with_what_to_do() -> None:
    started = Started(time=101.0, test=SPACES.test, deadline_s=5.0)
    assert "memory_mb" in conclude([plan(SPACES), started], end(out_of_memory=True)).advice


def test_a_process_that_stopped_between_tests_is_missing_what_it_planned() -> None:
    conclusion = conclude([plan(SPACES, REPLAY, RATE), *ran(SPACES)], end(exit_code=0))
    assert conclusion.verdict is Verdict.MISSING
    assert outcomes(conclusion) == ["passed", "missing", "missing"]


def test_a_session_that_gave_up_and_came_to_its_end_is_not_said_to_have_died() -> None:
    conclusion = conclude([plan(SPACES, REPLAY), *ran(SPACES), *finished(1)], end(exit_code=1))
    assert conclusion.checks[1].message == "never started: the session was given up before it (exit 1)"


def test_a_plan_that_k_left_empty_is_red_and_counts_what_was_left_out() -> None:
    conclusion = conclude([plan(deselected=20), *finished(5)], end(exit_code=5))
    assert (conclusion.verdict, conclusion.reason) == (Verdict.FAILED, "no test was left to run (20 deselected)")


@pytest.mark.parametrize("how", [end(exit_code=None, signal="SIGSEGV"), end(exit_code=1), end(exit_code=0)])
def test_a_session_that_did_not_finish_is_broken_though_all_passed(how: ProcessEnd) -> None:
    conclusion = conclude([plan(SPACES, RATE), *ran(SPACES), *judged()], how)
    assert conclusion.verdict is Verdict.BROKEN
    assert "did not finish" in conclusion.reason


@pytest.mark.parametrize("how", [end(exit_code=None, signal="SIGSEGV"), end(exit_code=1)])
def test_a_crash_at_exit_is_broken_though_all_passed(how: ProcessEnd) -> None:
    conclusion = conclude([plan(SPACES, RATE), *ran(SPACES), *judged(), *finished(0)], how)
    assert (conclusion.verdict, conclusion.blame) == (Verdict.BROKEN, Blame.ENV)
    assert "crashes at exit" in conclusion.reason


def test_no_positive_control_is_red_and_says_why() -> None:
    """The expert's test of one task passing is not the rate over all."""
    one_task = PlannedTest(test="t[RS601-expert-succeeds-reach]", check="RS601", name="expert-succeeds", task="reach")
    conclusion = conclude([plan(SPACES, one_task, deselected=7), *ran(SPACES), *ran(one_task), *finished()], end())
    assert conclusion.verdict is Verdict.FAILED
    assert conclusion.reason.startswith("no positive control passed (7 tests were deselected)")
    assert "without -k" in conclusion.advice


@pytest.mark.parametrize("outcome", [CheckOutcome.EXPECTED, CheckOutcome.SKIPPED])
def test_a_positive_control_that_did_not_pass_is_none(outcome: CheckOutcome) -> None:
    skipped = [Ended(time=103.0, test=RATE.test, outcome=outcome, duration_s=0.0)]
    conclusion = conclude([plan(SPACES, RATE), *ran(SPACES), *skipped, *finished()], end())
    assert (conclusion.verdict, "no positive control" in conclusion.reason) == (Verdict.FAILED, True)


def test_an_empty_selection_is_red() -> None:
    conclusion = conclude([Finished(time=1.0, exit_code=5)], end(exit_code=5))
    assert conclusion.verdict is Verdict.FAILED
    assert "no test was left to run" in conclusion.reason


@pytest.mark.parametrize(
    ("how", "blame"),
    [
        (end(exit_code=2, tail=("first", "ImportError: no mujoco")), Blame.ENVIRONMENT),
        (end(exit_code=None, out_of_memory=True, tail=("ImportError: no mujoco",)), Blame.MACHINE),
    ],
)
def test_a_process_without_a_plan_is_broken_and_its_last_line_shown(how: ProcessEnd, blame: Blame) -> None:
    conclusion = conclude([], how)
    assert (conclusion.verdict, conclusion.blame, conclusion.checks) == (Verdict.BROKEN, blame, ())
    assert conclusion.reason.endswith("last line: ImportError: no mujoco")


def test_a_silent_death_without_a_plan_says_that_nothing_was_printed() -> None:
    assert conclude([], end(exit_code=None, signal="SIGKILL")).reason.endswith("it printed nothing")


def test_what_something_outside_ended_keeps_all_that_was_planned() -> None:
    started = Started(time=101.0, test=REPLAY.test, deadline_s=5.0)
    conclusion = conclude_stopped([plan(SPACES, REPLAY, RATE), *ran(SPACES), started], "interrupted", Blame.MACHINE)
    assert outcomes(conclusion) == ["passed", "broken", "missing"]
    assert (conclusion.verdict, conclusion.reason, conclusion.blame) == (Verdict.BROKEN, "interrupted", Blame.MACHINE)


def test_episodes_and_facts_are_kept_in_order_and_later_facts_win() -> None:
    episode = Episode(index=0, benchmark="b", environment="default", suite="s", task="reach", seed=0)
    record = EpisodeRecord(episode=episode, policy="zero", status=EpisodeStatus.COMPLETED, on_success="stop")
    facts = [Provenance(time=1.0, facts={"a": 1, "b": 1}), Provenance(time=2.0, facts={"b": 2})]
    conclusion = conclude([*facts, plan(SPACES), EpisodeEnded(time=3.0, record=record)], end(exit_code=1))
    assert conclusion.episodes == (record,)
    assert conclusion.facts == {"a": 1, "b": 2}
