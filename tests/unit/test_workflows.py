"""The workflows stay thin, pinned, least-privileged, and call only what exists."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
THIN = {"make", ".venv/bin/nox", ".venv/bin/robosmoke", "cat"}


def load(path: Path) -> dict[str, Any]:
    # BaseLoader: every scalar stays the text that is written, so "on" is no boolean.
    loaded: dict[str, Any] = yaml.load(path.read_text(), yaml.BaseLoader)
    return loaded


def jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in WORKFLOWS:
        for name, job in load(path)["jobs"].items():
            yield f"{path.stem}.{name}", job


def steps() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    for name, job in jobs():
        for number, step in enumerate(job["steps"], start=1):
            yield f"{name}.{number}", job, step


JOBS = [pytest.param(job, id=name) for name, job in jobs()]
RUNS = [pytest.param(job, step, id=name) for name, job, step in steps() if "run" in step]
USES = [pytest.param(step, id=name) for name, _, step in steps() if "uses" in step]
EVERY = [pytest.param(path, id=path.stem) for path in WORKFLOWS]


def matrix_values(job: dict[str, Any], key: str) -> list[str]:
    """List what ``matrix.<key>`` can be; a matrix made by the plan stands for a known built-in."""
    rows = job["strategy"]["matrix"]
    if isinstance(rows, str):
        planned = {"session": "pusht_smoke", "benchmark": "pusht", "folder": "pusht--default"}
        return [planned[key]]
    return list(rows[key])


def commands(job: dict[str, Any], step: dict[str, Any]) -> list[list[str]]:
    """Expand the variables of a ``run:`` line as the runner would; one command per matrix row."""
    variables = {
        "GITHUB_OUTPUT": "output",
        "GITHUB_STEP_SUMMARY": "summary",
        **job.get("env", {}),
        **step.get("env", {}),
    }
    rows: list[dict[str, str]] = [{}]
    for name, value in variables.items():
        matrix = re.fullmatch(r"\$\{\{ matrix\.(\w+) \}\}", value)
        default = re.search(r"\|\| '(\w+)' \}\}", value)
        if matrix:
            rows = [{**row, name: option} for row in rows for option in matrix_values(job, matrix[1])]
        else:
            text = default[1] if default else "" if "${{" in value else value
            rows = [{**row, name: text} for row in rows]
    return [[expand(word, row) for word in shlex.split(step["run"])] for row in rows]


def expand(word: str, variables: dict[str, str]) -> str:
    return re.sub(r"\$(\w+)", lambda match: variables[match[1]], word)


def test_there_are_two_workflows() -> None:
    assert [path.stem for path in WORKFLOWS] == ["benchmarks", "ci"]


@pytest.mark.parametrize("path", EVERY)
def test_a_workflow_starts_from_no_permissions(path: Path) -> None:
    assert load(path)["permissions"] == {}


@pytest.mark.parametrize("job", JOBS)
def test_a_job_may_at_most_read_the_code_and_ends_in_time(job: dict[str, Any]) -> None:
    assert job["permissions"] in ({}, {"contents": "read"})
    assert 0 < int(job["timeout-minutes"]) <= 90


@pytest.mark.parametrize("path", EVERY)
def test_every_action_is_pinned_by_hash_with_its_version_beside(path: Path) -> None:
    lines = [line.strip().removeprefix("- ") for line in path.read_text().splitlines() if "uses:" in line]
    assert lines
    assert [line for line in lines if not PINNED.fullmatch(line)] == []


@pytest.mark.parametrize("step", USES)
def test_a_checkout_keeps_no_credentials(step: dict[str, Any]) -> None:
    if step["uses"].startswith("actions/checkout@"):
        assert step["with"]["persist-credentials"] == "false"


@pytest.mark.parametrize("path", EVERY)
def test_no_secret_is_used_and_nothing_runs_with_a_forks_code_and_our_rights(path: Path) -> None:
    assert "secrets." not in path.read_text()
    assert not {"pull_request_target", "workflow_run"} & set(load(path)["on"])


@pytest.mark.parametrize("path", EVERY)
def test_a_required_workflow_is_never_filtered_away_by_paths(path: Path) -> None:
    triggers = load(path)["on"]
    assert "pull_request" in triggers
    assert not any("paths" in str(trigger) for trigger in triggers.values())


@pytest.mark.parametrize("path", EVERY)
def test_only_superseded_runs_of_a_pull_request_are_cancelled(path: Path) -> None:
    concurrency = load(path)["concurrency"]
    assert concurrency["cancel-in-progress"] == "${{ github.event_name == 'pull_request' }}"
    assert concurrency["group"].endswith("${{ github.event.pull_request.number || github.run_id }}")


@pytest.mark.parametrize("path", EVERY)
def test_the_gate_always_runs_and_needs_every_other_job(path: Path) -> None:
    named = load(path)["jobs"]
    gate = named.pop("gate")
    assert gate["if"] == "always()"
    assert sorted(gate["needs"]) == sorted(named)
    last = gate["steps"][-1]
    assert last["uses"].startswith("re-actors/alls-green@")
    assert last["with"]["jobs"] == "${{ toJSON(needs) }}"
    assert "allowed-failures" not in last["with"]


def test_the_smokes_may_be_skipped_only_when_the_plan_says_it_is_empty() -> None:
    named = load(ROOT / ".github/workflows/benchmarks.yml")["jobs"]
    assert named["smoke"]["if"] == "needs.plan.outputs.empty == 'false'"
    gate = named["gate"]["steps"][-1]
    assert gate["if"] == "always()"
    assert gate["with"]["allowed-skips"] == "${{ needs.plan.outputs.empty == 'true' && 'smoke' || '' }}"


def test_what_a_smoke_left_is_kept_whatever_happened() -> None:
    uploads = [
        step
        for name, _, step in steps()
        if name.startswith("benchmarks.smoke.") and "upload-artifact@" in step.get("uses", "")
    ]
    assert [step["if"] for step in uploads] == ["always()"]
    assert uploads[0]["with"]["path"].endswith("/${{ matrix.folder }}/")


@pytest.mark.parametrize(("job", "step"), RUNS)
def test_a_run_line_is_one_thin_call_without_shell_logic_or_templates(
    job: dict[str, Any], step: dict[str, Any]
) -> None:
    line = step["run"]
    assert "\n" not in line.strip()
    assert "${{" not in line
    assert not re.search(r"[;&|`(<]|\bif\b|\bfor\b", line)
    words = shlex.split(line)
    assert words[0] in THIN
    # A redirect only adds to the runner's own file, and only `cat` does so.
    assert (">>" in words) == (words[0] == "cat")
    for command in commands(job, step):
        assert "$" not in " ".join(command)


def run(*command: str, **variables: str) -> str:
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, f"{shlex.join(command)}: {done.stdout}{done.stderr}"
    return done.stdout


def calls(program: str) -> list[tuple[str, ...]]:
    found = [command for _, job, step in steps() if "run" in step for command in commands(job, step)]
    return sorted({tuple(command[1:]) for command in found if command[0] == program})


@pytest.mark.host
def test_every_session_a_workflow_calls_exists() -> None:
    asked = calls(".venv/bin/nox")
    assert {command[0] for command in asked} == {"-s"}
    names = {command[1] for command in asked}
    # nox refuses to list a session that it does not have.
    listed = json.loads(run(sys.executable, "-m", "nox", "--list", "--json", "--session", *sorted(names)))
    assert {entry["session"] for entry in listed} == names


def test_every_make_target_a_workflow_calls_exists() -> None:
    asked = calls("make")
    assert asked
    for command in asked:
        run("make", "--dry-run", *command)


@pytest.mark.host
def test_every_robosmoke_command_a_workflow_calls_takes_its_options() -> None:
    asked = calls(".venv/bin/robosmoke")
    assert {command[0] for command in asked} == {"matrix", "report"}
    for command in asked:
        shown = run(sys.executable, "-m", "robosmoke", command[0], "--help")
        for option in command:
            assert not option.startswith("--") or option in shown


@pytest.mark.host
def test_the_plan_that_the_workflow_asks_for_is_made(tmp_path: Path) -> None:
    """Run the plan job's own line, as a dispatch would, and read what the later jobs read."""
    (line,) = [command for command in calls(".venv/bin/robosmoke") if command[0] == "matrix"]
    arguments = list(line)
    for option, value in {
        "--event": "workflow_dispatch",
        "--plan": str(tmp_path / "plan.json"),
        "--github-output": str(tmp_path / "output"),
    }.items():
        arguments[arguments.index(option) + 1] = value
    printed = json.loads(run(sys.executable, "-m", "robosmoke", *arguments, ROBOSMOKE_INVOCATION="7-1"))
    outputs = dict(entry.split("=", 1) for entry in (tmp_path / "output").read_text().splitlines())
    rows = json.loads(outputs["matrix"])["include"]
    assert rows == printed["include"]
    assert {"metaworld_smoke", "pusht_smoke"} <= {row["session"] for row in rows}
    assert outputs["empty"] == "false"
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert plan["invocation"] == outputs["invocation"] == "7-1"
    assert [(pair["benchmark"], pair["environment"]) for pair in plan["pairs"]] == [
        (row["benchmark"], row["environment"]) for row in rows
    ]
