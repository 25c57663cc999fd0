"""A streamed answer on Gemini's wire: chunks put together to the answer that they are the pieces of.

https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from decidable.deltas import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from decidable.messages import ChatRequest, Reply
from decidable.providers.wires.codec import Whole, json_of
from decidable.providers.wires.common import arguments_of, list_of, object_of, objects_of, said
from decidable.providers.wires.failures import broken_off
from decidable.tools import ToolCall

__all__ = ["ContentStream", "blocked", "call_of", "calls_in", "failed", "parts_in"]


class ContentStream:
    """Puts the chunks of one reply together, in the form of an answer that was not streamed."""

    def __init__(self, codec: Whole, headers: Mapping[str, str], request: ChatRequest) -> None:
        self._codec = codec
        self._headers = headers
        self._request = request
        self._top: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._parts: list[dict[str, Any]] = []
        self._calls = 0
        self._logprobs: dict[str, list[Any]] = {}
        self._finish = ""

    def feed(self, event: str, data: str) -> Iterable[Delta]:
        """What one event adds."""
        codec = self._codec
        chunk = json_of(data.encode("utf-8", "surrogatepass"), codec.name)
        if failed(chunk) or event == "error":
            raise codec.failed(chunk, self._headers)
        if not isinstance(chunk, dict):
            return ()
        for key in ("modelVersion", "responseId", "promptFeedback"):
            if chunk.get(key):
                self._top[key] = chunk[key]
        self._usage.update(object_of(chunk.get("usageMetadata")))  # each chunk counts from the beginning
        candidate = object_of(next(iter(list_of(chunk.get("candidates"))), None))
        self._finish = said(candidate.get("finishReason")) or self._finish
        for key, places in object_of(candidate.get("logprobsResult")).items():
            self._logprobs.setdefault(key, []).extend(list_of(places))
        return [delta for part in parts_in(candidate) for delta in self._add(part)]

    def _add(self, part: dict[str, Any]) -> list[Delta]:
        last = self._parts[-1] if self._parts else {}
        if _plain(part) and _plain(last) and part.get("thought") == last.get("thought"):
            last["text"] += part["text"]
        else:
            self._parts.append(dict(part))
        found: list[Delta] = []
        if text := said(part.get("text")):
            found.append(ReasoningDelta(text) if part.get("thought") is True else TextDelta(text))
        for called in calls_in([part]):  # a call comes whole
            call = call_of(called, self._calls)
            arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
            found.append(ToolCallDelta(self._calls, arguments, call.id, call.name))
            self._calls += 1
        return found

    def finish(self) -> Reply:
        """The whole reply."""
        codec = self._codec
        if not self._finish and not blocked(self._top):
            raise broken_off(codec.name, codec.model)
        candidate = {
            "content": {"parts": self._parts},
            "finishReason": self._finish or "PROHIBITED_CONTENT",
            "logprobsResult": self._logprobs,
        }
        body = {**self._top, "candidates": [candidate], "usageMetadata": self._usage or None}
        return codec.whole(body, self._headers, self._request)


def failed(body: Any) -> bool:
    """Whether a body says that the provider failed; that of a stream may stand in a list."""
    return bool(object_of(next(iter(body), None) if isinstance(body, list) else body).get("error"))


def blocked(body: Any) -> bool:
    """Whether the prompt was held back, so that there is no candidate."""
    return bool(object_of(object_of(body).get("promptFeedback")).get("blockReason"))


def parts_in(candidate: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parts of a candidate."""
    return objects_of(object_of(candidate.get("content")).get("parts"))


def calls_in(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls among parts."""
    return [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict)]


def _plain(part: Mapping[str, Any]) -> bool:
    """Whether it is text and nothing else; a signature belongs to its own part, and keeps it apart."""
    return isinstance(part.get("text"), str) and part.keys() <= {"text", "thought"}


def call_of(called: Mapping[str, Any], number: int) -> ToolCall:
    """A call, the `number`th of its reply."""
    return ToolCall(
        said(called.get("id")) or f"call_{number}", said(called.get("name")), arguments_of(called.get("args"))
    )
