"""A full disk is a broken machine, named in one line; a record that could not be written is missing, not green."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

FULL = "No space left on device"
DISK_BYTES = 2 * 2**20


@pytest.fixture
def small_disk(faulty) -> Iterator[Path]:
    """Mount a disk of 2 MB where the runs go."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a small disk")
    faulty.runs.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "robosmoke-test", faulty.runs], check=True)
    yield faulty.runs
    subprocess.run(["umount", faulty.runs], check=True)


def assert_named_and_missing(smoked, out: Path) -> None:
    """Demand one line that names the disk, and a report that misses the run."""
    assert smoked.exit_code == 3
    (line,) = smoked.errors.splitlines()
    assert str(smoked.folder) in line
    assert FULL in line
    assert not (smoked.folder / "run.json").exists()
    reported = smoked.report(out)
    assert reported.returncode == 1
    assert "missing" in reported.stdout


def test_a_guest_that_cannot_write_its_journal_stops_and_says_so(faulty, small_disk, tmp_path):
    smoked = faulty.smoke("--task", "full-disk")
    assert_named_and_missing(smoked, tmp_path / "report")
    assert "broken: the journal could no longer be written" in smoked.errors


def test_a_host_that_cannot_write_its_records_says_so(faulty, small_disk, tmp_path):
    smoked = faulty.smoke("--task", "full-disk-at-exit")
    assert_named_and_missing(smoked, tmp_path / "report")
    assert "the records of this run (passed: " in smoked.errors


def test_a_plan_that_cannot_be_written_starts_nothing(faulty, small_disk):
    with pytest.raises(OSError, match=FULL):
        (small_disk / "filler").write_bytes(bytes(2 * DISK_BYTES))
    smoked = faulty.smoke("--task", "sound", ROBOSMOKE_INVOCATION="full")
    assert smoked.exit_code == 3
    (line,) = smoked.errors.splitlines()
    assert str(small_disk / "full") in line
    assert FULL in line
    assert not list((small_disk / "full").iterdir())
