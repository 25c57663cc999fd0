"""OpenAI's Chat Completions, the wire that most providers and local servers speak.

https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from decidable.content import Content, MediaPart
from decidable.deltas import Delta, ReasoningDelta, TextDelta
from decidable.errors import LLMError, LLMErrorReason
from decidable.messages import (
    ChatRequest,
    Echo,
    Message,
    NamedTool,
    Reply,
    StopReason,
    Token,
    ToolCall,
    ToolSpec,
    Usage,
)
from decidable.providers.endpoint import Endpoint
from decidable.providers.wires.codec import HttpCall, HttpReply, Trouble, json_of, wire_error
from decidable.providers.wires.common import (
    Lowerings,
    arguments_of,
    body_of,
    count,
    data_url,
    logprob_of,
    parts_of,
    said,
    text_only,
)
from decidable.providers.wires.dialects import OPENAI_STRICT
from decidable.providers.wires.tool_deltas import ToolCallAssembly

__all__ = ["OpenAIChat"]

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


class OpenAIChat:
    """Codec of the chat wire.

    Args:
        endpoint: Where it is spoken.
        model: The model to ask when a request names none.
        extra: Fields for each body, which have the last word.
    """

    def __init__(self, endpoint: Endpoint, model: str | None, extra: Mapping[str, Any]) -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        self.model = model
        self.extra = extra
        self.lowerings = Lowerings(OPENAI_STRICT if endpoint.strict else None)

    def encode(self, request: ChatRequest, *, stream: bool = False) -> HttpCall:
        """The request in this wire's form."""
        body: dict[str, Any] = {"model": request.model or self.model, "messages": self._messages(request)}
        if request.tools:
            body["tools"] = [self._tool(tool) for tool in request.tools]
            body["tool_choice"] = self._tool_choice(request)
            if request.parallel_tool_calls is not None:
                body["parallel_tool_calls"] = request.parallel_tool_calls
        if request.output_schema is not None and self.endpoint.output_schema:
            schema = self.lowerings.of(request.output_schema, "output schema").schema
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": schema, "strict": True},
            }
        if request.effort is not None:
            body["reasoning_effort"] = request.effort
        if request.sampling is not None:
            _sample(body, request)
        if stream:
            body["stream"] = True
            body["stream_options"] = {"include_usage": True}
        return HttpCall("/chat/completions", body_of(body, self.endpoint, self.extra), {})

    def decode(self, reply: HttpReply, request: ChatRequest) -> Reply:
        """What a successful answer to `request` says."""
        return self._reply(json_of(reply.body, self.name), reply.headers, request)

    def decode_stream(self, headers: Mapping[str, str], request: ChatRequest) -> ChatStream:
        """A decoder of the events that answer `request`."""
        return ChatStream(self, headers, request)

    def error(self, reply: HttpReply) -> LLMError:
        """What an unsuccessful answer means."""
        try:
            body = json.loads(reply.body)
        except ValueError:
            body = None
        return wire_error(self.name, self.model, reply.status, reply.headers, trouble_of(body))

    # --- out ------------------------------------------------------------------------------------------------------

    def _messages(self, request: ChatRequest) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        if request.system:
            messages.append({"role": "system", "content": request.system})
        for message in request.messages:
            if message.role == "assistant":
                messages.append(self._assistant(message))
                continue
            messages.extend(
                {"role": "tool", "tool_call_id": result.call_id, "content": text_only(result.content, "a tool result")}
                for result in message.tool_results
            )
            if message.content or not message.tool_results:
                messages.append({"role": "user", "content": self._content(message.content)})
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
        if isinstance(choice, NamedTool):
            return {"type": "function", "function": {"name": choice.name}}
        return self.endpoint.required if choice == "required" else choice

    # --- in -------------------------------------------------------------------------------------------------------

    def _reply(self, body: Any, headers: Mapping[str, str], request: ChatRequest) -> Reply:
        choice, message = self._choice(body, headers)
        text, reasoning = _words(message.get("content"))
        calls = tuple(_call(call, number) for number, call in enumerate(message.get("tool_calls") or ()))
        stop = _STOPS.get(said(choice.get("finish_reason")))
        if refused := said(message.get("refusal")):
            text, stop = text or refused, "refusal"
        if self.endpoint.strict_tools and calls:
            calls = self.lowerings.restored_calls(calls, request)
        if request.output_schema is not None and self.endpoint.output_schema:
            text = self.lowerings.restored_text(text, request.output_schema)
        usage = body.get("usage")
        usage = usage if isinstance(usage, dict) else None
        cost = usage.get("cost") if usage is not None else None
        return Reply(
            text,
            stop,
            reasoning=reasoning or said(message.get("reasoning_content")) or said(message.get("reasoning")),
            usage=None if usage is None else _usage(usage),
            cost=float(cost) if isinstance(cost, (int, float)) else None,
            model=said(body.get("model")) or None,
            request_id=headers.get("x-request-id") or said(body.get("id")) or None,
            tool_calls=calls,
            tokens=_tokens(choice.get("logprobs")),
            echo=self._echo(message),
        )

    def _choice(self, body: Any, headers: Mapping[str, str]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The one choice of an answer and its message, or the failure that stands in their place."""
        choices = body.get("choices") if isinstance(body, dict) else None
        choice = choices[0] if isinstance(choices, list) and choices else None
        failed = body.get("error") if isinstance(body, dict) else None
        if isinstance(choice, dict) and not failed:
            failed = choice.get("error")
            message = choice.get("message")
            if isinstance(message, dict) and not failed and choice.get("finish_reason") not in _FAILED:
                return choice, message
        if failed:
            raise wire_error(self.name, self.model, None, headers, trouble_of(body if body.get("error") else choice))
        reason = said(choice.get("finish_reason")) if isinstance(choice, dict) else ""
        if reason == "content_filter":
            return choice, {}  # type: ignore[return-value]  # it is a dict, as it has a finish reason
        raise LLMError(
            f"{self.name} answered without a message" + (f" (finish reason {reason!r})" if reason in _FAILED else ""),
            reason=LLMErrorReason.PROVIDER,
            provider=self.name,
            model=self.model,
        )

    def _echo(self, message: Mapping[str, Any]) -> Echo | None:
        kept = {name: message[name] for name in self.endpoint.echo if message.get(name)}
        return Echo(self.name, kept) if kept else None


class ChatStream:
    """Puts the chunks of one reply together, in the form of an answer that was not streamed."""

    def __init__(self, codec: OpenAIChat, headers: Mapping[str, str], request: ChatRequest) -> None:
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
        chunk = json_of(data.encode(), codec.name)
        if not isinstance(chunk, dict):
            return ()
        if chunk.get("error") or event == "error":
            raise wire_error(codec.name, codec.model, None, self._headers, trouble_of(chunk))
        for key in ("id", "model", "usage"):
            if chunk.get(key):
                self._top[key] = chunk[key]
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return ()
        self._finish = said(choice.get("finish_reason")) or self._finish
        logprobs = choice.get("logprobs")
        if isinstance(logprobs, dict):
            self._logprobs += logprobs.get("content") or ()
        return self._deltas(choice.get("delta") or {})

    def _deltas(self, delta: Mapping[str, Any]) -> list[Delta]:
        found: list[Delta] = []
        text, reasoning = _words(delta.get("content"))
        for name in ("reasoning_content", "reasoning"):
            if piece := said(delta.get(name)):
                self._pieces.setdefault(name, []).append(piece)
                reasoning = reasoning or piece
        if reasoning:
            if not isinstance(delta.get("content"), str):
                self._pieces.setdefault("thinking", []).append(reasoning)
            found.append(ReasoningDelta(reasoning))
        for name, piece in (("content", text), ("refusal", said(delta.get("refusal")))):
            if piece:
                self._pieces.setdefault(name, []).append(piece)
                found.append(TextDelta(piece))
        self._details += delta.get("reasoning_details") or ()
        for call in delta.get("tool_calls") or ():
            function = call.get("function") or {}
            arguments = function.get("arguments")
            arguments = json.dumps(arguments) if isinstance(arguments, dict) else said(arguments)
            found.append(
                self._calls.add(call.get("index"), said(call.get("id")), said(function.get("name")), arguments)
            )
        return found

    def finish(self) -> Reply:
        """The whole reply."""
        if self._finish is None and not self._done:
            raise LLMError(
                f"{self._codec.name} broke off its reply",
                reason=LLMErrorReason.TRANSPORT,
                provider=self._codec.name,
                model=self._codec.model,
            )
        message: dict[str, Any] = {name: "".join(pieces) for name, pieces in self._pieces.items()}
        if thinking := message.pop("thinking", ""):
            message.setdefault("reasoning_content", thinking)
        if self._details:
            message["reasoning_details"] = self._details
        message["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
            for call in self._calls.calls()
        ]
        logprobs = {"content": self._logprobs} if self._logprobs else None
        choice = {"message": message, "finish_reason": self._finish, "logprobs": logprobs}
        return self._codec._reply({**self._top, "choices": [choice]}, self._headers, self._request)  # noqa: SLF001 - two halves of one codec


def trouble_of(body: Any) -> Trouble:
    """What an error body of this family says; servers differ in how deep it lies."""
    if not isinstance(body, dict):
        return Trouble()
    error = body.get("error", body)
    if isinstance(error, str):
        return Trouble(text=error)
    if not isinstance(error, dict):
        return Trouble()
    inner = error.get("innererror")
    codes = [error.get("code"), error.get("type"), inner.get("code") if isinstance(inner, dict) else None]
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and metadata.get("reasons"):
        codes.insert(0, "moderation")  # OpenRouter: why its moderation held the request back
    text = error.get("message") or body.get("message") or error.get("detail") or ""
    known = _by_number(error.get("code"))
    return Trouble(
        tuple(code for code in (*codes, known) if isinstance(code, str)),
        text if isinstance(text, str) else json.dumps(text),
        said(error.get("param")),
    )


def _by_number(code: Any) -> str | None:
    """A status that stands in the body, as its code."""
    return {
        400: "invalid_request_error",
        401: "authentication_error",
        402: "billing_error",
        403: "permission_error",
        429: "rate_limit_error",
    }.get(code if isinstance(code, int) else 0)


def _sample(body: dict[str, Any], request: ChatRequest) -> None:
    sampling = request.sampling
    if sampling is None:
        return
    values = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_completion_tokens": sampling.max_tokens,
        "stop": list(sampling.stop) or None,
        "seed": sampling.seed,
        "top_logprobs": sampling.top_logprobs,
        "logprobs": True if sampling.top_logprobs is not None else None,
    }
    body.update({name: value for name, value in values.items() if value is not None})


def _text(arguments: Mapping[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _words(content: Any) -> tuple[str, str]:
    """The text and the reasoning in a message's content; Mistral's reasoning models send a list of chunks."""
    if isinstance(content, str):
        return content, ""
    text, reasoning = [], []
    for chunk in content if isinstance(content, list) else ():
        if not isinstance(chunk, dict):
            continue
        if chunk.get("type") == "text":
            text.append(said(chunk.get("text")))
        elif chunk.get("type") == "thinking":
            inner = chunk.get("thinking")
            reasoning += [said(i.get("text")) for i in inner] if isinstance(inner, list) else [said(inner)]
    return "".join(text), "".join(reasoning)


def _call(call: Any, number: int) -> ToolCall:
    function = call.get("function") or {}
    return ToolCall(
        said(call.get("id")) or f"call_{number}", said(function.get("name")), arguments_of(function.get("arguments"))
    )


def _usage(usage: Mapping[str, Any]) -> Usage:
    read = usage.get("prompt_tokens_details") or {}
    written = usage.get("completion_tokens_details") or {}
    return Usage(
        count(usage.get("prompt_tokens")),
        count(usage.get("completion_tokens")),
        count(read.get("cached_tokens")) or count(usage.get("prompt_cache_hit_tokens")),
        count(written.get("reasoning_tokens")),
    )


def _tokens(logprobs: Any) -> tuple[Token, ...] | None:
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list) or not content:
        return None
    return tuple(
        Token(
            said(place.get("token")),
            logprob_of(place.get("logprob")),
            tuple((said(top.get("token")), logprob_of(top.get("logprob"))) for top in place.get("top_logprobs") or ()),
        )
        for place in content
    )
