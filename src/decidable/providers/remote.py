"""A model at an endpoint, as a provider: a codec and a transport, put together."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from importlib import import_module
from typing import Any

from decidable.content import Content, MediaPart
from decidable.deltas import Delta, TextDelta
from decidable.errors import LLMError, LLMErrorReason, MissingKeyError, SettingError, UnaskableError
from decidable.messages import ChatRequest, Reply, Request
from decidable.providers.endpoint import Endpoint, Wire
from decidable.providers.given import checked_extra, is_key, key_headers, merged_headers
from decidable.providers.http import Transport
from decidable.providers.protocol import Capabilities
from decidable.providers.wires.codec import Codec, HttpReply
from decidable.providers.wires.common import with_notes
from decidable.providers.wires.sse import EventTooLongError, SseParser

__all__ = ["RemoteProvider"]

_CODECS: dict[Wire, tuple[str, str]] = {
    "openai-chat": ("openai_chat", "OpenAIChat"),
    "openai-responses": ("openai_responses", "OpenAIResponses"),
    "anthropic": ("anthropic", "AnthropicMessages"),
    "gemini": ("gemini", "GeminiContent"),
}


class RemoteProvider:
    """Asks the models of one endpoint; `decidable.connect` makes it.

    Args:
        endpoint: Where, and in which accent.
        model: The model to ask when a request names none.
        api_key: The key; None takes it from the endpoint's environment variable.
        base_url: Replaces the endpoint's.
        timeout_s: Most seconds of silence on the connection; default 600.
        headers: Sent with each request, besides the wire's own.
        extra: Fields for each body, for what this library has no name for; they have the last word.
        proxy: URL of a proxy; None takes the environment's.
        client: A sync client to use, with httpx's interface.
        async_client: An async client to use, likewise.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str | None = None,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout_s: float | None = None,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
        proxy: str | None = None,
        client: Any = None,
        async_client: Any = None,
    ) -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        self.model = model
        self.capabilities = _capabilities(endpoint)
        module, attribute = _CODECS[endpoint.wire]
        wire = import_module(f"decidable.providers.wires.{module}")
        self._codec: Codec = getattr(wire, attribute)(endpoint, model, checked_extra(endpoint.name, extra or {}))
        self._transport = Transport(
            endpoint.name,
            _address(endpoint, base_url),
            merged_headers(endpoint.name, _credentials(endpoint, api_key), endpoint.headers, headers or {}),
            timeout_s=timeout_s,
            proxy=proxy,
            client=client,
            async_client=async_client,
        )

    def __repr__(self) -> str:
        return f"<{self.name}{':' + self.model if self.model else ''} at {self._transport.address}>"

    needs_model = True
    """Whether a model must be named: its requests always name one."""

    def preflight(self, request: Request) -> None:
        """Raise what `send` would refuse before sending anything.

        Raises:
            UnaskableError: This wire cannot say it; the message names what and where.
        """
        self._codec.encode(self._chat(request))

    def send(self, request: Request, deadline: float | None = None) -> Reply:
        """As `Provider.send`."""
        chat = self._chat(request)
        try:
            return self._decoded(self._transport.send(self._codec.encode(chat), deadline), chat)
        except LLMError as error:
            raise _bare(error) from error.__cause__

    async def asend(self, request: Request, deadline: float | None = None) -> Reply:
        """As `Provider.asend`."""
        chat = self._chat(request)
        try:
            return self._decoded(await self._transport.asend(self._codec.encode(chat), deadline), chat)
        except LLMError as error:
            raise _bare(error) from error.__cause__

    def stream(self, request: Request, deadline: float | None = None) -> Iterator[Delta | Reply]:
        """As `StreamingProvider.stream`."""
        chat = self._chat(request)
        try:
            yield from self._pieces(chat, deadline)
        except LLMError as error:
            raise _bare(error) from error.__cause__

    async def astream(self, request: Request, deadline: float | None = None) -> AsyncIterator[Delta | Reply]:
        """As `StreamingProvider.astream`."""
        chat = self._chat(request)
        try:
            async with aclosing(self._pieces_async(chat, deadline)) as pieces:
                async for piece in pieces:
                    yield piece
        except LLMError as error:
            raise _bare(error) from error.__cause__

    def _pieces(self, chat: ChatRequest, deadline: float | None) -> Iterator[Delta | Reply]:
        with self._transport.opened(self._codec.encode(chat, stream=True), deadline) as (status, headers, chunks):
            if not _streams(status, headers):
                whole = HttpReply(status, headers, self._transport.gathered(status, chunks))
                yield from _in_one(self._decoded(whole, chat))
                return
            reading = _Reading(self, headers, chat)
            for chunk in chunks:
                yield from reading.feed(chunk)
            yield from reading.end()

    async def _pieces_async(self, chat: ChatRequest, deadline: float | None) -> AsyncGenerator[Delta | Reply, None]:
        call = self._codec.encode(chat, stream=True)
        async with self._transport.aopened(call, deadline) as (status, headers, chunks):
            if not _streams(status, headers):
                whole = HttpReply(status, headers, await self._transport.agathered(status, chunks))
                for part in _in_one(self._decoded(whole, chat)):
                    yield part
                return
            reading = _Reading(self, headers, chat)
            async for chunk in chunks:
                for piece in reading.feed(chunk):
                    yield piece
            for last in reading.end():
                yield last

    def close(self) -> None:
        """Close the connections of sync calls."""
        self._transport.close()

    async def aclose(self) -> None:
        """Close the connections, those of the running event loop included."""
        await self._transport.aclose()

    def _chat(self, request: Request) -> ChatRequest:
        if not isinstance(request, ChatRequest):
            raise UnaskableError(f"{self.name} answers in text; it takes no typed questions")
        if not self.endpoint.images and any(_has_media(message.content) for message in request.messages):
            raise UnaskableError(f"{self.name} reads text only; the content holds media")
        if request.model is None and self.model is None:
            raise SettingError(f"{self.name} needs a model: write '{self.name}:model', or pass model=")
        return with_notes(request, images=self.endpoint.images) if len(request.messages) > 1 else request

    def _decoded(self, reply: HttpReply, request: ChatRequest) -> Reply:
        if 200 <= reply.status < 300 and not _is_page(reply.headers):
            return self._codec.decode(reply, request)
        if reply.status < 300:
            raise LLMError(
                f"{self.name} at {self._transport.address} answered with a web page; set base_url to where its API "
                "begins",
                reason=LLMErrorReason.INVALID,
                http_status=reply.status,
                provider=self.name,
                model=request.model or self.model,
            )
        if reply.status < 400:
            raise LLMError(
                f"{self.name} at {self._transport.address} redirects elsewhere (status {reply.status}), which is not "
                "followed, since the key would go along; set base_url to where it should go",
                reason=LLMErrorReason.INVALID,
                http_status=reply.status,
                provider=self.name,
                model=request.model or self.model,
            )
        error = self._codec.error(reply)
        error.model = request.model or self.model
        if reply.status == 404:
            error.add_note(f"asked at {self._transport.address}, for the model {error.model!r}; is the address right?")
        raise error


