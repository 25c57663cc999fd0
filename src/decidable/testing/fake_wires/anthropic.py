"""The server's side of Anthropic's Messages API: what a request says, and how a reply looks on the wire."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

from decidable.content import Content, MediaPart, TextPart
from decidable.messages import ChatRequest, Message, Reply, Sampling, ToolChoice, Usage
from decidable.tools import NamedTool, ToolCall, ToolResult, ToolSpec

__all__ = ["answer", "asked", "events", "failure"]

_STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "refusal": "refusal",
    "content_filter": "refusal",
}

_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}

_PIECE = 7
"""Characters in a piece of a stream."""


def asked(path: str, body: Mapping[str, Any]) -> ChatRequest:  # noqa: ARG001 - other wires need it
    """What a request's body says."""
    names: dict[str, str] = {}
    config = body.get("output_config", {})
    choice = body.get("tool_choice", {"type": "auto"})
    serial = choice.get("disable_parallel_tool_use")
    kinds: dict[str, ToolChoice] = {"auto": "auto", "any": "required", "none": "none"}
    return ChatRequest(
        tuple(_message(turn, names) for turn in body["messages"]),
        body.get("system"),
        body["model"],
        config["format"]["schema"] if "format" in config else None,
        config.get("effort"),
        tuple(ToolSpec(t["name"], t.get("description", ""), t["input_schema"]) for t in body.get("tools", ())),
        NamedTool(choice["name"]) if choice["type"] == "tool" else kinds[choice["type"]],
        None if serial is None else not serial,
        Sampling(
            temperature=body.get("temperature"),
            top_p=body.get("top_p"),
            max_tokens=body["max_tokens"],
            stop=tuple(body.get("stop_sequences", ())),
        ),
    )


def answer(reply: Reply, model: str) -> dict[str, Any]:
    """A complete body that says `reply`; reasoning comes signed, as the wire sends it."""
    content = reply.echo.data if reply.echo is not None else _content(reply)
    usage = reply.usage or Usage()
    stop = _STOPS[reply.stop or ("tool_calls" if reply.tool_calls else "stop")]
    details = {"type": "refusal", "category": None, "explanation": None} if stop == "refusal" else None
    return {
        "id": reply.request_id or "msg_01FakeFakeFakeFakeFakeFake",
        "type": "message",
        "role": "assistant",
        "model": reply.model or model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "stop_details": details,
        "usage": {
            "input_tokens": max(0, usage.input_tokens - usage.cached_tokens),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": usage.cached_tokens,
            "output_tokens": usage.output_tokens,
            "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens},
            "service_tier": "standard",
        },
    }


def events(reply: Reply, model: str) -> Iterator[tuple[str, str]]:
    """The same reply as server-sent events: pairs of name and data."""
    whole = answer(reply, model)
    begun = {**whole, "content": [], "stop_reason": None, "stop_details": None}
    yield _event("message_start", message={**begun, "usage": {**whole["usage"], "output_tokens": 1}})
    yield _event("ping")
    texts = {call.id: call.arguments for call in reply.tool_calls if isinstance(call.arguments, str)}
    for index, block in enumerate(whole["content"]):
        empty: dict[str, Any] = {name: "" for name in ("text", "thinking", "signature") if name in block}
        if block["type"] == "tool_use":
            empty["input"] = {}
        yield _event("content_block_start", index=index, content_block={**block, **empty})
        for delta in _deltas(block, texts):
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    ended = {name: whole[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
    yield _event("message_delta", delta=ended, usage=whole["usage"])
    yield _event("message_stop")


def failure(status: int, code: str, message: str) -> dict[str, Any]:
    """An error's body; without a code, the one that belongs to the status."""
    kind = code or _TYPES.get(status) or ("api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011FakeFakeFakeFake"}


def _message(turn: Mapping[str, Any], names: dict[str, str]) -> Message:
    """One turn; `names` gathers the calls' tools, since a result tells only the id."""
    content = turn["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    calls = tuple(ToolCall(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use")
    names.update((call.id, call.name) for call in calls)
    results = tuple(_result(block, names) for block in blocks if block["type"] == "tool_result")
    return Message(turn["role"], _words(blocks), calls, results)


def _result(block: Mapping[str, Any], names: Mapping[str, str]) -> ToolResult:
    call_id = block["tool_use_id"]
    return ToolResult(call_id, names.get(call_id, ""), _words(block.get("content", "")), block.get("is_error", False))


def _words(content: Any) -> Content:
    """The text of a content, or its parts where it holds images."""
    if isinstance(content, str):
        return content
    parts = [
        TextPart(block["text"])
        if block["type"] == "text"
        else MediaPart("image", b64decode(block["source"]["data"]), block["source"]["media_type"])
        for block in content
        if block["type"] in ("text", "image")
    ]
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    return "\n\n".join(texts) if len(texts) == len(parts) else tuple(parts)


def _content(reply: Reply) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.reasoning:
        blocks.append({"type": "thinking", "thinking": reply.reasoning, "signature": "ZmFrZSBzaWduYXR1cmU="})
    if reply.text:
        blocks.append({"type": "text", "text": reply.text, "citations": None})
    for call in reply.tool_calls:
        given = {"INVALID_JSON": call.arguments} if isinstance(call.arguments, str) else call.arguments
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": given})
    return blocks


def _deltas(block: Mapping[str, Any], texts: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    if block["type"] == "tool_use":
        given = texts.get(block["id"]) or json.dumps(block["input"])
        yield from ({"type": "input_json_delta", "partial_json": piece} for piece in ("", *_cut(given)))
    for name in ("text", "thinking"):
        yield from ({"type": f"{name}_delta", name: piece} for piece in _cut(block.get(name, "")))
    if "signature" in block:
        yield {"type": "signature_delta", "signature": block["signature"]}


def _cut(text: str) -> list[str]:
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]


def _event(kind: str, **fields: Any) -> tuple[str, str]:
    return kind, json.dumps({"type": kind, **fields})
