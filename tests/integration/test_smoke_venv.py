"""PushT through the real noxfile in a venv: complete records, nothing installed twice, edits executed, one writer.

The repository is copied first, so that nox works and files are edited far from this checkout.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from robosmoke.journal import Ended, Planned, read_journal
from robosmoke.schema import Checks, EpisodeRecord, Run, decode, read
from robosmoke.vocabulary import Verdict

ROOT = Path(__file__).parents[2]
ADAPTER = "src/robosmoke/benchmarks/pusht/env.py"
PAIR = "pusht--default"
# Everything a run leaves, as docs and design promise it.
RUN_FILES = {
    "request.json",
    "journal.jsonl",
    "metrics.json",
    "eval_info.json",
    "episodes.jsonl",
    "checks.json",
    "junit.xml",
    "provenance.json",
    "run.json",
    "install.log",
    "run.log",
}
# What a calling test session or nox leaves in the environment, and a user's shell does not have.
INHERITED = ("PYTEST", "COV", "ROBOSMOKE_")
KEPT = ("ROBOSMOKE_INDEX_URL", "ROBOSMOKE_FIND_LINKS", "ROBOSMOKE_CA_BUNDLE")


@dataclass(frozen=True, kw_only=True)
class Called:
    """One nox call that came to its end, and the run folder it left for one pair."""

    exit_code: int
    printed: str
    invocation: Path
    folder: Path

    @property
    def run(self) -> Run:
        return read(self.folder / "run.json", Run)

    @property
    def provenance(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "provenance.json").read_text()))

    @property
    def episodes(self) -> list[EpisodeRecord]:
        lines = (self.folder / "episodes.jsonl").read_bytes().splitlines()
        return [decode(line, EpisodeRecord, source="episodes.jsonl") for line in lines]

    @property
    def installed(self) -> str:
        return str(self.provenance["environment_details"]["installed"])


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A copy of this repository with its own cache and runs."""

    root: Path
    runs: Path
    variables: Mapping[str, str]

    def nox(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "nox", *arguments],
            cwd=self.root,
            env={**self.variables, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )

    def smoke(self, name: str, *arguments: str, sessions: tuple[str, ...] = ("pusht_smoke",)) -> Called:
        """Run smoke sessions as invocation ``name`` in the venv backend."""
        options = ("--", "--backend", "venv", *arguments)
        done = self.nox("-s", *sessions, *options, ROBOSMOKE_INVOCATION=name)
        folders = [path for path in (self.runs / name).glob("pusht--*") if path.is_dir()]
        assert len(folders) == 1, done.stdout
        return Called(exit_code=done.returncode, printed=done.stdout, invocation=self.runs / name, folder=folders[0])


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Copy the repository, changes that are not committed included."""
    place = tmp_path_factory.mktemp("checkout")
    root = place / "robosmoke"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(root)], check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    inherited = {name: value for name, value in os.environ.items() if name in KEPT or not name.startswith(INHERITED)}
    variables = {
        **inherited,
        # The copy comes before this checkout, which the interpreter has installed.
        "PYTHONPATH": str(root / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "ROBOSMOKE_CACHE": str(place / "cache"),
        "ROBOSMOKE_RUNS": str(place / "runs"),
    }
    return Checkout(root=root, runs=place / "runs", variables=variables)


@pytest.fixture(scope="module")
def first(checkout: Checkout) -> Called:
    """Run the whole smoke and the report, from an empty cache."""
    return checkout.smoke("first", sessions=("pusht_smoke", "report"))


@pytest.fixture(scope="module")
def second(checkout: Checkout, first: Called) -> Called:
    """Run again with nothing changed, the tests about seeds only."""
    return checkout.smoke("second", "-k", "seed", sessions=("pusht_smoke", "report"))


@pytest.fixture(scope="module")
def edited(checkout: Checkout, first: Called) -> Called:
    """Change one line of the adapter, and run the zero action's episode."""
    adapter = checkout.root / ADAPTER
    before = adapter.read_text()
    after = before.replace("return Tick(reward, ", "return Tick(reward + 1000.0, ")
    assert after != before
    adapter.write_text(after)
    try:
        return checkout.smoke("edited", "-k", "RS602")
    finally:
        adapter.write_text(before)


@pytest.fixture(scope="module")
def parallel(checkout: Checkout, first: Called) -> Called:
    """Run all tasks with two workers."""
    return checkout.smoke("parallel", "-n", "2", "--all-tasks", "-k", "RS2 or RS602")


@pytest.fixture(scope="module")
def overridden(checkout: Checkout, first: Called) -> Called:
    """Run with another version of one dependency."""
    return checkout.smoke("overridden", "--override", "pygame==2.6.0", "-k", "RS204 or RS401")


def test_the_smoke_and_its_report_are_green(first: Called) -> None:
    assert first.exit_code == 0, first.printed
    assert (first.run.verdict, first.run.backend, first.run.blame) == (Verdict.PASSED, "venv", None)
    report = json.loads((first.invocation / "report" / "report.json").read_text())
    assert (report["red"], report["exit_code"]) == (False, 0)
    assert [(pair["benchmark"], pair["verdict"]) for pair in report["pairs"]] == [("pusht", "passed")]
    for form in ("report.md", "report.html"):
        assert "pusht" in (first.invocation / "report" / form).read_text()


