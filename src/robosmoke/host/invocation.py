"""Invocations: one identifier, one plan written before anything is built, one folder per pair."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from robosmoke.errors import UsageError
from robosmoke.host.environments.disk import writing_where_told
from robosmoke.schema import Pair, Plan, encode, read

PLAN_NAME = "plan.json"
INVOCATION_VARIABLE = "ROBOSMOKE_INVOCATION"
PLANNED_VARIABLE = "ROBOSMOKE_PLANNED"
_REMEDY = "choose another folder with --runs"
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """One nox call, command or workflow run: where it writes, and what it planned."""

    folder: Path
    plan: Plan

    def pair_folder(self, pair: Pair) -> Path:
        """Make and return the run folder of a planned pair; raises `UsageError` if it was run already."""
        if pair not in self.plan.pairs:
            raise UsageError(
                f"{pair.benchmark} in {pair.environment} is not in the plan of invocation {self.plan.invocation}:"
                " start a new invocation"
            )
        folder = self.folder / pair.folder
        with writing_where_told(folder, _REMEDY):
            try:
                folder.mkdir(parents=True)
            except FileExistsError as error:
                raise UsageError(f"{folder} exists: this invocation ran it already, start a new one") from error
        return folder


def now() -> str:
    """Return the time in UTC, ISO 8601, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def new_identifier() -> str:
    """Return a new invocation's identifier: sortable by time, unique."""
    return f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


def announced() -> tuple[tuple[str, str], ...]:
    """Return the (benchmark, environment) names that the calling nox announced: ``a/default b/default``."""
    words = os.environ.get(PLANNED_VARIABLE, "").split()
    parts = (word.partition("/") for word in words)
    return tuple((benchmark, environment) for benchmark, _, environment in parts)


def open_invocation(runs: Path, pairs: Sequence[Pair]) -> Invocation:
    """Join the invocation named in the environment, or start a new one with these pairs.

    The first to come writes the plan, the others read it. Raises
    `UsageError` for an identifier that is no plain file name and a place that cannot be written,
    `RecordError` for a damaged plan, `SetupError` when the disk is full.
    """
    identifier = os.environ.get(INVOCATION_VARIABLE) or new_identifier()
    if not _IDENTIFIER.fullmatch(identifier):
        raise UsageError(f"{INVOCATION_VARIABLE}={identifier!r}: use letters, digits, '.', '_' and '-' only")
    folder = runs / identifier
    plan = Plan(invocation=identifier, created=now(), pairs=tuple(pairs))
    with writing_where_told(folder, _REMEDY):
        folder.mkdir(parents=True, exist_ok=True)
        _write_once(folder / PLAN_NAME, encode(plan))
    return Invocation(folder=folder, plan=read(folder / PLAN_NAME, Plan))


def _write_once(path: Path, data: bytes) -> None:
    """Create a file whole, unless it exists: a link either succeeds or finds the winner's file."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(data)
        os.link(draft, path)
    except FileExistsError:
        pass  # another session of this invocation was first; its plan is the plan
    finally:
        draft.unlink(missing_ok=True)
