"""A streamed answer on the chat wire: chunks put together to the answer that they are the pieces of.

https://platform.openai.com/docs/api-reference/chat-streaming
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from decidable.deltas import Delta, ReasoningDelta, TextDelta
from decidable.messages import ChatRequest, Reply
from decidable.providers.wires.codec import Whole, json_of
from decidable.providers.wires.common import list_of, object_of, objects_of, said
from decidable.providers.wires.failures import broken_off
from decidable.providers.wires.tool_deltas import ToolCallAssembly

__all__ = ["ChatStream", "tells_failure", "words_of"]


class ChatStream:
    """Puts the chunks of one reply together, in the form of an answer that was not streamed."""

    def __init__(self, codec: Whole, headers: Mapping[str, str], request: ChatRequest) -> None:
        self._codec = codec
        self._headers = headers
        self._request = request
        self._top: dict[str, Any] = {}
        self._pieces: dict[str, list[str]] = {}
        self._calls = ToolCallAssembly()
        self._details: list[dict[str, Any]] = []
        self._logprobs: list[Any] = []
        self._finish: str | None = None
        self._done = False

    def feed(self, event: str, data: str) -> Iterable[Delta]:
        """What one event adds."""
        if data.strip() == "[DONE]":
            self._done = True
            return ()
        codec = self._codec
        chunk = json_of(data.encode("utf-8", "surrogatepass"), codec.name)
        if event == "error" or tells_failure(chunk):
            raise codec.failed(chunk, self._headers)
        chunk = object_of(chunk)
        self._top.update({key: chunk[key] for key in ("id", "model", "usage") if chunk.get(key)})
        choice = next((one for one in objects_of(chunk.get("choices")) if not one.get("index")), {})
        if tells_failure(choice):
            raise codec.failed(choice, self._headers)
        self._finish = said(choice.get("finish_reason")) or self._finish
        self._logprobs += list_of(object_of(choice.get("logprobs")).get("content"))
        return self._deltas(object_of(choice.get("delta") or choice.get("message")))

    def _deltas(self, delta: Mapping[str, Any]) -> list[Delta]:
        text, thought = words_of(delta.get("content"))
        thoughts = {"thinking": thought, **{name: said(delta.get(name)) for name in ("reasoning_content", "reasoning")}}
        words = {"content": text, "refusal": said(delta.get("refusal"))}
        found: list[Delta] = []
        if piece := next(filter(None, thoughts.values()), ""):  # once: some servers spell it both ways
            found.append(ReasoningDelta(piece))
        for name, piece in words.items():
            if piece and not (name == "refusal" and "content" in self._pieces):  # which is not the text, then
                found.append(TextDelta(piece))
            self._add(name, piece)
        for name, piece in thoughts.items():
            self._add(name, piece)
        self._details += objects_of(delta.get("reasoning_details"))
        return found + [self._called(call) for call in objects_of(delta.get("tool_calls"))]

    def _add(self, name: str, piece: str) -> None:
        if piece:
            self._pieces.setdefault(name, []).append(piece)

    def _called(self, call: Mapping[str, Any]) -> Delta:
        function = object_of(call.get("function"))
        arguments, index = function.get("arguments"), call.get("index")
        return self._calls.add(
            index if isinstance(index, int) else None,
            said(call.get("id")),
            said(function.get("name")),
            json.dumps(arguments) if isinstance(arguments, dict) else said(arguments),
        )

    def finish(self) -> Reply:
        """The whole reply."""
        if self._finish is None and not self._done:
            raise broken_off(self._codec.name, self._codec.model)
        message: dict[str, Any] = {name: "".join(pieces) for name, pieces in self._pieces.items()}
        if thought := message.pop("thinking", ""):
            words = {"type": "text", "text": message.get("content", "")}
            message["content"] = [{"type": "thinking", "thinking": thought}, words]
        if self._details:
            message["reasoning_details"] = _joined(self._details)
        message["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
            for call in self._calls.calls()
        ]
        logprobs = {"content": self._logprobs} if self._logprobs else None
        choice = {"message": message, "finish_reason": self._finish, "logprobs": logprobs}
        return self._codec.whole({**self._top, "choices": [choice]}, self._headers, self._request)


def tells_failure(body: Any) -> bool:
    """Whether an answer, a chunk of one or a choice says that the provider failed."""
    said_so = object_of(body)
    return bool(said_so.get("error")) or said_so.get("object") == "error"


_PIECED = {"reasoning.text": "text", "reasoning.summary": "summary"}


def _joined(details: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """OpenRouter's reasoning details, of which text and summaries come in pieces, and the signature in the last.

    https://openrouter.ai/docs/use-cases/reasoning-tokens
    """
    whole: list[dict[str, Any]] = []
    for (kind, _), group in groupby(details, key=lambda detail: (said(detail.get("type")), detail.get("index"))):
        pieces = list(group)
        if (name := _PIECED.get(kind)) is None:
            whole += pieces
            continue
        known = {key: value for piece in pieces for key, value in piece.items() if value is not None}
        whole.append({**pieces[0], **known, name: "".join(said(piece.get(name)) for piece in pieces)})
    return whole


def words_of(content: Any) -> tuple[str, str]:
    """The text and the reasoning in a message's content; Mistral's reasoning models send a list of chunks."""
    if isinstance(content, str):
        return content, ""
    text, reasoning = [], []
    for chunk in objects_of(content):
        if chunk.get("type") == "text":
            text.append(said(chunk.get("text")))
        elif chunk.get("type") == "thinking":
            inner = chunk.get("thinking")
            reasoning.append(said(inner) or "".join(said(part.get("text")) for part in objects_of(inner)))
    return "".join(text), "".join(reasoning)
