"""``junit.xml`` holds one case per check, whatever a simulator's message holds."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from robosmoke.host.junit import junit
from robosmoke.schema import CheckRecord
from robosmoke.vocabulary import CheckOutcome


def make(outcome: CheckOutcome, **changes: str | None) -> CheckRecord:
    values = {"check": "RS201", "name": "spaces", "task": "reach", "test": "t", "message": "why"}
    return CheckRecord(outcome=outcome, duration_s=1.25, **{**values, **changes})


ELEMENTS = {
    CheckOutcome.PASSED: [],
    CheckOutcome.FAILED: ["failure"],
    CheckOutcome.UNEXPECTEDLY_PASSED: ["failure"],
    CheckOutcome.BROKEN: ["error"],
    CheckOutcome.MISSING: ["error"],
    CheckOutcome.SKIPPED: ["skipped"],
    CheckOutcome.EXPECTED: ["skipped"],
}


@pytest.mark.parametrize("outcome", CheckOutcome)
def test_every_outcome_has_its_element(outcome: CheckOutcome) -> None:
    (case,) = ElementTree.fromstring(junit("arm.default", [make(outcome)])).iter("testcase")
    assert [(part.tag, part.get("type"), part.get("message")) for part in case] == [
        (tag, outcome.value, "why") for tag in ELEMENTS[outcome]
    ]


def test_the_totals_are_those_of_the_cases() -> None:
    suite = ElementTree.fromstring(junit("arm.default", [make(outcome) for outcome in CheckOutcome])).find("testsuite")
    assert suite is not None
    assert [suite.get(key) for key in ("name", "tests", "failures", "errors", "skipped")] == [
        "arm.default",
        "7",
        "2",
        "2",
        "2",
    ]


def test_a_case_is_named_by_check_and_task() -> None:
    cases = ElementTree.fromstring(
        junit(
            "arm.default",
            [make(CheckOutcome.PASSED), make(CheckOutcome.PASSED, task=None), make(CheckOutcome.PASSED, check="")],
        )
    ).iter("testcase")
    assert [case.get("name") for case in cases] == ["RS201-spaces-reach", "RS201-spaces", "spaces-reach"]


def test_what_xml_cannot_hold_is_replaced_and_the_rest_kept() -> None:
    text = 'a\x00b\x1b[31m\ud800 <&">\u2028 é 🤖'
    (case,) = ElementTree.fromstring(junit("s", [make(CheckOutcome.FAILED, message=text)])).iter("testcase")
    assert case[0].get("message") == 'a\ufffdb\ufffd[31m\ufffd <&">\u2028 é 🤖'
