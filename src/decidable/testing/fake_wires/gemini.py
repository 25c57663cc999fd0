"""The server's side of Google's generateContent: what a request says, and how a reply looks on the wire."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

from decidable.content import Content, MediaPart, TextPart
from decidable.messages import ChatRequest, Message, Reply, Sampling, ToolChoice, Usage
from decidable.tools import NamedTool, ToolCall, ToolResult, ToolSpec

__all__ = ["answer", "asked", "events", "failure"]

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_PIECE = 7
"""Characters in a piece of a stream."""


def asked(path: str, body: Mapping[str, Any]) -> ChatRequest:
    """What a request's path and body say."""
    model = re.search(r"(?:models/|(?=tunedModels/))([^:?]+):", path)
    config = body.get("generationConfig", {})
    calling = body.get("toolConfig", {}).get("functionCallingConfig", {})
    kinds: dict[str, ToolChoice] = {"AUTO": "auto", "ANY": "required", "NONE": "none"}
    allowed = calling.get("allowedFunctionNames")
    level = config.get("thinkingConfig", {}).get("thinkingLevel")
    calls: list[ToolCall] = []
    return ChatRequest(
        tuple(_message(turn, calls) for turn in body["contents"]),
        "".join(part["text"] for part in body["systemInstruction"]["parts"]) if "systemInstruction" in body else None,
        model[1] if model else None,
        config.get("responseJsonSchema"),
        level.lower() if level else None,
        tuple(
            ToolSpec(tool["name"], tool.get("description", ""), tool["parametersJsonSchema"])
            for tools in body.get("tools", ())
            for tool in tools["functionDeclarations"]
        ),
        NamedTool(allowed[0]) if allowed else kinds[calling.get("mode", "AUTO")],
        sampling=Sampling(
            temperature=config.get("temperature"),
            top_p=config.get("topP"),
            max_tokens=config.get("maxOutputTokens"),
            stop=tuple(config.get("stopSequences", ())),
            seed=config.get("seed"),
            top_logprobs=config.get("logprobs", 0) if config.get("responseLogprobs") else None,
        ),
    )


def answer(reply: Reply, model: str) -> dict[str, Any]:
    """A complete body that says `reply`. Text in place of a call's arguments is a call that the server gives up on."""
    spoiled = any(isinstance(call.arguments, str) for call in reply.tool_calls)
    reason = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}.get(reply.stop or "stop", "STOP")
    candidate: dict[str, Any] = {"finishReason": "MALFORMED_FUNCTION_CALL" if spoiled else reason, "index": 0}
    if not spoiled and (parts := _parts(reply)):
        candidate = {"content": {"parts": parts, "role": "model"}, **candidate}
    if reply.tokens:
        candidate["avgLogprobs"] = sum(token.logprob for token in reply.tokens) / len(reply.tokens)
        candidate["logprobsResult"] = {
            "chosenCandidates": [_likely(token.text, token.logprob) for token in reply.tokens],
            "topCandidates": [{"candidates": [_likely(*one) for one in token.top]} for token in reply.tokens],
        }
    return {
        "candidates": [candidate],
        "usageMetadata": _usage(reply.usage or Usage()),
        "modelVersion": reply.model or model,
        "responseId": reply.request_id or "fakeFakeFakeFakeFake",
    }


def events(reply: Reply, model: str) -> Iterator[tuple[str, str]]:
    """The same reply as server-sent events, which have no names; a call comes whole, as it does from the server."""
    whole = answer(reply, model)
    candidate = whole["candidates"][0]
    usage = {name: n for name, n in whole["usageMetadata"].items() if name.startswith("prompt")}
    for piece in [piece for part in candidate.get("content", {}).get("parts", ()) for piece in _cut(part)]:
        begun = {"content": {"parts": [piece], "role": "model"}, "index": 0}
        yield "", json.dumps({**whole, "candidates": [begun], "usageMetadata": usage})
    yield (
        "",
        json.dumps({**whole, "candidates": [{**candidate, "content": {"parts": [{"text": ""}], "role": "model"}}]}),
    )


