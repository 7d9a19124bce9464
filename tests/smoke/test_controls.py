"""The benchmark tells an expert from doing nothing: one test per check and task."""

import pytest


@pytest.mark.checks("RS6")
def test_controls(check, subject):
    check.function(subject)
