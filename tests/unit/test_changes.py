"""Which benchmarks a change can affect, and why."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from robosmoke.errors import UsageError
from robosmoke.host.changes import (
    Candidate,
    Changes,
    affected,
    changed_files,
    session_name,
)
from robosmoke.schema import Pair


def candidate(benchmark: str, environment: str = "default", *, default: bool = True) -> Candidate:
    return Candidate(
        session=session_name(benchmark, environment),
        pair=Pair(benchmark=benchmark, environment=environment),
        default=default,
    )


KNOWN = (candidate("libero"), candidate("libero_pro"), candidate("pusht"), candidate("pusht", "pymunk-7"))


def running(*files: str) -> set[str]:
    decisions = affected(Changes(files=files), KNOWN)
    return {decision.candidate.session for decision in decisions if decision.run}


EVERYTHING = {"libero_smoke", "libero_pro_smoke", "pusht_smoke", "pusht_pymunk_7_smoke"}


@pytest.mark.parametrize(
    "file",
    [
        "src/robosmoke/schema.py",
        "src/robosmoke/guest/env.py",
        "src/robosmoke/host/environments/docker.py",
        "src/robosmoke/benchmarks/__init__.py",
        "src/robosmoke/benchmarks/a_removed_one/env.py",
        "docker/base.Dockerfile",
        "pyproject.toml",
        "noxfile.py",
        "Makefile",
        "tests/smoke/test_contract.py",
        "tests/conftest.py",
        ".github/workflows/benchmarks.yml",
        "a_file_of_a_kind_nobody_thought_of",
    ],
)
def test_a_shared_or_unknown_file_runs_every_benchmark(file: str) -> None:
    assert running(file) == EVERYTHING


@pytest.mark.parametrize(
    "file",
    [
        "src/robosmoke/benchmarks/pusht/env.py",
        "src/robosmoke/benchmarks/pusht/default.lock",
        "tests/integration/test_pusht.py",
        "tests/unit/pusht/test_geometry.py",
    ],
)
def test_a_benchmark_of_its_own_runs_alone_in_all_its_environments(file: str) -> None:
    assert running(file) == {"pusht_smoke", "pusht_pymunk_7_smoke"}


def test_a_name_that_begins_another_is_not_mistaken_for_it() -> None:
    assert running("tests/integration/test_libero_pro.py") == {"libero_pro_smoke"}
    assert running("tests/integration/test_libero.py") == {"libero_smoke"}
    assert running("src/robosmoke/benchmarks/libero/env.py") == {"libero_smoke"}


@pytest.mark.parametrize(
    "file",
    [
        "README.md",
        "docs/evaluation.md",
        "docs/picture.svg",
        "src/robosmoke/benchmarks/pusht/README.md",
        "tests/unit/test_schema.py",
        ".github/workflows/ci.yml",
        "bench/overhead.py",
        "src/robosmoke/host/template/src/robosmoke_mybenchmark/env.py",
    ],
)
def test_a_file_no_benchmark_depends_on_runs_none_and_says_so(file: str) -> None:
    decisions = affected(Changes(files=(file,)), KNOWN)
    assert not any(decision.run for decision in decisions)
    assert all(decision.reason.startswith("the change touches only: ") for decision in decisions)


def test_a_run_names_the_file_that_caused_it() -> None:
    decisions = affected(Changes(files=("README.md", "src/robosmoke/benchmarks/pusht/env.py")), KNOWN)
    assert {decision.candidate.session: decision.reason for decision in decisions} == {
        "libero_smoke": "the change touches only: pusht itself; documentation",
        "libero_pro_smoke": "the change touches only: pusht itself; documentation",
        "pusht_smoke": "src/robosmoke/benchmarks/pusht/env.py: belongs to pusht",
        "pusht_pymunk_7_smoke": "src/robosmoke/benchmarks/pusht/env.py: belongs to pusht",
    }


def test_an_unknown_change_runs_everything_with_its_reason() -> None:
    decisions = affected(Changes(unknown="event schedule runs everything"), KNOWN)
    assert {decision.reason for decision in decisions if decision.run} == {"event schedule runs everything"}
    assert len(decisions) == len(KNOWN)


def test_an_environment_outside_the_default_smoke_runs_only_when_named() -> None:
    known = (candidate("libero"), candidate("libero", "lerobot", default=False))
    unnamed = affected(Changes(unknown="no base commit is known"), known)
    assert [decision.run for decision in unnamed] == [True, False]
    assert "--only libero/lerobot" in unnamed[1].reason
    named = affected(Changes(unknown="no base commit is known"), known, only=["libero/lerobot"])
    assert [decision.run for decision in named] == [False, True]


def test_a_filter_with_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UsageError, match="did you mean 'pusht'"):
        affected(Changes(unknown="asked by hand"), KNOWN, only=["pushed"])


@pytest.mark.parametrize("event", ["push", "schedule", "workflow_dispatch"])
def test_every_event_but_a_pull_request_counts_as_everything_changed(event: str, tmp_path: Path) -> None:
    assert changed_files("HEAD", tmp_path, event=event).unknown == f"event {event} runs everything"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    (tmp_path / "old name.txt").write_text("the same content, long enough to be seen as a rename\n" * 5)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message=one")
    git(tmp_path, "switch", "--quiet", "--create=branch")
    return tmp_path


def git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ["git", *identity, *arguments], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_rename_counts_as_both_names_and_odd_names_survive(clone: Path) -> None:
    git(clone, "mv", "old name.txt", "new\nnäme.txt")
    git(clone, "commit", "--quiet", "--message=two")
    assert changed_files("main", clone).files == ("new\nnäme.txt", "old name.txt")


def test_what_the_base_gained_meanwhile_is_no_change_of_the_branch(clone: Path) -> None:
    (clone / "mine").touch()
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "--message=mine")
    git(clone, "switch", "--quiet", "main")
    (clone / "theirs").touch()
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "--message=theirs")
    git(clone, "switch", "--quiet", "branch")
    assert changed_files("main", clone).files == ("mine",)


@pytest.mark.parametrize("base", ["", "0" * 40, "1" * 40, "no-such-branch", "--output=stolen"])
def test_a_base_this_clone_cannot_resolve_is_unknown_and_never_empty(base: str, clone: Path) -> None:
    changes = changed_files(base, clone)
    assert changes.unknown
    assert not (clone / "stolen").exists()


def test_a_folder_that_is_no_clone_is_unknown(tmp_path: Path) -> None:
    assert changed_files("main", tmp_path).unknown
