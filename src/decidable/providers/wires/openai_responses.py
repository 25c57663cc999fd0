"""OpenAI's Responses, asked without any state kept there: every request carries the whole conversation.

https://platform.openai.com/docs/api-reference/responses
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from decidable.content import Content, MediaPart
from decidable.deltas import Delta, ReasoningDelta, TextDelta
from decidable.messages import ChatRequest, Message, Reply, StopReason, Usage
from decidable.providers.wires.base import BaseCodec
from decidable.providers.wires.codec import HttpCall, json_of
from decidable.providers.wires.common import (
    body_of,
    calls_of,
    count,
    data_url,
    logprob_of,
    object_of,
    objects_of,
    parts_of,
    said,
    sampled,
    text_only,
)
from decidable.providers.wires.dialects import OPENAI_STRICT
from decidable.providers.wires.failures import Trouble, broken_off, without_reply
from decidable.providers.wires.tool_deltas import ToolCallAssembly
from decidable.tools import Echo, NamedTool, Token, ToolCall, ToolResult, ToolSpec

__all__ = ["OpenAIResponses"]

_SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_output_tokens",
    "top_logprobs": "top_logprobs",
}
"""Settings of a request to their fields; this wire has no others."""

_CUT_SHORT: dict[str, StopReason] = {
    "max_output_tokens": "length",
    "max_messages": "length",
    "content_filter": "content_filter",
}
"""Why a response is incomplete."""

_ENDED = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
"""Events that carry the whole response and end the stream."""


class OpenAIResponses(BaseCodec):
    """Codec of the responses wire."""

    dialect = OPENAI_STRICT

    def encode(self, request: ChatRequest, *, stream: bool = False) -> HttpCall:
        """The request in this wire's form."""
        body: dict[str, Any] = {
            "model": request.model or self.model,
            "input": self._items(request),
            "store": False,  # nothing is to be found there later, so reasoning comes encrypted, to be sent back
        }
        if request.system:
            body["instructions"] = request.system
        if request.tools:
            body["tools"] = [self._tool(tool) for tool in request.tools]
            body["tool_choice"] = self._tool_choice(request)
            if request.parallel_tool_calls is not None:
                body["parallel_tool_calls"] = request.parallel_tool_calls
        if self.holds(request):
            schema, strict = self.output_schema(request), self.endpoint.strict
            form = {"type": "json_schema", "name": "reply", "schema": schema, "strict": strict}
            body["text"] = {"format": form}
        included = []
        if request.effort is not None:
            body["reasoning"] = {"effort": request.effort}
            included.append("reasoning.encrypted_content")  # refused for models that do not reason, so only here
        if request.sampling is not None:
            body.update(sampled(request.sampling, self.endpoint, _SETTINGS))
            if request.sampling.top_logprobs is not None:
                included.append("message.output_text.logprobs")
        if included:
            body["include"] = included
        if stream:
            body["stream"] = True
        return HttpCall("/responses", body_of(body, self.endpoint, self.extra), {})

    def decode_stream(self, headers: Mapping[str, str], request: ChatRequest) -> ResponseStream:
        """A decoder of the events that answer `request`."""
        return ResponseStream(self, headers, request)

    # --- out ------------------------------------------------------------------------------------------------------

    def _items(self, request: ChatRequest) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        for message in request.messages:
            if message.role == "assistant":
                items += self._assistant(message)
                continue
            items += (self._result(result) for result in message.tool_results)
            if message.content or not message.tool_results:
                items.append({"role": "user", "content": self._content(message.content)})
        return items

    def _content(self, content: Content) -> Any:
        if isinstance(content, str):
            return content
        return [
            {"type": "input_image", "detail": "auto", "image_url": data_url(part, self.name)}
            if isinstance(part, MediaPart)
            else {"type": "input_text", "text": part.text}
            for part in parts_of(content)
        ]

    def _assistant(self, message: Message) -> list[dict[str, Any]]:
        if message.echo is not None and message.echo.source == self.name:
            return list(message.echo.data)
        text = text_only(message.content, "an assistant's turn")
        items: list[dict[str, Any]] = [{"role": "assistant", "content": text}] if text else []
        items += (
            {
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments),
            }
            for call in message.tool_calls
        )
        return items

    def _result(self, result: ToolResult) -> dict[str, Any]:
        return {"type": "function_call_output", "call_id": result.call_id, "output": self._content(result.content)}

    def _tool(self, tool: ToolSpec) -> dict[str, Any]:
        lowered = self.lowerings.find(tool.parameters) if self.endpoint.strict_tools else None
        return {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters if lowered is None else lowered.schema,
            "strict": lowered is not None,
        }

    def _tool_choice(self, request: ChatRequest) -> Any:
        choice = request.tool_choice
        if isinstance(choice, NamedTool):
            return {"type": "function", "name": choice.name}
        return self.endpoint.required if choice == "required" else choice

    # --- in -------------------------------------------------------------------------------------------------------

    def trouble(self, body: Any) -> Trouble:
        """What the body of a failure says."""
        return trouble_of(body)

    def whole(self, body: Any, headers: Mapping[str, str], request: ChatRequest) -> Reply:
        """The reply that a whole answer says."""
        if not isinstance(body, dict):
            raise without_reply(self.name, self.model, "a response")
        status = body.get("status")
        if body.get("error") or status == "failed":
            raise self.failed(body, headers)
        if not isinstance(body.get("output"), list) or status in ("cancelled", "queued", "in_progress"):
            raise without_reply(self.name, self.model, "output")
        items = objects_of(body["output"])
        said_last = [item for item in items if item.get("type") == "message" and not _is_aside(item)]
        parts = [part for item in said_last for part in objects_of(item.get("content"))]
        text = "".join(said(part.get("text")) for part in parts if part.get("type") == "output_text")
        refused = "".join(said(part.get("refusal")) for part in parts if part.get("type") == "refusal")
        text, calls = self.restored(text, calls_of(_called(items)), request)
        usage = body.get("usage")
        return Reply(
            text or refused,
            "refusal" if refused else _stop(body, calls),
            reasoning="\n\n".join(filter(None, map(_thought, items))),
            usage=_usage(usage) if isinstance(usage, dict) else None,
            model=said(body.get("model")) or None,
            request_id=headers.get("x-request-id") or said(body.get("id")) or None,
            tool_calls=calls,
            tokens=_tokens(parts),
            echo=self._echo(items),
        )

    def _echo(self, items: list[dict[str, Any]]) -> Echo | None:
        """The items, where some hold what must go back: reasoning, with all that followed it; phases.

        Reasoning that holds neither its words nor them encrypted is a reference to what was not stored, and refused.
        """
        thoughts = [item for item in items if item.get("type") == "reasoning"]
        phases = any(item.get("phase") for item in items)
        if not (thoughts or phases) or not all(i.get("encrypted_content") or i.get("content") for i in thoughts):
            return None
        return Echo(self.name, [{k: v for k, v in item.items() if v is not None} for item in items])


