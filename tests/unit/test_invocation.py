"""One invocation has one plan, written once, and one folder per planned pair."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from robosmoke.errors import RecordError, UsageError
from robosmoke.host.invocation import announced, new_identifier, open_invocation
from robosmoke.schema import Pair, Plan, read

ARM = Pair(benchmark="arm", environment="default")
LEG = Pair(benchmark="leg", environment="default")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what a calling nox has set."""
    for name in ("ROBOSMOKE_INVOCATION", "ROBOSMOKE_PLANNED"):
        monkeypatch.delenv(name, raising=False)


def test_the_plan_is_on_the_disk_before_anything_else(tmp_path: Path) -> None:
    invocation = open_invocation(tmp_path, [ARM, LEG])
    assert read(invocation.folder / "plan.json", Plan).pairs == (ARM, LEG)
    assert [path.name for path in invocation.folder.iterdir()] == ["plan.json"]


def test_two_invocations_without_a_name_are_two(tmp_path: Path) -> None:
    assert open_invocation(tmp_path, [ARM]).folder != open_invocation(tmp_path, [ARM]).folder


def test_an_identifier_starts_with_the_time() -> None:
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{4}", new_identifier())


def test_who_comes_second_reads_the_first_ones_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROBOSMOKE_INVOCATION", "night-1")
    first = open_invocation(tmp_path, [ARM, LEG])
    second = open_invocation(tmp_path, [LEG])
    assert second.plan == first.plan
    assert first.folder == tmp_path / "night-1"


def test_processes_that_race_for_a_plan_agree_on_one(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from robosmoke.host.invocation import open_invocation\n"
        "from robosmoke.schema import Pair, encode_line\n"
        "sys.stdin.readline()\n"
        "pairs = [Pair(benchmark=sys.argv[2], environment='default')]\n"
        "print(open_invocation(Path(sys.argv[1]), pairs).plan.pairs[0].benchmark)"
    )
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path), f"racer{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                "ROBOSMOKE_INVOCATION": "race",
                "PATH": "/usr/bin",
                "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
            },
        )
        for number in range(4)
    ]
    winners = {racer.communicate("go\n", timeout=60)[0] for racer in racers}
    assert len(winners) == 1
    assert [path.name for path in (tmp_path / "race").iterdir()] == ["plan.json"]


@pytest.mark.parametrize("identifier", ["..", "../up", "a/b", "a b", ".hidden", "-n", "x" * 101, "é"])
def test_an_identifier_that_is_no_plain_file_name_is_refused(
    identifier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROBOSMOKE_INVOCATION", identifier)
    with pytest.raises(UsageError, match="ROBOSMOKE_INVOCATION="):
        open_invocation(tmp_path, [ARM])
    assert not list(tmp_path.iterdir())


def test_a_pair_gets_its_folder_once(tmp_path: Path) -> None:
    invocation = open_invocation(tmp_path, [ARM])
    assert invocation.pair_folder(ARM) == invocation.folder / "arm--default"
    with pytest.raises(UsageError, match="this invocation ran it already"):
        invocation.pair_folder(ARM)


def test_a_pair_that_was_not_planned_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leg in default is not in the plan"):
        open_invocation(tmp_path, [ARM]).pair_folder(LEG)


def test_a_damaged_plan_is_a_record_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROBOSMOKE_INVOCATION", "night-1")
    (tmp_path / "night-1").mkdir()
    (tmp_path / "night-1" / "plan.json").write_text("{")
    with pytest.raises(RecordError, match=r"plan\.json: is not a Plan record"):
        open_invocation(tmp_path, [ARM])


def test_a_runs_folder_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"a file stands where a folder is needed: Not a directory: choose .*--runs"):
        open_invocation(tmp_path / "file", [ARM])


def test_what_nox_announced_are_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert announced() == ()
    monkeypatch.setenv("ROBOSMOKE_PLANNED", "arm/default leg/mujoco-3.3")
    assert announced() == (("arm", "default"), ("leg", "mujoco-3.3"))
