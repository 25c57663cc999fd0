"""`Codec`: one wire, without any I/O, and what goes over it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from decidable.deltas import Delta
from decidable.errors import LLMError, LLMErrorReason
from decidable.messages import ChatRequest, Reply

__all__ = ["Codec", "HttpCall", "HttpReply", "StreamDecoder", "Whole", "json_of"]


@dataclass(frozen=True, slots=True, eq=False)
class HttpCall:
    """One request, ready to be sent. It holds no key: the transport adds it.

    Attributes:
        path: What follows the base URL, beginning with ``/``.
        body: JSON, encoded.
        headers: What this wire wants beside the content type.
        method: The HTTP method.
    """

    path: str
    body: bytes
    headers: Mapping[str, str]
    method: str = "POST"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HttpReply:
    """What came back, read to its end.

    Attributes:
        status: The HTTP status.
        headers: By lower-case name.
        body: The bytes, decompressed, at most as many as the transport reads.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class StreamDecoder(Protocol):
    """Reads one streamed reply. Made anew for each."""

    def feed(self, event: str, data: str) -> Iterable[Delta]:
        """What one server-sent event adds.

        Args:
            event: The event's name, ``"message"`` when it has none.
            data: Its data.

        Raises:
            LLMError: The event says that the provider failed.
        """

    def finish(self) -> Reply:
        """The whole reply, after the last event.

        Raises:
            LLMError: The stream ended before the reply did.
        """


class Codec(Protocol):
    """One wire: pure functions from requests to bytes and back."""

    def encode(self, request: ChatRequest, *, stream: bool = False) -> HttpCall:
        """The request in this wire's form.

        Raises:
            UnaskableError: This wire cannot say it; the message names what and where.
        """

    def decode(self, reply: HttpReply, request: ChatRequest) -> Reply:
        """What a successful answer to `request` says.

        Raises:
            LLMError: It is not of this wire's form, or says that the provider failed.
        """

    def decode_stream(self, headers: Mapping[str, str], request: ChatRequest) -> StreamDecoder:
        """A decoder of the events that answer `request`."""

    def error(self, reply: HttpReply) -> LLMError:
        """What an unsuccessful answer means."""


class Whole(Protocol):
    """What the streaming half of a codec needs of the other."""

    name: str
    model: str | None

    def failed(self, body: Any, headers: Mapping[str, str]) -> LLMError:
        """What a failure means that is told within an answer."""

    def whole(self, body: Any, headers: Mapping[str, str], request: ChatRequest) -> Reply:
        """The reply that a whole answer says."""


def json_of(body: bytes, provider: str) -> Any:
    """`body` as JSON.

    Raises:
        LLMError: It is none; nothing of it is quoted.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        pass  # raised below, not here: the error that json raises holds the whole body
    raise LLMError(
        f"{provider} answered with {len(body)} bytes that are not JSON",
        reason=LLMErrorReason.PROVIDER,
        provider=provider,
    )
