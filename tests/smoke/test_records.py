"""The benchmark leaves videos that hold what was planned: one test per check and task."""

import pytest


@pytest.mark.checks("RS9")
def test_records(check, subject):
    check.function(subject)
