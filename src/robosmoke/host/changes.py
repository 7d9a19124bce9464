"""Decide which benchmarks a set of changed files can affect, and why."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from robosmoke.errors import UsageError, unknown_name
from robosmoke.manifest import Manifest
from robosmoke.schema import Pair

CHANGE_EVENT = "pull_request"
_NO_COMMIT = re.compile(r"0*")
_BENCHMARK_FILE = re.compile(r"src/robosmoke/benchmarks/([^/]+)/.+")

# First match wins. What no pattern knows can affect everything: a needless run costs minutes, a missed one a release.
_HARMLESS = (
    ("docs/*", "documentation"),
    ("*.md", "documentation"),
    ("LICENSE", "documentation"),
    ("bench/*", "speed measurements"),
    (".ci/*", "the machine's own CI entry"),
    ("src/robosmoke/host/scaffold.py", "the scaffold of new benchmarks, which ci.yml tests"),
    ("src/robosmoke/host/template/*", "the scaffold of new benchmarks, which ci.yml tests"),
)
_SHARED = ("tests/smoke/*", "tests/conftest.py", ".github/workflows/benchmarks.yml")
_TESTED_ELSEWHERE = (("tests/*", "robosmoke's own tests, which ci.yml runs"), (".github/*", "another workflow"))


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A pair that could run: its nox session, and whether the default smoke includes it."""

    session: str
    pair: Pair
    default: bool = True

    @property
    def path(self) -> str:
        """Name the pair as people do: ``libero/mujoco-3.3``."""
        return f"{self.pair.benchmark}/{self.pair.environment}"


@dataclass(frozen=True, kw_only=True)
class Changes:
    """The files that changed; ``unknown`` says why that cannot be told, and so anything may have."""

    files: tuple[str, ...] = ()
    unknown: str = ""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Whether one pair runs, and the reason either way."""

    candidate: Candidate
    run: bool
    reason: str


def session_name(benchmark: str, environment: str) -> str:
    """Name the nox session of a pair: ``libero_smoke``, ``libero_mujoco_3_3_smoke``."""
    middle = "" if environment == "default" else "_" + re.sub(r"\W", "_", environment)
    return f"{benchmark}{middle}_smoke"


def candidates(manifests: Iterable[Manifest]) -> tuple[Candidate, ...]:
    """List every pair the manifests declare."""
    return tuple(
        Candidate(
            session=session_name(manifest.name, environment.name),
            pair=Pair(benchmark=manifest.name, environment=environment.name),
            default=environment.default_smoke,
        )
        for manifest in manifests
        for environment in manifest.environment.values()
    )


def changed_files(base: str, root: Path, *, event: str = CHANGE_EVENT) -> Changes:
    """Ask git what differs between the merge base with ``base`` and HEAD, renames as both names.

    Any event but a pull request counts as everything changed, and so does a base that this
    clone does not hold. Raises `UsageError` when git itself cannot be run.
    """
    if event != CHANGE_EVENT:
        return Changes(unknown=f"event {event} runs everything")
    if _NO_COMMIT.fullmatch(base):
        return Changes(unknown="no base commit is known")
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}")
    if commit is None:
        return Changes(unknown=f"base {base} is not in this clone")
    listing = _git(root, "diff", "--name-only", "--no-renames", "-z", f"{commit.strip()}...HEAD")
    if listing is None:
        return Changes(unknown=f"base {base} shares no history with this clone")
    return Changes(files=tuple(name for name in listing.split("\0") if name))


def affected(changes: Changes, known: Sequence[Candidate], *, only: Collection[str] = ()) -> tuple[Decision, ...]:
    """Decide for every candidate whether it runs, and say why.

    ``only`` names benchmarks, or ``benchmark/environment`` for one that the default smoke
    leaves out; raises `UsageError` for a name nobody knows.
    """
    names = {candidate.pair.benchmark for candidate in known}
    unknown = sorted(set(only) - names - {candidate.path for candidate in known})
    if unknown:
        raise unknown_name("benchmark", unknown[0], names | {candidate.path for candidate in known})
    return tuple(_decide(candidate, changes, names, only) for candidate in known)


def _decide(candidate: Candidate, changes: Changes, names: Collection[str], only: Collection[str]) -> Decision:
    named = candidate.path in only
    if only and not named and candidate.pair.benchmark not in only:
        return Decision(candidate=candidate, run=False, reason=f"only {', '.join(sorted(only))} asked for")
    if not candidate.default and not named:
        hint = f"not in the default smoke: nox -s {candidate.session} runs it, or --only {candidate.path}"
        return Decision(candidate=candidate, run=False, reason=hint)
    if changes.unknown:
        return Decision(candidate=candidate, run=True, reason=changes.unknown)
    for file in changes.files:
        reason = _why(file, candidate.pair.benchmark, names)
        if reason:
            return Decision(candidate=candidate, run=True, reason=f"{file}: {reason}")
    return Decision(candidate=candidate, run=False, reason=_why_not(changes.files, names))


def _why(file: str, benchmark: str, names: Collection[str]) -> str:
    """Say why a change of ``file`` affects the benchmark; empty when it does not."""
    owner = _owner(file, names)
    if owner:
        return f"belongs to {benchmark}" if owner == benchmark else ""
    return "" if _harmless(file) else "shared by all benchmarks"


def _why_not(files: Sequence[str], names: Collection[str]) -> str:
    owners = sorted({owner for file in files if (owner := _owner(file, names))})
    kinds = dict.fromkeys(kind for file in files if not _owner(file, names) and (kind := _harmless(file)))
    parts = [f"{name} itself" for name in owners] + list(kinds)
    return f"the change touches only: {'; '.join(parts)}" if parts else "no file changed"


def _owner(file: str, names: Collection[str]) -> str:
    """Name the one benchmark a file belongs to, by its folder or by a test's name; empty if none."""
    if _matches(file, _HARMLESS):
        return ""
    folder = _BENCHMARK_FILE.fullmatch(file)
    if folder:
        return folder[1] if folder[1] in names else ""
    if file.startswith("tests/") and not any(fnmatchcase(file, pattern) for pattern in _SHARED):
        words = re.split(r"[/.]", file.lower())
        # Longest first: a test of "libero_pro" is no test of "libero".
        for name in sorted(names, key=len, reverse=True):
            if any(re.search(rf"(^|_){re.escape(name)}(_|$)", word) for word in words):
                return name
    return ""


def _harmless(file: str) -> str:
    """Say what kind of file no benchmark depends on; empty for one that any may depend on."""
    if any(fnmatchcase(file, pattern) for pattern in _SHARED):
        return ""
    return _matches(file, (*_HARMLESS, *_TESTED_ELSEWHERE))


def _matches(file: str, table: Iterable[tuple[str, str]]) -> str:
    return next((kind for pattern, kind in table if fnmatchcase(file, pattern)), "")


def _git(root: Path, *arguments: str) -> str | None:
    """Run git and return its output, or None when it refuses."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise UsageError("git: not found on PATH: install git, or leave --base out to run everything") from error
    return done.stdout if done.returncode == 0 else None
