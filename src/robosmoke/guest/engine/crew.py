"""Fork workers, watch over them, and end them, whatever they are doing."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from robosmoke.guest.endings import describe_end
from robosmoke.guest.engine.queue import TaskKey, task_of
from robosmoke.guest.engine.worker import OUT_OF_MEMORY
from robosmoke.schema import Episode

_PR_SET_PDEATHSIG = 1
_MEBIBYTE = 2**20


@dataclass(kw_only=True)
class CrewMember:
    """One worker process as the supervisor sees it."""

    number: int
    pid: int
    commands: int
    replies: int
    episode: Episode | None = None
    task: TaskKey | None = None
    since: float = 0.0
    episodes_done: int = 0
    leaving: bool = False
    condemned: str = ""
    buffer: bytearray = field(default_factory=bytearray)

    @property
    def name(self) -> str:
        """Name the worker in records: its number and process id."""
        return f"{self.number} (pid {self.pid})"

    def give(self, episode: Episode) -> None:
        """Hand over an episode; a worker that died meanwhile is found by the end of its replies."""
        self.episode, self.task, self.since = episode, task_of(episode), time.monotonic()
        try:
            os.write(self.commands, f"{episode.index}\n".encode())
        except BrokenPipeError:
            return

    def dismiss(self) -> None:
        """Let the worker leave by itself: no command will follow."""
        if not self.leaving:
            self.leaving, self.since = True, time.monotonic()
            os.close(self.commands)

    def lines(self) -> tuple[list[bytes], bool]:
        """Read what has arrived; returns the whole lines, and whether the worker's end is closed."""
        try:
            data = os.read(self.replies, 1 << 16)
        except BlockingIOError:
            return [], False
        self.buffer += data
        *whole, rest = self.buffer.split(b"\n")
        self.buffer = bytearray(rest)
        return [bytes(line) for line in whole], not data

    def kill(self, cause: str = "") -> None:
        """End the worker and everything it started."""
        self.condemned = self.condemned or cause
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def bury(self) -> str:
        """Wait for the process, close its pipes and say how it ended."""
        self.kill()
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.dismiss()
        os.close(self.replies)
        return self.condemned or describe_worker_end(status)

    def has_ended(self) -> bool:
        """Tell whether the process is dead, without waiting or reaping it."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def resident_mb(self) -> float:
        """Return the worker's resident memory in MiB; 0 when it is gone."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        except (FileNotFoundError, ProcessLookupError, IndexError):
            return 0.0
        return pages * os.sysconf("SC_PAGE_SIZE") / _MEBIBYTE


def fork_member(number: int, serve: Callable[[int, int], None], close_in_child: list[int]) -> CrewMember:
    """Fork one worker that calls ``serve(commands, replies)`` and leaves.

    It leads a process group of its own, so that what it starts ends with it, and the kernel kills it when this
    process ends.
    """
    commands_read, commands_write = os.pipe()
    replies_read, replies_write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        _be_a_worker(supervisor, serve, commands_read, replies_write, [commands_write, replies_read, *close_in_child])
    os.setpgid(pid, pid)
    os.close(commands_read)
    os.close(replies_write)
    os.set_blocking(replies_read, False)
    return CrewMember(number=number, pid=pid, commands=commands_write, replies=replies_read)


def end_with_parent(parent: int, number: signal.Signals) -> None:
    """Have the kernel send this process a signal when its parent ends; leaves at once if it has ended already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number))
    if os.getppid() != parent:
        os._exit(1)


def describe_worker_end(status: int) -> str:
    """Say how a worker ended; one that found no memory leaves with a code of its own."""
    return "ran out of memory" if status == OUT_OF_MEMORY else describe_end(status)


def _be_a_worker(
    supervisor: int, serve: Callable[[int, int], None], commands: int, replies: int, close: list[int]
) -> NoReturn:
    code = 1
    try:
        end_with_parent(supervisor, signal.SIGKILL)
        os.setpgid(0, 0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for descriptor in close:
            os.close(descriptor)
        null = os.open(os.devnull, os.O_RDONLY)
        # The supervisor's standard input is the pipe to its parent.
        os.dup2(null, 0)
        serve(commands, replies)
        code = 0
    except BaseException:  # noqa: BLE001  (a forked child must not return into its parent's code)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
