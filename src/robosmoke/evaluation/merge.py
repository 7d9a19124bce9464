"""Put the shards of one evaluation together."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from robosmoke.errors import RecordError, UsageError
from robosmoke.evaluation.ledger import LEDGER_NAME, read_ledger
from robosmoke.evaluation.plan import PLAN_NAME, EvalPlan, first_difference
from robosmoke.evaluation.record import EvalRecord
from robosmoke.evaluation.summary import METRICS_NAME, EvalSummary, summarise
from robosmoke.schema import encode_line, read, write, write_atomically


def merge(folders: Sequence[Path], out: Path) -> EvalSummary:
    """Write one run folder from the shards of one plan, in any order; returns its summary.

    Raises `UsageError` for shards of different plans (and says where they differ), an episode that two of them
    ran, one that none did, or an ``out`` that holds something; `RecordError` for a damaged folder.
    """
    if out.exists() and any(out.iterdir()):
        raise UsageError(f"{out}: is not empty: choose another folder")
    whole = read(folders[0] / PLAN_NAME, EvalPlan).whole()
    records: dict[int, tuple[EvalRecord, Path]] = {}
    for folder in folders:
        plan = read(folder / PLAN_NAME, EvalPlan)
        difference = first_difference(whole, plan.whole())
        if difference:
            raise UsageError(f"{folders[0]} and {folder} are parts of different plans: {difference}")
        for record in read_ledger(folder):
            index = record.episode.index
            if index in records:
                raise UsageError(f"episode {index} was run in {records[index][1]} and in {folder}: merge one of them")
            records[index] = (record, folder)
    _require_complete(whole, records)
    ordered = [records[episode.index][0] for episode in whole.episodes]
    for folder in folders:
        for kind in ("videos", "posters"):
            if (folder / kind).is_dir():
                shutil.copytree(folder / kind, out / kind, dirs_exist_ok=True)
    summary = summarise(whole, ordered)
    write(out / PLAN_NAME, whole)
    write_atomically(out / LEDGER_NAME, b"".join(map(encode_line, ordered)))
    write(out / METRICS_NAME, summary)
    return summary


def _require_complete(plan: EvalPlan, records: dict[int, tuple[EvalRecord, Path]]) -> None:
    for episode in plan.episodes:
        if episode.index not in records:
            missing = sum(episode.index not in records for episode in plan.episodes)
            raise UsageError(
                f"{missing} of {len(plan.episodes)} episodes have no record, the first is {episode.index}"
                f" ({episode.suite}/{episode.task}): add the shard that ran it, or resume it"
            )
        record, folder = records[episode.index]
        if record.episode != episode:
            raise RecordError(f"{folder / LEDGER_NAME}: episode {episode.index} is not that of the plan")
