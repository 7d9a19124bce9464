"""Policies of the engine's tests, each with one behaviour; loaded as a file by the process that runs episodes."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np

FOLDER = Path(os.environ.get("EVAL_POLICIES", "."))
VICTIM = 2


class Policy:
    """Push the disc towards its goal, in chunks of three; ``misbehave`` may be overridden."""

    name = "tested"
    observation_keys: tuple[str, ...] = ("state", "goal")
    chunk = 3

    def start(self, episode, action_space):
        self.episode = episode
        return self

    def act(self, observation):
        self.misbehave()
        return np.tile(np.clip(observation["goal"] - observation["state"][:2], -1, 1), (self.chunk, 1))

    def misbehave(self) -> None:
        return

    def first_time(self) -> bool:
        marker = FOLDER / f"{type(self).__name__}-{self.episode.index}"
        seen = marker.exists()
        marker.touch()
        return not seen


class Steady(Policy):
    """Behave."""


class Slow(Policy):
    """Take a while over each answer."""

    def misbehave(self):
        time.sleep(0.01)


class Global(Policy):
    """Draw from NumPy's global generator."""

    def act(self, observation):
        return np.random.uniform(-1, 1, (1, 2))  # noqa: NPY002


class Seeing(Policy):
    """Read a picture."""

    observation_keys = ("top", "state", "goal")


class CrashesOnce(Policy):
    """Die in native code at the first attempt of one episode."""

    def misbehave(self):
        if self.episode.index == VICTIM and self.first_time():
            os.kill(os.getpid(), signal.SIGSEGV)


class CrashesAlways(Policy):
    """Die in native code in one episode."""

    def misbehave(self):
        if self.episode.index == VICTIM:
            os.kill(os.getpid(), signal.SIGSEGV)


class Hangs(Policy):
    """Sit in native code for ever, holding the interpreter lock, in one episode."""

    def misbehave(self):
        if self.episode.index == VICTIM:
            (FOLDER / f"hangs-{os.getpid()}").touch()
            ctypes.PyDLL(None).sleep(1000)


class HangsWithChild(Hangs):
    """Leave a child process running besides."""

    def misbehave(self):
        if self.episode.index == VICTIM and self.first_time():
            child = subprocess.Popen(["sleep", "1000"])
            (FOLDER / f"child-{child.pid}").touch()
        super().misbehave()


class Grows(Policy):
    """Take 300 MB in one episode."""

    def misbehave(self):
        if self.episode.index == VICTIM:
            self.held = np.ones(300 * 2**17)
            time.sleep(5)


class RunsOut(Policy):
    """Get no memory in one episode."""

    def misbehave(self):
        if self.episode.index == VICTIM:
            raise MemoryError


class NotANumber(Policy):
    """Answer NaN in one episode."""

    def act(self, observation):
        chunk = super().act(observation)
        return chunk * (np.nan if self.episode.index == VICTIM else 1)


class WrongShape(Policy):
    """Answer three numbers per action where the env takes two."""

    def act(self, observation):
        return np.zeros((1, 3))


class Speaks(Policy):
    """Print."""

    def misbehave(self):
        print("the policy speaks", flush=True)


class Nameless(Policy):
    """Have a name that is no file name."""

    name = "a/b"


def raises():
    """Be a factory that fails."""
    raise RuntimeError("no weights")
