"""Derive an environment from another by replacing versions: ``--override 'mujoco==3.9'``."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from robosmoke.errors import UsageError
from robosmoke.manifest import Environment


def with_overrides(environment: Environment, overrides: Sequence[str]) -> Environment:
    """Return a derived environment whose label and key show every override.

    An override is one PEP 508 requirement with a version (``mujoco==3.9``); the last one for a
    name counts. Raises `UsageError` for anything else.
    """
    chosen = {_name(text): _requirement(text) for text in (*environment.overrides, *overrides)}
    torch = chosen.pop("torch", None)
    derived = environment
    if torch is not None:
        if not environment.torch:
            raise UsageError(f"--override {torch}: environment {environment.name} has no torch to override")
        derived = replace(derived, torch=_exact_version(torch))
    shown = {**chosen, **({"torch": torch} if torch is not None else {})}
    return replace(derived, overrides=tuple(str(shown[name]) for name in sorted(shown)))


def _name(text: str) -> str:
    return canonicalize_name(_requirement(text).name)


def _requirement(text: str) -> Requirement:
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"--override {text!r}: not a requirement such as 'mujoco==3.9': {reason}") from error
    if requirement.url or not requirement.specifier:
        raise UsageError(f"--override {text!r}: needs a version, such as '{requirement.name}==1.2'")
    return requirement


def _exact_version(requirement: Requirement) -> str:
    specifiers = list(requirement.specifier)
    if len(specifiers) != 1 or specifiers[0].operator != "==":
        raise UsageError(f"--override {requirement}: torch is installed alone, so it needs one exact version: torch==X")
    return specifiers[0].version
