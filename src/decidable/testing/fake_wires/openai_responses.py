"""The server's side of OpenAI's Responses: what a request says, and how a reply looks on the wire."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from decidable.content import Content, MediaPart, TextPart
from decidable.messages import ChatRequest, Message, Reply, Sampling, Usage
from decidable.tools import NamedTool, Token, ToolCall, ToolResult, ToolSpec

__all__ = ["answer", "asked", "events", "failure"]

_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_PLACES: dict[str, dict[str, Any]] = {
    "response.output_text.delta": {"content_index": 0, "logprobs": []},
    "response.refusal.delta": {"content_index": 0},
    "response.reasoning_summary_text.delta": {"summary_index": 0},
}
"""What an event says of its place, beside the item."""

_PIECE = 7
"""Characters in a piece of a stream."""


def asked(path: str, body: Mapping[str, Any]) -> ChatRequest:  # noqa: ARG001 - other wires need it
    """What a request's body says."""
    form = body.get("text", {}).get("format", {})
    choice = body.get("tool_choice", "auto")
    return ChatRequest(
        tuple(_messages(body["input"])),
        body.get("instructions"),
        body["model"],
        form.get("schema"),
        body.get("reasoning", {}).get("effort"),
        tuple(ToolSpec(t["name"], t.get("description", ""), t["parameters"]) for t in body.get("tools", ())),
        NamedTool(choice["name"]) if isinstance(choice, dict) else choice,
        body.get("parallel_tool_calls"),
        Sampling(
            temperature=body.get("temperature"),
            top_p=body.get("top_p"),
            max_tokens=body.get("max_output_tokens"),
            top_logprobs=body.get("top_logprobs"),
        ),
    )


def answer(reply: Reply, model: str) -> dict[str, Any]:
    """A complete body that says `reply`; reasoning comes encrypted too, as the wire sends it."""
    cut = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(reply.stop or "")
    usage = reply.usage or Usage()
    return {
        "id": reply.request_id or "resp_0f4ake0f4ake0f4ake",
        "object": "response",
        "created_at": 1796083200,
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": cut} if cut else None,
        "instructions": None,
        "metadata": {},
        "model": reply.model or model,
        "output": reply.echo.data if reply.echo is not None else _output(reply),
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": {
            "input_tokens": usage.input_tokens,
            "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
            "output_tokens": usage.output_tokens,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
            "total_tokens": usage.input_tokens + usage.output_tokens,
        },
    }


def events(reply: Reply, model: str) -> Iterator[tuple[str, str]]:
    """The same reply as server-sent events: pairs of name and data."""
    whole, numbers = answer(reply, model), count()

    def event(kind: str, **fields: Any) -> tuple[str, str]:
        return kind, json.dumps({"type": kind, "sequence_number": next(numbers), **fields})

    begun = {**whole, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for index, item in enumerate(whole["output"]):
        empty = {name: [] if isinstance(item[name], list) else "" for name in ("content", "arguments") if name in item}
        yield event("response.output_item.added", output_index=index, item={**item, **empty})
        for kind, piece in _pieces(item):
            yield event(kind, output_index=index, item_id=item["id"], delta=piece, **_PLACES.get(kind, {}))
        yield event("response.output_item.done", output_index=index, item=item)
    yield event(f"response.{whole['status']}", response=whole)


def failure(status: int, code: str, message: str) -> dict[str, Any]:
    """An error's body; without a code, the one that belongs to the status."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code or _CODES.get(status)}}


def _output(reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        items.append({"id": "rs_1", "type": "reasoning", "summary": summary, "encrypted_content": "Z0FBQUFB"})
    if reply.text or not reply.tool_calls:
        part: dict[str, Any] = {"type": "output_text", "text": reply.text, "annotations": []}
        part["logprobs"] = [_place(token) for token in reply.tokens or ()]
        if reply.stop == "refusal":
            part = {"type": "refusal", "refusal": reply.text}
        status = "incomplete" if reply.stop == "length" else "completed"
        items.append({"id": "msg_1", "type": "message", "role": "assistant", "status": status, "content": [part]})
    for number, call in enumerate(reply.tool_calls):
        text = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
        made = {"id": f"fc_{number}", "type": "function_call", "call_id": call.id, "name": call.name}
        items.append({**made, "arguments": text, "status": "completed"})
    return items


def _place(token: Token) -> dict[str, Any]:
    top = [{"token": text, "bytes": list(text.encode()), "logprob": value} for text, value in token.top]
    return {"token": token.text, "bytes": list(token.text.encode()), "logprob": token.logprob, "top_logprobs": top}


def _pieces(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    texts: list[tuple[str, str]] = []
    if item["type"] == "reasoning":
        texts = [("response.reasoning_summary_text.delta", part["text"]) for part in item["summary"]]
    elif item["type"] == "function_call":
        texts = [("response.function_call_arguments.delta", item["arguments"])]
    else:
        for part in item["content"]:
            name = "refusal" if part["type"] == "refusal" else "output_text"
            texts.append((f"response.{name}.delta", part.get("text", part.get("refusal"))))
    for kind, text in texts:
        yield from ((kind, text[start : start + _PIECE]) for start in range(0, len(text), _PIECE))


def _messages(items: Any) -> Iterator[Message]:
    """Turns out of items: calls belong to the assistant's turn before them, results to the user's after them."""
    names: dict[str, str] = {}
    role, text, calls, results = "", "", [], []  # type: ignore[var-annotated]

    def turn() -> Iterator[Message]:
        if role == "assistant":
            yield Message("assistant", text, tuple(calls))
        elif role == "user":
            yield Message("user", text, (), tuple(results))

    for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        kind = item.get("type", "message")
        owner = "user" if kind == "function_call_output" else item.get("role", "assistant")
        if owner != role or (kind == "message" and text):
            yield from turn()
            role, text, calls, results = owner, "", [], []
        if kind == "function_call":
            names[item["call_id"]] = item["name"]
            calls.append(ToolCall(item["call_id"], item["name"], _json(item["arguments"])))
        elif kind == "function_call_output":
            call_id = item["call_id"]
            results.append(ToolResult(call_id, names.get(call_id, ""), _words(item["output"])))
        elif kind == "message":
            text = _words(item["content"])  # type: ignore[assignment]
    yield from turn()


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _words(content: Any) -> Content:
    """The text of a content, or its parts where it holds images."""
    if isinstance(content, str):
        return content
    parts: list[TextPart | MediaPart] = []
    for part in content:
        if part["type"] == "input_image":
            head, _, data = part["image_url"].partition(";base64,")
            parts.append(MediaPart("image", b64decode(data), head.removeprefix("data:")))
        elif "text" in part:
            parts.append(TextPart(part["text"]))
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    return "".join(texts) if len(texts) == len(parts) else tuple(parts)
