"""Every error robosmoke raises: one sentence for people, one exit code for machines."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """The documented exit codes of every robosmoke command."""

    GREEN = 0
    RED = 1
    USAGE = 2
    ENVIRONMENT = 3
    INTERRUPTED = 4


class RobosmokeError(Exception):
    """Say in one line what happened, where, and what to do."""

    exit_code = ExitCode.RED


class UsageError(RobosmokeError):
    """Report a request that cannot be understood or granted."""

    exit_code = ExitCode.USAGE


class ManifestError(UsageError):
    """Report a manifest that breaks its schema: ``file: key.path: message``."""


class RecordError(UsageError):
    """Report a record that is not what its schema says."""


class SetupError(RobosmokeError):
    """Report an environment that could not be made or entered (install, engine, build, GL)."""

    exit_code = ExitCode.ENVIRONMENT


class NotInstalled(SetupError):
    """Report a module that the environment lacks, and what brings it."""


class InterruptedRun(RobosmokeError):
    """Report a run that the user or the machine stopped."""

    exit_code = ExitCode.INTERRUPTED


class CheckFailed(AssertionError):
    """Report a promise that was broken: what was promised, what was seen, the likely mistake."""


class PolicyFailed(CheckFailed):
    """Report a promise that the policy broke, and not the env."""


class InvalidAction(ValueError):
    """Report an action that the env cannot execute (wrong shape, non-finite, out of range)."""


class EnvClosed(RuntimeError):
    """Report the use of an env after ``close()``."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """Build the error for a name that does not exist, with the nearest one suggested."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    shown = ", ".join(names[:20]) + (f", … ({len(names)} in all)" if len(names) > 20 else "")
    return UsageError(f"unknown {kind} {name!r}: {hint}known: {shown or 'none'}")
