"""Google's generateContent, the wire on which Gemini answers.

https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import Any
from urllib.parse import quote

from decidable.content import Content, MediaPart, TextPart, text_of
from decidable.errors import UnaskableError
from decidable.messages import ChatRequest, Message, Reply, StopReason, Usage
from decidable.providers.wires.base import BaseCodec
from decidable.providers.wires.codec import HttpCall
from decidable.providers.wires.common import (
    body_of,
    count,
    image_data,
    list_of,
    logprob_of,
    object_of,
    parts_of,
    said,
    sampled,
    text_only,
)
from decidable.providers.wires.dialects import GEMINI
from decidable.providers.wires.failures import Trouble, wire_error, without_reply
from decidable.providers.wires.gemini_stream import (
    ContentStream,
    blocked,
    call_of,
    calls_in,
    failed,
    parts_in,
)
from decidable.tools import Echo, NamedTool, Token, ToolResult, ToolSpec

__all__ = ["GeminiContent"]

_SETTINGS = {
    "temperature": "temperature",
    "top_p": "topP",
    "max_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "seed": "seed",
    "top_logprobs": "logprobs",
}
"""Settings of a request to their fields."""

_STOPS: dict[str, StopReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "ESCALATION": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
}
_UNREADABLE = frozenset({"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE"})
"""Finish reasons of a model that spoiled its reply. It counts as an empty one, so that the model is asked again: what
text there is, is the rest of the broken call, and reads as if the model had said it."""

_FAILED = {"MISSING_THOUGHT_SIGNATURE": "INVALID_ARGUMENT", "PUP_LIMITED_DISABLED": "PERMISSION_DENIED"}
"""Finish reasons by which the server refuses the request after all, and the status that says the same."""

_MADE_UP = re.compile(r"call_\d+")
"""An id that this codec gave to a call without one. The server knows none: name and order match call and result."""

_UNSIGNED = re.compile(r"(?:models/)?(?:gemini-[12]\b|gemma)")
"""Models that call tools without signing, and want no signature back; all later ones refuse an unsigned call."""

_NO_SIGNATURE = "skip_thought_signature_validator"
"""Google's own word for a call that another model made: https://ai.google.dev/gemini-api/docs/thought-signatures"""

_LONGEST_S = 24 * 3600.0


