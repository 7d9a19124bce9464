"""Make a wheel of an installed distribution again, from the files its RECORD lists."""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
from importlib.metadata import Distribution, PackagePath
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.utils import canonicalize_name

from robosmoke.errors import SetupError

# The installer's own notes, and RECORD, which is written anew.
_NOT_REPACKED = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "uv_build.json"})
# The earliest time a zip can hold: a wheel of equal files has equal bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def editable_project(found: Distribution) -> Path | None:
    """Return the project folder of an editable installation, or None for a plain one."""
    text = found.read_text("direct_url.json")
    if text is None:
        return None
    direct = json.loads(text)
    if not direct.get("dir_info", {}).get("editable"):
        return None
    return Path(unquote(urlsplit(direct["url"]).path))


def installed_files(found: Distribution) -> list[PackagePath]:
    """List the files of an installed distribution that belong into its wheel, sorted.

    Scripts outside the package folder and byte code are left out.
    Raises `SetupError` when its RECORD is missing or names a file that is gone.
    """
    listed = found.files
    if listed is None:
        raise SetupError(f"{found.name} {found.version}: has no RECORD of its files: install it again from a wheel")
    kept = [file for file in listed if ".." not in file.parts and "__pycache__" not in file.parts]
    kept = [file for file in kept if not (file.name in _NOT_REPACKED and file.parent.name.endswith(".dist-info"))]
    gone = [file for file in kept if not Path(str(file.locate())).is_file()]
    if gone:
        raise SetupError(f"{found.name} {found.version}: {gone[0]} is gone from the installation: install it again")
    return sorted(kept, key=str)


def repack(found: Distribution, files: list[PackagePath], folder: Path) -> Path:
    """Write the wheel of an installed distribution into ``folder`` and return its path."""
    name = canonicalize_name(found.name).replace("-", "_")
    dist_info = next(file.parent for file in files if file.parent.name.endswith(".dist-info"))
    path = folder / f"{name}-{found.version}-py3-none-any.whl"
    record: list[str] = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            content = Path(str(file.locate())).read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{file.as_posix()},sha256={digest},{len(content)}")
            archive.writestr(zipfile.ZipInfo(file.as_posix(), _EPOCH), content)
        record.append(f"{dist_info.as_posix()}/RECORD,,")
        archive.writestr(zipfile.ZipInfo(f"{dist_info.as_posix()}/RECORD", _EPOCH), "\n".join(record) + "\n")
    return path
