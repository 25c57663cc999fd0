"""What a provider is asked and what it answers, free of any wire: requests, replies, usage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from decidable.content import Content

if TYPE_CHECKING:
    from decidable.typed import Answer, QuestionRequest

__all__ = [
    "ChatRequest",
    "Message",
    "Reply",
    "Request",
    "Role",
    "StopReason",
    "Usage",
]

Role: TypeAlias = Literal["user", "assistant"]

StopReason: TypeAlias = Literal["stop", "length", "refusal", "content_filter"]
"""Why the model stopped: by itself, at its token limit, because it declined, because it was filtered."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: Content


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A question for a model that answers in text.

    Attributes:
        messages: The conversation, oldest first; ends with the user's turn.
        system: The standing instruction, or None.
        model: The model to ask; None leaves it to the provider.
        output_schema: JSON Schema that the reply is wanted in, or None. A provider without native structured
            output ignores it: the prompt says it too.
        effort: How much reasoning is wanted (``"low"``, ``"medium"``, ``"high"``), or None for the provider's default.
    """

    messages: tuple[Message, ...]
    system: str | None = None
    model: str | None = None
    output_schema: Mapping[str, Any] | None = None
    effort: str | None = None


Request: TypeAlias = "ChatRequest | QuestionRequest"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more requests. Cached and reasoning tokens are counted within input and output."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for one request.

    Attributes:
        text: The visible text; empty for a decision model.
        stop: Why the model stopped; None when the provider does not say.
        answers: A decision model's answers by question id, or None.
        calibrated: Whether the provider claims that its probabilities are calibrated.
        reasoning: Reasoning that the wire keeps apart from the text.
        usage: Tokens, or None if unknown.
        cost: US dollars, or None if unknown (never 0 for unknown).
        model: The model that answered, as it names itself.
        request_id: The provider's own id of the request.
    """

    text: str = ""
    stop: StopReason | None = None
    answers: Mapping[str, Answer] | None = None
    calibrated: bool = False
    reasoning: str = ""
    usage: Usage | None = None
    cost: float | None = None
    model: str | None = None
    request_id: str | None = None
