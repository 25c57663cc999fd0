"""OpenAI's Chat Completions, the wire that most providers and local servers speak.

https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from decidable.content import Content, MediaPart, TextPart
from decidable.errors import UnaskableError
from decidable.messages import ChatRequest, Message, Reply, StopReason, Usage
from decidable.providers.wires.base import BaseCodec
from decidable.providers.wires.codec import HttpCall
from decidable.providers.wires.common import (
    body_of,
    calls_of,
    count,
    data_url,
    list_of,
    logprob_of,
    object_of,
    objects_of,
    parts_of,
    said,
    sampled,
    text_only,
)
from decidable.providers.wires.dialects import OPENAI_STRICT
from decidable.providers.wires.failures import Trouble, without_reply
from decidable.providers.wires.openai_chat_stream import ChatStream, tells_failure, words_of
from decidable.tools import Echo, NamedTool, Token, ToolSpec

__all__ = ["OpenAIChat"]

_SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_completion_tokens",
    "stop": "stop",
    "seed": "seed",
    "top_logprobs": "top_logprobs",
}
"""Settings of a request to their fields; an endpoint may rename them."""

_STOPS: dict[str, StopReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
_FAILED = frozenset({"error", "insufficient_system_resource"})
"""Finish reasons by which a provider says that it failed half-way."""


class OpenAIChat(BaseCodec):
    """Codec of the chat wire."""

    dialect = OPENAI_STRICT

    def encode(self, request: ChatRequest, *, stream: bool = False) -> HttpCall:
        """The request in this wire's form."""
        body: dict[str, Any] = {"model": request.model or self.model, "messages": self._messages(request)}
        if request.tools and not (request.tool_choice == "none" and "tool_choice" in self.endpoint.omit):
            body["tools"] = [self._tool(tool) for tool in request.tools]
            body["tool_choice"] = self._tool_choice(request)
            if request.parallel_tool_calls is not None:
                body["parallel_tool_calls"] = request.parallel_tool_calls
        if self.holds(request):
            form = {"name": "reply", "schema": self.output_schema(request), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        if request.effort is not None:
            body["reasoning_effort"] = request.effort
        if request.sampling is not None:
            body.update(sampled(request.sampling, self.endpoint, _SETTINGS))
            if request.sampling.top_logprobs is not None:
                body["logprobs"] = True
        if stream:
            body["stream"] = True
            body["stream_options"] = {"include_usage": True}
        return HttpCall("/chat/completions", body_of(body, self.endpoint, self.extra), {})

    def decode_stream(self, headers: Mapping[str, str], request: ChatRequest) -> ChatStream:
        """A decoder of the events that answer `request`."""
        return ChatStream(self, headers, request)

    # --- out ------------------------------------------------------------------------------------------------------

    def _messages(self, request: ChatRequest) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        if request.system:
            messages.append({"role": "system", "content": request.system})
        for message in request.messages:
            if message.role == "assistant":
                messages.append(self._assistant(message))
                continue
            content, images = message.content, list[MediaPart]()
            for result in message.tool_results:
                text = _without_images(result.content, images)
                messages.append({"role": "tool", "tool_call_id": result.call_id, "content": text})
            if images:
                content = (TextPart("The images that the tools gave back, in order:"), *images, *parts_of(content))
            if content or not message.tool_results:
                messages.append({"role": "user", "content": self._content(content)})
        return messages

    def _content(self, content: Content) -> Any:
        if isinstance(content, str):
            return content
        return [
            {"type": "image_url", "image_url": {"url": data_url(part, self.name)}}
            if isinstance(part, MediaPart)
            else {"type": "text", "text": part.text}
            for part in parts_of(content)
        ]

    def _assistant(self, message: Message) -> dict[str, Any]:
        text = text_only(message.content, "an assistant's turn")
        turn: dict[str, Any] = {"role": "assistant", "content": text or (None if message.tool_calls else "")}
        if message.tool_calls:
            turn["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _text(call.arguments)}}
                for call in message.tool_calls
            ]
        if message.echo is not None and message.echo.source == self.name:
            turn.update(message.echo.data)
        return turn

    def _tool(self, tool: ToolSpec) -> dict[str, Any]:
        function: dict[str, Any] = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        lowered = self.lowerings.find(tool.parameters) if self.endpoint.strict_tools else None
        if lowered is not None:
            function["parameters"] = lowered.schema
            function["strict"] = True
        return {"type": "function", "function": function}

    def _tool_choice(self, request: ChatRequest) -> Any:
        choice = request.tool_choice
        if choice not in ("auto", "none") and "tool_choice" in self.endpoint.omit:
            raise UnaskableError(f"{self.name} cannot be made to call a tool; leave tool_choice= out")
        if isinstance(choice, NamedTool):
            return {"type": "function", "function": {"name": choice.name}}
        return self.endpoint.required if choice == "required" else choice

    # --- in -------------------------------------------------------------------------------------------------------

    def trouble(self, body: Any) -> Trouble:
        """What the body of a failure says."""
        return trouble_of(body)

    def whole(self, body: Any, headers: Mapping[str, str], request: ChatRequest) -> Reply:
        """The reply that a whole answer says."""
        choice, message = self._choice(body, headers)
        text, reasoning = words_of(message.get("content"))
        stop = _STOPS.get(said(choice.get("finish_reason")))
        if refused := said(message.get("refusal")):
            text, stop = text or refused, "refusal"
        text, calls = self.restored(text, calls_of(map(_called, objects_of(message.get("tool_calls")))), request)
        usage = body.get("usage")
        return Reply(
            text,
            stop,
            reasoning=reasoning or said(message.get("reasoning_content")) or said(message.get("reasoning")),
            usage=_usage(usage) if isinstance(usage, dict) else None,
            cost=_cost(usage),
            model=said(body.get("model")) or None,
            request_id=headers.get("x-request-id") or said(body.get("id")) or None,
            tool_calls=calls,
            tokens=_tokens(choice.get("logprobs")),
            echo=self._echo(message),
        )

    def _choice(self, body: Any, headers: Mapping[str, str]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The one choice of an answer and its message, or the failure that stands in their place."""
        choice = next(iter(objects_of(object_of(body).get("choices"))), {})
        for holder in (object_of(body), choice):  # gateways report what went wrong behind them in a good answer
            if tells_failure(holder):
                raise self.failed(holder, headers)
        message, reason = choice.get("message"), said(choice.get("finish_reason"))
        if reason in _FAILED or (not isinstance(message, dict) and reason != "content_filter"):
            why = f" (finish reason {reason!r})" if reason in _FAILED else ""
            raise without_reply(self.name, self.model, f"a message{why}")
        return choice, object_of(message)

    def _echo(self, message: Mapping[str, Any]) -> Echo | None:
        kept = {name: message[name] for name in self.endpoint.echo if message.get(name)}
        return Echo(self.name, kept) if kept else None


def trouble_of(body: Any) -> Trouble:
    """What an error body of this family says; servers differ in how deep it lies."""
    if isinstance(body, list):  # Google's form of this wire puts it in a list
        body = next(iter(objects_of(body)), {})
    error = object_of(body).get("error") or body
    if isinstance(error, str):
        error = {**object_of(body), "message": error}
    error = object_of(error)
    metadata = object_of(error.get("metadata"))
    codes = [error.get("code"), error.get("type"), object_of(error.get("innererror")).get("code")]
    if metadata.get("reasons"):
        codes.insert(0, "moderation")  # OpenRouter: why its moderation held the request back
    codes.append(_NUMBERS.get(str(codes[-3]) if isinstance(codes[-3], (int, str)) else ""))
    detail = error.get("detail") or object_of(error.get("message")).get("detail")
    faults = objects_of(detail)  # FastAPI's, of Mistral and of many a server
    path = [str(step) for step in list_of(faults[0].get("loc")) if isinstance(step, (int, str))] if faults else []
    texts = (error.get("message"), detail, *(fault.get("msg") for fault in faults), metadata.get("raw"))
    return Trouble(
        tuple(code for code in codes if isinstance(code, str)),
        " ".join(said(part) for part in texts),
        said(error.get("param")) or ".".join(path),
    )


_NUMBERS = {
    "400": "invalid_request_error",
    "401": "authentication_error",
    "402": "billing_error",
    "403": "permission_error",
    "404": "not_found_error",
    "413": "request_too_large",
    "422": "invalid_request_error",
    "429": "rate_limit_error",
}
"""A status that stands in the body, as its code."""


def _without_images(content: Content, images: list[MediaPart]) -> str:
    """A result's text; its images go to `images`, since a tool's message holds none: they follow in a user's turn."""
    if isinstance(content, str):
        return content
    texts = []
    for part in content:
        if isinstance(part, MediaPart):
            images.append(part)
            texts.append(f"[image {len(images)} of the message that follows]")
        else:
            texts.append(part.text)
    return "\n\n".join(texts)


def _text(arguments: Mapping[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _called(call: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    function = object_of(call.get("function"))
    return call.get("id"), function.get("name"), function.get("arguments")


def _usage(usage: Mapping[str, Any]) -> Usage:
    read, written = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    cached = object_of(usage.get("prompt_tokens_details")).get("cached_tokens")
    reasoning = count(object_of(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    if count(usage.get("total_tokens")) == read + written + reasoning:  # xAI counts reasoning apart
        written += reasoning
    return Usage(read, written, count(cached) or count(usage.get("prompt_cache_hit_tokens")), reasoning)


def _cost(usage: Any) -> float | None:
    cost = object_of(usage).get("cost")
    if isinstance(cost, bool) or not isinstance(cost, (int, float)):
        return None
    return float(cost) if 0 <= cost < _TOO_DEAR else None


_TOO_DEAR = 1e9
"""Dollars that no request costs: what is more, or not finite, is no price."""


def _tokens(logprobs: Any) -> tuple[Token, ...] | None:
    places = objects_of(object_of(logprobs).get("content"))
    return (
        tuple(Token(*_place(p), tuple(_place(top) for top in objects_of(p.get("top_logprobs")))) for p in places)
        or None
    )


def _place(token: Mapping[str, Any]) -> tuple[str, float]:
    return said(token.get("token")), logprob_of(token.get("logprob"))
