"""The records that cross the wall between guest and host; frozen, versioned, strict JSON."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from robosmoke.errors import RecordError
from robosmoke.manifest import Manifest, OnSuccess
from robosmoke.vocabulary import Blame, CheckOutcome, EpisodeStatus, Verdict

SCHEMA_VERSION = "1.0"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every record: unknown fields of the same major version are accepted."""


class Document(Record, frozen=True, kw_only=True):
    """A record that is a file of its own, and so carries the schema version."""

    schema_version: str = SCHEMA_VERSION


class Episode(Record, frozen=True, kw_only=True):
    """One planned episode, fixed before anything runs; ``index`` is its place in the plan."""

    index: int
    benchmark: str
    environment: str
    suite: str
    task: str
    seed: int
    init_state: int | None = None


class Video(Record, frozen=True, kw_only=True):
    """One video: ``kind`` is ``policy`` (what the policy read) or ``review`` (for people)."""

    kind: str
    path: str
    poster: str
    frames: int
    fps: float
    width_px: int
    height_px: int


class EpisodeRecord(Record, frozen=True, kw_only=True):
    """How one episode came out; ``control`` says which role the policy plays in the smoke.

    ``success_end`` is null under ``on_success = stop``: the end is then the success itself.
    """

    episode: Episode
    policy: str
    status: EpisodeStatus
    on_success: OnSuccess
    steps: int = 0
    horizon: int = 0
    success_any: bool | None = None
    success_end: bool | None = None
    first_success_step: int | None = None
    sum_reward: float | None = None
    max_reward: float | None = None
    blame: Blame | None = None
    error: str | None = None
    control: str | None = None
    duration_s: float = 0.0
    video: Video | None = None


class SmokeRequest(Document, frozen=True, kw_only=True):
    """What the host asks of the guest: the manifest, resolved, and the tasks to run."""

    manifest: Manifest
    environment: str
    tasks: tuple[str, ...]
    seed: int = 0


class CheckRecord(Record, frozen=True, kw_only=True):
    """How one check on one task came out; ``task`` is null for a check of the whole pair."""

    check: str
    name: str
    task: str | None
    test: str
    outcome: CheckOutcome
    message: str = ""
    blame: Blame | None = None
    duration_s: float = 0.0


class Pair(Record, frozen=True, kw_only=True):
    """One planned (benchmark, environment) pair, and the folder it will leave."""

    benchmark: str
    environment: str

    @property
    def folder(self) -> str:
        """Name the pair's run folder: letters, digits, ``.``, ``_``, ``-`` and ``=`` only."""
        safe = "".join(c if c.isalnum() or c in "._-=" else "_" for c in self.environment)
        return f"{self.benchmark}--{safe}"


class Plan(Document, frozen=True, kw_only=True):
    """The pairs of one invocation, written before anything is built."""

    invocation: str
    created: str
    pairs: tuple[Pair, ...]
    skipped: dict[str, str] = {}


class Checks(Document, frozen=True, kw_only=True):
    """``checks.json``: every check that was planned, whatever became of it."""

    checks: tuple[CheckRecord, ...]


class Run(Document, frozen=True, kw_only=True):
    """``run.json``: the verdict of one pair with its reason, and what it rests on."""

    invocation: str
    benchmark: str
    title: str
    environment: str
    backend: str
    verdict: Verdict
    reason: str
    blame: Blame | None = None
    advice: str = ""
    started: str
    wall_s: float
    install_s: float = 0.0
    pytest_s: float = 0.0
    exit_status: str = ""
    environment_key: str = ""
    wheel_hashes: dict[str, str] = {}
    tasks: tuple[str, ...] = ()


T = TypeVar("T")


def encode(record: Any) -> bytes:
    """Encode as strict JSON: stable key order, indented, no NaN (raises `RecordError`)."""
    builtins = msgspec.to_builtins(record)
    _refuse_non_finite(builtins, "$")
    return json.dumps(builtins, indent=2, allow_nan=False, ensure_ascii=False).encode() + b"\n"


def encode_line(record: Any) -> bytes:
    """Encode as one line of strict JSON, for journals."""
    builtins = msgspec.to_builtins(record)
    _refuse_non_finite(builtins, "$")
    return json.dumps(builtins, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def decode(data: bytes, kind: type[T], *, source: str) -> T:
    """Decode one record; raises `RecordError` with file, key and reason, also for another major version."""
    try:
        value = msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise RecordError(f"{source}: is not a {kind.__name__} record: {error}") from error
    if isinstance(value, Document):
        major = value.schema_version.partition(".")[0]
        if major != SCHEMA_VERSION.partition(".")[0]:
            raise RecordError(
                f"{source}: schema version {value.schema_version} cannot be read, this robosmoke reads {SCHEMA_VERSION}"
            )
    return value


def read(path: Path, kind: type[T]) -> T:
    """Read one record from a file; raises `RecordError`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror}") from error
    return decode(data, kind, source=str(path))


def write_atomically(path: Path, data: bytes) -> None:
    """Write to a temporary name beside ``path``, sync, rename: a reader sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write(path: Path, record: Any) -> None:
    """Write one record as strict JSON, atomically."""
    write_atomically(path, encode(record))


def _refuse_non_finite(value: Any, where: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise RecordError(f"{where} is {value}: a record holds finite numbers or null")
    if isinstance(value, Mapping):
        for key, item in value.items():
            _refuse_non_finite(item, f"{where}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _refuse_non_finite(item, f"{where}[{index}]")
