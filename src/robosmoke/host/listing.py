"""What ``robosmoke list`` shows: benchmarks, environments, suites, tasks."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from robosmoke.catalog import Benchmark


def listing(chosen: Sequence[Benchmark]) -> list[dict[str, Any]]:
    """Return the catalogue as plain data, for ``--json``."""
    return [
        {
            "name": benchmark.manifest.name,
            "title": benchmark.manifest.title,
            "summary": benchmark.manifest.summary,
            "url": benchmark.manifest.url,
            "provided_by": benchmark.distribution.metadata["Name"] if benchmark.distribution else "robosmoke",
            "environments": [
                {
                    "name": environment.name,
                    "python": environment.python,
                    "runner": environment.runner,
                    "requirements": environment.all_requirements,
                }
                for environment in benchmark.manifest.environment.values()
            ],
            "suites": [
                {
                    "name": suite.name,
                    "horizon": suite.horizon,
                    "tasks": [
                        {"name": task.name, "instruction": task.instruction, "smoke": task.smoke}
                        for task in suite.tasks
                    ],
                }
                for suite in benchmark.manifest.suite.values()
            ],
        }
        for benchmark in chosen
    ]


def print_listing(chosen: Sequence[Benchmark], *, tasks: bool) -> None:
    """Print a table of benchmarks; with ``tasks``, every environment's requirements and every task too."""
    console = Console(highlight=False)
    table = Table(box=None, header_style="bold")
    for column in ("benchmark", "environments", "suites", "tasks", "smoke", "summary"):
        table.add_column(column)
    for benchmark in chosen:
        manifest = benchmark.manifest
        table.add_row(
            manifest.name,
            ", ".join(manifest.environment),
            ", ".join(manifest.suite),
            str(len(manifest.tasks)),
            str(len(manifest.smoke_tasks)),
            manifest.summary,
        )
    console.print(table)
    if tasks:
        for benchmark in chosen:
            for environment in benchmark.manifest.environment.values():
                requirements = shlex.join(environment.all_requirements)
                line = f"environment {environment.name}, Python {environment.python}: {requirements}"
                console.print(line, markup=False, soft_wrap=True)
            for task in benchmark.manifest.tasks:
                mark = "*" if task.smoke else " "
                console.print(f"{mark} {task.suite}/{task.name}: {task.instruction}", markup=False, soft_wrap=True)
        console.print("* runs in the default smoke", markup=False)
