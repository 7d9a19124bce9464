"""Bad input gets one line and exit code 2, before anything is built or written."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import robosmoke
from robosmoke.host.cli import main
from robosmoke.host.invocation import Invocation
from robosmoke.schema import Plan, write


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in an empty folder, without what a calling nox has set."""
    for name in ("ROBOSMOKE_INVOCATION", "ROBOSMOKE_PLANNED", "ROBOSMOKE_RUNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    return code, *capsys.readouterr()


REFUSED = [
    (["smoke", "pushed"], "unknown benchmark 'pushed': did you mean 'pusht'? known:"),
    (["list", "metawrld"], "unknown benchmark 'metawrld': did you mean 'metaworld'?"),
    (["smoke", "pusht", "-e", "defualt"], "unknown environment of pusht 'defualt': did you mean 'default'?"),
    (["smoke", "metaworld", "--task", "push-v4"], "unknown task of metaworld 'push-v4': did you mean 'push-v3'?"),
    (["smoke", "pusht", "--task", "push-t", "--all-tasks"], "--task and --all-tasks exclude each other"),
    (["smoke", "pusht", "-k", "and and"], "-k 'and and': is not an expression that pytest understands"),
    (["smoke", "pusht", "--override", "pygam==2.6.0"], "'pygam': did you mean 'pygame'?"),
    (["smoke", "pusht", "--override", "pygame"], "--override 'pygame': needs a version, such as 'pygame==1.2'"),
    (["smoke", "pusht", "--override", "== 3"], "--override '== 3': not a requirement"),
    (["smoke", "pusht", "--backend", "podman"], "podman"),
    (["smoke", "pusht", "-n", "-1"], "'-n': Input should be greater"),
    (["smoke", "pusht", "--no-such-option"], "--no-such-option"),
    (["smoke"], "NAME"),
    (["smokes"], "smokes"),
    (["report", "nowhere"], "nowhere: is not a folder"),
    (["report"], "holds no invocation"),
    (["lock", "pushed"], "unknown benchmark 'pushed'"),
    (["new", "my-arm"], "benchmark name"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=[" ".join(arguments) for arguments, _ in REFUSED])
def test_bad_input_is_one_line_exit_2_and_leaves_nothing(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("robosmoke: ")
    assert err.count("\n") == 1
    assert message in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("place", "cause"),
    [
        ("/proc/robosmoke/x", "no folder can be made there: No such file or directory"),
        ("file", "a file stands where a folder is needed: File exists"),
        ("file/x", "a file stands where a folder is needed: Not a directory"),
    ],
)
@pytest.mark.parametrize("command", ["smoke", "report", "new"])
def test_a_place_that_cannot_be_written_is_named_with_the_cause_and_exits_2(
    command: str, place: str, cause: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    plan = Plan(invocation="night-1", created="2030-01-02T00:00:00+00:00", pairs=())
    write(tmp_path / "night-1" / "plan.json", plan)
    arguments = {
        "smoke": ("pusht", "--backend", "venv", "--runs"),
        "report": ("night-1", "--out"),
        "new": ("my_arm", "--into"),
    }[command]
    code, out, err = call(capsys, command, *arguments, place)
    assert (code, out) == (2, "")
    assert err.startswith(f"robosmoke: {place}")
    assert err.count("\n") == 1
    assert "space" not in err
    assert cause in err or (command != "report" and "a file stands where a folder is needed" in err)


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (errno.ENOSPC, 3, "No space left on device: free some space, or choose another folder with --out"),
        (errno.EDQUOT, 3, "Disk quota exceeded: free some space, or choose another folder with --out"),
        (errno.EROFS, 2, "Read-only file system: choose another folder with --out"),
        (errno.EACCES, 2, "Permission denied: choose another folder with --out"),
    ],
)
def test_only_a_full_disk_speaks_of_space(
    number: int,
    code: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(path: Path, data: bytes) -> None:
        raise OSError(number, os.strerror(number), str(path))

    write(tmp_path / "night-1" / "plan.json", Plan(invocation="night-1", created="2030-01-02", pairs=()))
    monkeypatch.setattr("robosmoke.host.report.build.write_atomically", refuse)
    assert call(capsys, "report", "night-1") == (
        code,
        "",
        f"robosmoke: night-1/report: cannot be written: {said}\n",
    )


def test_a_pair_that_nox_did_not_announce_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ROBOSMOKE_PLANNED", "metaworld/default")
    code, _, err = call(capsys, "smoke", "pusht")
    assert (code, err) == (2, "robosmoke: pusht in default was not announced by the calling session\n")
    assert not list(tmp_path.iterdir())


def test_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "--version") == (0, f"{robosmoke.__version__}\n", "")


def test_help_lists_every_command_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "--help")
    assert code == 0
    for command in ("list", "doctor", "smoke", "report", "lock", "new", "clean"):
        assert f" {command} " in out
    assert "0 green, 1 red, 2 bad usage, 3 broken environment, 4 interrupted" in out


def test_a_bare_call_shows_the_help_as_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys)
    assert code == 2
    assert "Usage: " in out + err


def test_list_as_json_names_benchmarks_environments_suites_and_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "list", "--json")
    assert code == 0
    listed = {entry["name"]: entry for entry in json.loads(out)}
    (environment,) = listed["pusht"]["environments"]
    requirements = environment.pop("requirements")
    assert environment == {"name": "default", "python": "3.11", "runner": "native"}
    assert "gym-pusht==0.1.8" in requirements
    assert listed["libero"]["environments"][0]["requirements"][0].startswith("torch==")
    assert listed["pusht"]["provided_by"] == "robosmoke"
    (suite,) = listed["metaworld"]["suites"]
    assert (suite["name"], len(suite["tasks"])) == ("mt50", 50)
    assert sum(task["smoke"] for task in suite["tasks"]) == 6


def test_list_of_one_benchmark_shows_its_requirements_and_its_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "list", "pusht")
    assert code == 0
    assert "environment default, Python 3.11: gym-pusht==0.1.8 pymunk==" in out
    assert "* pusht/push-t: Push the T-shaped block onto the T-shaped target." in out


def test_an_interruption_exits_4(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("robosmoke.host.cli.find", interrupted)
    assert call(capsys, "list", "pusht") == (4, "", "\nrobosmoke: interrupted\n")


@pytest.mark.parametrize(("left", "place"), [(True, "pusht--default"), (False, "")])
def test_an_interrupted_smoke_says_where_its_records_are(
    left: bool, place: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(invocation: Invocation, *_: object) -> None:
        if left:
            invocation.pair_folder(invocation.plan.pairs[0])
        raise KeyboardInterrupt

    monkeypatch.setenv("ROBOSMOKE_INVOCATION", "night-1")
    monkeypatch.setattr("robosmoke.host.smoke.run_smoke", interrupted)
    code, _, err = call(capsys, "smoke", "pusht", "--runs", str(tmp_path))
    assert (code, err) == (4, f"\nrobosmoke: interrupted; records so far: {tmp_path / 'night-1' / place}\n")


def test_without_the_host_side_the_command_says_what_to_install(tmp_path: Path) -> None:
    """An import hook hides typer, as where only the guest side is installed."""
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError(\"No module named 'typer'\", name='typer')\n")
    script = "import sys; sys.path.insert(0, sys.argv.pop()); from robosmoke.__main__ import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", script, "list", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert done.stderr == "robosmoke: typer is missing: install the host side with `pip install 'robosmoke[host]'`\n"
