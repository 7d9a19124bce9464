"""The generated documents are what their generator writes."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_generated_documents_are_current():
    """README's table and docs/checks.md are what `nox -s documents` would write."""
    generator = runpy.run_path(str(ROOT / "scripts" / "generate_documents.py"))
    stale = [path.name for path, text in generator["documents"]().items() if path.read_text(encoding="utf-8") != text]
    assert not stale, f"run `nox -s documents`: out of date: {stale}"
