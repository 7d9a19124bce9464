"""One smoke: prepare the environment, run the guest, leave a complete run folder."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from robosmoke.catalog import Benchmark
from robosmoke.errors import RecordError, SetupError
from robosmoke.host.conclusion import Conclusion, conclude, conclude_stopped
from robosmoke.host.environments.backend import BackendName, GuestCall, Prepared, ProcessEnd
from robosmoke.host.environments.choice import choose_backend
from robosmoke.host.environments.disk import explain
from robosmoke.host.invocation import Invocation, now
from robosmoke.host.junit import junit
from robosmoke.host.metrics import eval_info, metrics
from robosmoke.journal import JOURNAL_NAME, read_journal
from robosmoke.manifest import Environment, Manifest, Task
from robosmoke.schema import Checks, Pair, Run, SmokeRequest, encode_line, write, write_atomically
from robosmoke.vocabulary import Blame, Verdict


@dataclass(frozen=True, kw_only=True)
class SmokeOptions:
    """What a smoke runs and how; ``keyword`` is pytest's ``-k``, ``workers`` xdist's ``-n`` (0: none)."""

    tasks: tuple[Task, ...]
    backend: BackendName = "auto"
    keyword: str = ""
    workers: int = 0
    echo: bool = True

    @property
    def pytest_arguments(self) -> tuple[str, ...]:
        """Return what pytest is given inside the environment."""
        keyword = ("-k", self.keyword) if self.keyword else ()
        workers = ("-n", str(self.workers)) if self.workers else ()
        return (*keyword, *workers)


@dataclass(kw_only=True)
class _Progress:
    """What is known so far about a run, so that a record can be written wherever it stops."""

    backend: str = "none"
    prepared: Prepared | None = None
    install_s: float = 0.0
    end: ProcessEnd | None = None


def run_smoke(invocation: Invocation, benchmark: Benchmark, environment: Environment, options: SmokeOptions) -> Run:
    """Run one pair's smoke and return its record, which is also on the disk.

    Whatever goes wrong with the environment becomes a ``broken`` record with its reason; raises
    `UsageError` for a pair that is not planned or was run already, `SetupError` when the records
    cannot be written, and lets an interruption pass after recording it.
    """
    pair = Pair(benchmark=benchmark.manifest.name, environment=environment.label)
    folder = invocation.pair_folder(pair)
    started, clock = now(), time.monotonic()
    progress = _Progress()

    def record(conclusion: Conclusion) -> Run:
        details = dict(progress.prepared.details) if progress.prepared else {}
        run = Run(
            invocation=invocation.plan.invocation,
            benchmark=pair.benchmark,
            title=benchmark.manifest.title,
            environment=pair.environment,
            backend=progress.backend,
            verdict=conclusion.verdict,
            reason=conclusion.reason,
            blame=conclusion.blame,
            advice=conclusion.advice,
            started=started,
            wall_s=round(time.monotonic() - clock, 3),
            install_s=round(progress.install_s, 3),
            pytest_s=round(conclusion.pytest_s, 3),
            exit_status=progress.end.describe() if progress.end else "never started",
            environment_key=progress.prepared.key if progress.prepared else "",
            wheel_hashes={k.removeprefix("wheel:"): v for k, v in details.items() if k.startswith("wheel:")},
            tasks=tuple(f"{task.suite}/{task.name}" for task in options.tasks),
        )
        try:
            _write_records(folder, benchmark, run, conclusion, details)
        except OSError as error:
            lost = f"the records of this run ({run.verdict.value}: {run.reason}) cannot be written"
            raise SetupError(f"{folder}: {lost}: {explain(error, 'choose another folder with --runs')}") from error
        return run

    try:
        _prepare_and_run(folder, benchmark, environment, options, progress)
    except SetupError as error:
        return record(_stopped(folder, str(error), Blame.ENVIRONMENT))
    except OSError as error:
        return record(_stopped(folder, f"the machine refused: {error}", Blame.MACHINE))
    except (KeyboardInterrupt, SystemExit):
        record(_stopped(folder, "interrupted before it ended", Blame.MACHINE))
        raise
    assert progress.end is not None
    try:
        events = read_journal(folder / JOURNAL_NAME)
    except RecordError as error:
        return record(conclude_stopped((), str(error), Blame.MACHINE))
    return record(_selected(conclude(events, progress.end), options, benchmark.manifest))


def _prepare_and_run(
    folder: Path, benchmark: Benchmark, environment: Environment, options: SmokeOptions, progress: _Progress
) -> None:
    backend, why = choose_backend(options.backend)
    progress.backend = backend.name
    if options.echo:
        print(f"{benchmark.manifest.name} in {environment.label}: {why}", flush=True)
    request = SmokeRequest(
        manifest=benchmark.manifest,
        environment=environment.label,
        tasks=tuple(f"{task.suite}/{task.name}" for task in options.tasks),
        seed=benchmark.manifest.smoke.seed,
    )
    write(folder / "request.json", request)
    with _timed() as install:
        progress.prepared = backend.prepare(benchmark, environment, log=folder / "install.log")
    progress.install_s = install.seconds
    progress.end = progress.prepared.run(
        GuestCall(
            arguments=("run-smoke", "--", *options.pytest_arguments),
            out=folder,
            log=folder / "run.log",
            timeout_s=environment.timeout_s,
            memory_mb=environment.memory_mb,
            echo=options.echo,
        )
    )


def _stopped(folder: Path, reason: str, blame: Blame) -> Conclusion:
    """Conclude from what the guest had journaled when something outside it ended the run."""
    try:
        events = read_journal(folder / JOURNAL_NAME)
    except RecordError as error:
        return conclude_stopped((), f"{reason}; {error}", blame)
    return conclude_stopped(events, reason, blame)


def _selected(conclusion: Conclusion, options: SmokeOptions, manifest: Manifest) -> Conclusion:
    """Say what was left out by choice: a part of the tests is no verdict, a part of the tasks is one of them."""
    if conclusion.verdict is not Verdict.PASSED:
        return conclusion
    if options.keyword:
        reason = f"only the tests that match -k {options.keyword!r} ran, and passed: a part is no verdict"
        return replace(conclusion, verdict=Verdict.FAILED, reason=reason, advice="run without -k for a verdict")
    missed = sum(task not in options.tasks for task in manifest.smoke_tasks)
    if missed:
        left_out = f"; {missed} of the {len(manifest.smoke_tasks)} default tasks were left out by --task"
        return replace(conclusion, reason=conclusion.reason + left_out)
    return conclusion


def _write_records(
    folder: Path, benchmark: Benchmark, run: Run, conclusion: Conclusion, details: dict[str, str]
) -> None:
    """Write every derived record, the verdict last: a folder without run.json is a run that did not end."""
    provenance = {
        **conclusion.facts,
        "commit": _commit(benchmark.folder),
        "backend": run.backend,
        "environment_key": run.environment_key,
        "environment_details": details,
        "tasks": list(run.tasks),
    }
    write(folder / "checks.json", Checks(checks=conclusion.checks))
    write_atomically(folder / "episodes.jsonl", b"".join(map(encode_line, conclusion.episodes)))
    write_atomically(folder / "junit.xml", junit(f"{run.benchmark}.{run.environment}", conclusion.checks))
    write(folder / "metrics.json", metrics(run, conclusion.episodes, benchmark.manifest))
    write(folder / "eval_info.json", eval_info(conclusion.episodes, benchmark.manifest))
    write(folder / "provenance.json", provenance)
    write(folder / "run.json", run)


def _commit(folder: Path) -> str:
    """Return the commit that the benchmark's folder is at, marked when it has changes; empty without git."""
    try:
        described = subprocess.run(
            ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return ""
    return described.stdout.strip()


class _Stopwatch:
    seconds: float = 0.0


@contextmanager
def _timed() -> Iterator[_Stopwatch]:
    watch, start = _Stopwatch(), time.monotonic()
    yield watch
    watch.seconds = time.monotonic() - start
