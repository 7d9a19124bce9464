"""Make the policy that a specification names."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from robosmoke.errors import UsageError
from robosmoke.evaluation.policy_spec import PolicySpec
from robosmoke.guest.policies.base import Policy
from robosmoke.guest.policies.control import RandomPolicy, ZeroPolicy
from robosmoke.manifest import Task

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class PolicySource:
    """Hold a process's policy: an expert is made per task, any other once."""

    def __init__(self, spec: PolicySpec, make_expert: Callable[[Task], Policy]) -> None:
        self._spec = spec
        self._make_expert = make_expert
        self._task: Task | None = None
        self._policy: Policy | None = None

    def policy_for(self, task: Task) -> Policy:
        """Return the policy; raises `UsageError` when a user's factory cannot be called or gives something else."""
        if self._policy is None or (self._spec.kind == "expert" and task != self._task):
            self._policy, self._task = self._make(task), task
        return self._policy

    def _make(self, task: Task) -> Policy:
        if self._spec.kind == "expert":
            return self._make_expert(task)
        if self._spec.kind == "python":
            return _call_factory(self._spec)
        return ZeroPolicy() if self._spec.kind == "zero" else RandomPolicy()


def _call_factory(spec: PolicySpec) -> Policy:
    where = f"policy python:{spec.module}:{spec.factory}"
    try:
        module = _load_file(Path(spec.module)) if spec.is_file else importlib.import_module(spec.module)
        factory = getattr(module, spec.factory)
        policy: Any = factory()
    except Exception as error:
        # Whatever a user's module raises: the evaluation cannot start, and no episode is to blame.
        raise UsageError(f"{where}: {type(error).__name__}: {error}") from error
    missing = [name for name in ("name", "observation_keys", "start") if not hasattr(policy, name)]
    if missing:
        raise UsageError(f"{where}: gave a {type(policy).__name__} without {', '.join(missing)}")
    if not _NAME.fullmatch(str(policy.name)):
        raise UsageError(f"{where}: name {policy.name!r}: use letters, digits, '.', '_' and '-', it names videos")
    return cast(Policy, policy)


def _load_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Registered before it runs, as an import does: dataclasses and pickle look modules up by name.
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
