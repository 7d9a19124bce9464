"""Run one child process to its end: log, deadline, memory limit, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from robosmoke.errors import SetupError
from robosmoke.host.environments.backend import ProcessEnd
from robosmoke.host.environments.disk import writing
from robosmoke.host.environments.logfile import LogFollower
from robosmoke.host.environments.stopping import exit_on_termination
from robosmoke.host.environments.warden import Warden

MEBIBYTE = 2**20
GRACE_S = 5.0
_POLL_S = 0.1
_MEMORY_POLL_S = 0.5


@dataclass(frozen=True, kw_only=True)
class Job:
    """A command with everything it may use; ``memory_mb`` 0 means no limit."""

    command: tuple[str, ...]
    variables: Mapping[str, str]
    folder: Path
    log: Path
    timeout_s: float
    memory_mb: int = 0
    echo: bool = False


def run_job(job: Job) -> ProcessEnd:
    """Run a command in a session of its own, stdin closed, and return how it ended.

    At the deadline or over the memory limit the whole process tree is stopped (SIGTERM, then
    SIGKILL); the same happens on Ctrl-C or SIGTERM before the exception goes on. When we are killed
    ourselves, its session is: only a descendant that left the session outlives a SIGKILL of ours.
    Raises `SetupError` when the command cannot be started.
    """
    follower = LogFollower(job.log, echo=job.echo)
    started = time.monotonic()
    with exit_on_termination():
        tree = _start(job)
        try:
            with _warden(tree):
                cause = _watch(tree, job, follower, started)
        finally:
            follower.close()
    code = tree.process.returncode
    return ProcessEnd(
        exit_code=code if code >= 0 else None,
        signal=signal_name(-code) if code < 0 else None,
        timed_out=cause == "time",
        out_of_memory=cause == "memory",
        wall_s=time.monotonic() - started,
        tail=follower.tail(),
        timeout_s=job.timeout_s,
        memory_mb=job.memory_mb,
    )


def signal_name(number: int) -> str:
    """Name a signal by its number, also one this platform does not know."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def require_success(end: ProcessEnd, what: str, advice: str) -> None:
    """Raise `SetupError` with the last log lines unless a process ended with exit 0."""
    if end.exit_code != 0 or end.timed_out or end.out_of_memory:
        raise SetupError("\n".join([f"{what}: {end.describe()}: {advice}", *(f"  {line}" for line in end.tail[-12:])]))


class _Tree:
    """A process and every descendant ever seen, also those that left its session."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._root = psutil.Process(process.pid)
        self._seen: set[psutil.Process] = {self._root}

    def resident_mb(self) -> float:
        """Return the memory of the tree in MiB, pages shared between its processes counted once.

        Resident sizes are cheap and never too small; proportional ones are exact, so they are
        read only when the cheap sum is large.
        """
        self._seen.update(self._descendants())
        return sum(_resident(process) for process in self._seen) / MEBIBYTE

    def proportional_mb(self) -> float:
        """Return the memory of the tree in MiB by proportional set sizes."""
        return sum(_proportional(process) for process in self._seen) / MEBIBYTE

    def stop(self) -> None:
        """Stop whatever still runs: SIGTERM to the group, SIGKILL to everything after a grace time."""
        self._seen.update(self._descendants())
        self._signal_group(signal.SIGTERM)
        alive = [process for process in self._seen if _alive(process)]
        for process in alive:
            _send(process, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_S
        while any(_alive(process) for process in alive) and time.monotonic() < deadline:
            self.process.poll()
            time.sleep(0.02)
        for process in alive:
            _send(process, signal.SIGKILL)
        self._signal_group(signal.SIGKILL)
        self.process.wait()

    def _descendants(self) -> list[psutil.Process]:
        try:
            return self._root.children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def _signal_group(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            return


def _start(job: Job) -> _Tree:
    with writing(job.log, "choose another folder"):
        job.log.parent.mkdir(parents=True, exist_ok=True)
        log = job.log.open("ab")
    with log:
        try:
            process = subprocess.Popen(
                job.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=job.folder,
                env=dict(job.variables),
                start_new_session=True,
            )
        except OSError as error:
            raise SetupError(f"{job.command[0]}: cannot be started: {error.strerror or error}") from error
    return _Tree(process)


@contextmanager
def _warden(tree: _Tree) -> Iterator[None]:
    """Stop the tree when the block ends, and its session when we are killed before that."""
    try:
        warden = Warden('kill -s KILL -- "-$1"', str(tree.process.pid))
    except BaseException:
        tree.stop()
        raise
    with warden:
        try:
            yield
        finally:
            tree.stop()


def _watch(tree: _Tree, job: Job, follower: LogFollower, started: float) -> str:
    """Wait for the end; return ``time`` or ``memory`` when a limit was crossed, else ``end``."""
    next_memory = started
    while True:
        try:
            tree.process.wait(timeout=_POLL_S)
            return "end"
        except subprocess.TimeoutExpired:
            follower.follow()
        now = time.monotonic()
        if now - started >= job.timeout_s:
            return "time"
        if now >= next_memory:
            next_memory = now + _MEMORY_POLL_S
            if tree.resident_mb() > job.memory_mb > 0 and tree.proportional_mb() > job.memory_mb:
                return "memory"


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _send(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def _proportional(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return _resident(process)
