"""Find the plan and the run folders of one invocation beneath some folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from robosmoke.errors import RecordError, UsageError
from robosmoke.schema import Plan, Run, read

PLAN_NAME = "plan.json"
RUN_NAME = "run.json"


@dataclass(frozen=True, kw_only=True)
class FoundRun:
    """A folder with a run.json: its record, or the one line that says why it cannot be read."""

    folder: Path
    run: Run | None
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A neighbouring invocation whose plan cannot be used, and the one line that says why."""

    folder: Path
    error: str


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The plan to report and every run folder beneath the same roots.

    ``older`` holds the plans of other invocations, newest first, ``unreadable`` those that cannot be read;
    ``unfinished`` the folders without a run.json, which a planned pair's run folder may be among. What lies
    in an unreadable invocation is in neither ``runs`` nor ``unfinished``.
    """

    plan: Plan
    runs: tuple[FoundRun, ...]
    older: tuple[Plan, ...]
    unfinished: tuple[Path, ...]
    unreadable: tuple[Unreadable, ...] = ()


def discover(folders: Sequence[Path], *, include_older: bool) -> Findings:
    """Read every plan and run beneath ``folders``, symbolic links not followed.

    With ``include_older`` an invocation folder's neighbours are read too; one whose plan is damaged is
    listed and set aside, since nothing of today's depends on it. The plan to report is the one that
    lies directly in ``folders``, else the newest.
    Raises `UsageError` when there is no plan, when there are several and ``include_older`` is not
    set, or when two plans of one invocation disagree; `RecordError` for a plan beneath ``folders``
    that cannot be read.
    """
    plans: dict[str, tuple[Plan, Path]] = {}
    found = list(_folders(folders))
    for folder in found:
        if os.path.lexists(folder / PLAN_NAME):
            _add_plan(plans, folder / PLAN_NAME)
    unreadable: list[Unreadable] = []
    for neighbour in _neighbours(folders) if include_older else ():
        if neighbour in found:
            continue
        try:
            _add_plan(plans, neighbour / PLAN_NAME)
        except (RecordError, UsageError) as error:
            unreadable.append(Unreadable(folder=neighbour, error=str(error)))
        else:
            found += [folder for folder in _folders([neighbour]) if folder not in found]
    chosen, *older = _chosen_first(plans, folders)
    if older and not include_older:
        listed = ", ".join(sorted(plans))
        raise UsageError(
            f"{_listed(folders)}: holds {len(plans)} invocations ({listed}): name one folder, or use --include-older"
        )
    return Findings(
        plan=chosen,
        runs=tuple(_read_run(folder) for folder in found if os.path.lexists(folder / RUN_NAME)),
        older=tuple(older),
        unfinished=tuple(folder for folder in found if not os.path.lexists(folder / RUN_NAME)),
        unreadable=tuple(unreadable),
    )


def latest_invocation(runs: Path) -> Path:
    """Return the invocation folder directly beneath ``runs`` whose plan was created last.

    Raises `UsageError` when there is none, and `RecordError` when a plan there cannot be read: an
    older invocation must not stand in for it.
    """
    found = [path.parent for path in sorted(runs.glob(f"*/{PLAN_NAME}"))]
    if not found:
        raise UsageError(f"{runs}: holds no invocation, a folder with a {PLAN_NAME}: run a smoke first")
    return max(found, key=lambda folder: (created(read_plan(folder / PLAN_NAME), folder / PLAN_NAME), folder.name))


def read_plan(path: Path) -> Plan:
    """Read one plan; raises `RecordError`."""
    _refuse_link(path)
    return read(path, Plan)


def created(plan: Plan, path: Path) -> datetime:
    """Return when a plan was made, as UTC where it names no zone; raises `RecordError`."""
    try:
        moment = datetime.fromisoformat(plan.created)
    except ValueError as error:
        raise RecordError(f"{path}: created: {plan.created!r} is not an ISO 8601 time") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def _folders(roots: Iterable[Path]) -> Iterator[Path]:
    """Yield every folder beneath the roots once, in sorted order, without following links."""
    seen: set[Path] = set()
    for root in roots:
        if not root.is_dir():
            raise UsageError(f"{root}: is not a folder: name an invocation folder, or a folder of downloaded ones")
        for here, below, _ in os.walk(root.resolve()):
            below.sort()
            if Path(here) not in seen:
                seen.add(Path(here))
                yield Path(here)


def _add_plan(plans: dict[str, tuple[Plan, Path]], path: Path) -> None:
    plan = read_plan(path)
    created(plan, path)
    known, where = plans.setdefault(plan.invocation, (plan, path))
    if known != plan:
        raise UsageError(
            f"{path}: disagrees with {where} about invocation {plan.invocation}: keep the plan that counts"
        )


def _chosen_first(plans: dict[str, tuple[Plan, Path]], folders: Sequence[Path]) -> list[Plan]:
    """Order the plans: those directly in a named folder, then the others, newest first in each."""
    if not plans:
        raise UsageError(f"{_listed(folders)}: holds no {PLAN_NAME}, so nothing was planned: run a smoke first")
    named = {folder.resolve() for folder in folders}
    ordered = sorted(
        plans.values(),
        key=lambda item: (item[1].parent in named, created(*item), item[0].invocation),
        reverse=True,
    )
    return [plan for plan, _ in ordered]


def _neighbours(folders: Sequence[Path]) -> list[Path]:
    """Return the invocation folders beside those that are one."""
    parents = {folder.resolve().parent for folder in folders if (folder / PLAN_NAME).is_file()}
    return [path.parent for parent in sorted(parents) for path in sorted(parent.glob(f"*/{PLAN_NAME}"))]


def _read_run(folder: Path) -> FoundRun:
    path = folder / RUN_NAME
    try:
        _refuse_link(path)
        return FoundRun(folder=folder, run=read(path, Run))
    except RecordError as error:
        return FoundRun(folder=folder, run=None, error=str(error))


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise RecordError(f"{path}: is a symbolic link: a record is a plain file in its run folder")


def _listed(folders: Sequence[Path]) -> str:
    return ", ".join(str(folder) for folder in folders) or "no folder"
