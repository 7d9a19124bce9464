"""Print the manifest's suites from hf-libero's own task lists: ``python -m robosmoke.benchmarks.libero.suites``.

Names, their order and instructions are what ``libero.libero.benchmark`` gives (task order 0); upstream's
``libero_100`` is registered there and has no tasks, so it is not offered.
"""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass

from robosmoke.benchmarks.libero.upstream import import_libero


@dataclass(frozen=True, kw_only=True)
class SuiteFacts:
    """What LIBERO's lists do not say; ``horizon`` is the longest demonstration's length rounded up (LeRobot)."""

    name: str
    horizon: int
    smoke: int | None = None


# lerobot/envs/libero.py: TASK_SUITE_MAX_STEPS, num_steps_wait.
SUITES = (
    SuiteFacts(name="libero_spatial", horizon=280, smoke=0),
    SuiteFacts(name="libero_object", horizon=280, smoke=0),
    SuiteFacts(name="libero_goal", horizon=300),
    SuiteFacts(name="libero_10", horizon=520),
    SuiteFacts(name="libero_90", horizon=400),
)
WAIT_STEPS = 10
INIT_STATES = 50


def suites_toml() -> str:
    """Return the ``[suite.…]`` tables as TOML."""
    import_libero()
    # Upstream prints which task order it takes.
    with contextlib.redirect_stdout(io.StringIO()):
        from libero.libero.benchmark import get_benchmark

        listed = {suite.name: get_benchmark(suite.name)().tasks for suite in SUITES}
    lines: list[str] = []
    for suite in SUITES:
        lines += [
            f"[suite.{suite.name}]",
            f"horizon = {suite.horizon}",
            f"wait_steps = {WAIT_STEPS}",
            f"init_states = {INIT_STATES}",
            "tasks = [",
        ]
        for index, task in enumerate(listed[suite.name]):
            flag = ", smoke = true" if index == suite.smoke else ""
            lines.append(f"  {{ name = {json.dumps(task.name)}, instruction = {json.dumps(task.language)}{flag} }},")
        lines += ["]", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    print(suites_toml())
