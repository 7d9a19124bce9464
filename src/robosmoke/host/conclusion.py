"""Derive what happened from a journal and the way its process ended: checks, episodes, verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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
from robosmoke.schema import CheckRecord, EpisodeRecord
from robosmoke.vocabulary import CHECK_VERDICTS, Blame, CheckOutcome, Verdict, worst

POSITIVE_CONTROL = "RS601"
_LOST = "the journal could no longer be written, most likely because the disk is full: see the end of run.log"


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What one guest run amounts to."""

    checks: tuple[CheckRecord, ...]
    episodes: tuple[EpisodeRecord, ...]
    facts: dict[str, Any]
    verdict: Verdict
    reason: str
    blame: Blame | None
    advice: str
    pytest_s: float


@dataclass(frozen=True, kw_only=True)
class _Judgement:
    verdict: Verdict
    reason: str
    blame: Blame | None = None
    advice: str = ""


@dataclass(frozen=True, kw_only=True)
class _Death:
    """Why a test started and did not end, and who is to blame."""

    message: str
    blame: Blame


def conclude(events: Sequence[Event], end: ProcessEnd) -> Conclusion:
    """Fold a journal into records and a verdict; whatever was planned appears in them."""
    # The process ended some time after the last event; how long is what its deadline is compared with.
    first_s = events[0].time if events else 0.0
    stopped = "session was given up" if any(isinstance(event, Finished) for event in events) else "process ended"
    how = f"the {stopped} before it ({end.describe()})"
    checks = _checks(events, lambda started: _death(started, end, first_s), how)
    return _conclusion(events, checks, _judge(checks, events, end))


def conclude_stopped(events: Sequence[Event], reason: str, blame: Blame) -> Conclusion:
    """Conclude a run that something outside the guest ended; whatever was planned appears here too."""
    checks = _checks(
        events, lambda _started: _Death(message=reason, blame=blame), f"the process ended before it ({reason})"
    )
    return _conclusion(events, checks, _Judgement(verdict=Verdict.BROKEN, reason=reason, blame=blame))


def _conclusion(events: Sequence[Event], checks: tuple[CheckRecord, ...], judgement: _Judgement) -> Conclusion:
    facts: dict[str, Any] = {}
    for event in events:
        if isinstance(event, Provenance):
            facts.update(event.facts)
    return Conclusion(
        checks=checks,
        episodes=tuple(event.record for event in events if isinstance(event, EpisodeEnded)),
        facts=facts,
        verdict=judgement.verdict,
        reason=judgement.reason,
        blame=judgement.blame,
        advice=judgement.advice,
        pytest_s=events[-1].time - events[0].time if events else 0.0,
    )


def _checks(events: Sequence[Event], death: Callable[[Started], _Death], how: str) -> tuple[CheckRecord, ...]:
    """Return a record per planned test; ``death`` explains one that did not end, ``how`` those never started."""
    planned = [test for event in events if isinstance(event, Planned) for test in event.tests]
    started = {event.test: event for event in events if isinstance(event, Started)}
    ended = {event.test: event for event in events if isinstance(event, Ended)}
    deaths = {test: death(event) for test, event in started.items() if test not in ended}
    return tuple(_check(test, ended.get(test.test), deaths.get(test.test), how) for test in planned)


def _check(test: PlannedTest, ended: Ended | None, death: _Death | None, how: str) -> CheckRecord:
    if ended is not None:
        outcome, message, blame = ended.outcome, ended.message, ended.blame
    elif death is not None:
        outcome, message, blame = CheckOutcome.BROKEN, death.message, death.blame
    else:
        outcome, message, blame = CheckOutcome.MISSING, f"never started: {how}", None
    return CheckRecord(
        check=test.check,
        name=test.name,
        task=test.task,
        test=test.test,
        outcome=outcome,
        message=message,
        blame=blame,
        duration_s=ended.duration_s if ended else 0.0,
    )


