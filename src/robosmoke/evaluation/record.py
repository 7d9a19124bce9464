"""What is kept of each evaluated episode, and the part of it that never depends on how it was run."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from robosmoke.schema import EpisodeRecord, Record, encode_line


class Attempt(Record, frozen=True, kw_only=True):
    """One worker lost over an episode: which one, and how it ended."""

    worker: str
    cause: str


class EvalRecord(EpisodeRecord, frozen=True, kw_only=True):
    """A line of ``episodes.jsonl``: the episode's record and who ran it, ``lost`` workers included."""

    worker: str
    host: str
    ended: str
    lost: tuple[Attempt, ...] = ()


_OUTSIDE = ("duration_s", "worker", "host", "ended", "lost")


def canonical(records: Iterable[EpisodeRecord]) -> bytes:
    """Return the records in plan order without timings, attempts, worker and host, one line of JSON each.

    The bytes are equal for every executor, worker count, shard and resumption on one CPU model.
    """
    lines = []
    for record in sorted(records, key=lambda record: record.episode.index):
        fields = msgspec.structs.asdict(record)
        lines.append(encode_line({name: value for name, value in fields.items() if name not in _OUTSIDE}))
    return b"".join(lines)
