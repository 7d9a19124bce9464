"""nox and make stay usable and say what they offer."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.host
ROOT = Path(__file__).parents[2]


def test_a_broken_manifest_is_named_by_nox(tmp_path: Path) -> None:
    """One contributor's typo gives one line with the file and the key, not a traceback."""
    folder = tmp_path / "src/robosmoke/benchmarks"
    (folder / "sound").mkdir(parents=True)
    (folder / "broken").mkdir()
    shutil.copy(ROOT / "noxfile.py", tmp_path)
    sound = (ROOT / "src/robosmoke/benchmarks/pusht/benchmark.toml").read_text(encoding="utf-8")
    (folder / "sound/benchmark.toml").write_text(sound, encoding="utf-8")
    (folder / "broken/benchmark.toml").write_text(sound.replace("title =", "titel ="), encoding="utf-8")
    listed = subprocess.run(
        [sys.executable, "-m", "nox", "-l"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert listed.returncode != 0
    assert listed.stderr.strip() == (
        "src/robosmoke/benchmarks/broken/benchmark.toml: cannot be read as a manifest: KeyError: 'title'"
    )


def test_make_help_lists_every_target() -> None:
    """Every target that a user may call has a line in `make help`."""
    declared = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert declared is not None
    helped = subprocess.run(["make", "-C", ROOT, "help"], capture_output=True, text=True, check=True).stdout
    listed = set(re.findall(r"^  ([a-z%-]+) ", helped, re.MULTILINE))
    assert set(declared[1].split()) - {"smoke"} <= listed
    assert "smoke-%" in listed
