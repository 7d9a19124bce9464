"""The ledger: ``episodes.jsonl``, where each episode is on the disk as it ends, once."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import msgspec

from robosmoke.errors import RecordError, SetupError, UsageError
from robosmoke.evaluation.plan import EvalPlan
from robosmoke.evaluation.record import EvalRecord
from robosmoke.schema import encode_line

LEDGER_NAME = "episodes.jsonl"


class Ledger:
    """Append records to a run folder's ledger, which one process at a time may hold.

    Opening drops a torn last line, the trace of a crash in mid-write. Raises `UsageError` when another process
    holds it, `RecordError` for a damaged line or one that is not of the plan, `SetupError` for a full disk.
    """

    def __init__(self, folder: Path, plan: EvalPlan) -> None:
        self.path = folder / LEDGER_NAME
        self._plan = {episode.index: episode for episode in plan.mine()}
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self._records: dict[int, EvalRecord] = {}
        try:
            self._lock()
            self._read()
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    @property
    def records(self) -> Mapping[int, EvalRecord]:
        """Return every record by its place in the plan."""
        return self._records

    def append(self, record: EvalRecord) -> None:
        """Write one record and sync it; raises `RecordError` for an episode that has one already."""
        self._accept(record, str(self.path))
        line = encode_line(record)
        try:
            while line:
                line = line[os.write(self._file, line) :]
            os.fsync(self._file)
        except OSError as error:
            raise SetupError(
                f"{self.path}: cannot be written: {error.strerror}: free some space, then continue with --resume"
            ) from error

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(f"{self.path}: another process is running this evaluation: wait for its end") from error

    def _read(self) -> None:
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.ftruncate(self._file, whole)
        for number, record in enumerate(decode_ledger(data[:whole], str(self.path)), start=1):
            self._accept(record, f"{self.path}:{number}")

    def _accept(self, record: EvalRecord, where: str) -> None:
        index = record.episode.index
        if self._plan.get(index) != record.episode:
            raise RecordError(f"{where}: episode {index} is not in this folder's plan")
        if index in self._records:
            raise RecordError(f"{where}: episode {index} has a record already")
        self._records[index] = record


def read_ledger(folder: Path) -> list[EvalRecord]:
    """Return every whole record of a run folder, in the order they ended; raises `RecordError`."""
    path = folder / LEDGER_NAME
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror}") from error
    return decode_ledger(data[: data.rfind(b"\n") + 1], str(path))


def decode_ledger(data: bytes, where: str) -> list[EvalRecord]:
    """Decode whole lines; raises `RecordError` with the line's number."""
    decoder = msgspec.json.Decoder(EvalRecord)
    records: list[EvalRecord] = []
    try:
        for line in data.splitlines():
            records.append(decoder.decode(line))  # noqa: PERF401  (its length is the number of the damaged line)
    except msgspec.MsgspecError as error:
        raise RecordError(f"{where}:{len(records) + 1}: is not an episode's record: {error}") from error
    return records
