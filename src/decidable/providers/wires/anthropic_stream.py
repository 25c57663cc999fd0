"""A streamed answer on Anthropic's wire: events put together to the answer that they are the pieces of.

https://platform.claude.com/docs/en/build-with-claude/streaming
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from decidable.deltas import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from decidable.messages import ChatRequest, Reply, StopReason
from decidable.providers.wires.codec import Whole, json_of
from decidable.providers.wires.common import arguments_of, object_of, said
from decidable.providers.wires.failures import broken_off
from decidable.tools import ToolCall

__all__ = ["STOPS", "MessageStream", "call_of", "explanation"]

STOPS: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",  # a long turn of the server's own tools, broken off so that it can be continued
    "tool_use": "tool_calls",
    "refusal": "refusal",
}


@dataclass(slots=True, eq=False)
class _Block:
    """A content block so far: as it began, and the pieces that follow."""

    begun: dict[str, Any]
    call: int
    pieces: dict[str, list[str]] = field(default_factory=dict)
    citations: list[Any] = field(default_factory=list)

    @property
    def is_call(self) -> bool:
        """Whether it is a call that the caller is to make."""
        return self.begun.get("type") == "tool_use"

    def called(self, piece: str) -> ToolCallDelta:
        """A piece of the call's arguments."""
        call = call_of(self.begun, self.call)
        return ToolCallDelta(self.call, piece, call.id, call.name)

    def whole(self) -> dict[str, Any]:
        """The block as an answer that was not streamed has it."""
        block = dict(self.begun)
        for name, pieces in self.pieces.items():
            text = "".join(pieces)
            block[name] = arguments_of(text) if name == "input" else said(block.get(name)) + text
        if self.citations:
            block["citations"] = self.citations
        return block


_PIECES = {
    "text_delta": ("text", "text", "text"),
    "thinking_delta": ("thinking", "thinking", "thinking"),
    "signature_delta": ("thinking", "signature", "signature"),
    "input_json_delta": ("tool_use", "input", "partial_json"),
}
"""Delta to the type of its block, the field of the block that it adds to, and its own field."""


class MessageStream:
    """Puts the events of one reply together, in the form of an answer that was not streamed."""

    def __init__(self, codec: Whole, headers: Mapping[str, str], request: ChatRequest) -> None:
        self._codec = codec
        self._headers = headers
        self._request = request
        self._body: dict[str, Any] = {}
        self._usage: dict[str, Any] | None = None
        self._blocks: list[_Block] = []
        self._by_index: dict[int, _Block] = {}
        self._spoken = False
        self._done = False

    def feed(self, event: str, data: str) -> Iterable[Delta]:
        """What one event adds."""
        codec = self._codec
        chunk = json_of(data.encode("utf-8", "surrogatepass"), codec.name)
        if not isinstance(chunk, dict):
            return ()
        kind = chunk.get("type") or event
        if kind == "error" or event == "error":
            raise codec.failed(chunk, self._headers)
        if kind == "message_start":
            message = object_of(chunk.get("message"))
            self._body.update(message)
            self._count(message.get("usage"))
        elif kind == "content_block_start":
            return self._begin(chunk.get("index"), object_of(chunk.get("content_block")))
        elif kind == "content_block_delta":
            return self._add(chunk.get("index"), object_of(chunk.get("delta")))
        elif kind == "message_delta":
            return self._end(object_of(chunk.get("delta")), chunk.get("usage"))
        elif kind == "message_stop":
            self._done = True
        return ()

    def _begin(self, index: Any, begun: dict[str, Any]) -> list[Delta]:
        block = _Block(begun, sum(block.is_call for block in self._blocks))
        self._blocks.append(block)
        if isinstance(index, int):
            self._by_index[index] = block
        kind = said(begun.get("type"))
        return [block.called("")] if block.is_call else self._said(kind, said(begun.get(kind)))

    def _add(self, index: Any, delta: dict[str, Any]) -> list[Delta]:
        block = self._by_index.get(index) if isinstance(index, int) else None
        if block is None:
            return []
        kind = said(delta.get("type"))
        if kind == "citations_delta":
            block.citations.append(delta.get("citation"))
        if kind not in _PIECES:
            return []
        wanted, name, source = _PIECES[kind]
        piece = said(delta.get(source))
        if not piece or (block.begun.get("type") != wanted and name != "input"):  # the server's own tools have one too
            return []
        block.pieces.setdefault(name, []).append(piece)
        return [block.called(piece)] if block.is_call else self._said(name, piece)

    def _end(self, delta: dict[str, Any], usage: Any) -> list[Delta]:
        self._body.update({name: value for name, value in delta.items() if value is not None and name != "content"})
        self._count(usage)
        if STOPS.get(said(delta.get("stop_reason"))) == "refusal" and not self._spoken:
            return self._said("text", explanation(delta.get("stop_details")))
        return []

    def _said(self, kind: str, piece: str) -> list[Delta]:
        if not piece or kind not in ("text", "thinking"):
            return []
        self._spoken = self._spoken or kind == "text"
        return [TextDelta(piece) if kind == "text" else ReasoningDelta(piece)]

    def _count(self, usage: Any) -> None:
        """Counts are sums so far; what is left out, or null, stays as it was."""
        if isinstance(usage, dict):
            self._usage = {**(self._usage or {}), **{name: n for name, n in usage.items() if n is not None}}

    def finish(self) -> Reply:
        """The whole reply."""
        if not self._done:
            raise broken_off(self._codec.name, self._codec.model)
        body = {**self._body, "content": [block.whole() for block in self._blocks], "usage": self._usage}
        return self._codec.whole(body, self._headers, self._request)


def call_of(block: Mapping[str, Any], number: int) -> ToolCall:
    """The call that a block stands for, the `number`th of its reply."""
    return ToolCall(
        said(block.get("id")) or f"call_{number}", said(block.get("name")), arguments_of(block.get("input"))
    )


def explanation(details: Any) -> str:
    """Why the model declined, in its words; empty without any."""
    return said(object_of(details).get("explanation"))
