"""Say how a process ended."""

from __future__ import annotations

import signal


def describe_end(status: int) -> str:
    """Say how a process ended, from its exit code (negative: a signal)."""
    if status >= 0:
        return f"exited with code {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:  # a real-time signal has no name of its own
        name = f"signal {-status}"
    hint = ", as the kernel does when memory runs out" if -status == signal.SIGKILL else ""
    return f"was killed by {name}{hint}"
