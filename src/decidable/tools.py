"""What requests and replies hold beyond text: tools, turns to be sent back, tokens. Imported where one is met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from decidable.content import Content

__all__ = ["Echo", "NamedTool", "Token", "ToolCall", "ToolResult", "ToolRun", "ToolSpec"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it.

    Attributes:
        name: What the model calls it.
        description: What it does.
        parameters: JSON Schema of its arguments, of ``"type": "object"``.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants run.

    Attributes:
        id: What its result is matched by; unique within the reply.
        name: The tool.
        arguments: The object that the wire gave; as text when it was not the JSON of an object.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] | str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back.

    Attributes:
        call_id: `ToolCall.id` of the call that it answers.
        name: The tool.
        content: The result.
        is_error: Whether it says what went wrong.
    """

    call_id: str
    name: str
    content: Content
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One tool call of a run, as the model saw it.

    Attributes:
        id: The call's id.
        name: The tool.
        arguments: What the model gave; as text when it was no JSON object.
        result: What went back to the model.
        is_error: Whether that says what went wrong: then the tool failed, or was not run.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] | str
    result: Content
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Echo:
    """A reply as the wire gave it, to be sent back word for word to whoever gave it: signed or encrypted reasoning.

    Attributes:
        source: The provider's name; another provider is sent the plain message instead.
        data: JSON that only that wire understands.
    """

    source: str
    data: Any


@dataclass(frozen=True, slots=True)
class NamedTool:
    """A tool choice: this tool and no other."""

    name: str


@dataclass(frozen=True, slots=True)
class Token:
    """One place of a reply's text.

    Attributes:
        text: The token that stands there.
        logprob: Natural logarithm of its probability.
        top: The likeliest tokens at that place, with theirs.
    """

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()
