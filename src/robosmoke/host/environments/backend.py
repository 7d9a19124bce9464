"""What every backend offers: prepare an environment once, run guest calls in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from robosmoke.catalog import Benchmark
from robosmoke.manifest import Environment

BackendName = Literal["docker", "venv", "auto"]
OUT_VARIABLE = "ROBOSMOKE_OUT"


@dataclass(frozen=True, kw_only=True)
class ProcessEnd:
    """How a guest process ended; ``tail`` holds the last lines of its log.

    ``exit_code`` is None when a signal ended it, ``signal`` is a name such as ``SIGSEGV``.
    ``timeout_s`` and ``memory_mb`` are the limits it ran under, for the sentence about them.
    """

    exit_code: int | None
    signal: str | None
    timed_out: bool
    out_of_memory: bool
    wall_s: float
    tail: tuple[str, ...]
    timeout_s: float = 0.0
    memory_mb: int = 0

    def describe(self) -> str:
        """Say in a few words how it ended: ``exit 0``, ``killed by SIGSEGV``, ``timed out after 30 s``."""
        if self.out_of_memory:
            return f"out of memory (limit {self.memory_mb} MB)"
        if self.timed_out:
            return f"timed out after {self.timeout_s:g} s"
        if self.signal is not None:
            return f"killed by {self.signal}"
        return f"exit {self.exit_code}"


@dataclass(frozen=True, kw_only=True)
class GuestCall:
    """One call of ``python -m robosmoke`` inside an environment.

    ``arguments`` follow ``python -m robosmoke``; ``out`` is the run folder on the host, which the
    guest finds under the path in ``ROBOSMOKE_OUT``; ``log`` receives stdout and stderr as they come,
    and our own stdout too when ``echo`` is set. ``memory_mb`` bounds the whole process tree.
    """

    arguments: tuple[str, ...]
    out: Path
    log: Path
    timeout_s: float
    memory_mb: int
    echo: bool
    network: bool = False


class Prepared(Protocol):
    """An environment ready to run; ``details`` names what it is made of, for the records.

    ``details`` always holds ``installed`` (``yes`` or ``no``: did this call install dependencies),
    ``python``, ``lock`` (its hash) and one ``wheel:NAME`` per wheel that was added.
    """

    @property
    def backend(self) -> str:
        """Name the backend: ``venv`` or ``docker``."""

    @property
    def key(self) -> str:
        """Return the environment's key, which holds no robosmoke code."""

    @property
    def details(self) -> Mapping[str, str]:
        """Return what the environment is made of."""

    def run(self, call: GuestCall) -> ProcessEnd:
        """Run one guest call to its end, whatever that is; leaves no process behind."""


class Backend(Protocol):
    """A way to realise environments."""

    @property
    def name(self) -> str:
        """Name the backend: ``venv`` or ``docker``."""

    def prepare(self, benchmark: Benchmark, environment: Environment, *, log: Path) -> Prepared:
        """Install what is missing, streaming the installer's output to ``log``.

        Raises `SetupError`: one line, the last lines of the log, what to do.
        """
