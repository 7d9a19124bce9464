"""The supervisor: preloads imports, forks workers, hands out episodes, and survives no parent.

Started as ``python -m robosmoke.guest.engine.supervisor RESULTS PARENT``. The first line of its standard input is
the order; the end of that pipe, whose only write end the parent holds, is the parent's end. It has one thread and
runs no episode, so it sees that end at once, and SIGKILL ends workers that sit in native code.
"""

from __future__ import annotations

import importlib
import os
import select
import signal
import sys
import time
from types import FrameType

import msgspec

from robosmoke.errors import ExitCode, RobosmokeError, SetupError
from robosmoke.evaluation.record import Attempt
from robosmoke.guest.engine.crew import CrewMember, end_with_parent, fork_member
from robosmoke.guest.engine.order import Recorded, Reply, Report, Stopped, WorkOrder
from robosmoke.guest.engine.queue import EpisodeQueue
from robosmoke.guest.engine.verdicts import evaluated, lost_record
from robosmoke.guest.engine.worker import serve
from robosmoke.guest.loading import load_adapter
from robosmoke.schema import EpisodeRecord, encode_line

ATTEMPTS = 2
_TICK_S = 0.2
_MEMORY_EVERY_S = 1.0
_LEAVE_S = 10.0
_LIFELINE = 0


class ParentGone(Exception):
    """The parent ended, or wants nothing more."""


class Supervisor:
    """Carry out one order with a crew of workers."""

    def __init__(self, order: WorkOrder, results: int) -> None:
        self._order, self._results = order, results
        pending = set(order.pending)
        self._queue = EpisodeQueue(episode for episode in order.plan.episodes if episode.index in pending)
        self._crew: list[CrewMember] = []
        self._lost: dict[int, list[Attempt]] = {}
        self._hired = 0
        self._next_memory = 0.0
        self._decoder = msgspec.json.Decoder(Reply)

    def run(self) -> ExitCode:
        """Run every pending episode; raises `ParentGone`. No worker is left, however this ends."""
        try:
            self._employ()
            while self._crew:
                for member in self._ready():
                    self._receive(member)
                for member in [member for member in self._crew if member.has_ended()]:
                    self._receive(member, ended=True)
                self._enforce_limits()
                self._employ()
        except _Stop as stop:
            self._tell(stop.message)
            return ExitCode(stop.message.exit_code)
        finally:
            for member in self._crew:
                member.kill()
            for member in self._crew:
                member.bury()
        return ExitCode.GREEN

    def _ready(self) -> list[CrewMember]:
        """Wait for something to happen; return the workers that have said something."""
        poll = select.poll()
        poll.register(_LIFELINE, select.POLLIN | select.POLLHUP)
        members = {member.replies: member for member in self._crew}
        for descriptor in members:
            poll.register(descriptor, select.POLLIN)
        ready = [descriptor for descriptor, _ in poll.poll(_TICK_S * 1000)]
        if _LIFELINE in ready:
            raise ParentGone
        return [members[descriptor] for descriptor in ready]

    def _receive(self, member: CrewMember, *, ended: bool = False) -> None:
        if member not in self._crew:
            return
        lines, closed = member.lines()
        for line in lines:
            self._take_reply(member, line)
        # A dead worker's pipe may hold more than one read gave; its end comes after the last line.
        if closed or (ended and not lines):
            self._part_with(member)

    def _take_reply(self, member: CrewMember, line: bytes) -> None:
        reply = self._decoder.decode(line)
        if isinstance(reply, Stopped):
            raise _Stop(reply)
        member.episode = None
        member.episodes_done += 1
        self._record(reply.record, member)
        if reply.retire or member.episodes_done >= self._order.recycle_after or self._is_large(member):
            member.dismiss()

    def _is_large(self, member: CrewMember) -> bool:
        return member.resident_mb() > self._order.worker_memory_mb / 2

    def _part_with(self, member: CrewMember) -> None:
        self._crew.remove(member)
        end, episode = member.bury(), member.episode
        if episode is None:
            return
        print(f"robosmoke: worker {member.name} {end} in episode {episode.index}", file=sys.stderr, flush=True)
        lost = self._lost.setdefault(episode.index, [])
        lost.append(Attempt(worker=member.name, cause=end))
        if len(lost) < ATTEMPTS:
            self._queue.put_back(episode)
        else:
            causes = " and ".join(dict.fromkeys(attempt.cause for attempt in lost))
            self._record(lost_record(self._order.plan, episode, f"its worker {causes}, {len(lost)} times"), member)

    def _employ(self) -> None:
        """Give every idle worker an episode, fork workers while there are places, let the others leave."""
        for member in [member for member in self._crew if member.episode is None and not member.leaving]:
            self._assign(member)
        while len(self._queue) and sum(not member.leaving for member in self._crew) < self._order.workers:
            others = [descriptor for member in self._crew for descriptor in self._descriptors(member)]
            member = fork_member(self._hired, self._serve, [self._results, *others])
            self._hired += 1
            self._crew.append(member)
            self._assign(member)

    def _assign(self, member: CrewMember) -> None:
        elsewhere = [other.task for other in self._crew if other is not member and other.episode and other.task]
        episode = self._queue.take(member.task, elsewhere)
        if episode is not None:
            member.give(episode)
        elif all(other.episode is None for other in self._crew):
            # While an episode runs, its worker may die and this one be needed: it stays until the end.
            member.dismiss()

    def _serve(self, commands: int, replies: int) -> None:
        serve(self._order, commands, replies)

    @staticmethod
    def _descriptors(member: CrewMember) -> list[int]:
        return [member.replies] if member.leaving else [member.replies, member.commands]

    def _enforce_limits(self) -> None:
        now, order = time.monotonic(), self._order
        for member in self._crew:
            if member.leaving and now - member.since > _LEAVE_S:
                member.kill()
            elif member.episode is not None and now - member.since > order.episode_timeout_s:
                member.kill(f"hung: it gave no result within {order.episode_timeout_s:g} s")
        if now >= self._next_memory:
            self._next_memory = now + _MEMORY_EVERY_S
            for member in self._crew:
                if member.resident_mb() > order.worker_memory_mb:
                    member.kill(f"ran out of memory (limit {order.worker_memory_mb} MB)")

    def _record(self, record: EpisodeRecord, member: CrewMember) -> None:
        index = record.episode.index
        self._tell(Recorded(record=evaluated(record, worker=member.name, lost=tuple(self._lost.get(index, ())))))

    def _tell(self, report: Report) -> None:
        line = encode_line(report)
        try:
            while line:
                line = line[os.write(self._results, line) :]
        except BrokenPipeError as error:
            raise ParentGone from error


