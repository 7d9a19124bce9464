"""Match what was planned with what was found: one row for every pair, none lost, none counted twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from robosmoke.host.metrics import controls
from robosmoke.host.report.discovery import Findings, FoundRun
from robosmoke.host.report.evidence import gather
from robosmoke.host.report.judgement import judge
from robosmoke.host.report.media import link_media, relative_url
from robosmoke.host.report.record import ControlReport, PairReport
from robosmoke.host.stats import tally
from robosmoke.schema import EpisodeRecord, Pair, Run
from robosmoke.vocabulary import CheckOutcome, Verdict, is_red


class Rows:
    """Build the rows of one report; ``out`` is the folder that links are relative to."""

    def __init__(self, findings: Findings, out: Path) -> None:
        self._plan = findings.plan
        self._older = {plan.invocation for plan in findings.older}
        self._runs = findings.runs
        self._unreadable = findings.unreadable
        self._unfinished = tuple(folder for folder in findings.unfinished if not self._in_older(folder))
        self._out = out

    def planned(self) -> list[PairReport]:
        """Return one row per planned or skipped pair, in the plan's order."""
        rows = [self._planned_row(pair, self._plan.skipped.get(pair.folder)) for pair in self._plan.pairs]
        planned = {pair.folder for pair in self._plan.pairs}
        for folder, reason in self._plan.skipped.items():
            if folder not in planned:
                benchmark, _, environment = folder.partition("--")
                rows.append(self._planned_row(Pair(benchmark=benchmark, environment=environment), reason))
        return rows

    def unplanned(self) -> list[PairReport]:
        """Return one row per run of this invocation that its plan does not name."""
        known = {pair.folder for pair in self._plan.pairs} | set(self._plan.skipped)
        rows = []
        for found in self._runs:
            if found.run is None and found.folder.name not in known and not self._in_older(found.folder):
                rows.append(self._unreadable_row(found))
            elif found.run and found.run.invocation == self._plan.invocation and _pair(found.run).folder not in known:
                row = self._run_row(found.run, found.folder)
                note = "this pair is not in the plan: it is shown, and turns nothing green"
                rows.append(_changed(row, planned=False, notes=(note, *row.notes)))
        return rows

    def stale(self) -> list[PairReport]:
        """Return one row per run of the other invocations whose plans were found, never red and never green."""
        return [
            _changed(self._run_row(found.run, found.folder), stale=True, red=False)
            for found in self._runs
            if found.run and found.run.invocation in self._older
        ]

    def notes(self) -> list[str]:
        """Name the runs that are in no row, because no plan that was found, or none that can be read, names them."""
        known = {self._plan.invocation, *self._older}
        unreadable = [
            f"{found.folder.name} (stale): an unreadable invocation, none of its runs is shown: {found.error}"
            for found in self._unreadable
        ]
        return unreadable + [
            f"{found.folder}: is of invocation {found.run.invocation}, which has no plan here: not shown"
            for found in self._runs
            if found.run and found.run.invocation not in known
        ]

    def _planned_row(self, pair: Pair, skip_reason: str | None) -> PairReport:
        mine = [found for found in self._runs if self._holds(found, pair)]
        if len(mine) > 1:
            listed = ", ".join(str(found.folder) for found in mine)
            return self._bare_row(
                pair, Verdict.BROKEN, f"{len(mine)} run folders claim this pair: {listed}", "keep the one that counts"
            )
        if mine:
            found = mine[0]
            if found.run is None:
                advice = "look into the run folder's run.log, then run this pair again"
                return self._bare_row(pair, Verdict.BROKEN, found.error, advice, found.folder)
            return self._run_row(found.run, found.folder)
        if skip_reason is not None:
            if skip_reason.strip():
                return self._bare_row(pair, Verdict.SKIPPED, skip_reason, "")
            return self._bare_row(pair, Verdict.MISSING, "the plan skips it without a reason", "give one, or run it")
        return self._missing_row(pair)

    def _missing_row(self, pair: Pair) -> PairReport:
        """Say what there is instead of a run.json: an unfinished folder, another invocation's run, nothing."""
        unfinished = [folder for folder in self._unfinished if folder.name == pair.folder]
        others = sorted({found.run.invocation for found in self._runs if found.run and _pair(found.run) == pair})
        reason = "planned, but no run.json was left"
        advice = "look at the job or session that should have run it"
        if unfinished:
            reason = "its run did not end: the run folder has no run.json"
            advice = "read the folder's run.log and journal.jsonl for where it stopped"
        if others:
            reason += f"; a run of another invocation does not count: {', '.join(others)}"
        return self._bare_row(pair, Verdict.MISSING, reason, advice, unfinished[0] if unfinished else None)

    def _holds(self, found: FoundRun, pair: Pair) -> bool:
        if found.run is None:
            return found.folder.name == pair.folder and not self._in_older(found.folder)
        return found.run.invocation == self._plan.invocation and _pair(found.run).folder == pair.folder

    def _in_older(self, folder: Path) -> bool:
        """Tell whether an unreadable run lies in the folder of another invocation."""
        return any(part in self._older for part in folder.parts)

    def _bare_row(
        self, pair: Pair, verdict: Verdict, reason: str, advice: str, folder: Path | None = None
    ) -> PairReport:
        return PairReport(
            benchmark=pair.benchmark,
            environment=pair.environment,
            title=pair.benchmark,
            invocation=self._plan.invocation,
            verdict=verdict,
            red=is_red(verdict),
            reason=reason,
            advice=advice,
            folder=relative_url(folder, self._out) if folder else None,
        )

    def _unreadable_row(self, found: FoundRun) -> PairReport:
        benchmark, _, environment = found.folder.name.partition("--")
        row = self._bare_row(
            Pair(benchmark=benchmark, environment=environment),
            Verdict.BROKEN,
            found.error,
            "remove the folder, or run its pair again",
            found.folder,
        )
        return _changed(row, planned=False, notes=("no planned pair has a folder of this name",))

    def _run_row(self, run: Run, folder: Path) -> PairReport:
        evidence = gather(folder, run.benchmark)
        judgement = judge(run, evidence)
        media = link_media(folder, evidence.episodes, self._out)
        counts = Counter(check.outcome for check in evidence.checks)
        return PairReport(
            benchmark=run.benchmark,
            environment=run.environment,
            title=run.title or run.benchmark,
            invocation=run.invocation,
            verdict=judgement.verdict,
            claimed=run.verdict,
            red=is_red(judgement.verdict),
            reason=judgement.reason,
            blame=judgement.blame,
            advice=judgement.advice,
            folder=relative_url(folder, self._out),
            backend=run.backend,
            environment_key=run.environment_key,
            started=run.started,
            exit_status=run.exit_status,
            wall_s=run.wall_s,
            install_s=run.install_s,
            pytest_s=run.pytest_s,
            setup=evidence.setup,
            controls=_controls(evidence.episodes),
            check_counts={outcome: counts[outcome] for outcome in CheckOutcome if counts[outcome]},
            checks=tuple(sorted(evidence.checks, key=lambda check: (check.check, check.task or ""))),
            episodes=media.episodes,
            notes=tuple(dict.fromkeys([*judgement.notes, *media.notes])),
        )


def _controls(episodes: Sequence[EpisodeRecord]) -> tuple[ControlReport, ...]:
    """Count each control's episodes; those of no control are listed as ``other``."""
    groups = [(name, [record for record in episodes if record.control == name]) for name in controls(episodes)]
    groups.append(("other", [record for record in episodes if not record.control]))
    return tuple(
        ControlReport(
            control=name,
            policies=tuple(dict.fromkeys(record.policy for record in records)),
            tally=tally(records),
        )
        for name, records in groups
        if records
    )


def _pair(run: Run) -> Pair:
    return Pair(benchmark=run.benchmark, environment=run.environment)


def _changed(row: PairReport, **changes: object) -> PairReport:
    return msgspec.structs.replace(row, **changes)
