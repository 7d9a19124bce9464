"""Run episodes one after another in this process: for debuggers, and as the measure of all other executors."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

from robosmoke.evaluation.record import EvalRecord
from robosmoke.guest.engine.order import WorkOrder
from robosmoke.guest.engine.runner import EpisodeRunner
from robosmoke.guest.engine.verdicts import evaluated, lost_record


def run_inline(order: WorkOrder) -> Generator[EvalRecord, None, None]:
    """Yield each record as its episode ends, in plan order; limits and retries need processes."""
    runner = EpisodeRunner(order.manifest, order.plan, Path(order.out))
    pending = set(order.pending)
    try:
        for episode in order.plan.episodes:
            if episode.index in pending:
                try:
                    record = runner.run(episode)
                except MemoryError:
                    record = lost_record(order.plan, episode, "the process ran out of memory")
                yield evaluated(record, worker="inline")
    finally:
        runner.close()
