"""Run episodes in worker processes under one supervisor, none of which outlives this process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import msgspec

from robosmoke.errors import SetupError
from robosmoke.evaluation.record import EvalRecord
from robosmoke.guest.engine.capacity import cores
from robosmoke.guest.engine.order import Report, Stopped, WorkOrder
from robosmoke.guest.engine.threads import thread_variables
from robosmoke.schema import encode_line

LOG_NAME = "run.log"
_LEAVE_S = 2.0


def run_in_processes(order: WorkOrder) -> Generator[EvalRecord, None, None]:
    """Yield each record as its episode ends; closing the iterator ends every process.

    The workers' output goes to ``run.log``. Raises what a worker says stops everything, and `SetupError` when the
    supervisor dies.
    """
    log = Path(order.out) / LOG_NAME
    results, write_end = os.pipe()
    with os.fdopen(results, "rb") as reports, log.open("ab") as log_file:
        try:
            supervisor = subprocess.Popen(
                [sys.executable, "-m", "robosmoke.guest.engine.supervisor", str(write_end), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=log_file,
                stderr=subprocess.STDOUT,
                pass_fds=(write_end,),
                # Ctrl-C is for this process alone; it then ends the others.
                start_new_session=True,
                # A script finds modules beside it, and so shall the policies that it names.
                env={**os.environ, **worker_variables(order), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        finally:
            os.close(write_end)
        try:
            _send(supervisor, order)
            for line in reports:
                report = msgspec.json.decode(line, type=Report)
                if isinstance(report, Stopped):
                    raise report.as_error()
                yield report.record
            code = supervisor.wait()
            if code != 0:
                raise SetupError(f"the supervisor of the workers ended with {code}: see {log}, then use --resume")
        finally:
            _end(supervisor)


def worker_variables(order: WorkOrder) -> dict[str, str]:
    """Return the variables that the workers get whatever this process has."""
    return {
        **thread_variables(order.plan.threads),
        # The software renderer's threads: they change no pixel, and workers share the cores.
        "LP_NUM_THREADS": str(max(1, cores() // order.workers)),
    }


def _send(supervisor: subprocess.Popen[bytes], order: WorkOrder) -> None:
    assert supervisor.stdin is not None
    try:
        supervisor.stdin.write(encode_line(order))
        supervisor.stdin.flush()
    except BrokenPipeError:
        return  # it ended already, which its exit code tells


def _end(supervisor: subprocess.Popen[bytes]) -> None:
    """Close the pipe whose end the supervisor watches for; it ends its workers then."""
    assert supervisor.stdin is not None
    # What was not read of the order is not needed any more.
    with suppress(BrokenPipeError):
        supervisor.stdin.close()
    try:
        supervisor.wait(_LEAVE_S)
    except subprocess.TimeoutExpired:
        supervisor.kill()
        supervisor.wait()
