"""`Failure`: why a request gets no answer; each dialect has its own words for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Failure", "Problem", "invalid"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a body. It holds no value of the body.

    Attributes:
        where: The path to it, without ``"body"``.
        message: What is expected there.
        kind: A word for it, e.g. ``"missing"``.
    """

    where: tuple[str | int, ...]
    message: str
    kind: str = "value_error"

    def json(self) -> dict[str, Any]:
        """The problem as TypeSafe spells it."""
        return {"loc": ["body", *self.where], "msg": self.message, "type": self.kind}


@dataclass(eq=False)
class Failure(Exception):  # noqa: N818 - it is no mistake of a program, but what a server says
    """A request that is not answered.

    Attributes:
        status: The HTTP status; 0 for that of an invalid request, which is each dialect's own.
        message: Why.
        code: The wire's word for it; ``""`` for the one that belongs to the status.
        problems: What is wrong with the body, if that is why.
        headers: Sent along.
    """

    status: int
    message: str
    code: str = ""
    problems: Sequence[Problem] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


def invalid(*problems: Problem) -> Failure:
    """A request whose body is not of the form that is taken."""
    first = problems[0]
    where = ".".join(str(step) for step in first.where)
    return Failure(0, f"{where}: {first.message}" if where else first.message, "invalid_request_error", problems)