def _death(started: Started, end: ProcessEnd, first_s: float) -> _Death:
    """Say how the process died in the middle of a test, and who is to blame."""
    if end.out_of_memory:
        return _Death(message=f"the process ran {end.describe()}", blame=Blame.MACHINE)
    if end.exit_code == JOURNAL_LOST:
        return _Death(message=_LOST, blame=Blame.MACHINE)
    if end.timed_out:
        return _Death(message=f"the run {end.describe()} during this test", blame=Blame.ENV)
    if end.signal is not None:
        return _Death(message=f"the process was {end.describe()} in the middle of this test", blame=Blame.ENV)
    # The watchdog ends the process with exit 1; the run's wall time tells it from a plain exit.
    if end.exit_code == 1 and first_s + end.wall_s - started.time >= started.deadline_s:
        limit = f"timed out after {started.deadline_s:g} s"
        return _Death(message=f"{limit}: the test hangs, see faults.log for where", blame=Blame.ENV)
    return _Death(message=f"the process left with {end.describe()} in the middle of this test", blame=Blame.ENV)


def _judge(checks: Sequence[CheckRecord], events: Sequence[Event], end: ProcessEnd) -> _Judgement:
    deselected = sum(event.deselected for event in events if isinstance(event, Planned))
    finished = [event for event in events if isinstance(event, Finished)]
    if end.exit_code == JOURNAL_LOST:
        return _Judgement(verdict=Verdict.BROKEN, reason=_LOST, blame=Blame.MACHINE, advice="free some space")
    if not checks:
        return _no_plan(end, deselected)
    verdict = worst(CHECK_VERDICTS[check.outcome] for check in checks)
    if verdict is not Verdict.PASSED:
        return _red(checks, verdict, end)
    if not finished:
        reason = f"all tests ended, but the process did not finish: {end.describe()}"
        return _Judgement(verdict=Verdict.BROKEN, reason=reason, blame=Blame.ENV)
    if end.signal is not None or end.exit_code != finished[-1].exit_code:
        reason = f"all tests passed, but the process then ended with {end.describe()}: the simulator crashes at exit"
        return _Judgement(verdict=Verdict.BROKEN, reason=reason, blame=Blame.ENV)
    if not _positive_control(checks):
        why = f"{deselected} tests were deselected" if deselected else "none was planned"
        reason = f"no positive control passed ({why}), so nothing shows that success can be seen"
        return _Judgement(verdict=Verdict.FAILED, reason=reason, advice="run without -k for a verdict")
    return _Judgement(verdict=Verdict.PASSED, reason=f"{len(checks)} checks, none broken, and the expert succeeded")


def _no_plan(end: ProcessEnd, deselected: int) -> _Judgement:
    if end.exit_code == 5 or deselected:  # pytest's own code for "no tests collected"
        reason = f"no test was left to run ({deselected} deselected)"
        return _Judgement(verdict=Verdict.FAILED, reason=reason, advice="check -k and --task")
    last = end.tail[-1] if end.tail else "it printed nothing"
    blame = Blame.MACHINE if end.out_of_memory else Blame.ENVIRONMENT
    return _Judgement(
        verdict=Verdict.BROKEN,
        reason=f"the environment's process left no records: {end.describe()}; last line: {last}",
        blame=blame,
        advice="see run.log",
    )


def _red(checks: Sequence[CheckRecord], verdict: Verdict, end: ProcessEnd) -> _Judgement:
    culprits = [check for check in checks if CHECK_VERDICTS[check.outcome] is verdict]
    first = culprits[0]
    others = f" (and {len(culprits) - 1} more)" if len(culprits) > 1 else ""
    label = f"{first.check} {first.name}".strip() + (f" on {first.task}" if first.task else "")
    missing = sum(check.outcome is CheckOutcome.MISSING for check in checks)
    lost = f"; {missing} planned tests never ran" if missing else ""
    message = first.message.removeprefix(f"{first.check} {first.name}: ")
    advice = "raise memory_mb of the environment, or run fewer workers" if end.out_of_memory else ""
    return _Judgement(verdict=verdict, reason=f"{label}: {message}{others}{lost}", blame=first.blame, advice=advice)


def _positive_control(checks: Sequence[CheckRecord]) -> bool:
    return any(
        check.check == POSITIVE_CONTROL and check.task is None and check.outcome is CheckOutcome.PASSED
        for check in checks
    )