class GeminiContent(BaseCodec):
    """Codec of the generateContent wire; `extra` within ``generationConfig`` has the last word field by field."""

    dialect = GEMINI

    def encode(self, request: ChatRequest, *, stream: bool = False) -> HttpCall:
        """The request in this wire's form."""
        model = request.model or self.model
        if not model:
            raise UnaskableError(f"{self.name} is asked at its model's own address, so the model must be named")
        body: dict[str, Any] = {"contents": self._contents(request, model)}
        if request.system:
            body["systemInstruction"] = {"parts": [{"text": request.system}]}
        if request.tools:
            # Nothing on this wire holds a model to one call, so a wish for one has no field. It is no error either: a
            # menu asks for one call always, and reads several different ones as no pick.
            body["tools"] = [{"functionDeclarations": [self._tool(tool) for tool in request.tools]}]
            body["toolConfig"] = {"functionCallingConfig": _calling(request)}
        given = self.extra.get("generationConfig")
        config = {**self._config(request), **(given if isinstance(given, Mapping) else {})}
        if config:
            body["generationConfig"] = config
        extra = {**self.extra, "generationConfig": config} if isinstance(given, Mapping) else self.extra
        path = quote(model if "/" in model else f"models/{model}")
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return HttpCall(f"/{path}:{method}", body_of(body, self.endpoint, extra), {})

    def decode_stream(self, headers: Mapping[str, str], request: ChatRequest) -> ContentStream:
        """A decoder of the events that answer `request`."""
        return ContentStream(self, headers, request)

    # --- out ------------------------------------------------------------------------------------------------------

    def _contents(self, request: ChatRequest, model: str) -> list[dict[str, Any]]:
        turns: list[dict[str, Any]] = []
        ids: set[str] = set()
        order: dict[str, int] = {}
        for message in request.messages:
            if message.role == "assistant":
                role, parts = "model", self._model_parts(message, signed=_UNSIGNED.match(model) is None)
                ids.update(said(object_of(part.get("functionCall")).get("id")) for part in parts)
                order = {call.id: place for place, call in enumerate(message.tool_calls)}
            else:
                role, parts = "user", self._user_parts(message, ids, order)
            if turns and turns[-1]["role"] == role:
                turns[-1]["parts"].extend(parts)
                turns[-1]["parts"].sort(key=lambda part: "functionResponse" not in part)  # the model's turns have none
            elif parts:  # a model's turn without any is left out: the wire takes no empty one
                turns.append({"role": role, "parts": parts})
        return turns

    def _user_parts(self, message: Message, ids: set[str], order: Mapping[str, int]) -> list[dict[str, Any]]:
        results = sorted(message.tool_results, key=lambda result: order.get(result.call_id, len(order)))
        parts: list[dict[str, Any]] = [{"functionResponse": self._result(result, ids)} for result in results]
        parts += self._parts(message.content)
        return parts or [{"text": ""}]  # refused by the server, aloud, as it should be

    def _model_parts(self, message: Message, *, signed: bool) -> list[dict[str, Any]]:
        if message.echo is not None and message.echo.source == self.name:
            return list(message.echo.data)
        text = text_only(message.content, "an assistant's turn")
        parts: list[dict[str, Any]] = [{"text": text}] if text else []
        for place, call in enumerate(message.tool_calls):
            arguments = call.arguments if isinstance(call.arguments, Mapping) else {"arguments": call.arguments}
            called: dict[str, Any] = {"name": call.name, "args": arguments}
            if not _MADE_UP.fullmatch(call.id):
                called["id"] = call.id
            parts.append({"functionCall": called})
            if signed and place == 0:  # only the first of a turn's calls is ever signed
                parts[-1]["thoughtSignature"] = _NO_SIGNATURE
        return parts

    def _result(self, result: ToolResult, ids: set[str]) -> dict[str, Any]:
        media = [part for part in parts_of(result.content) if isinstance(part, MediaPart)]
        made: dict[str, Any] = {"name": result.name}
        made["response"] = {"error" if result.is_error else "output": text_of(result.content)}
        if result.call_id and result.call_id in ids:
            made["id"] = result.call_id
        if media:
            made["parts"] = self._parts(tuple(media))
        return made

    def _parts(self, content: Content) -> list[dict[str, Any]]:
        return [
            {"text": part.text}
            if isinstance(part, TextPart)
            else {"inlineData": {"mimeType": part.mime_type, "data": image_data(part, self.name)}}
            for part in parts_of(content)
        ]

    def _tool(self, tool: ToolSpec) -> dict[str, Any]:
        lowered = self.lowerings.find(tool.parameters)
        schema = tool.parameters if lowered is None else lowered.schema  # the field takes any, and heeds what it knows
        return {"name": tool.name, "description": tool.description, "parametersJsonSchema": schema}

    def _config(self, request: ChatRequest) -> dict[str, Any]:
        config = {} if request.sampling is None else sampled(request.sampling, self.endpoint, _SETTINGS)
        if "logprobs" in config:  # 0 of them are those of the reply's own tokens, which come with the switch alone
            config = {**config, "responseLogprobs": True}
            if not config["logprobs"]:
                del config["logprobs"]
        if self.holds(request):
            config["responseMimeType"] = "application/json"
            config["responseJsonSchema"] = self.output_schema(request)
        if request.effort is not None:
            # Levels are what models since Gemini 3 take. Those of 2.5 take a number of tokens, for which no word
            # stands, and refuse a level aloud: `extra` gives them {"generationConfig": {"thinkingConfig": ...}}.
            config["thinkingConfig"] = {"thinkingLevel": request.effort.upper(), "includeThoughts": True}
        return config

    # --- in -------------------------------------------------------------------------------------------------------

    def trouble(self, body: Any) -> Trouble:
        """What the body of a failure says."""
        return trouble_of(body)

    def whole(self, body: Any, headers: Mapping[str, str], request: ChatRequest) -> Reply:
        """The reply that a whole answer says."""
        candidate = self._candidate(body, headers)
        reason = said(candidate.get("finishReason"))
        if reason in _FAILED:
            raise wire_error(self.name, self.model, None, headers, Trouble((reason, _FAILED[reason])))
        parts = parts_in(candidate)
        words = [(said(part.get("text")), part.get("thought") is True) for part in parts]
        usage = body.get("usageMetadata")
        reply = Reply(
            stop=_STOPS.get(reason),
            reasoning="".join(text for text, thought in words if thought),
            usage=_usage(usage) if isinstance(usage, dict) else None,
            model=said(body.get("modelVersion")) or None,
            request_id=said(body.get("responseId")) or None,
        )
        if reason in _UNREADABLE:
            return reply
        text = "".join(text for text, thought in words if not thought)
        calls = tuple(call_of(part, number) for number, part in enumerate(calls_in(parts)))
        text, calls = self.restored(text, calls, request)
        return replace(
            reply,
            text=text,
            stop="tool_calls" if calls and reply.stop == "stop" else reply.stop,
            tool_calls=calls,
            tokens=_tokens(candidate.get("logprobsResult")),
            echo=Echo(self.name, parts) if any(part.get("thoughtSignature") for part in parts) else None,
        )

    def _candidate(self, body: Any, headers: Mapping[str, str]) -> dict[str, Any]:
        """The one candidate of an answer, or what stands in its place."""
        if failed(body):
            raise self.failed(body, headers)
        for candidate in list_of(object_of(body).get("candidates"))[:1]:
            if isinstance(candidate, dict):
                return candidate
        if blocked(body):
            return {"finishReason": "PROHIBITED_CONTENT"}
        raise without_reply(self.name, self.model, "a candidate")