class ResponseStream:
    """Reads the events of one reply; the last one holds all of it."""

    def __init__(self, codec: OpenAIResponses, headers: Mapping[str, str], request: ChatRequest) -> None:
        self._codec = codec
        self._headers = headers
        self._request = request
        self._calls = ToolCallAssembly()
        self._items: dict[int, Any] = {}
        self._asides: set[Any] = set()
        self._response: dict[str, Any] | None = None
        self._spoke = False

    def feed(self, event: str, data: str) -> Iterable[Delta]:
        """What one event adds."""
        if data.strip() == "[DONE]":  # not OpenAI's, but what gateways end every stream with
            return ()
        chunk = json_of(data.encode("utf-8", "surrogatepass"), self._codec.name)
        if not isinstance(chunk, dict):
            return ()
        kind = said(chunk.get("type")) or event
        if kind == "error" or (chunk.get("error") and "response" not in chunk):
            raise self._codec.failed(chunk, self._headers)
        if kind in _ENDED:
            self._response = object_of(chunk.get("response"))
        words = self._words(kind, said(chunk.get("delta")), chunk.get("output_index"))
        return self._called(kind, chunk) if words is None else words

    def _words(self, kind: str, piece: str, place: Any) -> list[Delta] | None:
        """What an event adds to the text or the reasoning; None if it is about something else."""
        if kind == "response.output_text.delta" and isinstance(place, int) and place in self._asides:
            return [ReasoningDelta(piece)] if piece else []
        if kind == "response.output_text.delta":
            self._spoke = self._spoke or bool(piece)
            return [TextDelta(piece)] if piece else []
        if kind == "response.refusal.delta":
            return [TextDelta(piece)] if piece and not self._spoke else []  # beside a text it is not the text
        if kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
            return [ReasoningDelta(piece)] if piece else []
        return None

    def _called(self, kind: str, chunk: Mapping[str, Any]) -> list[Delta]:
        """What an event adds to the calls; items that are whole are kept."""
        place, item, piece = chunk.get("output_index"), object_of(chunk.get("item")), said(chunk.get("delta"))
        place = place if isinstance(place, int) else len(self._items)
        if kind == "response.output_item.done":
            self._items[place] = item
        elif kind == "response.function_call_arguments.delta" and piece:
            return [self._calls.add(place, "", "", piece)]
        elif kind == "response.output_item.added" and _is_aside(item):
            self._asides.add(place)
        elif kind == "response.output_item.added" and item.get("type") == "function_call":
            id_, name, arguments = (said(item.get(key)) for key in ("call_id", "name", "arguments"))
            return [self._calls.add(place, id_, name, arguments)]
        return []

    def finish(self) -> Reply:
        """The whole reply."""
        if self._response is None:
            raise broken_off(self._codec.name, self._codec.model)
        response = self._response
        if not response.get("output") and self._items:  # some servers leave it out of the last event
            response = {**response, "output": [self._items[place] for place in sorted(self._items)]}
        return self._codec.whole(response, self._headers, self._request)


