"""The guest entries ``python -m robosmoke eval`` and ``merge``: one line per error, documented exit codes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType

from robosmoke.catalog import find
from robosmoke.errors import ExitCode, RobosmokeError
from robosmoke.evaluation.arguments import Parser, parse
from robosmoke.evaluation.request import EvalRequest
from robosmoke.guest.engine.threads import apply_threads

# The run folder as a container sees it.
OUT_VARIABLE = "ROBOSMOKE_OUT"


def main(arguments: Sequence[str]) -> int:
    """Evaluate a policy in the environment that this Python runs in."""
    return _guarded(lambda: _evaluate(_relocated(parse(arguments))))


def merge_main(arguments: Sequence[str]) -> int:
    """Put the shards of one evaluation together."""
    return _guarded(lambda: _merge(arguments))


def _evaluate(request: EvalRequest) -> int:
    manifest = find(request.benchmark).manifest
    # Before the next lines import the first of the libraries that read it.
    apply_threads(request.threads)
    from robosmoke.guest.engine.evaluate import run_evaluation
    from robosmoke.guest.engine.progress import conclusion

    result = run_evaluation(manifest, request, say=lambda text: print(text, flush=True))
    print(conclusion(result.summary, result.records))
    print(f"records: {result.out}", flush=True)
    return result.exit_code(request.min_success)


def _merge(arguments: Sequence[str]) -> int:
    from robosmoke.evaluation.merge import merge
    from robosmoke.evaluation.summary import describe_rate

    parser = Parser(prog="robosmoke merge", description=merge_main.__doc__)
    parser.add_argument("out", type=Path, help="new folder")
    parser.add_argument("shards", type=Path, nargs="+", help="run folders of all the shards")
    chosen = parser.parse_args(arguments)
    summary = merge(chosen.shards, chosen.out)
    print(f"success: {describe_rate(summary.success_any)}\nrecords: {chosen.out}")
    return ExitCode.GREEN


def _relocated(request: EvalRequest) -> EvalRequest:
    folder = os.environ.get(OUT_VARIABLE)
    if not folder:
        return request
    return replace(request, resume=Path(folder)) if request.resume else replace(request, out=Path(folder))


def _guarded(work: Callable[[], int]) -> int:
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return int(work())
    except RobosmokeError as error:
        print(f"robosmoke: {error}", file=sys.stderr)
        return int(error.exit_code)
    except KeyboardInterrupt:
        print("robosmoke: interrupted: continue with the same flags and --resume", file=sys.stderr)
        return int(ExitCode.INTERRUPTED)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    """Turn SIGTERM into an interruption, so that the workers end and the figures are written."""
    raise KeyboardInterrupt
