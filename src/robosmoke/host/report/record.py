"""The record behind every form of the report: ``report.json``."""

from __future__ import annotations

from robosmoke.host.stats import Tally
from robosmoke.schema import CheckRecord, Document, EpisodeRecord, Record
from robosmoke.vocabulary import Blame, CheckOutcome, Verdict


class ControlReport(Record, frozen=True, kw_only=True):
    """What one control (expert, zero, random, …) did in one pair."""

    control: str
    policies: tuple[str, ...]
    tally: Tally


class EpisodeReport(Record, frozen=True, kw_only=True):
    """One episode with its media as links relative to the report; null when absent or refused."""

    record: EpisodeRecord
    video: str | None = None
    poster: str | None = None


class Setup(Record, frozen=True, kw_only=True):
    """What a pair ran in; an empty string is what was not recorded."""

    gl_renderer: str = ""
    cpu_model: str = ""
    commit: str = ""
    main_versions: dict[str, str] = {}
    versions: dict[str, str] = {}


class PairReport(Record, frozen=True, kw_only=True):
    """One pair: the verdict the report stands by, and everything it rests on.

    ``claimed`` is what run.json says; ``verdict`` is never better. ``red`` tells whether the pair
    makes the whole report red: a stale pair never does, and neither counts as green.
    ``planned`` is false for a run that is here without having been planned. ``folder`` is the run
    folder relative to the report, null when there is none. Durations are in seconds.
    """

    benchmark: str
    environment: str
    title: str
    invocation: str
    verdict: Verdict
    claimed: Verdict | None = None
    red: bool
    reason: str
    blame: Blame | None = None
    advice: str = ""
    planned: bool = True
    stale: bool = False
    folder: str | None = None
    backend: str = ""
    environment_key: str = ""
    started: str = ""
    exit_status: str = ""
    wall_s: float = 0.0
    install_s: float = 0.0
    pytest_s: float = 0.0
    setup: Setup = Setup()
    controls: tuple[ControlReport, ...] = ()
    check_counts: dict[CheckOutcome, int] = {}
    checks: tuple[CheckRecord, ...] = ()
    episodes: tuple[EpisodeReport, ...] = ()
    notes: tuple[str, ...] = ()


class Report(Document, frozen=True, kw_only=True):
    """``report.json``: one invocation. ``generated`` and ``created`` are ISO 8601 times.

    ``verdicts`` counts planned pairs alone; ``pairs`` also holds unplanned and stale runs, marked so.
    """

    invocation: str
    created: str
    generated: str
    red: bool
    exit_code: int
    reason: str
    verdicts: dict[Verdict, int]
    commits: tuple[str, ...]
    pairs: tuple[PairReport, ...]
    notes: tuple[str, ...] = ()
