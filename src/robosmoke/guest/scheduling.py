"""Share tests among xdist's workers by task, so that no two of them build the same env or play the same episode."""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadScopeScheduling

from robosmoke.guest.checks.registry import checks


class TaskScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist is untyped
    """Give all tests of a task to one worker.

    xdist's own ``loadgroup`` writes the group into pytest's node ids, which pytest 9.2 no longer lets it do:
    it then spreads the tests without a word.
    """

    def remove_node(self, node: Any) -> str | None:
        """Take back a dead worker's tests, but for the one it died in: that would kill the next worker too."""
        units: dict[str, dict[str, bool]] = self.assigned_work[node]
        open_tests = ((unit, test) for unit in units.values() for test, done in unit.items() if not done)
        unit, culprit = next(open_tests, ({}, None))
        if culprit is not None:
            unit[culprit] = True
        # A unit without open tests would be handed out as nothing to do, and nobody would report its end.
        self.assigned_work[node] = {scope: unit for scope, unit in units.items() if not all(unit.values())}
        super().remove_node(node)
        return culprit

    def _reschedule(self, node: Any) -> None:
        """Hand out units until the worker has two tests: it runs none before it knows the one after."""
        super()._reschedule(node)
        while self.workqueue and not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            self._assign_work_unit(node)

    def _split_scope(self, nodeid: str) -> str:
        return task_of(nodeid)


def task_of(nodeid: str) -> str:
    """Return the task's name from a test's id, ``file::test[RS201-spaces-TASK]``; a test without one is its own."""
    label = nodeid.partition("[")[2].removesuffix("]")
    known = next((check for check in checks() if label.startswith(f"{check.label}-")), None)
    return (label if known is None else label[len(known.label) + 1 :]) or nodeid
