"""What a reply is made of while it is still arriving: text, reasoning, tool calls, piece by piece."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Delta", "ReasoningDelta", "TextDelta", "ToolCallDelta"]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the visible text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the reasoning that the wire keeps apart from the text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call.

    Attributes:
        index: Which call of the reply it belongs to, from 0.
        arguments: A piece of the arguments' JSON text; may be empty.
        id: The call's id, once known.
        name: The tool's name, once known.
    """

    index: int
    arguments: str
    id: str = ""
    name: str = ""


Delta: TypeAlias = TextDelta | ReasoningDelta | ToolCallDelta
