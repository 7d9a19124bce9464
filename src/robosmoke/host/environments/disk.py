"""Say plainly why a folder cannot be written: a full disk is the machine's, a bad place the user's."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from robosmoke.errors import SetupError, UsageError

_FULL = (errno.ENOSPC, errno.EDQUOT)
# What the system's own words do not say.
_MEANINGS = {
    errno.ENOENT: "no folder can be made there",
    errno.ENOTDIR: "a file stands where a folder is needed",
    errno.EEXIST: "a file stands where a folder is needed",
    errno.EISDIR: "a folder stands where a file is needed",
}


def is_full(error: OSError) -> bool:
    """Tell whether space is what is lacking: on the disk, or in the user's quota."""
    return error.errno in _FULL


def explain(error: OSError, remedy: str) -> str:
    """Return the cause and what to do about it; only a full disk is told to free some space."""
    cause = error.strerror or str(error)
    if is_full(error):
        return f"{cause}: free some space, or {remedy}"
    return f"{cause}: {remedy}"


@contextmanager
def writing(place: Path, remedy: str) -> Iterator[None]:
    """Turn an `OSError` of the block into a `SetupError` that names the place, the cause and what to do."""
    try:
        yield
    except OSError as error:
        raise SetupError(f"{place}: cannot be written: {explain(error, remedy)}") from error


@contextmanager
def writing_where_told(place: Path, remedy: str) -> Iterator[None]:
    """Do as `writing` does, for a place that the user named: unless the disk is full, a `UsageError`."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise SetupError(f"{place}: cannot be written: {explain(error, remedy)}") from error
        why = f"{meaning}: " if (meaning := _MEANINGS.get(error.errno or 0)) else ""
        raise UsageError(f"{place}: cannot be written: {why}{explain(error, remedy)}") from error
