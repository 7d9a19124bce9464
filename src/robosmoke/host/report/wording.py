"""How numbers, times and untrusted text read in the report, the same in Markdown and HTML."""

from __future__ import annotations

import re

from robosmoke.host.stats import Tally
from robosmoke.vocabulary import Verdict

SYMBOLS = {
    Verdict.PASSED: "✓",
    Verdict.FAILED: "✗",
    Verdict.BROKEN: "⚠",
    Verdict.SKIPPED: "–",
    Verdict.MISSING: "?",
}
# Terminal colours and other escape sequences, which messages from subprocesses carry.
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
# Control characters, and the marks that reorder text, which could make a line read as another.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def clean(text: str) -> str:
    """Remove terminal escapes, control characters and text-reordering marks; newlines and tabs stay."""
    return _UNSEEN.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def shorten(text: str, limit: int) -> str:
    """Cut a text to ``limit`` characters and say by how much."""
    if len(text) <= limit:
        return text
    return f"{text[:limit].rstrip()} … (+{len(text) - limit} characters)"


def percent(share: float) -> str:
    """Write a proportion in [0, 1] as a percentage: ``66.7 %``."""
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def rate(tally: Tally) -> str:
    """Write a rate beside its n and its 95 % Wilson interval: ``2/3 = 66.7 % [20.8, 93.9]``."""
    if tally.rate is None or tally.interval is None:
        return f"no episode completed, of {tally.planned}"
    bounds = f"[{100 * tally.interval.low:.1f}, {100 * tally.interval.high:.1f}]"
    return f"{tally.successes}/{tally.completed} = {percent(tally.rate)} {bounds}"


def losses(tally: Tally) -> str:
    """Write what stands beside every rate: ``1 errored, 0 skipped, 0 missing of 4 planned``."""
    if tally.planned == tally.completed:
        return f"{tally.completed} of {tally.planned} planned completed"
    return f"{tally.errored} errored, {tally.skipped} skipped, {tally.missing} missing of {tally.planned} planned"


def duration(seconds: float) -> str:
    """Write a duration: ``8.4 s``, ``3 min 05 s``, ``1 h 02 min``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
