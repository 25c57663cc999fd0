"""A person's word on a call: what is asked, and what the answer means."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from decidable.errors import ArgumentTypeError

__all__ = ["ApprovalRequest", "Approver", "Denied", "Verdict", "denial_of"]


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that waits for a person's word.

    Attributes:
        id: What the answer is given under: the tool call's id, or ``"pick"`` for an option that was picked.
        name: The tool or option.
        arguments: What it would be run with, checked and parsed.
        description: What the model was told that it does.
        within: Whether the call itself needs no word, but one that its function makes.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    description: str = ""
    within: bool = False


@dataclass(frozen=True, slots=True)
class Denied:
    """An answer that says no, and why; the model is told."""

    reason: str = ""


Verdict: TypeAlias = bool | Denied
"""True to run the call; False, or `Denied` with a reason, to tell the model that it may not."""

Approver: TypeAlias = Callable[[ApprovalRequest], "Verdict | Awaitable[Verdict]"]


def denial_of(verdict: Any, about: str) -> str | None:
    """What the model is told of a verdict that says no; None for one that says yes.

    Raises:
        ArgumentTypeError: It is no verdict. Nothing but True lets a call run.
    """
    if verdict is True:
        return None
    if verdict is False or isinstance(verdict, Denied):
        reason = verdict.reason if isinstance(verdict, Denied) else ""
        return f"this call was not allowed by the person who was asked{f': {reason}' if reason else ''}"
    raise ArgumentTypeError(f"the answer about {about!r} must be True, False or Denied('why'), not {verdict!r}")
