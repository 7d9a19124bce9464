"""The benchmark is reproducible from its seed: one test per check and task."""

import pytest


@pytest.mark.checks("RS3")
def test_seeds(check, subject):
    check.function(subject)
