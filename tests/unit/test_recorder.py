"""The journal of real sessions: everything planned before anything runs, each test once, whatever the workers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
import robosmoke_mybenchmark

from robosmoke.journal import (
    Ended,
    EpisodeEnded,
    Event,
    Finished,
    Planned,
    Provenance,
    Started,
    read_journal,
)
from robosmoke.manifest import Expected, Manifest, read_manifest
from robosmoke.schema import SmokeRequest, write
from robosmoke.vocabulary import Blame, CheckOutcome

PACKAGE = Path(robosmoke_mybenchmark.__file__).parent
RATE = "RS601-expert-succeeds"


@dataclass(frozen=True, kw_only=True)
class Session:
    """One guest session that came to its end."""

    exit_code: int
    events: list[Event]
    printed: str

    def of(self, kind: type) -> list:
        return [event for event in self.events if isinstance(event, kind)]

    def outcome(self, test: str) -> Ended:
        (ended,) = [event for event in self.of(Ended) if test in event.test]
        return ended


Run = Callable[..., Session]


def run_smoke(folder: Path, manifest: Manifest, *arguments: str) -> Session:
    """Run the guest's entry as the host does, in a process of its own."""
    tasks = tuple(f"{task.suite}/{task.name}" for task in manifest.tasks)
    write(folder / "request.json", SmokeRequest(manifest=manifest, environment="default", tasks=tasks))
    variables = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))},
        "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]),
        "ROBOSMOKE_OUT": str(folder),
    }
    # The project's own test order is random; an environment has no such plugin.
    command = [sys.executable, "-m", "robosmoke", "run-smoke", "--", "-p", "no:randomly", *arguments]
    done = subprocess.run(command, env=variables, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    return Session(
        exit_code=done.returncode, events=read_journal(folder / "journal.jsonl"), printed=done.stdout + done.stderr
    )


def template() -> Manifest:
    return read_manifest(PACKAGE / "benchmark.toml", package="robosmoke_mybenchmark")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Give the session of a sound benchmark."""
    return run_smoke(tmp_path_factory.mktemp("sound"), template())


@pytest.fixture(scope="module")
def parallel(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Give the same session with two workers."""
    return run_smoke(tmp_path_factory.mktemp("parallel"), template(), "-n", "2")


@pytest.fixture(params=["sound", "parallel"])
def session(request: pytest.FixtureRequest) -> Session:
    """Give the session with and without workers."""
    return request.getfixturevalue(request.param)


def test_a_sound_benchmark_is_green(session: Session) -> None:
    assert session.exit_code == 0, session.printed
    assert {event.outcome for event in session.of(Ended)} == {CheckOutcome.PASSED}
    assert session.events[-1] == Finished(time=session.events[-1].time, exit_code=0)


def test_the_plan_is_complete_before_the_first_test_starts(session: Session) -> None:
    (plan,) = session.of(Planned)
    assert session.events.index(plan) < min(session.events.index(event) for event in session.of(Started))
    assert {event.test for event in session.of(Started)} | {RATE} == {test.test for test in plan.tests}


def test_each_test_starts_and_ends_exactly_once(session: Session) -> None:
    (plan,) = session.of(Planned)
    once = Counter(test.test for test in plan.tests)
    assert set(once.values()) == {1}
    assert Counter(event.test for event in session.of(Ended)) == once
    assert Counter(event.test for event in session.of(Started)) == once - Counter([RATE])


def test_the_plan_names_check_and_task_of_each_test(session: Session) -> None:
    (plan,) = session.of(Planned)
    planned = {(test.check, test.name, test.task) for test in plan.tests}
    assert {("RS201", "spaces", "reach-left"), ("RS903", "videos", "reach-right")} <= planned
    assert [test.task for test in plan.tests if test.check == "RS601"].count(None) == 1
    assert all(test.check for test in plan.tests)


def test_each_planned_episode_is_journaled_once(session: Session) -> None:
    episodes = [event.record for event in session.of(EpisodeEnded)]
    seen = Counter((record.episode.task, record.control) for record in episodes)
    assert seen == Counter(
        (task, control) for task in ("reach-left", "reach-right") for control in ("expert", "zero", "random")
    )
    assert len({record.episode.index for record in episodes}) == len(episodes)


def test_all_tests_of_a_task_run_in_one_worker() -> None:
    from robosmoke.guest.scheduling import task_of

    nodes = ["a.py::test_a[RS201-spaces-push-v3]", "b.py::test_b[RS301-seed-repeats-push-v3]", "c.py::test_c[push-v3]"]
    assert {task_of(node) for node in nodes} == {"push-v3"}
    assert task_of("a.py::test_a[RS201-spaces-coffee-push-v3]") == "coffee-push-v3"
    assert task_of("a.py::test_alone") == "a.py::test_alone"


def test_workers_change_nothing_that_was_measured(sound: Session, parallel: Session) -> None:
    def measured(session: Session) -> list:
        records = [event.record for event in session.of(EpisodeEnded)]
        return sorted((r.episode.index, r.steps, r.sum_reward, r.success_any) for r in records)

    assert measured(sound) == measured(parallel)


def test_the_facts_name_python_machine_renderer_and_distributions(session: Session) -> None:
    facts = {key: value for event in session.of(Provenance) for key, value in event.facts.items()}
    assert {"python", "machine", "kernel", "cpu_model", "distributions", "gl_renderer"} <= set(facts)
    assert facts["distributions"]["numpy"]["version"]
    assert len(facts["distributions"]["numpy"]["record_sha256"]) == 64


def test_tasks_run_one_after_the_other(sound: Session) -> None:
    """Without that, an env would be built again for each check."""
    order = [event.test.rpartition("reach-")[2] for event in sound.of(Started)]
    assert order == sorted(order)


def test_what_k_leaves_out_is_counted(tmp_path: Path) -> None:
    session = run_smoke(tmp_path, template(), "-k", "RS204")
    (plan,) = session.of(Planned)
    assert [test.check for test in plan.tests] == ["RS204", "RS204"]
    assert plan.deselected > 20
    assert session.exit_code == 0


def test_tasks_of_one_test_each_are_shared_among_workers(tmp_path: Path) -> None:
    session = run_smoke(tmp_path, template(), "-k", "RS204", "-n", "2")
    assert session.exit_code == 0, session.printed
    assert [event.outcome for event in session.of(Ended)] == [CheckOutcome.PASSED] * 2


def test_a_selection_of_nothing_is_not_green(tmp_path: Path) -> None:
    session = run_smoke(tmp_path, template(), "-k", "no_such_check")
    assert session.exit_code == 5
    (plan,) = session.of(Planned)
    assert (plan.tests, plan.deselected > 20) == ((), True)


FAULTY = """
from robosmoke.guest.env import Tick
from robosmoke_mybenchmark.env import DiscTableEnv

class Faulty(DiscTableEnv):
    def begin(self, seed, init_state):
        import a_package_that_is_not_there
"""


def test_an_import_that_fails_inside_is_broken_and_the_environments_blame(tmp_path: Path) -> None:
    (tmp_path / "faulty").mkdir()
    (tmp_path / "faulty" / "env.py").write_text(FAULTY)
    manifest = msgspec.structs.replace(template(), package="faulty", env="env:Faulty")
    session = run_smoke(tmp_path, manifest, "-k", "RS205")
    ended = session.outcome("RS205-success-key-reach-left")
    assert (ended.outcome, ended.blame) == (CheckOutcome.BROKEN, Blame.ENVIRONMENT)
    assert "No module named 'a_package_that_is_not_there'" in ended.message


UNSOLVABLE = """
from robosmoke.guest.env import Tick
from robosmoke_mybenchmark.env import DiscTableEnv
from robosmoke_mybenchmark.expert import DiscTableExpert

class Deaf(DiscTableEnv):
    def tick(self, action):
        return Tick(super().tick(action).reward, False)
"""


def test_a_lost_success_flag_fails_the_rate_over_all_tasks(tmp_path: Path) -> None:
    (tmp_path / "deaf").mkdir()
    (tmp_path / "deaf" / "env.py").write_text(UNSOLVABLE)
    manifest = msgspec.structs.replace(template(), package="deaf", env="env:Deaf", expert="env:DiscTableExpert")
    session = run_smoke(tmp_path, manifest, "-k", "RS601")
    (rate,) = [event for event in session.of(Ended) if event.test == RATE]
    assert rate.outcome is CheckOutcome.FAILED
    assert "0 of 2" in rate.message
    assert session.exit_code == 1
    assert session.of(Finished)[0].exit_code == 1


def test_a_declared_fault_is_expected_and_one_that_is_gone_is_red(tmp_path: Path) -> None:
    """The template solves reach-left when nothing is wrong; RS207 is declared without need, RS204 with."""
    manifest = template()
    (suite,) = manifest.suite.values()
    (first, second) = suite.tasks
    mute = msgspec.structs.replace(suite, tasks=(first, msgspec.structs.replace(second, instruction=" ")))
    faults = tuple(
        Expected(check=code, reason="known", link="https://example.org/1", task=second.name)
        for code in ("RS204", "RS207")
    )
    changed = msgspec.structs.replace(manifest, suite={suite.name: mute}, expected=faults)
    session = run_smoke(tmp_path, changed, "-k", "RS204 or RS207")
    assert session.outcome("RS204-language-reach-left").outcome is CheckOutcome.PASSED
    expected = session.outcome("RS204-language-reach-right")
    assert (expected.outcome, expected.message) == (CheckOutcome.EXPECTED, "known (https://example.org/1)")
    gone = session.outcome("RS207-finite-reward-reach-right")
    assert gone.outcome is CheckOutcome.UNEXPECTEDLY_PASSED
    assert "known (https://example.org/1)" in gone.message
    assert session.exit_code == 1


def test_an_expected_fault_of_a_check_that_does_not_exist_runs_nothing_and_says_so(tmp_path: Path) -> None:
    fault = Expected(check="RS999", reason="known", link="https://example.org/1")
    session = run_smoke(tmp_path, msgspec.structs.replace(template(), expected=(fault,)))
    assert session.exit_code == 4
    assert session.events == []
    assert "ERROR: the manifest of mybenchmark: expected[0].check: unknown check 'RS999': " in session.printed
    assert "Traceback" not in session.printed


def test_the_pytest_entry_point_is_inert_and_light_unless_asked_for(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n")
    script = (
        "import sys, pytest; code = pytest.main(['-q', '-p', 'no:randomly', '-p', 'no:cacheprovider', 'test_a.py']);"
        "heavy = [m for m in ('numpy', 'gymnasium', 'msgspec', 'av', 'robosmoke.guest.recorder') if m in sys.modules];"
        "assert 'robosmoke.guest.plugin' in sys.modules; print(int(code), heavy)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "0 []"
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".jsonl"] == []
