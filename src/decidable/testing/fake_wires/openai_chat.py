"""The server's side of OpenAI's Chat Completions: what a request says, and how a reply looks on the wire."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

from decidable.content import Content, MediaPart, TextPart
from decidable.messages import ChatRequest, Message, Reply, Sampling, ToolChoice, Usage
from decidable.tools import NamedTool, Token, ToolCall, ToolResult, ToolSpec

__all__ = ["answer", "asked", "events", "failure"]

_STOPS = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "refusal": "stop",
    "content_filter": "content_filter",
}
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_PIECE = 7
"""Characters in a piece of a stream."""


def asked(path: str, body: Mapping[str, Any]) -> ChatRequest:  # noqa: ARG001 - other wires need it
    """What a request's body says."""
    wanted = body.get("response_format", {})
    choice = body.get("tool_choice", "auto")
    kinds: dict[str, ToolChoice] = {"auto": "auto", "required": "required", "any": "required", "none": "none"}
    turns = [turn for turn in body["messages"] if turn["role"] != "system"]
    system = [turn["content"] for turn in body["messages"] if turn["role"] == "system"]
    functions = [tool["function"] for tool in body.get("tools", ())]
    return ChatRequest(
        tuple(_messages(turns)),
        system[0] if system else None,
        body["model"],
        wanted["json_schema"]["schema"] if "json_schema" in wanted else None,
        body.get("reasoning_effort"),
        tuple(ToolSpec(f["name"], f.get("description", ""), f["parameters"]) for f in functions),
        NamedTool(choice["function"]["name"]) if isinstance(choice, dict) else kinds[choice],
        body.get("parallel_tool_calls"),
        Sampling(
            temperature=body.get("temperature"),
            top_p=body.get("top_p"),
            max_tokens=body.get("max_completion_tokens", body.get("max_tokens")),
            stop=tuple(body.get("stop", ())),
            seed=body.get("seed", body.get("random_seed")),
            top_logprobs=body.get("top_logprobs"),
        ),
    )


def answer(reply: Reply, model: str) -> dict[str, Any]:
    """A complete body that says `reply`."""
    choice: dict[str, Any] = {
        "index": 0,
        "message": _message(reply),
        "logprobs": _logprobs(reply.tokens),
        "finish_reason": _STOPS[reply.stop or ("tool_calls" if reply.tool_calls else "stop")],
    }
    return {**_top(reply, model), "object": "chat.completion", "choices": [choice], "usage": _usage(reply)}


def events(reply: Reply, model: str) -> Iterator[tuple[str, str]]:
    """The same reply as server-sent events: pairs of name and data."""
    top = {**_top(reply, model), "object": "chat.completion.chunk", "usage": None}
    whole = answer(reply, model)["choices"][0]
    message = whole["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": "", "refusal": None}]
    for name in ("reasoning_content", "content", "refusal"):
        deltas += ({name: piece} for piece in _cut(message.get(name) or ""))
    deltas += ({"reasoning_details": [detail]} for detail in message.get("reasoning_details", ()))
    for index, call in enumerate(message.get("tool_calls", ())):
        function = {"name": call["function"]["name"], "arguments": ""}
        deltas.append({"tool_calls": [{**call, "index": index, "function": function}]})
        pieces = _cut(call["function"]["arguments"])
        deltas += ({"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces)
    for number, delta in enumerate(deltas):
        logprobs = whole["logprobs"] if number == 0 else None
        choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": None}
        yield "", json.dumps({**top, "choices": [choice]})
    end = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": whole["finish_reason"]}
    yield "", json.dumps({**top, "choices": [end]})
    yield "", json.dumps({**top, "choices": [], "usage": _usage(reply)})
    yield "", "[DONE]"


def failure(status: int, code: str, message: str) -> dict[str, Any]:
    """An error's body; without a code, the one that belongs to the status."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code or _CODES.get(status)}}


def _messages(turns: list[Mapping[str, Any]]) -> Iterator[Message]:
    names: dict[str, str] = {}
    results: list[ToolResult] = []
    for turn in [*turns, {"role": "end"}]:
        if turn["role"] == "tool":
            call_id = turn["tool_call_id"]
            results.append(ToolResult(call_id, names.get(call_id, ""), _words(turn["content"])))
            continue
        if turn["role"] == "user":
            yield Message("user", _words(turn["content"]), (), tuple(results))
            results = []
            continue
        if results:
            yield Message("user", "", (), tuple(results))
            results = []
        if turn["role"] == "assistant":
            calls = tuple(_call(call) for call in turn.get("tool_calls") or ())
            names.update((call.id, call.name) for call in calls)
            yield Message("assistant", _words(turn["content"] or ""), calls)


def _call(call: Mapping[str, Any]) -> ToolCall:
    text = call["function"]["arguments"]
    try:
        arguments = json.loads(text)
    except ValueError:
        arguments = text
    return ToolCall(call["id"], call["function"]["name"], arguments)


def _words(content: Any) -> Content:
    """The text of a content, or its parts where it holds images."""
    if isinstance(content, str):
        return content
    parts: list[TextPart | MediaPart] = []
    for part in content:
        if part["type"] == "text":
            parts.append(TextPart(part["text"]))
        else:
            head, _, data = part["image_url"]["url"].partition(";base64,")
            parts.append(MediaPart("image", b64decode(data), head.removeprefix("data:")))
    return tuple(parts)


def _message(reply: Reply) -> dict[str, Any]:
    declined = reply.stop == "refusal"
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None if declined or (reply.tool_calls and not reply.text) else reply.text,
        "refusal": reply.text if declined else None,
        "annotations": [],
    }
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.echo is not None:
        message |= reply.echo.data
    if reply.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments),
                },
            }
            for call in reply.tool_calls
        ]
    return message


def _top(reply: Reply, model: str) -> dict[str, Any]:
    return {
        "id": reply.request_id or "chatcmpl-Fake0Fake0Fake0",
        "created": 1796083200,
        "model": reply.model or model,
        "service_tier": "default",
        "system_fingerprint": None,
    }


def _usage(reply: Reply) -> dict[str, Any]:
    usage = reply.usage or Usage()
    made: dict[str, Any] = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens, "audio_tokens": 0},
    }
    return made if reply.cost is None else {**made, "cost": reply.cost}


def _logprobs(tokens: tuple[Token, ...] | None) -> dict[str, Any] | None:
    if tokens is None:
        return None
    places = [
        {**_place(token.text, token.logprob), "top_logprobs": [_place(text, value) for text, value in token.top]}
        for token in tokens
    ]
    return {"content": places, "refusal": None}


def _place(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": list(text.encode())}


def _cut(text: str) -> list[str]:
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
