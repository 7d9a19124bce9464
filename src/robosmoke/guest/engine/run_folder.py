"""Open the folder of an evaluation: a new one, or one that is continued."""

from __future__ import annotations

import json
import socket
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import robosmoke
from robosmoke.errors import SetupError, UsageError
from robosmoke.evaluation.plan import PLAN_NAME, EvalPlan, first_difference
from robosmoke.evaluation.request import EvalRequest
from robosmoke.guest.provenance import facts
from robosmoke.guest.video import PARTIAL
from robosmoke.schema import SCHEMA_VERSION, read, write

PROVENANCE_NAME = "provenance.json"


def open_folder(plan: EvalPlan, request: EvalRequest) -> Path:
    """Write the plan into a new folder, or hold it against that of the folder to resume; returns its path.

    Raises `UsageError` for a folder that is taken, holds no plan or another one, and says where they differ.
    """
    if request.resume is not None:
        folder = request.resume.absolute()
        if not (folder / PLAN_NAME).exists():
            raise UsageError(f"--resume {folder}: holds no {PLAN_NAME}: start it with --out")
        difference = first_difference(read(folder / PLAN_NAME, EvalPlan), plan)
        if difference:
            raise UsageError(f"--resume {folder}: holds another plan: {difference}: repeat the flags it started with")
        return folder
    folder = (request.out or _new_name(plan)).absolute()
    if (folder / PLAN_NAME).exists():
        raise UsageError(f"--out {folder}: holds an evaluation already: choose another folder, or use --resume")
    try:
        write(folder / PLAN_NAME, plan)
    except OSError as error:
        raise SetupError(f"{folder}: the plan cannot be written: {error.strerror}: choose another --out") from error
    return folder


def record_session(folder: Path, settings: dict[str, Any]) -> None:
    """Add this start of the evaluation to ``provenance.json``: what it rests on, and the settings in effect.

    Raises `UsageError` when an earlier start ran with other versions: no rate mixes two simulators.
    """
    path = folder / PROVENANCE_NAME
    now = facts()
    sessions: list[dict[str, Any]] = []
    if path.exists():
        before = json.loads(path.read_bytes())
        difference = first_difference(_versions(before), _versions(now))
        if difference:
            raise UsageError(f"--resume {folder}: ran with other versions: {difference}: resume it where it began")
        sessions = before["sessions"]
    session = {
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "host": socket.gethostname(),
        "cpu_model": now["cpu_model"],
        "robosmoke": robosmoke.__version__,
        "settings": settings,
    }
    write(path, {"schema_version": SCHEMA_VERSION, **now, "sessions": [*sessions, session]})


def sweep(folder: Path) -> None:
    """Remove the unfinished videos of workers that were killed."""
    for path in (folder / "videos").glob(f"{PARTIAL}*"):
        path.unlink()


def _versions(provenance: dict[str, Any]) -> dict[str, str]:
    return {name: facts["version"] for name, facts in provenance["distributions"].items()}


def _new_name(plan: EvalPlan) -> Path:
    return Path("runs") / f"eval-{plan.benchmark}-{datetime.now(timezone.utc):%Y%m%dT%H%M%S.%f}"
