"""A reply held to a type or a JSON Schema: the same ask-and-re-ask, without a menu."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from decidable.attempt import Attempt, Failure, Repair
from decidable.content import Content, with_text
from decidable.errors import OptionError
from decidable.flow.askers import conversation
from decidable.flow.prompts import schema_text
from decidable.messages import ChatRequest, Message, Reply
from decidable.reading import read_json
from decidable.schema.annotations import field_of
from decidable.schema.field import Field
from decidable.schema.jsonschema import field_from_schema, schema_of
from decidable.schema.validate import Invalid, validate

__all__ = ["SchemaAsker"]


class SchemaAsker:
    """A prompt whose reply must fit `response_format`.

    Args:
        response_format: Any annotation that pydantic takes, or a JSON Schema as a mapping.
        prompt: What is asked.
        max_retries: Re-asks after a reply that does not fit.
        repair: How much a reply may be mended.
        base: The request to fill.
        native: Whether the provider holds the reply to a request's schema, so that the prompt need not say it; None if
            it would refuse that schema.

    Raises:
        OptionTypeError: No JSON can stand for the annotation.
        OptionError: The JSON Schema says what cannot be checked here.
    """

    wanted = "valid value"

    def __init__(
        self,
        response_format: Any,
        prompt: Content,
        *,
        max_retries: int,
        repair: Repair,
        base: ChatRequest,
        native: Callable[[ChatRequest], bool | None],
    ) -> None:
        self.field = _field(response_format)
        self.schema: Mapping[str, Any] = (
            response_format if isinstance(response_format, Mapping) else schema_of(self.field)
        )
        self.max_retries = max_retries
        self.repair = repair
        self.wish = schema_text(self.schema)
        held = native(replace(base, messages=(Message("user", prompt),), output_schema=self.schema))
        self.prompt = prompt if held else with_text(prompt, self.wish)
        self.base = replace(base, output_schema=None if held is None else self.schema)

    def request(self, attempts: list[Attempt]) -> ChatRequest:
        """The prompt with the schema; then each earlier reply, what was wrong, and the schema again."""
        messages = conversation(self.prompt, attempts, self.wish) if attempts else (Message("user", self.prompt),)
        return replace(self.base, messages=messages)

    def read(self, reply: Reply) -> Any:
        """The parsed value, or why there is none."""
        value = read_json(reply.text, stop=reply.stop, repair=self.repair)
        if isinstance(value, Failure):
            return value
        try:
            return validate(self.field, value, lossless=self.repair == "lossless", notes=[], path="")
        except Invalid as error:
            return Failure(error.kind, str(error))


def _field(response_format: Any) -> Field:
    if isinstance(response_format, Mapping):
        if response_format.get("type") in ("json_object", "json_schema", "text"):
            raise OptionError(
                f"response_format is a type or a JSON Schema; {response_format['type']!r} is a provider's own word: "
                "pass the schema itself"
            )
        return field_from_schema("", response_format)
    return field_of("", response_format, where="response_format")