class _Reading:
    """One streamed answer on its way in."""

    def __init__(self, provider: RemoteProvider, headers: Mapping[str, str], request: ChatRequest) -> None:
        self._name = provider.name
        self._parser = SseParser()
        self._decoder = provider._codec.decode_stream(headers, request)  # noqa: SLF001 - a part of it

    def feed(self, chunk: bytes) -> Iterator[Delta]:
        """What a chunk adds."""
        try:
            events = self._parser.feed(chunk)
        except EventTooLongError as error:
            raise LLMError(f"{self._name}: {error}", reason=LLMErrorReason.PROVIDER, provider=self._name) from None
        for event, data in events:
            yield from self._decoder.feed(event, data)

    def end(self) -> Iterator[Delta | Reply]:
        """What the end of the answer adds, and the whole reply."""
        for event, data in self._parser.end():
            if _is_whole(data):
                yield from self._decoder.feed(event, data)
        yield self._decoder.finish()


def _is_whole(data: str) -> bool:
    """Whether the data of an event without an end are not half of something."""
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return data.strip() == "[DONE]"
    return True


def _has_media(content: Content) -> bool:
    return not isinstance(content, str) and any(isinstance(part, MediaPart) for part in content)


def _bare(error: LLMError) -> LLMError:
    """`error` without the frames in here, whose variables are headers and bodies, which some tools show."""
    return error.with_traceback(None)


def _streams(status: int, headers: Mapping[str, str]) -> bool:
    """Whether events are coming; some servers answer a wish for a stream with the whole reply."""
    plain = headers.get("content-type", "").lower().startswith("application/json")
    return 200 <= status < 300 and not plain and not _is_page(headers)


def _is_page(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").lower().startswith("text/html")


def _in_one(reply: Reply) -> Iterator[Delta | Reply]:
    if reply.text:
        yield TextDelta(reply.text)
    yield reply


def _capabilities(endpoint: Endpoint) -> Capabilities:
    return Capabilities(
        chat=True,
        output_schema=endpoint.output_schema,
        images=endpoint.images,
        tools=True,
        forced_tools=endpoint.forced_tools,
        streaming=True,
        top_logprobs=endpoint.top_logprobs,
    )


def _address(endpoint: Endpoint, base_url: str | None) -> str:
    if base_url is not None:
        return base_url
    given = os.environ.get(endpoint.url_variable, "").rstrip("/") if endpoint.url_variable else ""
    if given:
        return given if given.endswith(endpoint.url_suffix) else given + endpoint.url_suffix
    if not endpoint.base_url:
        raise SettingError(
            f"{endpoint.name!r} has no address of its own: pass base_url=, or set {endpoint.url_variable}"
        )
    return endpoint.base_url


def _credentials(endpoint: Endpoint, api_key: str | None) -> dict[str, str]:
    key = api_key if api_key is not None else os.environ.get(endpoint.key, "") if endpoint.key else ""
    if not key:
        if endpoint.key is None or endpoint.key_optional:
            return {}
        raise MissingKeyError(f"no key for {endpoint.name!r}: set {endpoint.key}, or pass api_key=")
    if not is_key(key):
        raise MissingKeyError(f"the key for {endpoint.name!r} holds characters that no key has, such as a line break")
    return key_headers(endpoint.key_header, key)