def trouble_of(body: Any) -> Trouble:
    """What an error says: of a body, of a failed response, or of an event, where it lies flat."""
    if not isinstance(body, dict):
        return Trouble()
    error = body.get("error") or body
    if isinstance(error, str):
        return Trouble(text=error)
    if not isinstance(error, dict):
        return Trouble()
    codes = (error.get("code"), error.get("type"))
    return Trouble(
        tuple(code for code in codes if isinstance(code, str) and code != "error"),
        said(error.get("message")),
        said(error.get("param")),
    )


def _stop(body: Mapping[str, Any], calls: tuple[ToolCall, ...]) -> StopReason | None:
    if body.get("status") == "incomplete":
        return _CUT_SHORT.get(said(object_of(body.get("incomplete_details")).get("reason")))
    if body.get("status") != "completed":
        return None
    return "tool_calls" if calls else "stop"


def _called(items: list[dict[str, Any]]) -> Iterator[tuple[Any, Any, Any]]:
    for item in items:
        if item.get("type") == "function_call":
            yield item.get("call_id"), item.get("name"), item.get("arguments")


def _is_aside(item: Mapping[str, Any]) -> bool:
    """Whether a message is what a model says while it works, not its answer."""
    return item.get("phase") == "commentary"


def _thought(item: Mapping[str, Any]) -> str:
    """The words of a reasoning item: the reasoning itself where it is given, else its summary; or those of an aside."""
    if item.get("type") != "reasoning" and not _is_aside(item):
        return ""
    words = [said(part.get("text")) for part in objects_of(item.get("content"))]
    return "".join(words) or "\n\n".join(said(part.get("text")) for part in objects_of(item.get("summary")))


def _usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        count(usage.get("input_tokens")),
        count(usage.get("output_tokens")),
        count(object_of(usage.get("input_tokens_details")).get("cached_tokens")),
        count(object_of(usage.get("output_tokens_details")).get("reasoning_tokens")),
    )


def _tokens(parts: list[dict[str, Any]]) -> tuple[Token, ...] | None:
    places = [place for part in parts for place in objects_of(part.get("logprobs"))]
    return (
        tuple(
            Token(
                said(place.get("token")),
                logprob_of(place.get("logprob")),
                tuple(
                    (said(o.get("token")), logprob_of(o.get("logprob"))) for o in objects_of(place.get("top_logprobs"))
                ),
            )
            for place in places
        )
        or None
    )
