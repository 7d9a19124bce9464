"""The benchmark `faulty`, installed as a third party's, and the real command line to smoke it with."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import psutil
import pytest

from robosmoke.host.report.build import build_report

OVERLAY = Path(__file__).parent / "faulty"
# What a test session or a nox call leaves in the environment, and a user's shell does not have.
INHERITED = ("PYTEST", "ROBOSMOKE_INVOCATION", "ROBOSMOKE_PLANNED", "ROBOSMOKE_OUT", "ROBOSMOKE_RUNS")
ROBOSMOKE = (sys.executable, "-m", "robosmoke")


@dataclass(frozen=True, kw_only=True)
class Smoked:
    """What one `robosmoke smoke faulty` left: its exit code, what it printed, its run folder and variables."""

    exit_code: int
    printed: str
    errors: str
    invocation: Path
    environment: str
    variables: Mapping[str, str]

    @property
    def folder(self) -> Path:
        return self.invocation / f"faulty--{self.environment}"

    @property
    def run(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "run.json").read_text()))

    @property
    def checks(self) -> list[dict[str, Any]]:
        return list(json.loads((self.folder / "checks.json").read_text())["checks"])

    @property
    def outcomes(self) -> dict[str, str]:
        """Return the outcome of every check by its test."""
        return {check["test"]: check["outcome"] for check in self.checks}

    @property
    def planned(self) -> list[str]:
        """Return every test the guest planned, from its journal."""
        events = journal(self.folder)
        return [test["test"] for event in events if event["event"] == "planned" for test in event["tests"]]

    def report(self, out: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Report the invocation with the real command."""
        place = () if out is None else ("--out", str(out))
        return call((*ROBOSMOKE, "report", str(self.invocation), *place), self.variables)

    def assert_whole(self) -> None:
        """Demand that nothing planned vanished: every planned test in checks.json and in junit.xml."""
        assert list(self.outcomes) == self.planned
        (suite,) = ElementTree.parse(self.folder / "junit.xml").getroot()
        assert len(suite) == int(suite.attrib["tests"]) == len(self.checks)

    def assert_red(self, *, verdict: str, blame: str, exit_code: int) -> None:
        """Demand one red outcome in every place that a person or a gate looks at."""
        assert (self.run["verdict"], self.run["blame"], self.exit_code) == (verdict, blame, exit_code), self.printed
        assert f"faulty in {self.environment}: {verdict.upper()} (blame: {blame})" in self.printed
        assert "Traceback" not in self.errors
        self.assert_whole()
        # In this process, which loads the report's libraries once: `report` is the command's own, for a few tests.
        summary = build_report([self.invocation], out=self.invocation / "report", now=datetime.now(timezone.utc))
        assert summary.exit_code == 1


@dataclass(frozen=True, kw_only=True)
class Faulty:
    """The installed benchmark and a cache shared by all smokes; each smoke has a runs folder of its own."""

    site: Path
    runs: Path
    shell: Mapping[str, str] = field(repr=False)

    @property
    def variables(self) -> dict[str, str]:
        """Return what the command line finds in its environment."""
        return {**self.shell, "PYTHONPATH": str(self.site), "ROBOSMOKE_RUNS": str(self.runs)}

    @property
    def lock(self) -> Path:
        return self.site / "robosmoke_faulty" / "locks" / "default.txt"

    @property
    def processes(self) -> list[psutil.Process]:
        """Return every process of the smoke: the guest and its children, and what the host started for itself."""
        return [process for process in psutil.process_iter() if str(self.runs) in _places(process)]

    def command(self, *arguments: str, environment: str = "default") -> tuple[str, ...]:
        """Return the command line of a smoke."""
        backend = () if "--backend" in arguments else ("--backend", "venv")
        return (*ROBOSMOKE, "smoke", "faulty", "-e", environment, *backend, *arguments)

    def smoke(self, *arguments: str, environment: str = "default", **variables: str) -> Smoked:
        """Smoke the benchmark to the end, whatever that is."""
        merged = {**self.variables, **variables}
        done = call(self.command(*arguments, environment=environment), merged)
        return self.left(done.returncode, done.stdout, done.stderr, environment=environment)

    def left(self, exit_code: int, printed: str, errors: str, *, environment: str = "default") -> Smoked:
        """Return what the only smoke in the runs folder left."""
        (invocation,) = (path for path in self.runs.iterdir() if path.is_dir())
        return Smoked(
            exit_code=exit_code,
            printed=printed,
            errors=errors,
            invocation=invocation,
            environment=environment,
            variables=self.variables,
        )

    def copied(self, place: Path) -> Faulty:
        """Return the same benchmark installed a second time, to be damaged."""
        shutil.copytree(self.site, place)
        return replace(self, site=place)


def call(command: tuple[str, ...], variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=600
    )


def _places(process: psutil.Process) -> str:
    """Return the folders that a process was started to write into."""
    try:
        variables = process.environ()
    except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
        return ""
    return " ".join(variables.get(name, "") for name in ("ROBOSMOKE_OUT", "ROBOSMOKE_RUNS"))


def journal(folder: Path) -> list[dict[str, Any]]:
    """Return the journal's whole events; the last line may be torn."""
    path = folder / "journal.jsonl"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Faulty:
    """Write the example benchmark, lay the faults over it, install it as a wheel and lock it."""
    place = tmp_path_factory.mktemp("faulty")
    package, site = place / "robosmoke-faulty", place / "site"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(INHERITED)}
    made = Faulty(site=site, runs=place / "runs", shell={**kept, "ROBOSMOKE_CACHE": str(place / "cache")})
    target = ("--python", sys.executable, "--target", str(site), "--no-deps", "--quiet")
    for command in (
        (*ROBOSMOKE, "new", "faulty", "--into", str(place)),
        ("cp", *map(str, OVERLAY.glob("*.*")), str(package / "src" / "robosmoke_faulty")),
        (sys.executable, "-m", "uv", "pip", "install", *target, str(package)),
        (*ROBOSMOKE, "lock", "faulty"),
    ):
        done = call(command, made.variables)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return made


@pytest.fixture
def faulty(installed: Faulty, tmp_path: Path) -> Faulty:
    """Give the benchmark with a runs folder of its own."""
    return replace(installed, runs=tmp_path / "runs")


@pytest.fixture
def started_tests() -> Callable[[Faulty], list[str]]:
    """Give a function that lists the tests a running smoke has started."""

    def started(faulty: Faulty) -> list[str]:
        folders = faulty.runs.glob("*/faulty--*")
        return [event["test"] for folder in folders for event in journal(folder) if event["event"] == "started"]

    return started