def failure(status: int, code: str, message: str) -> dict[str, Any]:
    """An error's body. A code that is no status of Google's is the reason in its details, e.g. ``API_KEY_INVALID``."""
    known = code in _STATUSES.values() or code == "FAILED_PRECONDITION"
    error: dict[str, Any] = {
        "code": status,
        "message": message,
        "status": code if known else _STATUSES.get(status, "UNKNOWN"),
    }
    if code and not known:
        reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": code, "domain": "googleapis.com"}
        error["details"] = [{**reason, "metadata": {"service": "generativelanguage.googleapis.com"}}]
    return {"error": error}


def _message(turn: Mapping[str, Any], open_calls: list[ToolCall]) -> Message:
    """One turn; `open_calls` holds the calls that still want a result, which without an id go by name and order."""
    parts = turn["parts"]
    words = _words([part for part in parts if not part.get("thought")])
    if turn["role"] == "model":
        called = [part["functionCall"] for part in parts if "functionCall" in part]
        calls = tuple(ToolCall(c.get("id", f"call_{n}"), c["name"], c.get("args", {})) for n, c in enumerate(called))
        open_calls[:] = calls
        return Message("assistant", words, calls)
    results = []
    for given in (part["functionResponse"] for part in parts if "functionResponse" in part):
        mine = (c for c in open_calls if c.name == given["name"] and given.get("id", c.id) == c.id)
        call = next(mine, ToolCall(given.get("id", ""), given["name"], {}))
        open_calls[:] = [c for c in open_calls if c is not call]
        said = given["response"]
        results.append(ToolResult(call.id, call.name, said.get("error", said.get("output", "")), "error" in said))
    return Message("user", words, tool_results=tuple(results))


def _words(parts: list[Mapping[str, Any]]) -> Content:
    """The text of a turn, or its parts where it holds images."""
    found = [
        TextPart(part["text"])
        if "text" in part
        else MediaPart("image", b64decode(part["inlineData"]["data"]), part["inlineData"]["mimeType"])
        for part in parts
        if "text" in part or "inlineData" in part
    ]
    texts = [part.text for part in found if isinstance(part, TextPart)]
    return "\n\n".join(texts) if len(texts) == len(found) else tuple(found)


def _parts(reply: Reply) -> list[dict[str, Any]]:
    if reply.echo is not None:
        return list(reply.echo.data)
    parts: list[dict[str, Any]] = [{"text": reply.reasoning, "thought": True}] if reply.reasoning else []
    parts += [{"text": reply.text}] if reply.text else []
    for number, call in enumerate(reply.tool_calls):
        named = {} if call.id == f"call_{number}" else {"id": call.id}  # what the codec calls a call that has no id
        parts.append({"functionCall": {"name": call.name, "args": call.arguments, **named}})
    return parts


def _cut(part: dict[str, Any]) -> list[dict[str, Any]]:
    text = part.get("text", "")
    if "thoughtSignature" in part or len(text) <= _PIECE:
        return [part]
    return [{**part, "text": text[start : start + _PIECE]} for start in range(0, len(text), _PIECE)]


def _usage(usage: Usage) -> dict[str, Any]:
    counts = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": max(0, usage.output_tokens - usage.reasoning_tokens),
        "totalTokenCount": usage.input_tokens + usage.output_tokens,
        "cachedContentTokenCount": usage.cached_tokens,
        "thoughtsTokenCount": usage.reasoning_tokens,
    }
    told = {name: n for name, n in counts.items() if n or name in ("promptTokenCount", "totalTokenCount")}
    return {**told, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": usage.input_tokens}]}


def _likely(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "tokenId": sum(text.encode()), "logProbability": logprob}
