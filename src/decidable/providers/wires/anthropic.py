"""Anthropic's Messages API.

https://platform.claude.com/docs/en/api/messages
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from decidable.content import Content, MediaPart
from decidable.messages import ChatRequest, Message, Reply, Usage
from decidable.providers.endpoint import Endpoint
from decidable.providers.wires.anthropic_stream import STOPS, MessageStream, call_of, explanation
from decidable.providers.wires.base import BaseCodec
from decidable.providers.wires.codec import HttpCall
from decidable.providers.wires.common import (
    body_of,
    count,
    image_data,
    object_of,
    parts_of,
    said,
    sampled,
    text_only,
)
from decidable.providers.wires.dialects import ANTHROPIC
from decidable.providers.wires.failures import Trouble, without_reply
from decidable.tools import Echo, NamedTool, ToolResult

__all__ = ["AnthropicMessages"]

_VERSION_HEADER = "anthropic-version"
_VERSION = "2023-06-01"
"""Not the newer 2026-10-21: all that it changes for what is sent here is to refuse temperature and top_p on every
model, while under this one the models before 4.7 still take them (later ones refuse them under both, aloud). No end of
this version is announced, and a version keeps its inputs and outputs:
https://platform.claude.com/docs/en/api/versioning"""

_MAX_TOKENS = 16_384
"""The wire wants a limit with each request, and what a model thinks counts towards it, so it must not be small. Every
model since 4.5 writes 64,000 tokens or more (https://platform.claude.com/docs/en/about-claude/models/overview); more
than 21,333 at once is what Anthropic's own clients leave to streams, as it may take over ten minutes."""

_SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_tokens",
    "stop": "stop_sequences",
}
"""Settings of a request to their fields; this wire has no others."""

_STRICT_ROOM = (20, 24, 16)
"""Strict tools, optional keys, and unions that one request may hold:
https://platform.claude.com/docs/en/build-with-claude/structured-outputs"""

_PLAIN = frozenset({"text", "tool_use"})
"""Blocks that a message says just as well; all others are signed, encrypted or the server's own."""


class AnthropicMessages(BaseCodec):
    """Codec of the messages wire; a version among the endpoint's headers replaces its own."""

    dialect = ANTHROPIC

    def __init__(self, endpoint: Endpoint, model: str | None, extra: Mapping[str, Any]) -> None:
        super().__init__(endpoint, model, extra)
        given = any(name.lower() == _VERSION_HEADER for name in endpoint.headers)
        self.headers: Mapping[str, str] = {} if given else {_VERSION_HEADER: _VERSION}

    def encode(self, request: ChatRequest, *, stream: bool = False) -> HttpCall:
        """The request in this wire's form."""
        body: dict[str, Any] = {
            "model": request.model or self.model,
            "max_tokens": _MAX_TOKENS,
            "messages": self._messages(request),
        }
        if request.system:
            body["system"] = request.system
        config: dict[str, Any] = {}
        if self.holds(request):
            config["format"] = {"type": "json_schema", "schema": self.output_schema(request)}
        if request.effort is not None:
            config["effort"] = request.effort
            body["thinking"] = {"type": "adaptive"}
        if config:
            body["output_config"] = config
        if request.tools:
            body["tools"] = self._tools(request)
            body["tool_choice"] = _tool_choice(request)
        if request.sampling is not None:
            body.update(sampled(request.sampling, self.endpoint, _SETTINGS))
        if stream:
            body["stream"] = True
        return HttpCall("/messages", body_of(body, self.endpoint, self.extra), self.headers)

    def decode_stream(self, headers: Mapping[str, str], request: ChatRequest) -> MessageStream:
        """A decoder of the events that answer `request`."""
        return MessageStream(self, headers, request)

    # --- out ------------------------------------------------------------------------------------------------------

    def _messages(self, request: ChatRequest) -> list[dict[str, Any]]:
        turns: list[dict[str, Any]] = []
        for message in request.messages:
            blocks = self._assistant(message) if message.role == "assistant" else self._user(message)
            if turns and turns[-1]["role"] == message.role:
                turns[-1]["content"] += blocks
            elif blocks:  # an assistant's turn without any is left out: the wire takes no empty one
                turns.append({"role": message.role, "content": blocks})
        for turn in turns:
            if turn["role"] == "user":  # results come first, also where several turns became one
                turn["content"].sort(key=lambda block: block["type"] != "tool_result")
        return turns

    def _user(self, message: Message) -> list[dict[str, Any]]:
        blocks = [self._result(result) for result in message.tool_results]
        blocks += self._content(message.content)
        return blocks or [{"type": "text", "text": ""}]  # refused by the server, aloud, as it should be

    def _assistant(self, message: Message) -> list[dict[str, Any]]:
        if message.echo is not None and message.echo.source == self.name:
            return list(message.echo.data)
        text = text_only(message.content, "an assistant's turn")
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        blocks += (
            {"type": "tool_use", "id": _id(call.id), "name": call.name, "input": _object(call.arguments)}
            for call in message.tool_calls
        )
        return blocks

    def _content(self, content: Content) -> list[dict[str, Any]]:
        return [
            {
                "type": "image",
                "source": {"type": "base64", "media_type": part.mime_type, "data": image_data(part, self.name)},
            }
            if isinstance(part, MediaPart)
            else {"type": "text", "text": part.text}
            for part in parts_of(content)
        ]

    def _result(self, result: ToolResult) -> dict[str, Any]:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": _id(result.call_id)}
        if result.content:
            plain = isinstance(result.content, str)
            block["content"] = result.content if plain else self._content(result.content)
        if result.is_error:
            block["is_error"] = True
        return block

    def _tools(self, request: ChatRequest) -> list[dict[str, Any]]:
        """The tools; strict as far as a request has room for it."""
        strict, optional, unions = _STRICT_ROOM
        if self.holds(request):
            used = _freedom(self.output_schema(request))
            optional, unions = optional - used[0], unions - used[1]
        tools = []
        for tool in request.tools:
            made: dict[str, Any] = {"name": tool.name, "input_schema": tool.parameters}
            if tool.description:
                made["description"] = tool.description
            lowered = self.lowerings.find(tool.parameters) if self.endpoint.strict_tools and strict else None
            if lowered is not None:
                used = _freedom(lowered.schema)
                if used[0] <= optional and used[1] <= unions:
                    strict, optional, unions = strict - 1, optional - used[0], unions - used[1]
                    made |= {"input_schema": lowered.schema, "strict": True}
            tools.append(made)
        return tools

    # --- in -------------------------------------------------------------------------------------------------------

    def trouble(self, body: Any) -> Trouble:
        """What the body of a failure says."""
        return trouble_of(body)

    def whole(self, body: Any, headers: Mapping[str, str], request: ChatRequest) -> Reply:
        """The reply that a whole answer says."""
        if isinstance(body, dict) and (body.get("error") or body.get("type") == "error"):
            raise self.failed(body, headers)
        content = body.get("content") if isinstance(body, dict) else None
        if not isinstance(content, list):
            raise without_reply(self.name, self.model, "content")
        blocks = [block for block in content if isinstance(block, dict)]
        text = "".join(said(block.get("text")) for block in blocks if block.get("type") == "text")
        uses = (block for block in blocks if block.get("type") == "tool_use")
        calls = tuple(call_of(block, number) for number, block in enumerate(uses))
        stop = STOPS.get(said(body.get("stop_reason")))
        if stop == "refusal" and not text:
            text = explanation(body.get("stop_details"))
        text, calls = self.restored(text, calls, request)
        usage = body.get("usage")
        return Reply(
            text,
            stop,
            reasoning="".join(said(block.get("thinking")) for block in blocks if block.get("type") == "thinking"),
            usage=_usage(usage) if isinstance(usage, dict) else None,
            model=said(body.get("model")) or None,
            request_id=headers.get("request-id") or said(body.get("id")) or None,
            tool_calls=calls,
            echo=self._echo(blocks),
        )

    def _echo(self, blocks: list[dict[str, Any]]) -> Echo | None:
        if all(said(block.get("type")) in _PLAIN for block in blocks):
            return None
        # the server writes an empty text now and then, and does not take it back
        kept = (block for block in blocks if block.get("type") != "text" or block.get("text"))
        return Echo(self.name, [{**b, "input": _object(b["input"])} if "input" in b else b for b in kept])


