"""``junit.xml`` from the check records, so that it exists also when pytest died before writing its own."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

from robosmoke.schema import CheckRecord
from robosmoke.vocabulary import CheckOutcome

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FAILURES = (CheckOutcome.FAILED, CheckOutcome.UNEXPECTEDLY_PASSED)
_ERRORS = (CheckOutcome.BROKEN, CheckOutcome.MISSING)
_SKIPS = (CheckOutcome.SKIPPED, CheckOutcome.EXPECTED)


def junit(suite: str, checks: Sequence[CheckRecord]) -> bytes:
    """Return one test suite with one case per check and task."""
    root = ElementTree.Element("testsuites")
    attributes = {
        "name": suite,
        "tests": str(len(checks)),
        "failures": str(sum(check.outcome in _FAILURES for check in checks)),
        "errors": str(sum(check.outcome in _ERRORS for check in checks)),
        "skipped": str(sum(check.outcome in _SKIPS for check in checks)),
    }
    element = ElementTree.SubElement(root, "testsuite", attributes)
    for check in checks:
        name = "-".join(part for part in (check.check, check.name, check.task) if part)
        case = ElementTree.SubElement(
            element, "testcase", classname=suite, name=_legal(name), time=f"{check.duration_s:.4f}"
        )
        _add_outcome(case, check)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _add_outcome(case: ElementTree.Element, check: CheckRecord) -> None:
    message = _legal(check.message)
    if check.outcome in _FAILURES:
        ElementTree.SubElement(case, "failure", message=message, type=check.outcome.value)
    elif check.outcome in _ERRORS:
        ElementTree.SubElement(case, "error", message=message, type=check.outcome.value)
    elif check.outcome in _SKIPS:
        ElementTree.SubElement(case, "skipped", message=message, type=check.outcome.value)


def _legal(text: str) -> str:
    """Replace what XML 1.0 cannot hold; a simulator's message may hold anything."""
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
