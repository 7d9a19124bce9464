"""The three closed vocabularies (episode, check, verdict) and the one table behind them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from robosmoke.errors import ExitCode


class EpisodeStatus(str, Enum):
    """How one planned episode came out."""

    COMPLETED = "completed"
    ERRORED = "errored"
    SKIPPED = "skipped"
    MISSING = "missing"


class CheckOutcome(str, Enum):
    """How one check on one task came out."""

    PASSED = "passed"
    FAILED = "failed"
    EXPECTED = "expected"
    UNEXPECTEDLY_PASSED = "unexpectedly_passed"
    SKIPPED = "skipped"
    BROKEN = "broken"
    MISSING = "missing"


class Verdict(str, Enum):
    """What is concluded about one planned (benchmark, environment) pair."""

    PASSED = "passed"
    FAILED = "failed"
    BROKEN = "broken"
    SKIPPED = "skipped"
    MISSING = "missing"


class Blame(str, Enum):
    """Who broke a promise."""

    ENV = "env"
    POLICY = "policy"
    WORKER = "worker"
    ENVIRONMENT = "environment"
    MACHINE = "machine"


EXIT_CODES: dict[Verdict, ExitCode] = {
    Verdict.PASSED: ExitCode.GREEN,
    Verdict.FAILED: ExitCode.RED,
    Verdict.BROKEN: ExitCode.ENVIRONMENT,
    Verdict.SKIPPED: ExitCode.GREEN,
    Verdict.MISSING: ExitCode.RED,
}

CHECK_VERDICTS: dict[CheckOutcome, Verdict] = {
    CheckOutcome.PASSED: Verdict.PASSED,
    CheckOutcome.FAILED: Verdict.FAILED,
    CheckOutcome.EXPECTED: Verdict.PASSED,
    CheckOutcome.UNEXPECTEDLY_PASSED: Verdict.FAILED,
    CheckOutcome.SKIPPED: Verdict.PASSED,
    CheckOutcome.BROKEN: Verdict.BROKEN,
    CheckOutcome.MISSING: Verdict.MISSING,
}

EPISODE_VERDICTS: dict[EpisodeStatus, Verdict] = {
    EpisodeStatus.COMPLETED: Verdict.PASSED,
    EpisodeStatus.ERRORED: Verdict.FAILED,
    EpisodeStatus.SKIPPED: Verdict.PASSED,
    EpisodeStatus.MISSING: Verdict.MISSING,
}

# Worst first: a run that could not finish hides what it would have found, so it outranks a failure.
_SEVERITY = (Verdict.BROKEN, Verdict.FAILED, Verdict.MISSING, Verdict.PASSED, Verdict.SKIPPED)


def is_red(verdict: Verdict) -> bool:
    """Tell whether a verdict makes the gate red."""
    return EXIT_CODES[verdict] is not ExitCode.GREEN


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the most severe of some verdicts; nothing at all is ``missing``, never green."""
    return min(verdicts, key=_SEVERITY.index, default=Verdict.MISSING)
