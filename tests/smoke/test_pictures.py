"""The benchmark renders what is there: one test per check and task."""

import pytest


@pytest.mark.checks("RS4")
def test_pictures(check, subject):
    check.function(subject)
