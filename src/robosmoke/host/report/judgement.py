"""Judge one run again from its own records: a verdict of ``passed`` is a claim until they bear it out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from robosmoke.host.report.evidence import Evidence
from robosmoke.host.stats import outcome
from robosmoke.schema import CheckRecord, EpisodeRecord, Run
from robosmoke.vocabulary import (
    CHECK_VERDICTS,
    EPISODE_VERDICTS,
    Blame,
    CheckOutcome,
    EpisodeStatus,
    Verdict,
    is_red,
    worst,
)

EXPERT = "expert"
POSITIVE_CONTROL = "RS601"


@dataclass(frozen=True, kw_only=True)
class Objection:
    """One thing in a run's records that its verdict has to answer for."""

    verdict: Verdict
    text: str
    blame: Blame | None = None


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The verdict the report stands by; ``notes`` are the objections that are not already its reason."""

    verdict: Verdict
    reason: str
    blame: Blame | None
    advice: str
    notes: tuple[str, ...]


def judge(run: Run, evidence: Evidence) -> Judgement:
    """Return the run's own verdict, or a worse one where its records contradict it."""
    objections = [Objection(verdict=Verdict.BROKEN, text=fault) for fault in evidence.faults]
    if run.verdict in (Verdict.PASSED, Verdict.FAILED):
        objections += _absences(evidence)
    if run.verdict is Verdict.PASSED:
        objections += [
            *_check_objections(evidence.checks),
            *_episode_objections(run, evidence.episodes),
            *_control_objections(evidence),
        ]
    elif run.verdict is Verdict.SKIPPED and not run.reason.strip():
        objections.append(Objection(verdict=Verdict.MISSING, text="run.json says skipped and gives no reason"))
    verdict = worst([run.verdict, *(objection.verdict for objection in objections)])
    if verdict is run.verdict or not is_red(verdict):
        texts = tuple(objection.text for objection in objections)
        return Judgement(verdict=run.verdict, reason=run.reason, blame=run.blame, advice=run.advice, notes=texts)
    main = next(objection for objection in objections if objection.verdict is verdict)
    rest = [objection.text for objection in objections if objection is not main]
    if run.reason:
        rest.append(f"run.json says {run.verdict.value}: {run.reason}")
    return Judgement(
        verdict=verdict,
        reason=f"run.json says {run.verdict.value}, but {main.text}",
        blame=main.blame or run.blame,
        advice=run.advice or "read the records in the run folder, then run this pair again",
        notes=tuple(rest),
    )


def _absences(evidence: Evidence) -> list[Objection]:
    needed = ("checks.json", "episodes.jsonl")
    return [
        Objection(verdict=Verdict.BROKEN, text=f"{name} is not there, so nothing bears the verdict out")
        for name in needed
        if name in evidence.absent
    ]


def _check_objections(checks: Sequence[CheckRecord]) -> list[Objection]:
    return [
        Objection(
            verdict=CHECK_VERDICTS[check.outcome],
            text=f"{check.check} {check.name} {_on(check.task)}is {check.outcome.value}"
            + (f": {check.message}" if check.message else ""),
            blame=check.blame,
        )
        for check in checks
        if is_red(CHECK_VERDICTS[check.outcome])
    ]


def _episode_objections(run: Run, episodes: Sequence[EpisodeRecord]) -> list[Objection]:
    objections = []
    for record in episodes:
        found = outcome(record)
        named = f"the {record.control or record.policy} episode {record.episode.index} {_on(record.episode.task)}"
        if is_red(EPISODE_VERDICTS[found]):
            why = record.error or ("completed without a success flag" if found is not record.status else "")
            objections.append(
                Objection(
                    verdict=EPISODE_VERDICTS[found],
                    text=f"{named}is {found.value}" + (f": {why}" if why else ""),
                    blame=record.blame,
                )
            )
        if record.episode.benchmark != run.benchmark:
            objections.append(
                Objection(verdict=Verdict.BROKEN, text=f"{named}belongs to benchmark {record.episode.benchmark!r}")
            )
    twice = Counter((record.control, record.policy, record.episode) for record in episodes)
    objections += [
        Objection(
            verdict=Verdict.BROKEN,
            text=f"the {control or policy} episode {episode.index} {_on(episode.task)}is recorded {count} times",
        )
        for (control, policy, episode), count in twice.items()
        if count > 1
    ]
    return objections


def _control_objections(evidence: Evidence) -> list[Objection]:
    """Demand the positive control twice over: its check passed, and its episodes show the success."""
    shown = [check for check in evidence.checks if check.check == POSITIVE_CONTROL and _passed(check)]
    # On one task the check says that the expert's episode ran; on the whole pair, that the rate was reached.
    reached = [check for check in shown if check.task is None]
    expert = [record for record in evidence.episodes if record.control == EXPERT]
    solved = [record for record in expert if outcome(record) is EpisodeStatus.COMPLETED and record.success_any]
    texts = []
    if not reached:
        texts.append(f"there is no passed positive control: no {POSITIVE_CONTROL} over all tasks passed")
    if not solved:
        texts.append(f"there is no passed positive control: 0 of {len(expert)} expert episodes succeeded")
    recorded = {record.episode.task.rpartition("/")[2] for record in expert}
    texts += [
        f"{POSITIVE_CONTROL} passed on {check.task} without an expert episode on record"
        for check in shown
        if check.task is not None and check.task.rpartition("/")[2] not in recorded
    ]
    return [Objection(verdict=Verdict.FAILED, text=text) for text in texts]


def _passed(check: CheckRecord) -> bool:
    return check.outcome is CheckOutcome.PASSED


def _on(task: str | None) -> str:
    return f"on {task} " if task else ""
