"""What every codec does alike; a codec is this and the form of its wire."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from decidable.errors import LLMError
from decidable.messages import ChatRequest, Reply
from decidable.providers.endpoint import Endpoint
from decidable.providers.wires.codec import HttpReply, json_of
from decidable.providers.wires.common import Lowerings
from decidable.providers.wires.failures import Trouble, wire_error
from decidable.schema.lowering import Dialect
from decidable.tools import ToolCall

__all__ = ["BaseCodec"]


class BaseCodec(ABC):
    """The half of a codec that no wire changes.

    Args:
        endpoint: Where the wire is spoken.
        model: The model to ask when a request names none.
        extra: Fields for each body, which have the last word.
    """

    dialect: ClassVar[Dialect]
    """What the wire understands of JSON Schema."""

    def __init__(self, endpoint: Endpoint, model: str | None, extra: Mapping[str, Any]) -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        self.model = model
        self.extra = extra
        self.lowerings = Lowerings(self.dialect if endpoint.strict else None)

    def decode(self, reply: HttpReply, request: ChatRequest) -> Reply:
        """What a successful answer to `request` says."""
        return self.whole(json_of(reply.body, self.name), reply.headers, request)

    def error(self, reply: HttpReply) -> LLMError:
        """What an unsuccessful answer means."""
        try:
            body = json.loads(reply.body)
        except (ValueError, RecursionError):
            body = None
        return wire_error(self.name, self.model, reply.status, reply.headers, self.trouble(body))

    def failed(self, body: Any, headers: Mapping[str, str]) -> LLMError:
        """What a failure means that is told within an answer."""
        return wire_error(self.name, self.model, None, headers, self.trouble(body))

    @abstractmethod
    def whole(self, body: Any, headers: Mapping[str, str], request: ChatRequest) -> Reply:
        """The reply that a whole answer says.

        Raises:
            LLMError: It is not of this wire's form, or says that the provider failed.
        """

    @abstractmethod
    def trouble(self, body: Any) -> Trouble:
        """What the body of a failure says."""

    def holds(self, request: ChatRequest) -> bool:
        """Whether the reply is to be held to a schema."""
        return request.output_schema is not None and self.endpoint.output_schema

    def output_schema(self, request: ChatRequest) -> dict[str, Any]:
        """The schema that the reply is held to, as the wire understands it.

        Raises:
            UnaskableError: It does not; the message holds the path.
        """
        return self.lowerings.of(request.output_schema or {}, "output schema").schema

    def restored(
        self, text: str, calls: tuple[ToolCall, ...], request: ChatRequest
    ) -> tuple[str, tuple[ToolCall, ...]]:
        """A reply's text and calls in the terms of the schemas that were asked for, not of the lowered ones."""
        if request.output_schema is not None and self.holds(request):
            text = self.lowerings.restored_text(text, request.output_schema)
        if calls and self.endpoint.strict_tools:
            calls = self.lowerings.restored_calls(calls, request)
        return text, calls
