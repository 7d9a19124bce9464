"""Follow a log file that a process writes: echo it, and keep its last lines."""

from __future__ import annotations

import sys
from pathlib import Path

TAIL_LINES = 30
_TAIL_BYTES = 64 * 1024


class LogFollower:
    """Echo what is appended to a log after now, and return the end of it.

    The process writes the file itself: its output never waits for us, and survives us.
    """

    def __init__(self, path: Path, *, echo: bool) -> None:
        self._path = path
        self._echo = echo
        self._start = self._shown = path.stat().st_size if path.exists() else 0

    def follow(self) -> None:
        """Echo what is new since the last call."""
        if not self._echo or not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._shown)
            new = file.read()
        self._shown += len(new)
        sys.stdout.write(new.decode("utf-8", "replace"))
        sys.stdout.flush()

    def close(self) -> None:
        """Echo the rest."""
        self.follow()

    def tail(self) -> tuple[str, ...]:
        """Return the last lines of what was appended."""
        if not self._path.exists():
            return ()
        with self._path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(self._start, size - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
        return tuple(text.splitlines()[-TAIL_LINES:])
