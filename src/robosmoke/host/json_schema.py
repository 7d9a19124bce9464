"""The JSON Schema of every record, generated from the records themselves: ``nox -s schema``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

import robosmoke
from robosmoke.evaluation.plan import EvalPlan
from robosmoke.evaluation.record import EvalRecord
from robosmoke.evaluation.summary import EvalSummary
from robosmoke.host.report.record import Report
from robosmoke.journal import Event
from robosmoke.schema import SCHEMA_VERSION, Checks, EpisodeRecord, Plan, Run, SmokeRequest, write_atomically

FOLDER = Path(robosmoke.__file__).parent / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
# What is written, one record a file or a line: plan.json, run.json, checks.json, a line of
# episodes.jsonl, request.json, report.json, a line of journal.jsonl; and of an evaluation plan.json,
# a line of episodes.jsonl, metrics.json.
RECORDS: dict[str, Any] = {
    "plan": Plan,
    "run": Run,
    "checks": Checks,
    "episode": EpisodeRecord,
    "request": SmokeRequest,
    "report": Report,
    "journal": Event,
    "evaluation_plan": EvalPlan,
    "evaluation_episode": EvalRecord,
    "evaluation_metrics": EvalSummary,
}


def documents() -> dict[Path, str]:
    """Return every schema file with the text it must have."""
    return {FOLDER / f"{name}.schema.json": _text(kind) for name, kind in RECORDS.items()}


def write_documents() -> None:
    """Write the schema files, and remove those of records that are gone."""
    wanted = documents()
    for path in FOLDER.glob("*.schema.json"):
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        write_atomically(path, text.encode())


def _text(kind: Any) -> str:
    schema = msgspec.json.schema(kind)
    for part in schema["$defs"].values():
        version = part.get("properties", {}).get("schema_version")
        if version is not None:
            # Readers refuse another major version, and so does the schema.
            version["pattern"] = rf"^{SCHEMA_VERSION.partition('.')[0]}\."
    return json.dumps({"$schema": DIALECT, **schema}, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    write_documents()
