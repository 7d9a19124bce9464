"""Goal predicates as LIBERO parsed them from the task's BDDL problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from robosmoke.errors import unknown_name

Kind = Literal["on", "in", "open", "close", "turnon", "turnoff"]


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One predicate: ``kind`` of ``subject`` (object, fixture or region), and of ``target`` for on and in."""

    kind: Kind
    subject: str
    target: str | None = None

    @property
    def places(self) -> bool:
        """Tell whether the fact is about where an object lies."""
        return self.target is not None

    def words(self) -> list[str]:
        """Return the predicate as LIBERO's evaluator takes it."""
        return [self.kind, self.subject, *([self.target] if self.target else [])]


def facts_of(problem: Any) -> tuple[Fact, ...]:
    """Read the goal of a LIBERO problem (the inner env); raises `UsageError` for an unknown predicate."""
    return tuple(_fact(words) for words in problem.parsed_problem["goal_state"])


def _fact(words: Sequence[str]) -> Fact:
    kinds = get_args(Kind)
    if words[0] not in kinds:
        raise unknown_name("goal predicate of LIBERO", words[0], kinds)
    return Fact(kind=words[0], subject=words[1], target=words[2] if len(words) > 2 else None)  # type: ignore[arg-type]


def holds(problem: Any, fact: Fact) -> bool:
    """Evaluate one fact now, with LIBERO's own predicate."""
    return bool(problem._eval_predicate(fact.words()))
