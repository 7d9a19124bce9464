"""The key of an environment: a hash of everything that is installed, and of nothing else."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from robosmoke.host.environments.lock import Lock
from robosmoke.host.environments.settings import Settings
from robosmoke.manifest import Environment

LAYOUT_VERSION = "1"


def environment_key(environment: Environment, lock: Lock, recipe: Mapping[str, str]) -> str:
    """Return the key, 32 hex digits; environments of equal parts share it.

    ``recipe`` is what the backend adds: its name, Dockerfiles, the base image's digest, non-secret
    build arguments. Names, limits and variables are read at run time, and robosmoke's own code is
    added then, so none of them is part of the key.
    """
    parts = {
        "layout": LAYOUT_VERSION,
        "architecture": platform.machine(),
        "python": environment.python,
        "torch": environment.torch,
        "apt": sorted(environment.apt),
        "overrides": sorted(environment.overrides),
        "lock": _pins_and_hashes(lock),
        "recipe": dict(recipe),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def torch_source(environment: Environment, settings: Settings) -> str:
    """Name where torch comes from without any password; empty for an environment without torch."""
    if not environment.torch:
        return ""
    url = urlsplit(settings.torch)
    return urlunsplit(url._replace(netloc=url.netloc.rpartition("@")[2])) if url.scheme else settings.torch


def _pins_and_hashes(lock: Lock) -> list[str]:
    """Leave out the comments, which name the environment."""
    return [line for line in lock.text.splitlines() if not line.startswith("#")]
