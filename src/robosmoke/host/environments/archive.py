"""Extract a tar stream from a container that may have been taken over by what ran in it."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

MEMBER_BYTES = 2 * 2**30
TOTAL_BYTES = 16 * 2**30
MEMBERS = 200_000


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What an archive may hold: bytes per member, bytes in all, number of members."""

    member_bytes: int = MEMBER_BYTES
    total_bytes: int = TOTAL_BYTES
    members: int = MEMBERS


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """What came out: the number of files, and one sentence per refused member."""

    files: int
    refused: tuple[str, ...]


def extract(
    chunks: Iterable[bytes],
    target: Path,
    *,
    strip: int = 0,
    keep: frozenset[str] = frozenset(),
    limits: Limits | None = None,
) -> Extraction:
    """Extract regular files and folders of a tar stream below ``target``, and refuse all else.

    ``strip`` leading name parts are dropped; names in ``keep`` (relative to ``target``) are the
    host's own files and are left alone. Absolute names, ``..``, links, devices, pipes and
    over-size members are refused by name; the rest is still extracted, with plain permissions and
    owned by the calling user. Raises `OSError` when the disk is full.
    """
    limits = limits or Limits()
    target.mkdir(parents=True, exist_ok=True)
    refused: list[str] = []
    files = total = 0
    try:
        with tarfile.open(fileobj=io.BufferedReader(_Chunks(chunks)), mode="r|") as archive:
            for count, member in enumerate(archive):
                if count >= limits.members:
                    refused.append(f"everything after {member.name!r}: more than {limits.members} members")
                    break
                parts = PurePosixPath(member.name).parts[strip:]
                if "/".join(parts) in keep or (member.isdir() and not parts):
                    continue
                fault = _fault(member, parts, limits, total)
                if fault:
                    refused.append(f"{member.name!r}: {fault}")
                    continue
                total += member.size
                fault = _write(archive, member, target.joinpath(*parts), target)
                if fault:
                    refused.append(f"{member.name!r}: {fault}")
                else:
                    files += member.isreg()
    except tarfile.TarError as error:
        refused.append(f"the rest of the archive: cannot be read ({error})")
    return Extraction(files=files, refused=tuple(refused))


def pack(files: dict[str, bytes], *, uid: int) -> bytes:
    """Return a tar archive of some files owned by ``uid``, for a container's folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.uid, member.gid = len(content), 0o644, uid, uid
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _fault(member: tarfile.TarInfo, parts: tuple[str, ...], limits: Limits, total: int) -> str | None:
    """Say why a member is refused, or None."""
    if PurePosixPath(member.name).is_absolute():
        return "absolute name"
    if ".." in PurePosixPath(member.name).parts:
        return "name with '..'"
    if member.issym() or member.islnk():
        return f"link to {member.linkname!r}"
    if not (member.isreg() or member.isdir()):
        return "neither a file nor a folder (device or pipe)"
    if not parts:
        return "no name"
    if member.size > limits.member_bytes:
        return f"{member.size} bytes, more than {limits.member_bytes}"
    if total + member.size > limits.total_bytes:
        return f"would bring the archive over {limits.total_bytes} bytes"
    return None


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path, target: Path) -> str | None:
    """Write one member; return why it cannot have this name, or None."""
    try:
        if not path.parent.resolve().is_relative_to(target.resolve()):
            return "leads out of the folder"
        if member.isdir():
            path.mkdir(parents=True, exist_ok=True)
            return None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        content = archive.extractfile(member)
        assert content is not None
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        mode = 0o755 if member.mode & 0o100 else 0o644
        with os.fdopen(os.open(path, flags, mode), "wb") as file:
            shutil.copyfileobj(content, file, 2**20)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        return "a file and a folder have one name"
    except ValueError as error:
        return str(error)
    return None


class _Chunks(io.RawIOBase):
    """Read a stream of byte chunks as a file."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks: Iterator[bytes] = iter(chunks)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Say yes: this is all it can do."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill a buffer from the next chunk; 0 at the end of the stream."""
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
