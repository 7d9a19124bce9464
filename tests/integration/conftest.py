"""What the integration tests of environments share: a tiny benchmark that needs no simulator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from robosmoke.catalog import Benchmark, find
from robosmoke.host.environments.backend import GuestCall
from robosmoke.host.environments.lock import write_lock
from robosmoke.manifest import Environment

MakeBenchmark = Callable[..., tuple[Benchmark, Environment]]
MakeCall = Callable[..., GuestCall]


@pytest.fixture(scope="session")
def make_benchmark(tmp_path_factory: pytest.TempPathFactory) -> MakeBenchmark:
    """Give a function that makes a locked benchmark with one small requirement, and its environment."""

    def make(*requirements: str, **fields: object) -> tuple[Benchmark, Environment]:
        folder = tmp_path_factory.mktemp("benchmark")
        environment = Environment(name="default", requirements=requirements or ("six==1.17.0",), **fields)  # type: ignore[arg-type]
        write_lock(folder, environment, log=folder / "lock.log")
        manifest = replace(find("pusht").manifest, environment={"default": environment})
        return Benchmark(manifest, folder, None), environment

    return make


@pytest.fixture
def make_call(tmp_path: Path) -> MakeCall:
    """Give a function that makes a guest call with a run folder of its own."""

    def make(*arguments: str, timeout_s: float = 60.0, memory_mb: int = 1024) -> GuestCall:
        out = tmp_path / "run"
        return GuestCall(
            arguments=arguments, out=out, log=out / "run.log", timeout_s=timeout_s, memory_mb=memory_mb, echo=False
        )

    return make
