"""How a policy is named on a command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from robosmoke.errors import UsageError

PolicyKind = Literal["zero", "random", "expert", "python"]
KNOWN = ("zero", "random", "expert", "python:MODULE:FACTORY")

_PLAIN: dict[str, PolicyKind] = {"zero": "zero", "random": "random", "expert": "expert"}


@dataclass(frozen=True, kw_only=True)
class PolicySpec:
    """A parsed specification; ``module`` is an importable name or the path of a ``.py`` file."""

    kind: PolicyKind
    module: str = ""
    factory: str = ""

    @property
    def is_file(self) -> bool:
        """Tell whether the module is given as a file."""
        return self.module.endswith(".py")


def parse_policy(text: str) -> PolicySpec:
    """Parse a policy's specification; raises `UsageError` that lists the known ones."""
    if text in _PLAIN:
        return PolicySpec(kind=_PLAIN[text])
    kind, _, rest = text.partition(":")
    module, _, factory = rest.rpartition(":")
    if kind != "python" or not module or not factory.isidentifier():
        raise UsageError(f"unknown policy {text!r}: known: {', '.join(KNOWN)} (MODULE may be a .py file)")
    return PolicySpec(kind="python", module=module, factory=factory)
