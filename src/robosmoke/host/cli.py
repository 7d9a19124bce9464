"""The command line: every command is a thin call, every error one line and a documented exit code."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape
from typer.exceptions import TyperException

from robosmoke import __version__
from robosmoke.catalog import Benchmark, benchmarks, find
from robosmoke.errors import ExitCode, InterruptedRun, RobosmokeError, UsageError, unknown_name
from robosmoke.host.invocation import PLAN_NAME, announced, now, open_invocation
from robosmoke.host.listing import listing, print_listing
from robosmoke.manifest import Environment, Task
from robosmoke.schema import Pair, Plan, Run, write, write_atomically
from robosmoke.vocabulary import EXIT_CODES

EPILOG = "Exit codes: 0 green, 1 red, 2 bad usage, 3 broken environment, 4 interrupted."

app = typer.Typer(
    name="robosmoke",
    help="Smoke tests for robot-learning simulation benchmarks.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="benchmarks, as `robosmoke list` shows them")]
Runs = Annotated[Path, typer.Option(help="folder that holds the invocations", envvar="ROBOSMOKE_RUNS")]
Backend = Literal["auto", "docker", "venv"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code and never lets a traceback through for a known error."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        code = int(app(args=arguments, standalone_mode=False) or ExitCode.GREEN)
        # Typer turns an interruption into this number before it can be caught here.
        return _fail("interrupted", ExitCode.INTERRUPTED) if code == 128 + signal.SIGINT else code
    except RobosmokeError as error:
        return _fail(str(error), error.exit_code)
    except TyperException as error:
        return _fail(error.format_message(), ExitCode.USAGE)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", ExitCode.INTERRUPTED)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return _fail(f"{error.filename or 'output'}: {error.strerror}: free some space", ExitCode.ENVIRONMENT)
        if error.errno in (errno.EROFS, errno.EACCES):
            return _fail(f"{error.filename or 'output'}: {error.strerror}: choose another place", ExitCode.USAGE)
        raise


def _terminate(_number: int, _frame: FrameType | None) -> None:
    """Turn SIGTERM into an interruption, so that every cleanup runs."""
    raise KeyboardInterrupt


def _fail(message: str, code: ExitCode) -> int:
    if message:  # the help that a bare `robosmoke` prints is an error without words
        # Whatever was being printed, and the terminal's own ^C, may stand on the last line.
        start = "\n" if code is ExitCode.INTERRUPTED else ""
        print(f"{start}robosmoke: {message}", file=sys.stderr)
    return int(code)


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="print the version and leave")] = False) -> None:
    if version:
        print(__version__)
        raise typer.Exit


@app.command("list")
def list_command(
    name: Annotated[str, typer.Argument(help="one benchmark; all when left out")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="machine-readable")] = False,
) -> None:
    """List benchmarks with their environments, suites and tasks."""
    chosen = [find(name)] if name else list(benchmarks().values())
    if as_json:
        print(json.dumps(listing(chosen), indent=2))
    else:
        print_listing(chosen, tasks=bool(name))


@app.command()
def doctor() -> int:
    """Say what is missing on this machine, and the command that fixes it."""
    from robosmoke.host.environments.doctor import probes

    console, results = Console(highlight=False), probes()
    for probe in results:
        mark = "[green]ok      [/]" if probe.ok else "[red]missing [/]" if probe.required else "[yellow]optional[/]"
        console.print(f"{mark} {escape(f'{probe.name}: {probe.found}')}", soft_wrap=True)
        if not probe.ok and probe.fix:
            console.print(f"        fix: {probe.fix}", soft_wrap=True, markup=False)
    return ExitCode.GREEN if all(probe.ok or not probe.required for probe in results) else ExitCode.ENVIRONMENT


@app.command(epilog=EPILOG)
def smoke(
    names: Names,
    environment: Annotated[str, typer.Option("--environment", "-e", help="environment of the manifest")] = "default",
    backend: Annotated[Backend, typer.Option(help="where the environment is realised")] = "auto",
    task: Annotated[list[str] | None, typer.Option(help="a task to run instead of the default ones")] = None,
    all_tasks: Annotated[bool, typer.Option("--all-tasks", help="run every task")] = False,
    override: Annotated[list[str] | None, typer.Option(help="replace a version: 'mujoco==3.9'")] = None,
    keyword: Annotated[str, typer.Option("-k", help="pytest's -k, inside the environment")] = "",
    workers: Annotated[int, typer.Option("-n", min=0, help="pytest-xdist workers, grouped by task")] = 0,
    runs: Runs = Path("runs"),
) -> int:
    """Build the environment of each benchmark, run its smoke inside, leave a run folder and a verdict."""
    from robosmoke.host.environments.lock import require_known_overrides
    from robosmoke.host.environments.overrides import with_overrides
    from robosmoke.host.smoke import SmokeOptions, run_smoke

    overrides = override or ()
    planned = announced() or tuple((name, environment) for name in names)
    known = {key: with_overrides(_environment(find(key[0]), key[1]), overrides) for key in planned}
    pairs = [Pair(benchmark=benchmark, environment=known[benchmark, name].label) for benchmark, name in planned]
    for (benchmark_name, _), derived in known.items():
        require_known_overrides(find(benchmark_name), derived)
    # Bad input is refused before the plan exists, so that no empty invocation is left behind.
    chosen = [(find(name), _tasks(find(name), task or (), all_tasks)) for name in names]
    for name in names:
        if (name, environment) not in known:
            raise UsageError(f"{name} in {environment} was not announced by the calling session")
    keyword = _keyword(keyword)
    invocation = open_invocation(runs, pairs)
    results: list[Run] = []
    for benchmark, tasks in chosen:
        options = SmokeOptions(tasks=tasks, backend=backend, keyword=keyword, workers=workers)
        derived = known[benchmark.manifest.name, environment]
        try:
            results.append(run_smoke(invocation, benchmark, derived, options))
        except KeyboardInterrupt as interruption:
            left = invocation.folder / Pair(benchmark=benchmark.manifest.name, environment=derived.label).folder
            place = left if left.exists() else invocation.folder
            raise InterruptedRun(f"interrupted; records so far: {place}") from interruption
        _print_verdict(results[-1], invocation.folder)
    return max(EXIT_CODES[run.verdict] for run in results)


@app.command(
    "eval",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
)
def eval_command(context: typer.Context) -> int:
    """Measure a policy's success rate in the benchmark's own environment; --help lists the flags."""
    from robosmoke.host.evaluation import run_eval

    return run_eval(context.args)


@app.command()
def merge(
    out: Annotated[Path, typer.Argument(help="new folder")],
    shards: Annotated[list[Path], typer.Argument(metavar="SHARD...", help="run folders of all the shards")],
) -> None:
    """Put the shards of one evaluation together."""
    from robosmoke.evaluation.merge import merge as merge_shards
    from robosmoke.evaluation.summary import describe_rate

    print(f"success: {describe_rate(merge_shards(shards, out).success_any)}\nrecords: {out}")


@app.command()
def report(
    folders: Annotated[list[Path] | None, typer.Argument(metavar="DIR...", help="default: the latest")] = None,
    out: Annotated[Path | None, typer.Option(help="where to write; default: inside the invocation")] = None,
    include_older: Annotated[bool, typer.Option("--include-older", help="show older runs too, marked stale")] = False,
    runs: Runs = Path("runs"),
) -> int:
    """Gather one invocation's runs into report.json, report.md and report.html; exit 0 green, 1 red."""
    from robosmoke.host.report.build import build_report
    from robosmoke.host.report.discovery import latest_invocation

    chosen = folders or [_current_invocation(runs) or latest_invocation(runs)]
    summary = build_report(
        chosen, out=out or chosen[0] / "report", include_older=include_older, now=datetime.now(timezone.utc)
    )
    print(summary.describe())
    return summary.exit_code


