"""The families of checks: the hundreds of a code say what it is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from robosmoke.schema import CheckRecord
from robosmoke.vocabulary import CHECK_VERDICTS, CheckOutcome, is_red

_TITLES = {
    "1": "installation and identity",
    "2": "the Gymnasium contract",
    "3": "reset, seeds, replay",
    "4": "pictures",
    "5": "what an action means",
    "6": "controls",
    "7": "processes",
    "8": "train, then evaluate",
    "9": "records and drift",
}
# Broken hides what would have been found; what was expected or skipped comes last.
_READING = (
    CheckOutcome.BROKEN,
    CheckOutcome.FAILED,
    CheckOutcome.UNEXPECTEDLY_PASSED,
    CheckOutcome.MISSING,
    CheckOutcome.EXPECTED,
    CheckOutcome.SKIPPED,
)


@dataclass(frozen=True, kw_only=True)
class Family:
    """The checks of one pair that share a hundred: ``RS3xx`` reset, seeds, replay."""

    code: str
    title: str
    checks: tuple[CheckRecord, ...]

    @property
    def red(self) -> bool:
        """Tell whether a check here makes its pair red."""
        return any(is_red(CHECK_VERDICTS[check.outcome]) for check in self.checks)

    @property
    def passed(self) -> int:
        """Count the checks that passed."""
        return sum(check.outcome is CheckOutcome.PASSED for check in self.checks)


def families(checks: Iterable[CheckRecord]) -> tuple[Family, ...]:
    """Group checks by family, in code order; a code outside the catalogue gets a family of its own."""
    groups: dict[str, list[CheckRecord]] = {}
    for check in sorted(checks, key=lambda check: check.check):
        code = check.check
        known = code.startswith("RS") and len(code) == 5 and code[2:].isdigit() and code[2] in _TITLES
        groups.setdefault(f"{code[:3]}xx" if known else code, []).append(check)
    return tuple(
        Family(code=code, title=_TITLES.get(code[2:3], "") if code.endswith("xx") else "", checks=tuple(group))
        for code, group in groups.items()
    )


def not_passed(checks: Iterable[CheckRecord]) -> tuple[CheckRecord, ...]:
    """Return the checks that did not simply pass, the ones to read first in front."""
    left = [check for check in checks if check.outcome is not CheckOutcome.PASSED]
    return tuple(sorted(left, key=lambda check: (_READING.index(check.outcome), check.check, check.task or "")))
