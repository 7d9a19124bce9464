"""Hold checks.json against the journal that it was derived from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from robosmoke.errors import RecordError
from robosmoke.journal import JOURNAL_NAME, Ended, Event, Planned, read_journal
from robosmoke.schema import CheckRecord
from robosmoke.vocabulary import CheckOutcome

# What is concluded about a test that the journal holds no outcome of.
_WITHOUT_OUTCOME = (CheckOutcome.BROKEN, CheckOutcome.MISSING)


def journal_faults(folder: Path, checks: Sequence[CheckRecord]) -> list[str]:
    """Return what in the journal of a run folder contradicts its checks; raises nothing for a damaged file."""
    path = folder / JOURNAL_NAME
    if path.is_symlink():
        return [f"{path}: is a symbolic link: a record is a plain file in its run folder"]
    if checks and not path.exists():
        return [f"{JOURNAL_NAME} is not there, and {len(checks)} checks claim to come from it"]
    try:
        events = read_journal(path)
    except RecordError as error:
        return [str(error)]
    except OSError as error:
        return [f"{path}: cannot be read: {error.strerror}"]
    except RecursionError:
        return [f"{path}: is nested too deeply to be a journal"]
    return [f"{path}: {difference}" for difference in _differences(events, checks)]


def _differences(events: Sequence[Event], checks: Sequence[CheckRecord]) -> Iterator[str]:
    planned = {test.test for event in events if isinstance(event, Planned) for test in event.tests}
    ended = {event.test: event.outcome for event in events if isinstance(event, Ended) and event.test in planned}
    recorded = {check.test: check.outcome for check in checks}
    if lost := sorted(planned - recorded.keys()):
        yield f"planned {_listed(lost)}, which checks.json lacks"
    if invented := sorted(recorded.keys() - planned):
        yield f"never planned {_listed(invented)}, which checks.json holds"
    for test in sorted(planned & recorded.keys()):
        outcome = recorded[test]
        if test in ended and ended[test] is not outcome:
            yield f"ended {test} as {ended[test].value}, and checks.json says {outcome.value}"
        elif test not in ended and outcome not in _WITHOUT_OUTCOME:
            yield f"holds no outcome of {test}, and checks.json says {outcome.value}"


def _listed(tests: Sequence[str]) -> str:
    return ", ".join(tests[:3]) + (f" and {len(tests) - 3} more" if len(tests) > 3 else "")
