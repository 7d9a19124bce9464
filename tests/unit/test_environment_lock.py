"""Locks: complete, current, hashed, and free of anything about the machine that wrote them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from robosmoke.catalog import Benchmark, benchmarks
from robosmoke.errors import SetupError
from robosmoke.host.environments.key import environment_key
from robosmoke.host.environments.lock import Lock, lock_is_current, lock_path, read_lock, without_torch
from robosmoke.manifest import Environment

EVERY = [
    pytest.param(benchmark, environment, id=f"{benchmark.manifest.name}-{environment.name}")
    for benchmark in benchmarks().values()
    for environment in benchmark.manifest.environment.values()
]


@pytest.mark.parametrize(("benchmark", "environment"), EVERY)
def test_every_lock_was_compiled_from_todays_manifest(benchmark: Benchmark, environment: Environment) -> None:
    """A changed requirement without a new lock is caught without a network."""
    assert lock_is_current(benchmark.folder, environment), "run 'nox -s lock'"


@pytest.mark.parametrize(("benchmark", "environment"), EVERY)
def test_every_pin_has_hashes_and_no_address(benchmark: Benchmark, environment: Environment) -> None:
    """Each distribution is pinned and hashed, and no index address is written down."""
    text = lock_path(benchmark.folder, environment).read_text()
    blocks = re.findall(r"^(\S+==\S+)[^\n]*\\\n((?:    --hash=sha256:[0-9a-f]{64}[^\n]*\n)+)", text, re.MULTILINE)
    assert len(blocks) == len(Lock(text=text).pins) > 5
    assert "://" not in text


def test_a_changed_requirement_makes_the_lock_stale(tmp_path: Path) -> None:
    """Python, requirements, exclusions and torch all count; limits and variables do not."""
    benchmark = benchmarks()["pusht"]
    environment = benchmark.manifest.environment["default"]
    for change in (
        {"python": "3.12"},
        {"requirements": (*environment.requirements, "six")},
        {"torch": "2.13.0"},
        {"excluded": ("pygame",)},
    ):
        assert not lock_is_current(benchmark.folder, replace(environment, **change))
    assert lock_is_current(benchmark.folder, replace(environment, memory_mb=1, variables={"A": "b"}))


def test_a_stale_or_missing_lock_names_the_session_that_writes_it(tmp_path: Path) -> None:
    """The error says which file, and what to run."""
    benchmark = benchmarks()["pusht"]
    environment = replace(benchmark.manifest.environment["default"], requirements=("six",))
    for folder in (benchmark.folder, tmp_path):
        with pytest.raises(SetupError, match="nox -s lock"):
            read_lock(benchmark._replace(folder=folder), environment, log=tmp_path / "log")


def test_torch_and_its_cuda_parts_leave_the_lock() -> None:
    """What comes with torch from its own index is not in the lock; its plain dependencies are."""
    text = (
        "filelock==3.0 \\\n    --hash=sha256:aa\nnvidia-cublas==13 \\\n    --hash=sha256:bb \\\n    --hash=sha256:cc\n"
        "torch==2.13.0 \\\n    --hash=sha256:dd\ntriton==3.6 \\\n    --hash=sha256:ee\n"
        "zipp==4.1 \\\n    --hash=sha256:ff\n"
    )
    lock = Lock(text=without_torch(text))
    assert lock.pins == {"filelock": "3.0", "zipp": "4.1"}
    assert re.findall(r"sha256:(\w+)", lock.text) == ["aa", "ff"]
    assert lock.constraints == "filelock==3.0\nzipp==4.1\n"


def test_environments_of_equal_parts_share_a_key() -> None:
    """Name, limits and variables do not make another environment; what is installed does."""
    environment = Environment(name="a", requirements=("six",))
    lock = Lock(text="# environment a\nsix==1 \\\n    --hash=sha256:aa\n")
    key = environment_key(environment, lock, {"backend": "venv"})
    twin = replace(environment, name="b", memory_mb=1, variables={"X": "y"})
    assert environment_key(twin, Lock(text=lock.text.replace(" a", " b")), {"backend": "venv"}) == key
    others = [
        environment_key(replace(environment, python="3.12"), lock, {"backend": "venv"}),
        environment_key(replace(environment, overrides=("six==2",)), lock, {"backend": "venv"}),
        environment_key(environment, Lock(text=lock.text.replace("aa", "bb")), {"backend": "venv"}),
        environment_key(environment, lock, {"backend": "docker"}),
    ]
    assert len({key, *others}) == 5


def test_the_digest_is_that_of_the_file() -> None:
    """Provenance can be compared with sha256sum."""
    assert Lock(text="x").digest == hashlib.sha256(b"x").hexdigest()
