"""Write the journal from the session's reports; runs in one process, the controller."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from robosmoke.errors import CheckFailed
from robosmoke.guest.checks.controls import require_rate
from robosmoke.guest.checks.registry import Check, by_code, checks
from robosmoke.guest.collection import EPISODE_PROPERTY, FACT_PROPERTY, out_of, request_of
from robosmoke.guest.endings import describe_end
from robosmoke.guest.provenance import facts
from robosmoke.guest.watch import FAILURE_PROPERTY, judge
from robosmoke.journal import (
    JOURNAL_LOST,
    JOURNAL_NAME,
    Ended,
    EpisodeEnded,
    Event,
    Finished,
    Journal,
    Planned,
    PlannedTest,
    Provenance,
    Started,
)
from robosmoke.schema import EpisodeRecord, decode
from robosmoke.vocabulary import Blame, CheckOutcome

RATE_CHECK = "RS601"
# A dead worker's pipes close a moment before its exit code can be read.
_REAP_S = 5.0


class Recorder:
    """Journal every collected test before the first runs, then each start, episode and outcome."""

    def __init__(self, config: pytest.Config) -> None:
        self._request = request_of(config)
        self._journal = Journal(out_of(config) / JOURNAL_NAME)
        self._deadline_s = float(self._request.manifest.smoke.test_timeout_s)
        self._planned: dict[str, PlannedTest] = {}
        self._started: dict[str, float] = {}
        self._reports: dict[str, list[pytest.TestReport]] = {}
        self._episodes: list[EpisodeRecord] = []
        self._broken_experts: list[Ended] = []
        self._deselected = 0

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count what ``-k`` left out."""
        self._deselected += len(items)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Journal the plan of a session without workers."""
        if session.items or self._deselected:
            self._plan(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Journal the plan that the first worker reports; the others have the same."""
        if not self._planned:
            self._plan(ids)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Journal a start."""
        self._started[nodeid] = time.time()
        self._write(Started(time=time.time(), test=nodeid, deadline_s=self._deadline_s))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Journal the outcome when the last phase of a test, or its worker's death, is reported."""
        phases = self._reports.setdefault(report.nodeid, [])
        phases.append(report)
        if report.when not in ("setup", "call"):
            self._end(report.nodeid, phases)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Judge the expert's rate over all tasks, and close the journal."""
        if not self._judge_rate() and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = exitstatus = pytest.ExitCode.TESTS_FAILED
        self._write(Finished(time=time.time(), exit_code=int(exitstatus)))

    def _plan(self, nodeids: Iterable[str]) -> None:
        tests = [_planned(nodeid) for nodeid in nodeids]
        if any(test.check == RATE_CHECK for test in tests):
            check = by_code(RATE_CHECK)
            tests.append(PlannedTest(test=check.label, check=check.code, name=check.name, task=None))
        self._planned = {test.test: test for test in tests}
        self._write(Provenance(time=time.time(), facts=facts()))
        self._write(Planned(time=time.time(), tests=tuple(tests), deselected=self._deselected))

    def _end(self, nodeid: str, phases: list[pytest.TestReport]) -> None:
        # A report carries the properties of the phases before it; the last one has them all.
        for key, value in phases[-1].user_properties:
            if key == EPISODE_PROPERTY:
                record = decode(str(value).encode(), EpisodeRecord, source=nodeid)
                self._keep(record)
            elif key == FACT_PROPERTY:
                name, _, fact = str(value).partition("=")
                self._write(Provenance(time=time.time(), facts={name: fact}))
        outcome, blame, message = _concluded(phases, self._elapsed_s(nodeid), self._deadline_s)
        ended = Ended(
            time=time.time(),
            test=nodeid,
            outcome=outcome,
            duration_s=round(sum(phase.duration for phase in phases), 4),
            message=message,
            blame=blame,
        )
        if outcome is CheckOutcome.BROKEN and self._planned[nodeid].check == RATE_CHECK:
            self._broken_experts.append(ended)
        self._write(ended)

    def _keep(self, record: EpisodeRecord) -> None:
        """Journal an episode once: the worker that replaces a dead one knows none, and plays it again."""
        if record.episode.index not in {kept.episode.index for kept in self._episodes}:
            self._episodes.append(record)
            self._write(EpisodeEnded(time=time.time(), record=record))

    def _write(self, event: Event) -> None:
        """Append an event; a journal that cannot be written ends the process at once, with a code of its own."""
        try:
            self._journal.append(event)
        except OSError as error:
            with contextlib.suppress(OSError):  # the log may lie on the same full disk
                os.write(2, f"\nrobosmoke: {JOURNAL_NAME}: cannot be written: {error.strerror}\n".encode())
            os._exit(JOURNAL_LOST)

    def _elapsed_s(self, nodeid: str) -> float:
        return time.time() - self._started.get(nodeid, time.time())

    def _judge_rate(self) -> bool:
        """Return whether the rate check held, or was not planned."""
        planned = self._planned.get(by_code(RATE_CHECK).label)
        if planned is None:
            return True
        try:
            outcome, blame, message = CheckOutcome.PASSED, None, require_rate(self._request.manifest, self._episodes)
        except CheckFailed as failure:
            outcome, blame, message = judge(failure)
            if self._broken_experts and not any(record.control == "expert" for record in self._episodes):
                blame = self._broken_experts[0].blame
        message += "".join(
            f"; the expert's test on {self._planned[ended.test].task} broke: {ended.message}"
            for ended in self._broken_experts
        )
        self._write(
            Ended(time=time.time(), test=planned.test, outcome=outcome, duration_s=0.0, message=message, blame=blame)
        )
        return outcome is CheckOutcome.PASSED


