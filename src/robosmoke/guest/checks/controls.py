"""RS6xx: the positive and the negative controls."""

from __future__ import annotations

from collections.abc import Sequence

from robosmoke.errors import CheckFailed, PolicyFailed
from robosmoke.guest.checks.registry import check
from robosmoke.guest.checks.subject import TaskSubject
from robosmoke.manifest import Manifest
from robosmoke.schema import EpisodeRecord
from robosmoke.vocabulary import Blame, EpisodeStatus


@check("RS601", "expert-succeeds", "the expert reaches the manifest's rate over its tasks", cost="cheap")
def expert_runs(subject: TaskSubject) -> None:
    """Run the expert's episodes of one task; their success counts in the pair's rate."""
    for repeat in range(subject.manifest.smoke.expert_episodes):
        _completed("RS601 expert-succeeds", subject.episode("expert", repeat))


@check("RS602", "null-fails", "doing nothing solves nothing", cost="cheap")
def null_fails(subject: TaskSubject) -> None:
    """Run the zero action for an episode."""
    _require_unsolved("RS602 null-fails", subject.episode("zero"))


@check("RS603", "random-fails", "acting at random solves nothing", cost="cheap")
def random_fails(subject: TaskSubject) -> None:
    """Run uniform random actions for an episode."""
    _require_unsolved("RS603 random-fails", subject.episode("random"))


@check("RS604", "not-solved-at-reset", "the task is not solved when it starts", cost="instant")
def not_solved_at_reset(subject: TaskSubject) -> None:
    """Read success right after resets with three seeds."""
    for offset in range(3):
        if subject.env.reset(seed=subject.seed + offset)[1]["success"]:
            raise CheckFailed(f"RS604 not-solved-at-reset: seed {subject.seed + offset} starts in a solved state")


def require_rate(manifest: Manifest, episodes: Sequence[EpisodeRecord]) -> str:
    """Compare the expert's rate over the tasks run with the manifest's; returns what was seen.

    Raises `CheckFailed` when it is lower, or when no expert episode completed.
    """
    mine = [record for record in episodes if record.control == "expert"]
    done = [record for record in mine if record.status is EpisodeStatus.COMPLETED]
    solved = [record for record in done if record.success_any]
    if not done:
        raise failure_of(mine)(
            "RS601 expert-succeeds: no expert episode completed, so nothing shows that success can be seen"
        )
    seen = f"{len(solved)} of {len(done)} episodes solved, {len(mine) - len(done)} errored"
    if len(solved) / len(mine) < manifest.smoke.expert_rate:
        unsolved = [record for record in mine if record not in solved]
        missed = ", ".join(_named(record) for record in unsolved)
        raise failure_of(unsolved)(
            f"RS601 expert-succeeds: {seen}; the manifest demands {manifest.smoke.expert_rate:.0%}; not solved:"
            f" {missed}. Most likely a dependency changed the physics, or the success flag is lost."
        )
    return seen


def failure_of(records: Sequence[EpisodeRecord]) -> type[CheckFailed]:
    """Return the error for what these episodes lack: the policy's where it alone broke them, else the env's."""
    broken_by_policy = [record.blame is Blame.POLICY for record in records]
    return PolicyFailed if broken_by_policy and all(broken_by_policy) else CheckFailed


def _named(record: EpisodeRecord) -> str:
    return f"{record.episode.task} (seed {record.episode.seed})"


def _completed(check_name: str, record: EpisodeRecord) -> None:
    if record.error:
        blame = record.blame.value if record.blame else "env"
        error = failure_of([record])
        raise error(f"{check_name}: the episode errored after {record.steps} steps ({blame}): {record.error}")


def _require_unsolved(check_name: str, record: EpisodeRecord) -> None:
    _completed(check_name, record)
    if record.success_any:
        raise CheckFailed(
            f"{check_name}: the {record.policy} policy solved {record.episode.task} at step"
            f" {record.first_success_step}. Most likely the success flag is wrong, or the task is trivial."
        )
