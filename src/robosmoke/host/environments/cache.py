"""Build a folder of the cache once: locked against others, marked when complete."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from robosmoke.host.environments.disk import writing
from robosmoke.schema import write_atomically

MARKER = "complete.json"
_ADVICE = "set ROBOSMOKE_CACHE to another folder"


@dataclass(frozen=True, kw_only=True)
class CachedFolder:
    """A complete folder of the cache, the facts its builder noted, and whether it was built now."""

    path: Path
    facts: dict[str, str]
    built: bool


def build_once(path: Path, build: Callable[[Path], dict[str, str]]) -> CachedFolder:
    """Return a complete folder, calling ``build(path)`` for it under a lock unless it is there.

    ``build`` gets the empty folder at its final place (a venv cannot be moved) and returns facts
    to keep. A folder without its marker, written last, is one that was interrupted: it is removed
    and built again. Raises `SetupError` when the cache cannot be written.
    """
    facts = _facts(path)
    if facts is not None:
        return CachedFolder(path=path, facts=facts, built=False)
    with locked(path):
        # Another process may have built it while we waited.
        facts = _facts(path)
        if facts is not None:
            return CachedFolder(path=path, facts=facts, built=False)
        with writing(path, _ADVICE):
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir(parents=True)
            facts = build(path)
            write_atomically(path / MARKER, json.dumps(facts, indent=2, sort_keys=True).encode() + b"\n")
    return CachedFolder(path=path, facts=facts, built=True)


def forget(path: Path) -> None:
    """Make a folder incomplete, so that the next `build_once` builds it again."""
    (path / MARKER).unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file beside ``path`` while the block runs; waits for another holder."""
    lock = path.with_name(f".{path.name}.lock")
    with writing(lock.parent, _ADVICE):
        lock.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("w")
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _facts(path: Path) -> dict[str, str] | None:
    try:
        facts = json.loads((path / MARKER).read_bytes())
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError):
        return None
    return {str(name): str(value) for name, value in facts.items()}
