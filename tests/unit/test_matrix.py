"""The CI matrix has a row for every run, a reason for every skip, and never comes out empty by accident."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robosmoke.errors import SetupError, UsageError
from robosmoke.host.changes import Candidate, Decision, session_name
from robosmoke.host.matrix import decide, list_sessions, matrix
from robosmoke.schema import Pair


def candidate(benchmark: str, environment: str = "default") -> Candidate:
    return Candidate(
        session=session_name(benchmark, environment), pair=Pair(benchmark=benchmark, environment=environment)
    )


def nox_sessions(*names: str) -> str:
    return json.dumps([{"session": name, "name": name, "description": "", "python": None} for name in names])


def decided(chosen: Candidate, *, run: bool) -> Decision:
    return Decision(candidate=chosen, run=run, reason="because")


def test_every_built_in_pair_is_decided_upon(tmp_path: Path) -> None:
    decisions = decide(tmp_path, event="schedule", base="")
    assert {"metaworld/default", "pusht/default"} <= {d.candidate.path for d in decisions if d.run}


def test_a_smoke_outside_the_default_sessions_is_listed_too(tmp_path: Path) -> None:
    (tmp_path / "noxfile.py").write_text(
        "import nox\n"
        "@nox.session(tags=['smoke'], default=False)\n"
        "def libero_lerobot_smoke(session): pass\n"
        "@nox.session\n"
        "def report(session): pass\n"
    )
    assert [entry["session"] for entry in json.loads(list_sessions(tmp_path))] == ["libero_lerobot_smoke"]


def test_a_folder_without_a_noxfile_is_a_setup_error_with_noxs_own_words(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"nox --list --json: exit \d+ in .*: .+"):
        list_sessions(tmp_path)


def test_the_matrix_has_a_row_per_run_and_a_reason_per_skip() -> None:
    decisions = [decided(candidate("pusht"), run=True), decided(candidate("libero", "mujoco-3.3"), run=False)]
    built = matrix(nox_sessions("pusht_smoke", "libero_mujoco_3_3_smoke", "lint"), decisions)
    assert json.loads(built.as_json()) == {
        "include": [
            {
                "session": "pusht_smoke",
                "benchmark": "pusht",
                "environment": "default",
                "folder": "pusht--default",
                "reason": "because",
            }
        ],
        "skipped": {"libero--mujoco-3.3": "because"},
    }
    assert built.pairs == (Pair(benchmark="pusht", environment="default"),)


def test_the_step_outputs_are_one_line_each_whatever_a_file_is_called() -> None:
    decision = Decision(candidate=candidate("pusht"), run=True, reason="a\nempty=true: shared by all benchmarks")
    outputs = matrix(nox_sessions("pusht_smoke"), [decision]).as_outputs("7-1")
    values = dict(line.split("=", 1) for line in outputs.splitlines())
    assert set(values) == {"matrix", "empty", "invocation"}
    assert values["empty"] == "false"
    assert json.loads(values["matrix"])["include"][0]["session"] == "pusht_smoke"


def test_a_matrix_left_empty_by_reasons_is_marked_empty() -> None:
    outputs = matrix(nox_sessions("pusht_smoke"), [decided(candidate("pusht"), run=False)]).as_outputs("7-1")
    assert "empty=true\n" in outputs


def test_a_matrix_that_is_empty_without_a_reason_is_refused() -> None:
    with pytest.raises(UsageError, match="an empty matrix would prove nothing"):
        matrix(nox_sessions("lint", "unit"), [])


@pytest.mark.parametrize("listed", [("pusht_smoke", "extra_smoke"), ()])
def test_sessions_that_differ_from_the_manifests_are_refused(listed: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="disagree"):
        matrix(nox_sessions(*listed), [decided(candidate("pusht"), run=True)])


@pytest.mark.parametrize("output", ["", "null", "[1]", "[{}]"])
def test_output_that_is_no_session_list_is_refused(output: str) -> None:
    with pytest.raises(UsageError, match="not a list of sessions"):
        matrix(output, [decided(candidate("pusht"), run=True)])