@app.command()
def lock(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME...]", help="default: all")] = None,
    check: Annotated[bool, typer.Option("--check", help="only tell which locks are out of date")] = False,
) -> int:
    """Resolve each environment of each benchmark into its complete, hashed lock."""
    from robosmoke.host.locking import lock_all

    chosen = [find(name) for name in names] if names else list(benchmarks().values())
    return lock_all(chosen, check=check)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="the benchmark's name, a Python identifier")],
    into: Annotated[Path, typer.Option(help="folder to create it in")] = Path(),
) -> None:
    """Write the package of a new benchmark, complete enough to pass its contract tests at once."""
    from robosmoke.host.scaffold import write_benchmark

    print(write_benchmark(name, into))


@app.command()
def clean() -> None:
    """Remove every environment, image, container and volume that robosmoke made; run folders stay."""
    from robosmoke.host.environments.clean import clean_cache, clean_docker
    from robosmoke.host.environments.engine import find_engine
    from robosmoke.host.environments.settings import read_settings

    results = [clean_cache(read_settings().cache)]
    if (client := find_engine().client) is not None:
        results.append(clean_docker(client))
    for result in results:
        for name in result.removed:
            print(f"removed {name}")
        for name in result.left:
            print(f"left in place, it is in use: {name}")


@app.command()
def matrix(
    base: Annotated[str, typer.Option(help="commit to compare with")] = "",
    event: Annotated[str, typer.Option(help="what triggered the workflow")] = "workflow_dispatch",
    only: Annotated[str, typer.Option(help="benchmarks to keep, separated by spaces or commas")] = "",
    plan: Annotated[Path | None, typer.Option(help="write the plan here")] = None,
    github_output: Annotated[Path | None, typer.Option(help="append the job's outputs here")] = None,
) -> None:
    """Decide from the changed files which benchmarks run, and say why."""
    from robosmoke.host.matrix import decide, list_sessions
    from robosmoke.host.matrix import matrix as build_matrix

    decisions = decide(Path.cwd(), event=event, base=base, only=only.replace(",", " ").split())
    result = build_matrix(list_sessions(Path.cwd()), decisions)
    invocation = os.environ.get("ROBOSMOKE_INVOCATION", "")
    if plan is not None:
        # In a workflow the folder that holds the plan is named by the invocation.
        identifier = invocation or plan.resolve().parent.name
        write(plan, Plan(invocation=identifier, created=now(), pairs=result.pairs, skipped=dict(result.skipped)))
    if github_output is not None:
        before = github_output.read_bytes() if github_output.exists() else b""
        write_atomically(github_output, before + result.as_outputs(invocation).encode())
    print(result.as_json())


