"""The example benchmark of `robosmoke new`, real in everything but one fault, which the task's name selects."""

from __future__ import annotations

import atexit
import ctypes
import importlib
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import gymnasium
import numpy as np
from numpy.typing import NDArray

from robosmoke.guest.env import Observation, Tick
from robosmoke.guest.policies.base import Controller
from robosmoke.schema import Episode

from .env import DiscTableEnv
from .expert import DiscTableExpert
from .simulation import DiscTable

MEBIBYTE = 2**20
# More than the environment `little-memory` allows, little enough for a machine that enforces no limit.
HOARD_MB = 1024


def raise_in_reset() -> None:
    raise RuntimeError("the scene file is corrupt")


def prompt() -> None:
    importlib.import_module(".questionnaire", __package__)


def fill_disk_at_exit() -> None:
    """Arrange for the disk to be full once all tests are over, not when a check's short process leaves."""
    if "pytest" in sys.modules:
        atexit.register(fill_disk)


def fill_disk() -> None:
    """Write into the run folder until the disk refuses."""
    with Path(os.environ["ROBOSMOKE_OUT"], "simulator.log").open("ab", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def read_address_0() -> None:
    ctypes.string_at(0)


def read_address_0_once() -> None:
    try:
        Path(os.environ["ROBOSMOKE_OUT"], "crashed-before").touch(exist_ok=False)
    except FileExistsError:
        return
    read_address_0()


def wait_in_c() -> None:
    """Wait for a signal in C; functions of a `PyDLL` keep the interpreter lock."""
    ctypes.PyDLL(None).pause()


def hoard() -> None:
    """Use more and more memory, slowly enough to be watched."""
    kept = []
    for _ in range(0, HOARD_MB, 32):
        kept.append(np.ones(32 * MEBIBYTE, np.uint8))
        time.sleep(0.1)


IN_RESET: dict[str, Callable[[], None]] = {
    "raises-in-reset": raise_in_reset,
    "prompting-import": prompt,
    "full-disk-at-exit": fill_disk_at_exit,
}
IN_STEP: dict[str, Callable[[], None]] = {
    "segfault": read_address_0,
    "segfault-once": read_address_0_once,
    "abort": os.abort,
    "exit-3": lambda: os._exit(3),
    "exit-0": lambda: os._exit(0),
    "hang-in-c": wait_in_c,
    "out-of-memory": hoard,
    "full-disk": fill_disk,
}


class FaultyEnv(DiscTableEnv):
    """The disc on its table, with the task's fault."""

    def begin(self, seed: int, init_state: int | None) -> bool:
        IN_RESET.get(self.task.name, bool)()
        self._sim = DiscTable(seed, 1.0)
        return bool(self._sim.arrived)

    def tick(self, action: NDArray[np.float64]) -> Tick:
        IN_STEP.get(self.task.name, bool)()
        tick = super().tick(action)
        if self.task.name == "nan-reward":
            return tick._replace(reward=math.nan)
        if self.task.name == "no-success":
            return tick._replace(success=None)
        return tick

    def paint_landmark(self, painted: bool) -> None:
        if self.task.name == "abort-when-painted":
            os.abort()
        super().paint_landmark(painted)


class FaultyExpert(DiscTableExpert):
    """The example's expert, or on two tasks a faulty one."""

    def start(self, episode: Episode, action_space: gymnasium.spaces.Box) -> Controller:
        sound = super().start(episode, action_space)
        return {"nan-expert": NanController, "raising-expert": RaisingController}.get(self.task.name, lambda: sound)()


class NanController:
    def act(self, observation: Observation) -> NDArray[np.float64]:
        return np.full((1, 2), np.nan)


class RaisingController:
    def act(self, observation: Observation) -> NDArray[np.float64]:
        raise KeyError("layer_7.weight")
