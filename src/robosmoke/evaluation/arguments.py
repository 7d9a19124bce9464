"""The flags of ``robosmoke eval``: one parser for the command and for the guest entry behind it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn, get_args

from robosmoke.errors import UsageError
from robosmoke.evaluation.policy_spec import KNOWN
from robosmoke.evaluation.request import EvalRequest, Executor, VideoKind, VideoOf

DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(EvalRequest)}
EPILOG = (
    "Exit codes: 0 green, 1 red (an errored episode, none completed, or below --min-success),"
    " 2 bad usage, 3 broken environment, 4 interrupted."
)


class Parser(argparse.ArgumentParser):
    """Raise `UsageError` instead of leaving the process."""

    def error(self, message: str) -> NoReturn:
        """Report bad usage in one line."""
        raise UsageError(f"{message}: see {self.prog} --help")


def eval_parser() -> Parser:
    """Return the parser of everything that an `EvalRequest` holds."""
    description = "Measure a policy's success rate."
    parser = Parser(prog="robosmoke eval", description=description, epilog=EPILOG, allow_abbrev=False)
    # New lists: the action appends to its default.
    parser.set_defaults(**{**DEFAULTS, "suites": [], "tasks": []})
    parser.add_argument("benchmark", help="a benchmark, as `robosmoke list` shows it")
    parser.add_argument("-p", "--policy", metavar="SPEC", help=f"{', '.join(KNOWN)} [expert]")
    parser.add_argument("-e", "--environment", metavar="NAME", help="environment of the manifest [default]")
    _add_protocol(parser.add_argument_group("protocol: what is measured, written into the plan"))
    _add_videos(parser.add_argument_group("videos"))
    _add_execution(parser.add_argument_group("execution: changes no result"))
    return parser


def request_of(namespace: argparse.Namespace) -> EvalRequest:
    """Turn parsed flags into a request; what other flags gave is ignored. Raises `UsageError`."""
    chosen = {name: value for name, value in vars(namespace).items() if name in DEFAULTS}
    return EvalRequest(**{**chosen, "suites": tuple(chosen["suites"]), "tasks": tuple(chosen["tasks"])})


def parse(arguments: Sequence[str]) -> EvalRequest:
    """Parse the flags of one evaluation; raises `UsageError`, and leaves the process after ``--help``."""
    return request_of(eval_parser().parse_args(arguments))


def _add_protocol(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--suite", dest="suites", action="extend", nargs="+", metavar="S", help="suites [all]")
    add("--task", dest="tasks", action="extend", nargs="+", metavar="T", help="tasks [all of the suites]")
    names = ("--episodes", "--n-episodes", "--n_episodes")
    add(*names, dest="episodes", type=int, metavar="N", help="episodes per task [one per init state, else 10]")
    add("--init-states", metavar="LIST", help="all, none or e.g. 0-9,12 [none: the seed alone]")
    add("--seed", type=int, help="seed of each task's first episode, counted up [0]")
    add("--on-success", choices=("stop", "continue"), help="what an episode does once solved [the manifest's]")
    add("--max-steps", type=int, metavar="N", help="control steps per episode [the task's horizon]")
    add("--chunk", type=int, metavar="H", help="execute at most H actions of each answer [all of them]")
    add("--threads", type=int, metavar="N", help="threads of the policy's arithmetic [1]")
    add("--picture-px", type=int, metavar="N", help="side of the pictures that the policy reads [256]")
    add("--shard", metavar="i/N", help="run every N-th episode from the i-th, i from 0 [all]")


def _add_videos(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--video", choices=get_args(VideoKind), help="review: for people; policy: what the policy read [none]")
    add("--video-of", choices=get_args(VideoOf), help="of which episodes; first: of each task's first [all]")
    add("--video-fps", type=float, metavar="HZ", help="frames per second [10]")
    add("--video-px", type=int, metavar="N", help="side of a review video [256]")


def _add_execution(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--executor", choices=get_args(Executor), help="inline: in this process, for a debugger [processes]")
    names = ("--workers", "--batch-size", "--batch_size")
    add(*names, dest="workers", type=_workers, metavar="auto|N", help="[auto: what cores and memory allow]")
    add("--episode-timeout", dest="episode_timeout_s", type=float, metavar="S", help="seconds per episode [1800]")
    add("--worker-memory", dest="worker_memory_mb", type=int, metavar="MB", help="limit of one worker [manifest's]")
    add("--recycle-after", type=int, metavar="N", help="episodes after which a worker is replaced [200]")
    add("--out", type=Path, metavar="DIR", help="run folder [runs/eval-…]")
    add("--resume", type=Path, metavar="DIR", help="run what is left of the same plan in this folder")
    add("--min-success", type=float, metavar="RATE", help="below this rate, in [0, 1], the evaluation is red")


def _workers(text: str) -> int | None:
    return None if text == "auto" else int(text)
