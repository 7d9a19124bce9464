"""An invocation folder made of real records, which a test then spoils in one way."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest

from robosmoke.host.report.build import ReportSummary, build_report
from robosmoke.host.report.record import PairReport, Report
from robosmoke.journal import Ended, Planned, PlannedTest
from robosmoke.schema import (
    CheckRecord,
    Checks,
    Episode,
    EpisodeRecord,
    Pair,
    Plan,
    Run,
    Video,
    encode_line,
    read,
    write,
)
from robosmoke.vocabulary import CheckOutcome, EpisodeStatus, Verdict

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=timezone.utc)


def make_check(code: str, name: str, task: str | None = "reach", **changes: Any) -> CheckRecord:
    values = {"check": code, "name": name, "task": task, "test": f"{code}[{task}]", "outcome": CheckOutcome.PASSED}
    return CheckRecord(**{**values, **changes})


def make_episode(control: str = "expert", index: int = 0, task: str = "reach", **changes: Any) -> EpisodeRecord:
    episode = Episode(index=index, benchmark="arm", environment="default", suite="arm", task=task, seed=7)
    values: dict[str, Any] = {
        "episode": episode,
        "policy": f"arm-{control}",
        "status": EpisodeStatus.COMPLETED,
        "on_success": "stop",
        "steps": 60,
        "horizon": 200,
        "success_any": control == "expert",
        "sum_reward": 1.5,
        "control": control,
        "duration_s": 0.5,
    }
    return EpisodeRecord(**{**values, **changes})


def make_video(path: str = "videos/a.mp4", poster: str = "posters/a.png") -> Video:
    return Video(kind="review", path=path, poster=poster, frames=13, fps=10.0, width_px=128, height_px=128)


def make_journal(checks: Sequence[CheckRecord]) -> bytes:
    """Write the journal that these checks were derived from: a missing one never ended."""
    tests = [PlannedTest(test=check.test, check=check.check, name=check.name, task=check.task) for check in checks]
    ended = [
        Ended(time=1.0, test=check.test, outcome=check.outcome, duration_s=check.duration_s)
        for check in checks
        if check.outcome is not CheckOutcome.MISSING
    ]
    return b"".join(map(encode_line, [Planned(time=0.0, tests=tuple(tests)), *ended]))


GOOD_CHECKS = (
    make_check("RS201", "spaces"),
    make_check("RS301", "seed-repeats"),
    make_check("RS601", "expert-succeeds"),
    make_check("RS601", "expert-succeeds", None),
)
GOOD_EPISODES = (make_episode("expert"), make_episode("zero", 1), make_episode("random", 2))


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A report that was built: the summary, the record read back, and its text forms."""

    summary: ReportSummary
    report: Report
    markdown: str
    html: str

    def row(self, benchmark: str = "arm") -> PairReport:
        [row] = [row for row in self.report.pairs if row.benchmark == benchmark and not row.stale]
        return row


class Invocation:
    """Write plan and run folders as a collect step leaves them; ``root`` is the invocation folder."""

    def __init__(self, root: Path, name: str = "inv-2", created: str = "2030-01-02T00:00:00+00:00") -> None:
        self.root, self.name, self.created = root, name, created

    def plan(self, *pairs: Pair, skipped: dict[str, str] | None = None) -> None:
        plan = Plan(invocation=self.name, created=self.created, pairs=pairs, skipped=skipped or {})
        write(self.root / "plan.json", plan)

    def run(
        self,
        pair: Pair,
        *,
        checks: Sequence[CheckRecord] = GOOD_CHECKS,
        episodes: Sequence[EpisodeRecord] = GOOD_EPISODES,
        **changes: Any,
    ) -> Path:
        folder = self.root / pair.folder
        values: dict[str, Any] = {
            "invocation": self.name,
            "benchmark": pair.benchmark,
            "title": "Arm",
            "environment": pair.environment,
            "backend": "venv",
            "verdict": Verdict.PASSED,
            "reason": "all checks passed",
            "started": "2030-01-02T00:01:00+00:00",
            "wall_s": 75.0,
            "tasks": ("reach",),
        }
        write(folder / "run.json", Run(**{**values, **changes}))
        write(folder / "checks.json", Checks(checks=tuple(checks)))
        (folder / "journal.jsonl").write_bytes(make_journal(checks))
        (folder / "episodes.jsonl").write_bytes(b"".join(encode_line(record) for record in episodes))
        facts = {"distributions": {"numpy": {"version": "2.4.6"}, "arm-sim": {"version": "3"}}, "commit": "abc1234"}
        (folder / "provenance.json").write_text(json.dumps(facts))
        return folder

    def report(self, *folders: Path, out: Path | None = None, include_older: bool = False) -> Reported:
        out = out or self.root / "report"
        summary = build_report(folders or [self.root], out=out, include_older=include_older, now=NOW)
        return Reported(
            summary=summary,
            report=read(summary.json, Report),
            markdown=summary.markdown.read_text(),
            html=summary.html.read_text(),
        )


@pytest.fixture
def pair() -> Pair:
    return Pair(benchmark="arm", environment="default")


@pytest.fixture
def invocation(tmp_path: Path) -> Invocation:
    return Invocation(tmp_path / "inv-2")


@pytest.fixture
def other_invocation(tmp_path: Path) -> Callable[..., Invocation]:
    def make(name: str = "inv-1", created: str = "2029-12-31T00:00:00+00:00") -> Invocation:
        return Invocation(tmp_path / name, name, created)

    return make


@pytest.fixture
def green(invocation: Invocation, pair: Pair) -> Invocation:
    """One planned pair that passed, with everything a pass needs."""
    invocation.plan(pair)
    invocation.run(pair)
    return invocation


@pytest.fixture
def make() -> Any:
    """Give tests the record factories without an import between test modules."""

    class Factories:
        check = staticmethod(make_check)
        episode = staticmethod(make_episode)
        video = staticmethod(make_video)
        replace = staticmethod(msgspec.structs.replace)

    return Factories