def trouble_of(body: Any) -> Trouble:
    """What an error body says."""
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, str):  # a gateway in between
        return Trouble(text=error)
    if not isinstance(error, dict):
        return Trouble()
    details = object_of(error.get("details"))
    codes = (details.get("error_code"), error.get("type"))
    return Trouble(tuple(code for code in codes if isinstance(code, str)), said(error.get("message")))


def _tool_choice(request: ChatRequest) -> dict[str, Any]:
    choice = request.tool_choice
    made: dict[str, Any]
    if isinstance(choice, NamedTool):
        made = {"type": "tool", "name": choice.name}
    else:
        made = {"type": "any" if choice == "required" else choice}
    if request.parallel_tool_calls is not None and choice != "none":
        made["disable_parallel_tool_use"] = not request.parallel_tool_calls
    return made


def _freedom(schema: Any) -> tuple[int, int]:
    """How many optional keys and how many unions a lowered schema holds."""
    if not isinstance(schema, Mapping):
        return 0, 0
    properties = object_of(schema.get("properties"))
    optional = len(properties) - len(schema.get("required", ())) if properties else 0
    unions = int("anyOf" in schema or isinstance(schema.get("type"), list))
    inner = [*properties.values(), *schema.get("anyOf", ()), schema.get("items")]
    counts = [_freedom(part) for part in inner]
    return optional + sum(o for o, _ in counts), unions + sum(u for _, u in counts)


def _id(call_id: str) -> str:
    """An id as this wire takes it: those of other providers may hold dots and colons."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", call_id)


def _object(arguments: Any) -> Any:
    """A tool's input as this wire takes it back: an object. Text that is none is wrapped as its guide proposes.

    https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming
    """
    return arguments if isinstance(arguments, Mapping) else {"INVALID_JSON": arguments}


def _usage(usage: Mapping[str, Any]) -> Usage:
    read = count(usage.get("cache_read_input_tokens"))  # the input tokens are those that the cache had no part in
    written = count(usage.get("cache_creation_input_tokens"))
    return Usage(
        count(usage.get("input_tokens")) + read + written,
        count(usage.get("output_tokens")),
        read,
        count(object_of(usage.get("output_tokens_details")).get("thinking_tokens")),
    )
