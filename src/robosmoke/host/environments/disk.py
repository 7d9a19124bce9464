"""Say plainly that a disk is full or a folder cannot be written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from robosmoke.errors import SetupError


@contextmanager
def writing(place: Path, advice: str) -> Iterator[None]:
    """Turn an `OSError` of the block into a `SetupError` that names the place, the cause and what to do."""
    try:
        yield
    except OSError as error:
        raise SetupError(f"{place}: cannot be written ({error.strerror or error}): {advice}") from error
