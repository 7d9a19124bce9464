"""Evaluate a policy: plan, run what has no record yet, summarise."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from robosmoke.catalog import find
from robosmoke.errors import ExitCode, unknown_name
from robosmoke.evaluation.ledger import Ledger
from robosmoke.evaluation.plan import EvalPlan, build_plan
from robosmoke.evaluation.record import EvalRecord, canonical
from robosmoke.evaluation.request import EvalRequest
from robosmoke.evaluation.summary import METRICS_NAME, EvalSummary, summarise
from robosmoke.guest.engine.capacity import automatic_workers
from robosmoke.guest.engine.inline import run_inline
from robosmoke.guest.engine.order import WorkOrder
from robosmoke.guest.engine.processes import run_in_processes, worker_variables
from robosmoke.guest.engine.progress import Progress, announcement
from robosmoke.guest.engine.run_folder import open_folder, record_session, sweep
from robosmoke.guest.engine.threads import thread_variables
from robosmoke.manifest import Manifest
from robosmoke.schema import write


@dataclass(frozen=True, kw_only=True)
class EvalResult:
    """What an evaluation left: its folder, plan, records in plan order, and figures."""

    out: Path
    plan: EvalPlan
    records: tuple[EvalRecord, ...]
    summary: EvalSummary

    def canonical(self) -> bytes:
        """Return the records without what depends on how they were run."""
        return canonical(self.records)

    def exit_code(self, min_success: float | None = None) -> ExitCode:
        """Judge: an errored episode, none completed or a rate below the one asked for is red."""
        summary = self.summary
        if summary.n_missing:
            return ExitCode.INTERRUPTED
        if summary.n_errored or summary.pc_success is None:
            return ExitCode.RED
        return ExitCode.RED if min_success is not None and summary.pc_success < 100 * min_success else ExitCode.GREEN


def evaluate(benchmark: str, policy: str = "expert", **options: Any) -> EvalResult:
    """Evaluate a policy on a benchmark, in the environment that this Python runs in.

    ``options`` are the fields of `EvalRequest`: ``tasks=("push-v3",)``, ``episodes=20``, ``workers=4``,
    ``out=Path("runs/mine")`` … Needs no ``__main__`` guard: workers never import the caller's main module.
    Raises `UsageError` for what does not exist or does not fit, `SetupError` for an environment that lacks something.
    """
    known = {field.name for field in fields(EvalRequest)} - {"benchmark", "policy"}
    for name in options:
        if name not in known:
            raise unknown_name("option of evaluate()", name, known)
    return run_evaluation(find(benchmark).manifest, EvalRequest(benchmark=benchmark, policy=policy, **options))


def run_evaluation(manifest: Manifest, request: EvalRequest, say: Callable[[str], None] | None = None) -> EvalResult:
    """Run what a request asks for and has no record yet; ``say`` hears the total before the first step.

    Whatever ends it early, each finished episode is on the disk, and ``metrics.json`` counts the others as missing.
    """
    plan = build_plan(manifest, request)
    folder = open_folder(plan, request)
    with Ledger(folder, plan) as ledger:
        done = len(ledger.records)
        order = _order(manifest, plan, request, folder, ledger)
        record_session(folder, _settings(order, request))
        if say is not None:
            say(announcement(plan, done=done, workers=order.workers, executor=request.executor, out=folder))
        sweep(folder)
        try:
            _run(order, request, ledger, Progress(plan, done) if say is not None else None)
        finally:
            sweep(folder)
            records = tuple(ledger.records[index] for index in sorted(ledger.records))
            summary = summarise(plan, records)
            write(folder / METRICS_NAME, summary)
    return EvalResult(out=folder, plan=plan, records=records, summary=summary)


def _order(manifest: Manifest, plan: EvalPlan, request: EvalRequest, folder: Path, ledger: Ledger) -> WorkOrder:
    pending = tuple(episode.index for episode in plan.mine() if episode.index not in ledger.records)
    # The manifest's limit is that of a smoke, which holds two envs at once.
    allowed_mb = manifest.environment[plan.environment.partition("[")[0]].memory_mb
    workers = request.workers or automatic_workers(len(pending), max(1, allowed_mb // 2))
    return WorkOrder(
        manifest=manifest,
        plan=plan,
        pending=pending,
        out=str(folder),
        workers=max(1, min(workers, len(pending))),
        episode_timeout_s=request.episode_timeout_s,
        worker_memory_mb=request.worker_memory_mb or allowed_mb,
        recycle_after=request.recycle_after,
    )


def _run(order: WorkOrder, request: EvalRequest, ledger: Ledger, progress: Progress | None) -> None:
    if not order.pending:
        return
    execute = run_inline if request.executor == "inline" else run_in_processes
    with closing(execute(order)) as records:
        for record in records:
            ledger.append(record)
            if progress is not None:
                progress.add(record)
    if progress is not None:
        progress.close()


def _settings(order: WorkOrder, request: EvalRequest) -> dict[str, Any]:
    """List everything that takes effect and is not in the plan."""
    inline = request.executor == "inline"
    environment = order.manifest.environment[order.plan.environment.partition("[")[0]]
    given = {name: os.environ[name] for name in environment.variables if name in os.environ}
    chosen = thread_variables(order.plan.threads) if inline else worker_variables(order)
    return {
        "executor": request.executor,
        "workers": 1 if inline else order.workers,
        "pending": len(order.pending),
        "episode_timeout_s": None if inline else order.episode_timeout_s,
        "worker_memory_mb": None if inline else order.worker_memory_mb,
        "recycle_after": None if inline else order.recycle_after,
        "min_success": request.min_success,
        "variables": {**given, **chosen},
    }