def trouble_of(body: Any) -> Trouble:
    """What an error body says; that of a stream may stand in a list."""
    error = object_of(next(iter(body), None) if isinstance(body, list) else body).get("error")
    if isinstance(error, str):  # a gateway in between
        return Trouble(text=error)
    error = object_of(error)
    codes, where, wait = [], "", None
    for detail in map(object_of, list_of(error.get("details"))):
        kind = said(detail.get("@type")).rpartition(".")[2]
        if kind == "ErrorInfo":
            codes.append(said(detail.get("reason")))
        elif kind == "RetryInfo":
            wait = _seconds(detail.get("retryDelay"))
        elif kind == "BadRequest":
            where = said(object_of(next(iter(list_of(detail.get("fieldViolations"))), None)).get("field"))
    codes.append(said(error.get("status")))
    return Trouble(tuple(filter(None, codes)), said(error.get("message")), where, wait)


def _seconds(duration: Any) -> float | None:
    """A duration as Google writes it, such as ``"34.07s"``."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)s", said(duration), re.ASCII)
    seconds = float(found[1]) if found else None
    return seconds if seconds is not None and seconds <= _LONGEST_S else None


def _calling(request: ChatRequest) -> dict[str, Any]:
    choice = request.tool_choice
    if isinstance(choice, NamedTool):
        return {"mode": "ANY", "allowedFunctionNames": [choice.name]}
    return {"mode": {"auto": "AUTO", "required": "ANY", "none": "NONE"}[choice]}


def _usage(usage: Mapping[str, Any]) -> Usage:
    thought = count(usage.get("thoughtsTokenCount"))  # not among the candidate's
    return Usage(
        count(usage.get("promptTokenCount")) + count(usage.get("toolUsePromptTokenCount")),
        count(usage.get("candidatesTokenCount")) + thought,
        count(usage.get("cachedContentTokenCount")),  # among the prompt's
        thought,
    )


def _tokens(result: Any) -> tuple[Token, ...] | None:
    chosen = list_of(object_of(result).get("chosenCandidates"))
    likeliest = [list_of(object_of(top).get("candidates")) for top in list_of(object_of(result).get("topCandidates"))]
    places = zip_longest(chosen, likeliest[: len(chosen)], fillvalue=())
    return tuple(Token(*_likely(one), tuple(map(_likely, top))) for one, top in places) or None


def _likely(token: Any) -> tuple[str, float]:
    return said(object_of(token).get("token")), logprob_of(object_of(token).get("logProbability"))
