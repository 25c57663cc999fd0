"""`Endpoint`: where a wire is spoken, with which key, and in which accent; data, not code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["Endpoint", "Wire"]

Wire: TypeAlias = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Endpoint:
    """A place that answers requests on one of the known wires.

    Attributes:
        name: What it is called in ``Runtime("name:model")``, in records and in errors.
        base_url: What the wire's paths are appended to, e.g. ``"https://api.example.com/v1"``; ``""`` if it must be
            given.
        wire: What is spoken there.
        key: Environment variable that holds the key; None if none is needed.
        key_optional: Whether it answers without a key too, as servers on one's own machine do.
        key_header: Header that carries the key; in ``authorization`` it follows the word Bearer.
        url_variable: Environment variable that replaces the base URL.
        url_suffix: What is appended to the value of that variable, if it is not there.
        headers: Sent with each request.
        rename: Top-level fields of the body that have another name there.
        omit: Top-level fields of the body that it does not take.
        required: What a forced tool choice is called there.
        echo: Fields of an assistant message that it wants back word for word.
        output_schema: Whether it holds replies to a JSON Schema.
        strict: Whether that schema must be in the wire's own dialect; else it is sent as it is.
        strict_tools: Whether it holds a tool's arguments to their schema.
        forced_tools: Whether it can be made to call a tool.
        images: Whether its models may read images.
        top_logprobs: How many alternatives per token it reports; 0 if none.
    """

    name: str
    base_url: str = ""
    wire: Wire = "openai-chat"
    key: str | None = None
    key_optional: bool = False
    key_header: str = "authorization"
    url_variable: str | None = None
    url_suffix: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    rename: Mapping[str, str] = field(default_factory=dict)
    omit: frozenset[str] = frozenset()
    required: str = "required"
    echo: tuple[str, ...] = ()
    output_schema: bool = True
    strict: bool = True
    strict_tools: bool = False
    forced_tools: bool = True
    images: bool = True
    top_logprobs: int = 0