def test_the_run_folder_is_complete(first: Called) -> None:
    assert first.folder.name == PAIR
    assert {path.name for path in first.folder.iterdir() if path.is_file()} >= RUN_FILES
    assert [path.name for path in first.folder.rglob(".*")] == [], "a temporary file was left"
    videos = [record.video for record in first.episodes if record.video is not None]
    assert videos
    for video in videos:
        assert (first.folder / video.path).stat().st_size > 0
        assert (first.folder / video.poster).stat().st_size > 0


def test_the_plan_names_the_pairs_of_this_nox_call(first: Called) -> None:
    plan = json.loads((first.invocation / "plan.json").read_text())
    assert plan["pairs"] == [{"benchmark": "pusht", "environment": "default"}]


def test_the_controls_tell_the_expert_from_doing_nothing(first: Called) -> None:
    metrics = json.loads((first.folder / "metrics.json").read_text())
    assert metrics["controls"]["expert"]["n_successes"] > 0
    assert [metrics["controls"][control]["pc_success"] for control in ("zero", "random")] == [0.0, 0.0]
    assert metrics["pc_success"] == metrics["controls"]["expert"]["pc_success"]


def test_the_provenance_names_what_the_result_rests_on(first: Called) -> None:
    provenance = first.provenance
    assert provenance["distributions"]["pymunk"]["version"] == "6.11.1"
    assert provenance["cpu_model"]
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", provenance["commit"])
    assert re.fullmatch(r"[0-9a-f]{32}", provenance["environment_key"])
    assert set(first.run.wheel_hashes) == {"robosmoke"}


def test_the_first_time_installs_and_the_second_does_not(first: Called, second: Called) -> None:
    assert (first.installed, second.installed) == ("yes", "no")
    assert (first.folder / "install.log").read_text()
    assert (second.folder / "install.log").read_text() == ""
    assert second.run.environment_key == first.run.environment_key
    assert second.run.wheel_hashes == first.run.wheel_hashes


def test_k_reaches_the_inside_and_gives_no_green_verdict(second: Called) -> None:
    assert second.exit_code == 1
    checks = read(second.folder / "checks.json", Checks).checks
    assert {check.check[:3] for check in checks} == {"RS3"}
    assert {"seed-repeats", "seed-varies"} <= {check.name for check in checks}
    assert second.run.verdict is Verdict.FAILED
    assert "no positive control passed" in second.run.reason
    assert json.loads((second.invocation / "report" / "report.json").read_text())["red"] is True


def test_an_edited_line_installs_no_dependency_and_is_executed(first: Called, edited: Called) -> None:
    assert edited.installed == "no"
    assert edited.run.environment_key == first.run.environment_key
    assert edited.run.wheel_hashes != first.run.wheel_hashes
    (after,) = [record for record in edited.episodes if record.control == "zero"]
    (before,) = [record for record in first.episodes if record.control == "zero"]
    assert before.sum_reward is not None
    assert after.sum_reward == pytest.approx(before.sum_reward + 1000.0 * before.steps)
    assert edited.provenance["commit"].endswith("-dirty")


def test_under_two_workers_one_process_writes_the_journal(parallel: Called) -> None:
    events = read_journal(parallel.folder / "journal.jsonl")
    (plan,) = [event for event in events if isinstance(event, Planned)]
    planned = Counter(test.test for test in plan.tests)
    assert len(planned) > 5
    assert set(planned.values()) == {1}
    assert Counter(event.test for event in events if isinstance(event, Ended)) == planned
    assert events.index(plan) < min(events.index(event) for event in events if isinstance(event, Ended))
    assert "bringing up nodes" in (parallel.folder / "run.log").read_text()


def test_workers_change_no_episode(first: Called, parallel: Called) -> None:
    def measured(called: Called) -> list[object]:
        return [(r.episode, r.steps, r.sum_reward) for r in called.episodes if r.control == "zero"]

    assert measured(parallel) == measured(first)


def test_an_override_makes_another_environment_and_shows(first: Called, overridden: Called) -> None:
    assert overridden.run.environment == "default[pygame==2.6.0]"
    assert overridden.folder.name == "pusht--default_pygame==2.6.0_"
    assert overridden.run.environment_key != first.run.environment_key
    assert overridden.installed == "yes"
    assert overridden.provenance["distributions"]["pygame"]["version"] == "2.6.0"
    assert first.provenance["distributions"]["pygame"]["version"] == "2.6.1"


def test_the_list_of_sessions_imports_no_simulator_and_none_of_robosmoke(checkout: Checkout) -> None:
    done = checkout.nox("-l", PYTHONPROFILEIMPORTTIME="1")
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stdout.splitlines() if "|" in line}
    assert "nox" in imported, "the import times are not shown"
    assert not imported & {"robosmoke", "numpy", "gymnasium", "mujoco", "metaworld", "gym_pusht", "torch", "scipy"}


def test_every_smoke_session_has_its_sentence(checkout: Checkout) -> None:
    shown = checkout.nox("-l", NO_COLOR="1").stdout
    listed = dict(match.groups() for match in re.finditer(r"^[*-] (\S+).* -> (.+)$", shown, re.MULTILINE))
    smokes = {name: sentence for name, sentence in listed.items() if name.endswith("_smoke")}
    assert {"pusht_smoke", "metaworld_smoke"} <= set(smokes)
    assert smokes["pusht_smoke"].startswith("Smoke-test PushT in its default environment")
