"""Keep paths that came out of records inside the folder they belong to."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from robosmoke.errors import UsageError


class PathRefused(UsageError):
    """Report a recorded path that leaves its run folder."""


def contained(folder: Path, recorded: str) -> PurePosixPath:
    """Return a recorded path relative to ``folder``, in normal form; the file need not exist.

    Raises `PathRefused` naming the path when it is empty, absolute, climbs out by ``..``, holds a
    backslash or a control character, or passes through a symbolic link below ``folder``.
    """
    path = PurePosixPath(recorded)
    if not path.parts or recorded != recorded.strip() or not recorded.isprintable() or "\\" in recorded:
        raise PathRefused(f"{recorded!r} in {folder.name} is refused: not a plain relative path")
    if path.is_absolute():
        raise PathRefused(f"{recorded!r} in {folder.name} is refused: an absolute path, where a relative one is due")
    if ".." in path.parts:
        raise PathRefused(f"{recorded!r} in {folder.name} is refused: it leaves the folder by '..'")
    here = folder
    for part in path.parts:
        here = here / part
        if here.is_symlink():
            raise PathRefused(f"{recorded!r} in {folder.name} is refused: {part!r} is a symbolic link")
    return path
