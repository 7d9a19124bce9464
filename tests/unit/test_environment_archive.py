"""Untrusted archives: what is refused, and that the rest still comes out."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from robosmoke.host.environments.archive import Limits, extract, pack


def stream(*members: tuple[tarfile.TarInfo, bytes]) -> list[bytes]:
    """Return a tar archive in small chunks, as an engine sends it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for member, content in members:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    data = buffer.getvalue()
    return [data[start : start + 700] for start in range(0, len(data), 700)]


def member(name: str, kind: bytes = tarfile.REGTYPE, **attributes: object) -> tarfile.TarInfo:
    """Return the header of one member."""
    info = tarfile.TarInfo(name)
    info.type = kind
    for attribute, value in attributes.items():
        setattr(info, attribute, value)
    return info


GOOD = (member("out/good.txt"), b"good")


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (member("/etc/cron.d/evil"), "absolute name"),
        (member("out/../../evil"), "name with '..'"),
        (member("out/soft", tarfile.SYMTYPE, linkname="/etc/passwd"), "link to '/etc/passwd'"),
        (member("out/hard", tarfile.LNKTYPE, linkname="out/good.txt"), "link to 'out/good.txt'"),
        (member("out/null", tarfile.CHRTYPE, devmajor=1, devminor=3), "device or pipe"),
        (member("out/disk", tarfile.BLKTYPE, devmajor=8, devminor=0), "device or pipe"),
        (member("out/pipe", tarfile.FIFOTYPE), "device or pipe"),
    ],
    ids=lambda value: value.name if isinstance(value, tarfile.TarInfo) else "",
)
def test_refuses_a_member_by_name_and_extracts_the_rest(tmp_path: Path, bad: tarfile.TarInfo, reason: str) -> None:
    """A hostile member is named with its reason, leaves nothing anywhere, and costs no other file."""
    target = tmp_path / "run"
    done = extract(stream((bad, b""), GOOD), target, strip=1)
    assert done.files == 1
    assert [repr(bad.name) in line and reason in line for line in done.refused] == [True]
    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))] == ["run", "run/good.txt"]


def test_refuses_what_is_too_large(tmp_path: Path) -> None:
    """A member over its limit and one over the total are refused, smaller ones after them are not."""
    limits = Limits(member_bytes=100, total_bytes=150)
    members = [
        (member("big"), b"b" * 101),
        (member("one"), b"1" * 100),
        (member("two"), b"2" * 60),
        (member("ok"), b"3" * 50),
    ]
    done = extract(stream(*members), tmp_path, limits=limits)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ok", "one"]
    assert len(done.refused) == 2


def test_refuses_too_many_members(tmp_path: Path) -> None:
    """A flood of small files ends at the limit and says so."""
    done = extract(stream(*[(member(f"f{i}"), b"") for i in range(9)]), tmp_path, limits=Limits(members=5))
    assert done.files == 5
    assert "more than 5 members" in done.refused[0]


def test_keeps_the_hosts_own_files(tmp_path: Path) -> None:
    """A guest's version of the host's log does not replace it."""
    (tmp_path / "run.log").write_text("host")
    extract(stream((member("out/run.log"), b"guest"), GOOD), tmp_path, strip=1, keep=frozenset({"run.log"}))
    assert (tmp_path / "run.log").read_text() == "host"


def test_never_writes_through_a_link_that_is_there(tmp_path: Path) -> None:
    """A link in the target folder is replaced, or refused as a folder: its destination stays untouched."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_text("untouched")
    target = tmp_path / "run"
    target.mkdir()
    (target / "file").symlink_to(outside / "victim")
    (target / "folder").symlink_to(outside)
    done = extract(stream((member("file"), b"x"), (member("folder/new"), b"x")), target)
    assert (outside / "victim").read_text() == "untouched"
    assert [path.name for path in outside.iterdir()] == ["victim"]
    assert len(done.refused) == 1


def test_drops_owner_and_special_bits(tmp_path: Path) -> None:
    """Files belong to the caller and carry plain permissions, whatever the archive says."""
    extract(stream((member("tool", mode=0o6777, uid=0, gid=0), b"")), tmp_path)
    status = (tmp_path / "tool").stat()
    assert status.st_uid == os.getuid()
    assert status.st_mode & 0o7022 == 0


def test_names_a_file_that_is_also_a_folder(tmp_path: Path) -> None:
    """Two members that cannot both exist: the second is refused, nothing is raised."""
    done = extract(stream((member("a"), b""), (member("a/b"), b""), GOOD), tmp_path)
    assert len(done.refused) == 1
    assert done.files == 2


def test_says_when_the_archive_ends_early(tmp_path: Path) -> None:
    """A stream that breaks off keeps what came and says that the rest is missing."""
    chunks = stream(GOOD, (member("later"), b"x" * 5000))
    done = extract(chunks[:4], tmp_path)
    assert (tmp_path / "out" / "good.txt").read_text() == "good"
    assert any("cannot be read" in line for line in done.refused)


def test_packs_what_it_can_extract(tmp_path: Path) -> None:
    """A packed request comes out byte for byte."""
    extract([pack({"request.json": b"{}\n"}, uid=1000)], tmp_path)
    assert (tmp_path / "request.json").read_bytes() == b"{}\n"
