"""``robosmoke eval``: prepare the benchmark's environment, and run the guest's evaluation inside."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import get_args

from robosmoke.catalog import Benchmark, find
from robosmoke.errors import ExitCode, SetupError, UsageError
from robosmoke.evaluation.arguments import Parser, eval_parser, request_of
from robosmoke.evaluation.plan import build_plan
from robosmoke.evaluation.policy_spec import parse_policy
from robosmoke.host.environments.backend import Backend, BackendName, GuestCall
from robosmoke.host.environments.choice import choose_backend
from robosmoke.host.environments.lock import require_known_overrides
from robosmoke.host.environments.overrides import with_overrides
from robosmoke.manifest import Environment

CONSOLE_NAME = "console.log"


@dataclass(frozen=True, kw_only=True)
class _Call:
    """What is run where; ``arguments`` are the guest's."""

    benchmark: Benchmark
    environment: Environment
    backend: BackendName
    folder: Path
    policy: str
    arguments: tuple[str, ...]


def run_eval(arguments: Sequence[str]) -> int:
    """Run one evaluation in the benchmark's environment; returns its exit code.

    What the plan would refuse is refused before anything is installed. Raises `UsageError`, and `SetupError` when
    the environment cannot be made or its process is lost.
    """
    call = _understand(arguments)
    backend, why = choose_backend(call.backend)
    policy = _visible_policy(call.policy, backend)
    print(f"{call.benchmark.manifest.name} in {call.environment.label}: {why}", flush=True)
    call.folder.mkdir(parents=True, exist_ok=True)
    prepared = backend.prepare(call.benchmark, call.environment, log=call.folder / "install.log")
    end = prepared.run(
        GuestCall(
            arguments=("eval", *call.arguments, "--environment", call.environment.label, "--policy", policy),
            out=call.folder,
            log=call.folder / CONSOLE_NAME,
            # The guest bounds each episode's time and each worker's memory; an evaluation may take days.
            timeout_s=math.inf,
            memory_mb=0,
            echo=True,
        )
    )
    if end.exit_code not in {int(code) for code in ExitCode}:
        raise SetupError(f"{call.folder}: the evaluation: {end.describe()}: see {CONSOLE_NAME}, then use --resume")
    if prepared.backend == "docker":
        print(f"records on this machine: {call.folder}", flush=True)
    return ExitCode(end.exit_code)


def _understand(arguments: Sequence[str]) -> _Call:
    """Check every flag and the plan, and part the flags that the host acts on from the guest's."""
    whole = eval_parser()
    _add_host_flags(whole.add_argument_group("environment"))
    chosen = whole.parse_args(arguments)
    request = request_of(chosen)
    benchmark = find(request.benchmark)
    build_plan(benchmark.manifest, request)
    environment = with_overrides(benchmark.manifest.environment[request.environment], chosen.override)
    require_known_overrides(benchmark, environment)
    folder = request.resume or request.out or _new_folder(request.benchmark)
    place = ("--resume", str(folder)) if request.resume else ("--out", str(folder))
    return _Call(
        benchmark=benchmark,
        environment=environment,
        backend=chosen.backend,
        folder=folder,
        policy=request.policy,
        arguments=(*_of_the_guest(arguments), *place),
    )


def _add_host_flags(group: argparse._ActionsContainer) -> None:
    names = get_args(BackendName)
    group.add_argument("--backend", choices=names, default="auto", help="where the environment is realised [auto]")
    group.add_argument("--override", action="append", default=[], metavar="REQ", help="a version: 'mujoco==3.9'")


def _of_the_guest(arguments: Sequence[str]) -> list[str]:
    parser = Parser(add_help=False, allow_abbrev=False)
    _add_host_flags(parser)
    parser.add_argument("--out")
    parser.add_argument("--resume")
    return parser.parse_known_args(arguments)[1]


def _visible_policy(text: str, backend: Backend) -> str:
    """Name a policy's file so that the guest finds it; raises `UsageError` where it cannot."""
    spec = parse_policy(text)
    if not spec.is_file:
        return text
    if backend.name == "docker":
        raise UsageError(f"--policy {text}: a container does not see the file: use --backend venv, or install a module")
    return f"python:{Path(spec.module).absolute()}:{spec.factory}"


def _new_folder(benchmark: str) -> Path:
    return Path("runs") / f"eval-{benchmark}-{datetime.now(timezone.utc):%Y%m%dT%H%M%S.%f}"
