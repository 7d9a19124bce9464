"""Watch each test: a deadline that also ends a hang in C, and a cause for every failure."""

from __future__ import annotations

import errno
import faulthandler
import json
import re
from collections.abc import Generator

import pytest

from robosmoke.errors import CheckFailed, NotInstalled, PolicyFailed, SetupError
from robosmoke.guest.collection import out_of, request_of
from robosmoke.journal import FAULTS_NAME
from robosmoke.vocabulary import Blame, CheckOutcome

FAILURE_PROPERTY = "robosmoke_failure"
_GL_WORDS = re.compile(r"\b(EGL|OSMesa|OpenGL|gladLoadGL|GLX|GLError)\b")
_BROKEN_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE)


class Watch:
    """Arm a watchdog per test, and say on the spot what kind of failure it was."""

    def __init__(self, config: pytest.Config) -> None:
        self._deadline_s = request_of(config).manifest.smoke.test_timeout_s
        # Kept open for the whole process: the watchdog writes to it when nothing else can.
        self._faults = (out_of(config) / FAULTS_NAME).open("a")

    def pytest_sessionstart(self) -> None:
        """Let a fatal signal leave its traceback, after pytest's own handler was set up."""
        faulthandler.enable(self._faults)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, bool, bool]:
        """End the process when a test exceeds its deadline.

        The watchdog is a C thread: unlike a signal handler it needs neither the interpreter lock
        nor a return from native code.
        """
        faulthandler.dump_traceback_later(self._deadline_s, exit=True, file=self._faults)
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach outcome, message and blame of a failure to the report, which crosses processes."""
        report = yield
        if call.excinfo is not None and report.failed:
            outcome, blame, message = judge(call.excinfo.value)
            failure = {"outcome": outcome.value, "blame": blame.value, "message": message}
            report.user_properties.append((FAILURE_PROPERTY, json.dumps(failure)))
        return report


def judge(error: BaseException) -> tuple[CheckOutcome, Blame, str]:
    """Tell a broken promise from a broken environment or machine; returns outcome, blame, message."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, CheckFailed):
        blame = Blame.POLICY if isinstance(error, PolicyFailed) else Blame.ENV
        return CheckOutcome.FAILED, blame, str(error)
    if isinstance(error, SetupError):
        blame = Blame.ENVIRONMENT if isinstance(error, NotInstalled) else Blame.MACHINE
        return CheckOutcome.BROKEN, blame, str(error)
    if isinstance(error, ImportError) and not _GL_WORDS.search(text):
        return CheckOutcome.BROKEN, Blame.ENVIRONMENT, f"an import failed inside the environment: {text}"
    if isinstance(error, MemoryError):
        return CheckOutcome.BROKEN, Blame.MACHINE, "out of memory"
    if isinstance(error, OSError) and error.errno in _BROKEN_ERRNOS:
        return CheckOutcome.BROKEN, Blame.MACHINE, f"the machine refused: {text}"
    if isinstance(error, EOFError) or "reading from stdin" in text:
        return CheckOutcome.FAILED, Blame.ENV, "the benchmark asks a question (input()) where nobody can answer"
    if _GL_WORDS.search(text):
        return CheckOutcome.BROKEN, Blame.MACHINE, f"rendering does not work here: {text}"
    return CheckOutcome.FAILED, Blame.ENV, f"the env raised {text}"
