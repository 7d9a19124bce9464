"""The CI matrix: what ``nox --list --json`` offers, thinned by what a change can affect."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robosmoke.catalog import benchmarks
from robosmoke.errors import SetupError, UsageError
from robosmoke.host.changes import Decision, affected, candidates, changed_files
from robosmoke.schema import Pair


@dataclass(frozen=True, kw_only=True)
class MatrixRow:
    """One job of the matrix: its session, its pair, the folder the pair leaves, why it runs."""

    session: str
    benchmark: str
    environment: str
    folder: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """The CI matrix, and the run folder of every pair left out of it with the reason."""

    include: tuple[MatrixRow, ...]
    skipped: Mapping[str, str]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """List the planned pairs."""
        return tuple(Pair(benchmark=row.benchmark, environment=row.environment) for row in self.include)

    def as_json(self) -> str:
        """Return one line of JSON: ``{"include": […], "skipped": {…}}``."""
        rows = [vars(row) for row in self.include]
        return json.dumps({"include": rows, "skipped": dict(self.skipped)})

    def as_outputs(self, invocation: str) -> str:
        """Return the step outputs of a GitHub job: the matrix, whether it is empty, the invocation."""
        rows = json.dumps({"include": [vars(row) for row in self.include]})
        empty = json.dumps(not self.include)
        return f"matrix={rows}\nempty={empty}\ninvocation={invocation}\n"


def decide(root: Path, *, event: str, base: str, only: Collection[str] = ()) -> tuple[Decision, ...]:
    """Decide for every built-in pair of the checkout at ``root`` whether it runs, and say why.

    Raises `UsageError` for an unknown name in ``only``.
    """
    built_in = [found.manifest for found in benchmarks().values() if found.distribution is None]
    return affected(changed_files(base, root, event=event), candidates(built_in), only=only)


def matrix(nox_sessions: str, decisions: Sequence[Decision]) -> Matrix:
    """Build the matrix from ``nox --list --json`` output and the decisions.

    Raises `UsageError` where the two disagree (a smoke session of no manifest, a manifest
    without a session) and for a matrix that is empty without a reason.
    """
    sessions = _smoke_sessions(nox_sessions)
    expected = {decision.candidate.session for decision in decisions}
    if sessions != expected:
        odd = ", ".join(sorted(sessions ^ expected))
        raise UsageError(f"nox --list and the manifests disagree about {odd}: run both from one checkout")
    if not decisions:
        raise UsageError("no benchmark was found, so an empty matrix would prove nothing: check the installation")
    return Matrix(
        include=tuple(
            MatrixRow(
                session=decision.candidate.session,
                benchmark=decision.candidate.pair.benchmark,
                environment=decision.candidate.pair.environment,
                folder=decision.candidate.pair.folder,
                reason=decision.reason,
            )
            for decision in decisions
            if decision.run
        ),
        skipped={decision.candidate.pair.folder: decision.reason for decision in decisions if not decision.run},
    )


def list_sessions(root: Path) -> str:
    """Return the output of ``nox --list --json`` for the smokes of a checkout.

    Raises `SetupError` with nox's last line.
    """
    # By tag: without one, nox leaves out the sessions that are no default.
    command = (sys.executable, "-m", "nox", "--list", "--json", "--tags", "smoke")
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise SetupError(f"nox --list --json: exit {done.returncode} in {root}: {last}: run it there to see why")
    return done.stdout


def _smoke_sessions(nox_sessions: str) -> set[str]:
    try:
        listed: list[Any] = json.loads(nox_sessions)
        names = [entry["session"] for entry in listed]
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"nox --list --json: output is not a list of sessions: {error!r}") from error
    return {name for name in names if name.endswith("_smoke")}
