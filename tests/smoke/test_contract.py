"""The benchmark keeps the Gymnasium contract: one test per check and task."""

import pytest


@pytest.mark.checks("RS2")
def test_contract(check, subject):
    check.function(subject)
