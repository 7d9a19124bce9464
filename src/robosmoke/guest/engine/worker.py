"""A worker: a forked process that runs one episode after another until its pipe of commands ends."""

from __future__ import annotations

import faulthandler
import os
from pathlib import Path

from robosmoke.errors import RobosmokeError
from robosmoke.guest.engine.order import Played, Reply, Stopped, WorkOrder
from robosmoke.guest.engine.runner import EpisodeRunner
from robosmoke.schema import encode_line
from robosmoke.vocabulary import Blame

# How a worker leaves that ran out of memory: what it holds is given back by its end alone.
OUT_OF_MEMORY = os.EX_OSERR


def serve(order: WorkOrder, commands: int, replies: int) -> None:
    """Read indices of episodes, a line each, and answer each with a line; returns when no more can come."""
    faulthandler.enable()
    episodes = {episode.index: episode for episode in order.plan.episodes}
    runner = EpisodeRunner(order.manifest, order.plan, Path(order.out))
    with os.fdopen(commands) as lines:
        for line in lines:
            try:
                record = runner.run(episodes[int(line)])
            except MemoryError:
                os._exit(OUT_OF_MEMORY)
            except RobosmokeError as error:
                _answer(replies, Stopped.by(error))
                return
            _answer(replies, Played(record=record, retire=record.blame is Blame.ENV))
    runner.close()


def _answer(replies: int, reply: Reply) -> None:
    line = encode_line(reply)
    while line:
        line = line[os.write(replies, line) :]
