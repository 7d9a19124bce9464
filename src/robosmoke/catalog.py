"""Find benchmarks: the built-in folders and the entry-point group ``robosmoke.benchmarks``."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, entry_points
from pathlib import Path
from typing import NamedTuple

from robosmoke.errors import ManifestError, unknown_name
from robosmoke.manifest import MANIFEST_NAME, Manifest, read_manifest

GROUP = "robosmoke.benchmarks"
BUILTIN_FOLDER = Path(__file__).parent / "benchmarks"


class Benchmark(NamedTuple):
    """A manifest and where it was found; ``distribution`` is None for the built-in ones."""

    manifest: Manifest
    folder: Path
    distribution: Distribution | None


@lru_cache(maxsize=1)
def benchmarks() -> dict[str, Benchmark]:
    """Return every benchmark by name, built-in ones first; imports no simulator.

    Raises `ManifestError` for a broken manifest or a name that is taken twice.
    """
    found: dict[str, Benchmark] = {}
    for path in sorted(BUILTIN_FOLDER.glob(f"*/{MANIFEST_NAME}")):
        package = f"robosmoke.benchmarks.{path.parent.name}"
        _add(found, Benchmark(read_manifest(path, package=package), path.parent, None))
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        folder = _folder_of(point)
        manifest = read_manifest(folder / MANIFEST_NAME, package=point.value)
        _add(found, Benchmark(manifest, folder, point.dist))
    return found


def find(name: str) -> Benchmark:
    """Return one benchmark; raises `UsageError` with the nearest known name."""
    known = benchmarks()
    if name not in known:
        raise unknown_name("benchmark", name, known)
    return known[name]


def _add(found: dict[str, Benchmark], benchmark: Benchmark) -> None:
    name = benchmark.manifest.name
    if name in found:
        raise ManifestError(
            f"{benchmark.folder / MANIFEST_NAME}: name: {name!r} is taken by {found[name].folder / MANIFEST_NAME}"
        )
    found[name] = benchmark


def _folder_of(point: EntryPoint) -> Path:
    """Locate an entry point's package without importing it."""
    try:
        spec = importlib.util.find_spec(point.value)
    except ImportError as error:
        raise ManifestError(f"entry point {point.name!r} of {GROUP}: {error}") from error
    if spec is None or not spec.submodule_search_locations:
        raise ManifestError(f"entry point {point.name!r} of {GROUP}: {point.value!r} is not a package")
    return Path(next(iter(spec.submodule_search_locations)))
