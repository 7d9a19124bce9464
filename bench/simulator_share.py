"""A pytest plugin that measures how much of a smoke's wall time the simulator itself takes.

Loaded inside a benchmark's environment by ``bench/smoke_overhead.py``, it times the adapter's hooks
(begin, tick, picture, release and reading of states: construct, reset, step, render) and the traces taken
in a new process, and prints their sum beside the session's wall time.
"""

import functools
import time

import pytest

from robosmoke.guest import trace
from robosmoke.guest.checks import subject
from robosmoke.guest.collection import request_of
from robosmoke.guest.loading import _load

HOOKS = ("begin", "tick", "picture", "release", "read_state", "physics_state")


class Clock:
    """Sum the time of the outermost timed calls, in seconds."""

    def __init__(self):
        self.total_s = 0.0
        self._depth = 0
        self.start = time.perf_counter()

    def timed(self, function):
        """Wrap a function so that its time is counted, once when timed calls nest."""

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            self._depth += 1
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self.total_s += time.perf_counter() - start

        return wrapper


CLOCK = Clock()


def pytest_sessionstart(session):
    """Wrap the adapter's hooks."""
    manifest = request_of(session.config).manifest
    adapter = CLOCK.timed(_load)(manifest, manifest.env)
    for name in HOOKS:
        setattr(adapter, name, CLOCK.timed(getattr(adapter, name)))
    subject.trace_in_new_process = CLOCK.timed(trace.trace_in_new_process)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    """Print wall time, simulator time and their ratio."""
    wall_s = time.perf_counter() - CLOCK.start
    terminalreporter.write_line(
        f"simulator share: wall {wall_s:.2f} s, simulator {CLOCK.total_s:.2f} s, ratio {wall_s / CLOCK.total_s:.3f}"
    )
