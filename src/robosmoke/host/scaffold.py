"""Write the folder of a new third-party benchmark: a working package to replace piece by piece."""

from __future__ import annotations

import keyword
import re
import tempfile
from pathlib import Path

from robosmoke.catalog import benchmarks
from robosmoke.errors import UsageError
from robosmoke.host.environments.disk import writing_where_told

TEMPLATE = Path(__file__).parent / "template"
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def write_benchmark(name: str, into: Path) -> Path:
    """Write ``into/robosmoke-NAME`` and return it; all of it appears at once, or nothing.

    ``name`` is the benchmark's: lower-case words joined by single underscores. The package is
    called ``robosmoke_NAME``, so that it never hides the simulator's own. Raises `UsageError` for
    a bad or taken name, an existing folder or one that cannot be written, `SetupError` when the disk is full.
    """
    _require_usable(name)
    words = {
        "robosmoke-mybenchmark": f"robosmoke-{name.replace('_', '-')}",
        "mybenchmark": name,
        "My Benchmark": name.replace("_", " ").title(),
    }
    folder = into / words["robosmoke-mybenchmark"]
    if folder.exists():
        raise UsageError(f"{folder}: exists already: choose another name, or another folder with --into")
    with writing_where_told(folder, "choose a folder with --into"):
        into.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=into, prefix=f".{folder.name}.") as temporary:
            draft = Path(temporary) / folder.name
            for source in _template_files():
                target = draft / _replace(str(source.relative_to(TEMPLATE)), words)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(_replace(source.read_text(encoding="utf-8"), words), encoding="utf-8")
            draft.rename(folder)
    return folder


def _require_usable(name: str) -> None:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UsageError(
            f"benchmark name {name!r}: use lower-case letters, digits and single underscores, starting with a"
            " letter, and no Python keyword: it names a package and a session"
        )
    if name in benchmarks():
        raise UsageError(f"benchmark name {name!r}: is taken by {benchmarks()[name].folder}: choose another")


def _template_files() -> list[Path]:
    return [path for path in sorted(TEMPLATE.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]


def _replace(text: str, words: dict[str, str]) -> str:
    """Replace all words in one pass, so that no replacement is replaced again."""
    pattern = "|".join(re.escape(word) for word in words)
    return re.sub(pattern, lambda match: words[match[0]], text)