def _planned(nodeid: str) -> PlannedTest:
    label = nodeid.partition("[")[2].rstrip("]")
    known: Check | None = next((check for check in checks() if label.startswith(f"{check.label}-")), None)
    if known is None:
        return PlannedTest(test=nodeid, check="", name=nodeid.rpartition("::")[2].partition("[")[0], task=label or None)
    return PlannedTest(test=nodeid, check=known.code, name=known.name, task=label[len(known.label) + 1 :])


def _concluded(
    phases: list[pytest.TestReport], elapsed_s: float, deadline_s: float
) -> tuple[CheckOutcome, Blame | None, str]:
    """Fold the reports of a test's phases into one outcome; the first phase that did not pass decides."""
    decisive = next((phase for phase in phases if not phase.passed), phases[-1])
    if decisive.passed:
        return CheckOutcome.PASSED, None, ""
    if decisive.when not in ("setup", "call", "teardown"):
        if elapsed_s >= deadline_s:
            return CheckOutcome.BROKEN, Blame.ENV, f"timed out after {deadline_s:.0f} s, its worker was ended"
        return CheckOutcome.BROKEN, Blame.ENV, f"its worker process {_death(decisive)} in the middle of this test"
    if decisive.skipped:
        if hasattr(decisive, "wasxfail"):
            return CheckOutcome.EXPECTED, None, str(decisive.wasxfail)
        return CheckOutcome.SKIPPED, None, _skip_reason(decisive.longrepr)
    if str(decisive.longrepr).startswith("[XPASS(strict)]"):
        return CheckOutcome.UNEXPECTEDLY_PASSED, Blame.ENV, f"declared as expected to fail: {decisive.longrepr}"
    failure = json.loads(str(dict(decisive.user_properties)[FAILURE_PROPERTY]))
    return CheckOutcome(failure["outcome"]), Blame(failure["blame"]), failure["message"]


def _death(report: Any) -> str:
    """Say how the worker died that xdist's report of a crash names."""
    try:
        # Neither xdist nor execnet hands the exit code out: only the process itself knows it.
        return describe_end(report.node.gateway._io.popen.wait(timeout=_REAP_S))
    except subprocess.TimeoutExpired:
        return "closed its connection"


def _skip_reason(longrepr: Any) -> str:
    return str(longrepr[2]) if isinstance(longrepr, tuple) else _last_line(longrepr)


def _last_line(text: Any) -> str:
    return (str(text).strip().splitlines() or ["no message"])[-1]
