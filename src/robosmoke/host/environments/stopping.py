"""Turn a termination signal into an exception, so that clean-up code runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def exit_on_termination() -> Iterator[None]:
    """Raise `SystemExit` (128 + number) on SIGTERM and SIGHUP while the block runs.

    Python's default for both ends the process without running ``finally``. Handlers can only be
    set in the main thread; elsewhere, and where the program has its own handler, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    changed = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, _exit)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def _exit(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
