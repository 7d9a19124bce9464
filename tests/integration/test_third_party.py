"""A benchmark built outside this repository, by following docs/adding_a_benchmark.md to the letter."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "adding_a_benchmark.md"
# What a test session or a nox call leaves in the environment, and a stranger's shell does not have.
INHERITED = ("PYTHON", "PYTEST", "ROBOSMOKE_INVOCATION", "ROBOSMOKE_PLANNED", "ROBOSMOKE_OUT", "ROBOSMOKE_RUNS")
COMPARE = """
import base64, hashlib, importlib.metadata

def digest(file):
    raw = hashlib.new(file.hash.mode, file.read_binary()).digest()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()

print([str(file) for file in importlib.metadata.files("robosmoke") if file.hash and digest(file) != file.hash.value])
"""


def console_commands(page: str) -> list[str]:
    """List the commands of a page's ``console`` blocks, in order; each line of one starts with ``$``."""
    blocks = re.findall(r"^```console\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()]
    assert all(line.startswith("$ ") for line in lines)
    return [line.removeprefix("$ ") for line in lines]


def run(command: str, place: Path, variables: Mapping[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=place,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what a stranger's shell has: an index that has this robosmoke, and nothing of this checkout."""
    wheels = tmp_path_factory.mktemp("wheels")
    builder = tmp_path_factory.mktemp("builder") / "venv"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(INHERITED)}
    # The guide says python3: the one that runs these tests.
    kept["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    run(f"python3 -m venv {builder}", ROOT, kept)
    run(f"{builder}/bin/pip wheel --quiet --no-deps --wheel-dir {wheels} .", ROOT, kept)
    places = f"{wheels} {os.environ.get('PIP_FIND_LINKS', '')}".strip()
    return {**kept, "PIP_FIND_LINKS": places, "ROBOSMOKE_CACHE": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory, variables: dict[str, str]) -> dict[str, Any]:
    """Follow the guide once, from an empty folder, and give what each command printed."""
    place = tmp_path_factory.mktemp("elsewhere")
    printed = {command: run(command, place, variables) for command in console_commands(GUIDE.read_text())}
    return {"place": place, "printed": printed}


def report_row(folder: Path) -> dict[str, Any]:
    """Return the one row of a report about one pair."""
    (row,) = json.loads((folder / "report.json").read_text())["pairs"]
    return dict(row)


def test_the_new_folders_contract_tests_pass_at_once(followed: dict[str, Any]) -> None:
    printed = followed["printed"][".venv/bin/pytest robosmoke-my-arm"]
    assert re.search(r"\d+ passed", printed)
    assert "skipped" not in printed


def test_the_installed_wheel_is_listed_beside_the_built_in_ones(followed: dict[str, Any]) -> None:
    listed = followed["printed"]["theirs/bin/robosmoke list --json"]
    for name in ("metaworld", "my_arm", "pusht"):
        assert f'"{name}"' in listed


def test_the_wheel_carries_its_lock(followed: dict[str, Any]) -> None:
    installed = followed["place"] / "theirs"
    (lock,) = installed.glob("lib/python*/site-packages/robosmoke_my_arm/locks/default.txt")
    assert "--hash=sha256:" in lock.read_text()


@pytest.mark.parametrize(("invocation", "report"), [("first", "report"), ("theirs", "their-report")])
def test_its_smoke_is_green_and_has_a_row_in_the_report(invocation: str, report: str, followed: dict[str, Any]) -> None:
    place = followed["place"]
    record = json.loads((place / "runs" / invocation / "my_arm--default" / "run.json").read_text())
    assert (record["verdict"], record["backend"]) == ("passed", "venv")
    row = report_row(place / report)
    assert (row["benchmark"], row["environment"], row["verdict"]) == ("my_arm", "default", "passed")


def test_its_own_wheel_is_what_ran_inside(followed: dict[str, Any]) -> None:
    record = json.loads((followed["place"] / "runs" / "theirs" / "my_arm--default" / "run.json").read_text())
    assert {name.replace("_", "-") for name in record["wheel_hashes"]} == {"robosmoke", "robosmoke-my-arm"}


def test_following_the_guide_edits_nothing_of_robosmoke(followed: dict[str, Any], variables: dict[str, str]) -> None:
    """Compare every installed file of robosmoke with the hash its wheel recorded."""
    script = followed["place"] / "compare.py"
    script.write_text(COMPARE)
    assert run(f"theirs/bin/python {script}", followed["place"], variables) == "[]\n"


@pytest.mark.docker
def test_its_smoke_is_green_in_docker_too(followed: dict[str, Any], variables: dict[str, str]) -> None:
    place = followed["place"]
    asked = {**variables, "ROBOSMOKE_INVOCATION": "docker"}
    run("theirs/bin/robosmoke smoke my_arm --backend docker", place, asked)
    run("theirs/bin/robosmoke report runs/docker --out docker-report", place, asked)
    record = json.loads((place / "runs" / "docker" / "my_arm--default" / "run.json").read_text())
    assert (record["verdict"], record["backend"]) == ("passed", "docker")
    assert report_row(place / "docker-report")["verdict"] == "passed"