class _Stop(Exception):
    """A worker says that nothing can go on."""

    def __init__(self, message: Stopped) -> None:
        super().__init__(message.error)
        self.message = message


def _preload(order: WorkOrder) -> None:
    """Import what every worker needs; raises `SetupError` when the environment lacks it."""
    adapter = load_adapter(order.manifest)
    try:
        for module in adapter.preload:
            importlib.import_module(module)
    except ImportError as error:
        raise SetupError(
            f"{order.manifest.name}: cannot be loaded here: {error}: run it in the benchmark's environment"
        ) from error
    if order.plan.filming.kind != "none":
        importlib.import_module("av")


def _read_order() -> WorkOrder:
    data = bytearray()
    while not data.endswith(b"\n"):
        part = os.read(_LIFELINE, 1 << 20)
        if not part:
            raise ParentGone
        data += part
    return msgspec.json.decode(data, type=WorkOrder)


def _leave(_number: int, _frame: FrameType | None) -> None:
    raise ParentGone


def main() -> int:
    """Carry out the order that arrives, and leave nothing behind."""
    results, parent = int(sys.argv[1]), int(sys.argv[2])
    # Before there is a worker the default action ends this process; later a handler ends the workers too.
    end_with_parent(parent, signal.SIGTERM)
    try:
        order = _read_order()
        supervisor = Supervisor(order, results)
        try:
            _preload(order)
        except RobosmokeError as error:
            supervisor._tell(Stopped.by(error))
            return int(error.exit_code)
        signal.signal(signal.SIGTERM, _leave)
        return int(supervisor.run())
    except ParentGone:
        return int(ExitCode.INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
