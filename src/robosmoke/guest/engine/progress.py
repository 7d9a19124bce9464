"""Say how an evaluation goes: one line that moves on a terminal, one a minute elsewhere."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from robosmoke.evaluation.plan import EvalPlan
from robosmoke.evaluation.record import EvalRecord
from robosmoke.evaluation.summary import EvalSummary, describe_rate
from robosmoke.vocabulary import EpisodeStatus

_QUIET_S = 60.0
_SHOWN_ERRORS = 5


class Progress:
    """Count episodes as they end, and print; ``done`` of them have a record from before."""

    def __init__(self, plan: EvalPlan, done: int) -> None:
        self._total, self._done, self._steps, self._solved = len(plan.mine()), done, 0, 0
        self._completed = 0
        self._terminal = sys.stdout.isatty()
        self._start = self._shown = time.monotonic()

    def add(self, record: EvalRecord) -> None:
        """Count one more episode, and show where it stands when it is time to."""
        self._done += 1
        self._steps += record.steps
        self._completed += record.status is EpisodeStatus.COMPLETED
        self._solved += bool(record.success_any)
        now = time.monotonic()
        if self._terminal or now - self._shown >= _QUIET_S:
            self._shown = now
            print(self._line(now), end="" if self._terminal else "\n", flush=True)

    def close(self) -> None:
        """Leave the moving line."""
        if self._terminal:
            print()

    def _line(self, now: float) -> str:
        elapsed = max(now - self._start, 1e-9)
        text = (
            f"{self._done} of {self._total} episodes, {self._solved} of {self._completed} solved,"
            f" {self._steps / elapsed:.0f} steps/s"
        )
        return f"\r\x1b[K{text}" if self._terminal else text


def announcement(plan: EvalPlan, *, done: int, workers: int, executor: str, out: Path) -> str:
    """Say what is about to run, the total first."""
    total, tasks = len(plan.mine()), len(plan.tasks)
    part = f" (shard {plan.shard.index} of {plan.shard.count})" if plan.shard else ""
    before = f", {done} of them done before" if done else ""
    how = "inline" if executor == "inline" else f"{workers} worker{'s' * (workers != 1)}"
    return (
        f"{plan.benchmark} in {plan.environment}: {total} episodes{part} of {tasks} task{'s' * (tasks != 1)}{before},"
        f" policy {plan.policy}, {how}, into {out}"
    )


def conclusion(summary: EvalSummary, records: tuple[EvalRecord, ...]) -> str:
    """Say how it came out: the rate with its count and interval, and every kind of episode that is not in it."""
    lines = [f"success: {describe_rate(summary.success_any)}"]
    if summary.success_end is not None:
        lines.append(f"success at the last step: {describe_rate(summary.success_end)}")
    errored = [record for record in records if record.status is EpisodeStatus.ERRORED]
    if errored:
        lines.append(f"errored: {len(errored)} of {summary.n_planned}, counted in no rate")
        lines += [f"  {_describe_error(record)}" for record in errored[:_SHOWN_ERRORS]]
    lost = [(record.episode.index, attempt) for record in records for attempt in record.lost]
    lines += [f"worker {attempt.worker} {attempt.cause}, in episode {index}" for index, attempt in lost[:_SHOWN_ERRORS]]
    if summary.n_missing:
        lines.append(f"missing: {summary.n_missing} of {summary.n_planned}")
    return "\n".join(lines)


def _describe_error(record: EvalRecord) -> str:
    episode = record.episode
    state = "" if episode.init_state is None else f", init state {episode.init_state}"
    blame = record.blame.value if record.blame else "unknown"
    return (
        f"episode {episode.index} ({episode.suite}/{episode.task}, seed {episode.seed}{state}): {blame}: {record.error}"
    )
