"""The pytest entry point: imports nothing heavy, and does nothing unless it is asked for."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add robosmoke's options."""
    group = parser.getgroup("robosmoke", "smoke tests for simulation benchmarks")
    group.addoption(
        "--robosmoke-request", metavar="FILE", default=None, help="run the smoke that this request (JSON) describes"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Join the session when a request is given."""
    config.addinivalue_line("markers", "checks(prefix): the test runs every check whose code starts so")
    if config.getoption("--robosmoke-request"):
        from robosmoke.guest.collection import SmokeCollection
        from robosmoke.guest.recorder import Recorder
        from robosmoke.guest.watch import Watch

        config.pluginmanager.register(SmokeCollection(config), "robosmoke-collection")
        config.pluginmanager.register(Watch(config), "robosmoke-watch")
        if not hasattr(config, "workerinput"):  # under xdist only the controller writes
            config.pluginmanager.register(Recorder(config), "robosmoke-recorder")
