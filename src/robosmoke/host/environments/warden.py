"""A warden: a small process that cleans up after us when we are killed and cannot do it ourselves."""

from __future__ import annotations

import subprocess
from typing import Self


class Warden:
    """Run a shell command if we die inside the ``with`` block; ``$1`` … are its arguments.

    It waits on a pipe whose only write end we hold, so it needs neither our interpreter nor anybody's
    signal. Its session is its own, so that a signal to ours passes it by.
    """

    def __init__(self, command: str, *arguments: str) -> None:
        script = f"read -r _ || {{ {command}; }}"
        self._process = subprocess.Popen(
            ("/bin/sh", "-c", script, "robosmoke-warden", *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(b"\n")
