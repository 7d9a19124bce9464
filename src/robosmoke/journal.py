"""The journal: what the guest writes, synced line by line, and the host derives every record from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from robosmoke.errors import RecordError
from robosmoke.schema import EpisodeRecord, encode_line
from robosmoke.vocabulary import Blame, CheckOutcome

JOURNAL_NAME = "journal.jsonl"
FAULTS_NAME = "faults.log"
# How a guest leaves that can no longer write its journal: what it did next would be in no record.
JOURNAL_LOST = os.EX_IOERR


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    time: float


class PlannedTest(msgspec.Struct, frozen=True, kw_only=True):
    """One collected test: which check it is, and on which task (null: on the whole pair)."""

    test: str
    check: str
    name: str
    task: str | None


class Planned(_Event, frozen=True, kw_only=True, tag="planned"):
    """Every collected test, written before the first one runs."""

    tests: tuple[PlannedTest, ...]
    deselected: int = 0


class Started(_Event, frozen=True, kw_only=True, tag="started"):
    """A test starts; without an outcome it was killed, or ran into its ``deadline_s``."""

    test: str
    deadline_s: float


class Ended(_Event, frozen=True, kw_only=True, tag="ended"):
    """A test ended with an outcome."""

    test: str
    outcome: CheckOutcome
    duration_s: float
    message: str = ""
    blame: Blame | None = None


class EpisodeEnded(_Event, frozen=True, kw_only=True, tag="episode"):
    """An episode ended inside a test."""

    record: EpisodeRecord


class Provenance(_Event, frozen=True, kw_only=True, tag="provenance"):
    """Facts about the environment, as the guest sees them."""

    facts: dict[str, Any]


class Finished(_Event, frozen=True, kw_only=True, tag="finished"):
    """The pytest session came to its own end."""

    exit_code: int


Event = Planned | Started | Ended | EpisodeEnded | Provenance | Finished


class Journal:
    """Append events to a file; each is on the disk before ``append`` returns."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def append(self, event: Event) -> None:
        """Write one event and sync it; raises `OSError` when the disk is full."""
        line = encode_line(event)
        written = os.write(self._file, line)
        if written != len(line):
            # A short write is how a nearly full disk shows; the second attempt names the reason.
            os.write(self._file, line[written:])
        os.fsync(self._file)


def read_journal(path: Path) -> list[Event]:
    """Return every whole event; a torn last line (a crash in mid-write) is dropped.

    A missing journal reads as empty. Raises `RecordError` for a damaged line in the middle.
    """
    if not path.exists():
        return []
    decoder = msgspec.json.Decoder(Event)
    events: list[Event] = []
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            events.append(decoder.decode(line))
        except msgspec.MsgspecError as error:
            if number == len(lines):
                break
            raise RecordError(f"{path}:{number}: is not a journal event: {error}") from error
    return events
