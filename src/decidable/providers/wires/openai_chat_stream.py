"""A streamed answer on the chat wire: chunks put together to the answer that they are the pieces of.

https://platform.openai.com/docs/api-reference/chat-streaming
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from decidable.deltas import Delta, ReasoningDelta, TextDelta
from decidable.messages import ChatRequest, Reply
from decidable.providers.wires.codec import Whole, broken_off, json_of
from decidable.providers.wires.common import list_of, object_of, objects_of, said
from decidable.providers.wires.tool_deltas import ToolCallAssembly

__all__ = ["ChatStream", "words_of"]


class ChatStream:
    """Puts the chunks of one reply together, in the form of an answer that was not streamed."""

    def __init__(self, codec: Whole, headers: Mapping[str, str], request: ChatRequest) -> None:
        self._codec = codec
        self._headers = headers
        self._request = request
        self._top: dict[str, Any] = {}
        self._pieces: dict[str, list[str]] = {}
        self._calls = ToolCallAssembly()
        self._details: list[Any] = []
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
        if not isinstance(chunk, dict):
            return ()
        if chunk.get("error") or event == "error":
            raise codec.failed(chunk, self._headers)
        for key in ("id", "model", "usage"):
            if chunk.get(key):
                self._top[key] = chunk[key]
        choice = next(iter(objects_of(chunk.get("choices"))), {})
        self._finish = said(choice.get("finish_reason")) or self._finish
        self._logprobs += list_of(object_of(choice.get("logprobs")).get("content"))
        return self._deltas(object_of(choice.get("delta") or choice.get("message")))

    def _deltas(self, delta: Mapping[str, Any]) -> list[Delta]:
        text, thought = words_of(delta.get("content"))
        thought = thought or said(delta.get("reasoning_content")) or said(delta.get("reasoning"))  # some send both
        pieces = (("reasoning_content", thought), ("content", text), ("refusal", said(delta.get("refusal"))))
        found: list[Delta] = []
        for name, piece in pieces:
            if piece:
                self._pieces.setdefault(name, []).append(piece)
                found.append(ReasoningDelta(piece) if name == "reasoning_content" else TextDelta(piece))
        self._details += list_of(delta.get("reasoning_details"))
        return found + [self._called(call) for call in objects_of(delta.get("tool_calls"))]

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
        if self._details:
            message["reasoning_details"] = self._details
        message["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
            for call in self._calls.calls()
        ]
        logprobs = {"content": self._logprobs} if self._logprobs else None
        choice = {"message": message, "finish_reason": self._finish, "logprobs": logprobs}
        return self._codec.whole({**self._top, "choices": [choice]}, self._headers, self._request)


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
