"""Write the report as GitHub-flavoured Markdown that fits a CI step summary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from robosmoke.host.report.family import not_passed
from robosmoke.host.report.record import PairReport, Report
from robosmoke.host.report.wording import clean, duration, losses, rate, shorten
from robosmoke.vocabulary import CheckOutcome, Verdict

# GitHub refuses a step summary above 1 MiB; the margin leaves room for the note that says what was cut.
LIMIT_BYTES = 1024 * 1024
_MARGIN_BYTES = 1024
_CELL_CHARACTERS = 300
_MESSAGE_CHARACTERS = 1000

_SIGNS = {
    Verdict.PASSED: "✅",
    Verdict.FAILED: "❌",
    Verdict.BROKEN: "💥",
    Verdict.SKIPPED: "⏭️",
    Verdict.MISSING: "❓",
}
# An entity never opens or closes a construct, so a character written as one is only itself.
_SPECIAL = re.compile(r"[&<>|\\`*_\[\]()~!#^$]")


def markdown(report: Report) -> str:
    """Return the whole report, or as much of it as fits with a note of what was left out.

    The table comes first and reds come first in it, so that what is cut is the least needed.
    """
    blocks = [_head(report), _table(report), *(_details(row) for row in reds_first(report.pairs) if _notable(row))]
    kept: list[str] = []
    room = LIMIT_BYTES - _MARGIN_BYTES
    for number, block in enumerate(blocks):
        size = len(block.encode()) + 1
        if size > room:
            kept.append(_truncation(block, room, len(blocks) - number))
            break
        kept.append(block)
        room -= size
    return "\n".join(kept)


def escape(text: str, limit: int = _MESSAGE_CHARACTERS) -> str:
    """Make untrusted text one line of plain words: no HTML, table, link, mention or formatting in it."""
    line = " ".join(shorten(clean(text), limit).split())
    line = _SPECIAL.sub(_entity, line)
    # At the start of a line these would open a list, a rule or a heading.
    line = re.sub(r"^[-+=]|(?<=^\d)\.", _entity, line)
    # GitHub also links bare addresses and mentions, by their decoded text: a zero-width space parts them.
    line = re.sub(r"(?i)(https?|ftp|mailto|xmpp):", r"\1&#58;&#8203;", line)
    return re.sub(r"(?i)www\.", "www&#46;&#8203;", line).replace("@", "&#64;&#8203;")


def _entity(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"


def reds_first(rows: Sequence[PairReport]) -> list[PairReport]:
    """Order rows for reading: red, then the others, then stale; each in its own order."""
    return sorted(rows, key=lambda row: (row.stale, not row.red))


def _head(report: Report) -> str:
    sign = "🔴" if report.red else "🟢"
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in report.verdicts.items())
    commits = f" · commit {', '.join(escape(commit) for commit in report.commits)}" if report.commits else ""
    lines = [
        f"## {sign} robosmoke: {escape(report.reason)}",
        "",
        f"Invocation {escape(report.invocation)} · planned {escape(report.created)}{commits}"
        + (f" · {counts}" if counts else ""),
        "",
    ]
    if report.notes:
        lines += [*(f"> {escape(note)}  " for note in report.notes), ""]
    return "\n".join(lines)


def _table(report: Report) -> str:
    lines = [
        "| benchmark | environment | verdict | why | expert | other controls | checks | versions | took |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in reds_first(report.pairs):
        parts = [escape(text, _CELL_CHARACTERS) for text in (row.reason, row.advice) if text]
        cells = (
            escape(row.benchmark),
            escape(row.environment) + (f" ({escape(row.backend)})" if row.backend else ""),
            _verdict(row),
            " → ".join(parts),
            _expert(row),
            "<br>".join(
                f"{escape(control.control)} {rate(control.tally)}<br>({losses(control.tally)})"
                for control in row.controls
                if control.control != "expert"
            ),
            _check_counts(row),
            "<br>".join(escape(f"{name} {version}") for name, version in row.setup.main_versions.items()),
            duration(row.wall_s) if row.wall_s else "",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _verdict(row: PairReport) -> str:
    parts = [f"{_SIGNS[row.verdict]} {row.verdict.value}"]
    if row.blame:
        parts.append(f"blame: {row.blame.value}")
    if row.stale:
        parts.append(f"stale ({escape(row.invocation)}), not counted")
    if not row.planned:
        parts.append("not planned")
    return "<br>".join(parts)


def _expert(row: PairReport) -> str:
    return "<br>".join(
        f"{rate(control.tally)}<br>({losses(control.tally)})" for control in row.controls if control.control == "expert"
    )


def _check_counts(row: PairReport) -> str:
    return "<br>".join(f"{count} {outcome.value.replace('_', ' ')}" for outcome, count in row.check_counts.items())


def _notable(row: PairReport) -> bool:
    return bool(row.notes or not_passed(row.checks) or row.setup.versions)


def _details(row: PairReport) -> str:
    return "\n".join([*_detail_lines(row), ""])


def _detail_lines(row: PairReport) -> Iterator[str]:
    summary = f"{escape(row.benchmark)} · {escape(row.environment)}{' (stale)' if row.stale else ''}"
    yield f"<details{' open' if row.red else ''}><summary>{_SIGNS[row.verdict]} {summary}</summary>"
    yield ""
    facts = {
        "GL renderer": row.setup.gl_renderer,
        "CPU": row.setup.cpu_model,
        "environment key": row.environment_key,
        "install": duration(row.install_s) if row.install_s else "",
        "pytest": duration(row.pytest_s) if row.pytest_s else "",
    }
    told = " · ".join(f"{name}: {escape(value)}" for name, value in facts.items() if value)
    if told:
        yield told
        yield ""
    for note in row.notes:
        yield f"- {escape(note)}"
    if row.notes:
        yield ""
    listed = not_passed(row.checks)
    if listed:
        yield "| check | task | outcome | message |"
        yield "| --- | --- | --- | --- |"
        for check in listed:
            outcome = check.outcome.value.replace("_", " ")
            shown = f"**{outcome}**" if check.outcome in _LOUD else outcome
            name = f"{escape(check.check)} {escape(check.name)}"
            yield f"| {name} | {escape(check.task or 'all')} | {shown} | {escape(check.message)} |"
        yield ""
    yield "</details>"


_LOUD = (CheckOutcome.FAILED, CheckOutcome.BROKEN, CheckOutcome.UNEXPECTEDLY_PASSED, CheckOutcome.MISSING)


def _truncation(block: str, room: int, left: int) -> str:
    """Keep the whole lines of a block that fit, close what it opened, and say what is missing."""
    lines: list[str] = []
    for line in block.split("\n"):
        room -= len(line.encode()) + 1
        if room < 0:
            break
        lines.append(line)
    opened = any(line.startswith("<details") for line in lines)
    note = (
        f"**Truncated**: this summary may hold {LIMIT_BYTES // 1024} KiB, so the rest of this part and {left - 1} more"
        f" are left out. Everything is in report.html and report.json."
    )
    return "\n".join([*lines, "", *(["</details>", ""] if opened else []), note, ""])
