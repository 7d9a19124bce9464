"""The journal survives what kills its writer."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from robosmoke.errors import RecordError
from robosmoke.journal import Finished, Journal, Planned, PlannedTest, Started, read_journal

PLANNED = Planned(time=1.0, tests=(PlannedTest(test="t", check="RS201", name="spaces", task="reach"),), deselected=2)
STARTED = Started(time=2.0, test="t", deadline_s=30.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the path of a journal with two events."""
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append(PLANNED)
    journal.append(STARTED)
    return tmp_path / "journal.jsonl"


def test_events_come_back_in_order(path: Path) -> None:
    assert read_journal(path) == [PLANNED, STARTED]


def test_a_journal_that_was_never_started_is_empty(tmp_path: Path) -> None:
    assert read_journal(tmp_path / "journal.jsonl") == []


def test_a_last_line_torn_anywhere_loses_that_event_only(path: Path) -> None:
    whole = path.read_bytes()
    start = whole.index(b"\n") + 1
    for cut in range(start, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert read_journal(path) == [PLANNED]


def test_a_damaged_line_in_the_middle_is_named_by_its_number(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"event": "sta\n' + lines[1])
    with pytest.raises(RecordError, match=r"journal\.jsonl:2: is not a journal event"):
        read_journal(path)


def test_an_unknown_event_is_named_by_its_line(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b'{"event":"danced","time":1.0}\n')
    with pytest.raises(RecordError, match=r"journal\.jsonl:3: .*'danced'"):
        read_journal(path)


def test_a_second_writer_appends(path: Path) -> None:
    Journal(path).append(Finished(time=3.0, exit_code=0))
    assert read_journal(path)[-1] == Finished(time=3.0, exit_code=0)


def test_what_was_appended_is_there_after_a_kill(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path; from robosmoke.journal import Journal, Finished\n"
        "Journal(Path(sys.argv[1])).append(Finished(time=1.0, exit_code=0)); os.kill(os.getpid(), signal.SIGKILL)"
    )
    child = subprocess.run([sys.executable, "-c", script, str(tmp_path / "journal.jsonl")], check=False)
    assert child.returncode == -signal.SIGKILL
    assert read_journal(tmp_path / "journal.jsonl") == [Finished(time=1.0, exit_code=0)]


def test_a_full_disk_is_an_error_and_not_a_shorter_event(tmp_path: Path) -> None:
    """A file size limit stands in for the disk: the kernel then writes a part, and refuses the rest."""
    path = tmp_path / "journal.jsonl"
    script = (
        "import resource, signal, sys; from pathlib import Path; from robosmoke.journal import Journal, Finished\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))\n"
        "Journal(Path(sys.argv[1])).append(Finished(time=1.0, exit_code=0))"
    )
    child = subprocess.run([sys.executable, "-c", script, str(path)], check=False, capture_output=True, text=True)
    assert child.returncode == 1
    assert "OSError: [Errno 27] File too large" in child.stderr
    assert path.stat().st_size == 20
    assert read_journal(path) == []