def _environment(benchmark: Benchmark, name: str) -> Environment:
    environments = benchmark.manifest.environment
    if name not in environments:
        raise unknown_name(f"environment of {benchmark.manifest.name}", name, environments)
    return environments[name]


def _tasks(benchmark: Benchmark, names: Sequence[str], every: bool) -> tuple[Task, ...]:
    if every and names:
        raise UsageError("--task and --all-tasks exclude each other")
    if every:
        return benchmark.manifest.tasks
    return tuple(benchmark.manifest.task(name) for name in names) or benchmark.manifest.smoke_tasks


def _keyword(text: str) -> str:
    """Return pytest's ``-k`` expression; raises `UsageError` for one that pytest cannot read."""
    # pytest has no public way to read an expression without a session.
    from _pytest.mark.expression import Expression

    if text:
        try:
            Expression.compile(text)
        except SyntaxError as error:
            raise UsageError(f"-k {text!r}: is not an expression that pytest understands: {error.msg}") from error
    return text


def _current_invocation(runs: Path) -> Path | None:
    """Return the folder of the invocation that the caller named, if it wrote its plan."""
    identifier = os.environ.get("ROBOSMOKE_INVOCATION", "")
    folder = runs / identifier
    return folder if identifier and (folder / PLAN_NAME).exists() else None


def _print_verdict(run: Run, folder: Path) -> None:
    blame = f" (blame: {run.blame.value})" if run.blame else ""
    print(f"{run.benchmark} in {run.environment}: {run.verdict.value.upper()}{blame}: {run.reason}")
    if run.advice:
        print(f"  what to do: {run.advice}")
    print(f"  records: {folder / Pair(benchmark=run.benchmark, environment=run.environment).folder}", flush=True)
