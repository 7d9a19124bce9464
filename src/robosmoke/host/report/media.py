"""Link to videos and posters relative to the report, and only to what lies in its run folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from robosmoke.host.containment import PathRefused, contained
from robosmoke.host.report.record import EpisodeReport
from robosmoke.schema import EpisodeRecord


@dataclass(frozen=True, kw_only=True)
class Media:
    """Episodes with their links, and one note for each link that was refused or leads nowhere."""

    episodes: tuple[EpisodeReport, ...]
    notes: tuple[str, ...]


def link_media(folder: Path, episodes: Sequence[EpisodeRecord], out: Path) -> Media:
    """Turn the paths in ``episodes`` into URLs relative to ``out``."""
    notes: list[str] = []

    def link(recorded: str | None) -> str | None:
        if not recorded:
            return None
        try:
            inside = contained(folder, recorded)
        except PathRefused as error:
            notes.append(str(error))
            return None
        if not (folder / inside).is_file():
            notes.append(f"{recorded!r} in {folder.name} is not there: it was not copied, or never written")
            return None
        return relative_url(folder / inside, out)

    linked = tuple(
        EpisodeReport(
            record=record,
            video=link(record.video.path if record.video else None),
            poster=link(record.video.poster if record.video else None),
        )
        for record in episodes
    )
    return Media(episodes=linked, notes=tuple(notes))


def relative_url(path: Path, out: Path) -> str:
    """Return the quoted URL of ``path`` as seen from a page in ``out``; never read as a scheme."""
    return quote(Path(os.path.relpath(path, out.resolve())).as_posix(), safe="/")
