"""The registry of checks: a code, a promise and a function over its subject."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from robosmoke.guest.checks.subject import TaskSubject

Cost = Literal["instant", "cheap", "dear"]
Function = Callable[[TaskSubject], None]

FAMILIES = ("contract", "seeds", "pictures", "controls", "records")


@dataclass(frozen=True, kw_only=True)
class Check:
    """One rule: ``function`` raises `CheckFailed` when the subject breaks the promise."""

    code: str
    name: str
    promise: str
    cost: Cost
    function: Function

    @property
    def label(self) -> str:
        """Return code and name as they appear in test ids: ``RS301-seed-repeats``."""
        return f"{self.code}-{self.name}"


_CHECKS: dict[str, Check] = {}


def check(code: str, name: str, promise: str, *, cost: Cost) -> Callable[[Function], Function]:
    """Register a function as a check; raises `ValueError` when the code is taken."""

    def register(function: Function) -> Function:
        if code in _CHECKS:
            raise ValueError(f"check {code} is registered twice")
        _CHECKS[code] = Check(code=code, name=name, promise=promise, cost=cost, function=function)
        return function

    return register


@lru_cache(maxsize=1)
def checks() -> tuple[Check, ...]:
    """Return every check, sorted by code."""
    for family in FAMILIES:
        importlib.import_module(f"robosmoke.guest.checks.{family}")
    return tuple(sorted(_CHECKS.values(), key=lambda check: check.code))


def by_code(code: str) -> Check:
    """Return one check; raises `KeyError`."""
    return {check.code: check for check in checks()}[code]
