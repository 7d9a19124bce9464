"""Build the report of one invocation: read, judge, write ``report.json``, ``report.md`` and ``report.html``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from robosmoke.errors import ExitCode
from robosmoke.host.environments.disk import writing_where_told
from robosmoke.host.report.discovery import discover
from robosmoke.host.report.markdown import markdown, reds_first
from robosmoke.host.report.page import page
from robosmoke.host.report.record import PairReport, Report
from robosmoke.host.report.rows import Rows
from robosmoke.host.report.wording import clean, shorten
from robosmoke.schema import Plan, encode, write_atomically
from robosmoke.vocabulary import Verdict


@dataclass(frozen=True, kw_only=True)
class ReportSummary:
    """What was concluded, and where it was written."""

    report: Report
    json: Path
    markdown: Path
    html: Path

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Map each pair of this invocation to its verdict."""
        return {f"{row.benchmark}--{row.environment}": row.verdict for row in self.report.pairs if not row.stale}

    @property
    def red(self) -> bool:
        """Tell whether the gate is red."""
        return self.report.red

    @property
    def exit_code(self) -> ExitCode:
        """Return 0 for green and 1 for red."""
        return ExitCode(self.report.exit_code)

    def describe(self) -> str:
        """Write one line for each pair, the reds last, then the whole and where to read on."""
        lines = [_line(row) for row in reversed(reds_first(self.report.pairs))]
        return "\n".join([*lines, f"{'RED' if self.red else 'GREEN'}: {self.report.reason}", f"report: {self.html}"])


def build_report(folders: Sequence[Path], *, out: Path, include_older: bool = False, now: datetime) -> ReportSummary:
    """Report the one invocation whose plan lies beneath ``folders``, into the folder ``out``.

    ``folders`` is an invocation folder, or any tree (downloaded CI artefacts, say) that holds its plan
    and its run folders. With ``include_older`` runs of other invocations, those in neighbouring
    folders too, are shown beside it, marked stale. Every file is written whole or not at all.
    Raises `UsageError` when no single plan can be chosen or ``out`` cannot be written, `SetupError` when
    the disk is full, `RecordError` when a plan cannot be read.
    """
    findings = discover(folders, include_older=include_older)
    rows = Rows(findings, out)
    current = [*rows.planned(), *rows.unplanned()]
    report = _report(findings.plan, current, [*current, *rows.stale()], rows.notes(), now)
    files = {
        "report.json": encode(report),
        "report.md": markdown(report).encode(),
        "report.html": page(report).encode(),
    }
    # Rendered before the first write: a fault in one form leaves no report that lacks it.
    with writing_where_told(out, "choose another folder with --out"):
        for name, data in files.items():
            write_atomically(out / name, data)
    return ReportSummary(report=report, json=out / "report.json", markdown=out / "report.md", html=out / "report.html")


def _line(row: PairReport) -> str:
    mark = " (stale)" if row.stale else "" if row.planned else " (unplanned)"
    reason = shorten(" ".join(clean(row.reason).split()), 300)
    return f"{row.verdict.value:8}{row.benchmark} in {row.environment}{mark}: {reason}"


def _report(
    plan: Plan, current: Sequence[PairReport], shown: Sequence[PairReport], notes: Sequence[str], now: datetime
) -> Report:
    planned = [row for row in current if row.planned]
    counts = Counter(row.verdict for row in planned)
    red = not planned or any(row.red for row in current)
    return Report(
        invocation=plan.invocation,
        created=plan.created,
        generated=now.isoformat(timespec="seconds"),
        red=red,
        exit_code=int(ExitCode.RED if red else ExitCode.GREEN),
        reason=_reason(current),
        verdicts={verdict: counts[verdict] for verdict in Verdict if counts[verdict]},
        commits=tuple(dict.fromkeys(row.setup.commit for row in current if row.setup.commit)),
        pairs=tuple(shown),
        notes=tuple(notes),
    )


def _reason(current: Sequence[PairReport]) -> str:
    """Say in a few words why the whole is red or green; unplanned runs are counted apart."""
    planned = [row for row in current if row.planned]
    reds = sum(row.red for row in planned)
    unplanned_reds = sum(row.red for row in current) - reds
    also = f", and {unplanned_reds} unplanned" if unplanned_reds else ""
    if not planned:
        return f"nothing was planned{', yet runs are here' if current else ''}"
    passed = sum(row.verdict is Verdict.PASSED for row in planned)
    skipped = sum(row.verdict is Verdict.SKIPPED for row in planned)
    if reds or unplanned_reds:
        return f"{reds} of {_pairs(len(planned))} red{also}"
    if not passed:
        return f"{_pairs(skipped)} skipped, each with a reason"
    return f"{passed} of {_pairs(len(planned))} passed" + (f", {skipped} skipped" if skipped else "")


def _pairs(count: int) -> str:
    return f"{count} planned pair{'' if count == 1 else 's'}"
