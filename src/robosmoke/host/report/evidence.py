"""Read what one run folder holds beside its run.json, keeping what can be read and naming what cannot."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from robosmoke.catalog import benchmarks
from robosmoke.errors import RecordError, RobosmokeError
from robosmoke.host.report.crosscheck import journal_faults
from robosmoke.host.report.record import Setup
from robosmoke.schema import CheckRecord, Checks, EpisodeRecord, decode, read

# Named beside a benchmark's own requirements: what most often changes a result.
ALWAYS_MAIN = ("mujoco", "numpy", "gymnasium", "torch")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The records of one run; ``absent`` names files that are not there, ``faults`` says what is wrong with others."""

    checks: tuple[CheckRecord, ...] = ()
    episodes: tuple[EpisodeRecord, ...] = ()
    setup: Setup = field(default_factory=Setup)
    absent: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def gather(folder: Path, benchmark: str) -> Evidence:
    """Read checks.json against its journal, episodes.jsonl, provenance.json; raises nothing for a damaged file."""
    absent: list[str] = []
    faults: list[str] = []

    def present(name: str) -> bool:
        if (folder / name).is_symlink():
            faults.append(f"{folder / name}: is a symbolic link: a record is a plain file in its run folder")
            return False
        if not (folder / name).exists():
            absent.append(name)
            return False
        return True

    checks: tuple[CheckRecord, ...] = ()
    if present("checks.json"):
        try:
            checks = read(folder / "checks.json", Checks).checks
            faults += journal_faults(folder, checks)
        except RecordError as error:
            faults.append(str(error))
    episodes: tuple[EpisodeRecord, ...] = ()
    if present("episodes.jsonl"):
        episodes = _read_episodes(folder / "episodes.jsonl", faults)
    setup = Setup()
    if present("provenance.json"):
        try:
            setup = _setup(_read_object(folder / "provenance.json"), benchmark)
        except RecordError as error:
            faults.append(str(error))
    return Evidence(checks=checks, episodes=episodes, setup=setup, absent=tuple(absent), faults=tuple(faults))


def _read_episodes(path: Path, faults: list[str]) -> tuple[EpisodeRecord, ...]:
    """Return every line that is an episode; append a fault for each that is not."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        faults.append(f"{path}: cannot be read: {error.strerror}")
        return ()
    records: list[EpisodeRecord] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            records.append(decode(line, EpisodeRecord, source=f"{path}:{number}"))
        except RecordError as error:
            faults.append(str(error))
    return tuple(records)


def _read_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{path}: is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise RecordError(f"{path}: holds a {type(value).__name__}: expected an object of facts")
    return value


def _setup(facts: dict[str, Any], benchmark: str) -> Setup:
    distributions = facts.get("distributions")
    versions = {}
    if isinstance(distributions, dict):
        for name in sorted(distributions):
            fact = distributions[name]
            versions[_text(name)] = _text(fact.get("version") if isinstance(fact, dict) else fact) or "unknown"
    wanted = {_canonical(name) for name in (*_requirements(benchmark), *ALWAYS_MAIN)}
    return Setup(
        gl_renderer=_text(facts.get("gl_renderer")),
        cpu_model=_text(facts.get("cpu_model")),
        commit=_text(facts.get("commit")),
        main_versions={name: version for name, version in versions.items() if _canonical(name) in wanted},
        versions=versions,
    )


def _requirements(benchmark: str) -> Iterable[str]:
    """Name what a benchmark asks for by itself; nothing for one that is not installed beside this report."""
    try:
        known = benchmarks().get(benchmark)
    except RobosmokeError:
        # A broken manifest is the smoke's to report; here it only costs the choice of main versions.
        return ()
    if known is None:
        return ()
    listed = [line for environment in known.manifest.environment.values() for line in environment.requirements]
    return [match[0] for line in listed if (match := re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", line))]


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _text(value: object) -> str:
    """Return a fact as text that can be encoded: JSON may hold half of a surrogate pair."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return text.encode("utf-8", "replace").decode("utf-8")
