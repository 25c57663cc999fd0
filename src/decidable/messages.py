"""What a provider is asked and what it answers, free of any wire: requests, replies, usage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from decidable.content import Content

if TYPE_CHECKING:
    from decidable.questions.types import Answer, Provenance, QuestionRequest
    from decidable.tools import Echo, NamedTool, Token, ToolCall, ToolResult, ToolSpec

__all__ = [
    "ChatRequest",
    "Message",
    "Reply",
    "Request",
    "Role",
    "Sampling",
    "StopReason",
    "ToolChoice",
    "Usage",
]

Role: TypeAlias = Literal["user", "assistant"]

StopReason: TypeAlias = Literal["stop", "length", "tool_calls", "refusal", "content_filter"]
"""Why the model stopped: by itself, at its token limit, to have tools run, because it declined, because it was
filtered."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    Attributes:
        role: Whose turn it is.
        content: What was said.
        tool_calls: Tools that the assistant wanted run.
        tool_results: What they gave back, in the user's turn that follows; they stand before `content`.
        echo: The assistant's turn as its wire gave it, or None.
    """

    role: Role
    content: Content
    tool_calls: tuple[ToolCall, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    echo: Echo | None = None


ToolChoice: TypeAlias = "Literal['auto', 'required', 'none'] | NamedTool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How tokens are chosen; what is None is left to the provider.

    Attributes:
        temperature: 0 for the likeliest token; the range is the provider's, mostly up to 1 or 2.
        top_p: Share of probability that is sampled from, in (0, 1].
        max_tokens: Most tokens of the reply, reasoning included where the provider counts so.
        stop: Texts at which the reply ends.
        seed: Makes sampling repeatable, where the provider can.
        top_logprobs: How many of the likeliest tokens to report at each place, with their log-probabilities.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    top_logprobs: int | None = None


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
        tools: Tools that the model may call; names are unique.
        tool_choice: Whether it must.
        parallel_tool_calls: Whether several calls in one reply are wanted; None leaves it to the provider.
        sampling: How tokens are chosen, or None for the provider's defaults.
    """

    messages: tuple[Message, ...]
    system: str | None = None
    model: str | None = None
    output_schema: Mapping[str, Any] | None = None
    effort: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool | None = None
    sampling: Sampling | None = None


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
        tool_calls: Tools that the model wants run, in order.
        tokens: The text's tokens with their log-probabilities, if they were asked for and given; else None.
        echo: The reply as its wire gave it, where the wire wants it back word for word; else None.
        provenance: Where a decision model's answers come from; None for a model that writes.
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
    tool_calls: tuple[ToolCall, ...] = ()
    tokens: tuple[Token, ...] | None = None
    echo: Echo | None = None
    provenance: Provenance | None = None
