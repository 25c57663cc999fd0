"""How far a run has come: everything that a snapshot keeps, and nothing that cannot be kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from decidable.attempt import Attempt
from decidable.messages import Message, Reply
from decidable.tools import ToolResult, ToolRun

__all__ = ["Job", "Repeats", "Round"]


@dataclass(slots=True, eq=False)
class Round:
    """A reply that calls tools, while they run.

    Attributes:
        reply: The reply.
        results: The result of each call, in order; None for one that has none yet.
        started: Whether each call has begun.
        within: Whether a call stopped because a person is needed for one that it makes itself.
    """

    reply: Reply
    results: list[ToolResult | None]
    started: list[bool]
    within: list[bool]

    @classmethod
    def of(cls, reply: Reply) -> Round:
        """The round that a reply begins."""
        count = len(reply.tool_calls)
        return cls(reply, [None] * count, [False] * count, [False] * count)


@dataclass(slots=True, eq=False)
class Repeats:
    """How often one call was made with the same outcome.

    Attributes:
        times: That often in a row.
        outcome: The result.
        told: The iteration in which the model was told to stop; 0 if it was not.
    """

    times: int
    outcome: str
    told: int = 0


@dataclass(slots=True, eq=False)
class Job:
    """One run, as far as it has come.

    Attributes:
        messages: The conversation, complete: every call in it has its result.
        iterations: Replies of the working model so far.
        round: The reply whose calls are not all answered, or None.
        runs: The tools that ran.
        repeats: Calls by name and arguments.
        said: What the model said last.
        final: The reply that ended the work, or None.
        attempts: Replies after it that did not hold.
        waiting: The reply whose pick waits for a person's word, or None.
        provider: Who gave that reply.
        has_run: Whether any tool has begun.
        has_picked: Whether the option that was picked has begun.
    """

    messages: list[Message]
    iterations: int = 0
    round: Round | None = None
    runs: list[ToolRun] = field(default_factory=list)
    repeats: dict[str, Repeats] = field(default_factory=dict)
    said: str = ""
    final: Reply | None = None
    attempts: tuple[Attempt, ...] = ()
    waiting: Reply | None = None
    provider: str = ""
    has_run: bool = False
    has_picked: bool = False
