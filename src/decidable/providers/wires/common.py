"""What the wires share: the body's bytes, arguments, lowered schemas, images."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from decidable.content import Content, MediaPart, TextPart
from decidable.errors import UnaskableError
from decidable.messages import ChatRequest, Message, Sampling
from decidable.providers.endpoint import Endpoint
from decidable.schema.lowering import Dialect, Lowered, lower
from decidable.tools import ToolCall

__all__ = [
    "Lowerings",
    "arguments_of",
    "body_of",
    "calls_of",
    "count",
    "data_url",
    "image_data",
    "list_of",
    "logprob_of",
    "object_of",
    "objects_of",
    "parts_of",
    "said",
    "sampled",
    "text_only",
    "with_notes",
]


_COMPACT = json.JSONEncoder(separators=(",", ":")).encode
"""All ASCII, so that a lone surrogate in a prompt harms nobody. Made once: making it costs as much as using it."""


def body_of(fields: Mapping[str, Any], endpoint: Endpoint, extra: Mapping[str, Any]) -> bytes:
    """The body, in the endpoint's accent; `extra` has the last word."""
    body = dict(fields)
    for name in endpoint.omit:
        body.pop(name, None)
    for name, other in endpoint.rename.items():
        if name in body:
            body[other] = body.pop(name)
    body.update(extra)
    return _COMPACT(body).encode()


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands twice")
    return result


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_ARGUMENTS = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_refuse)


def arguments_of(text: Any) -> Mapping[str, Any] | str:
    """A tool call's arguments, from the text that a wire gives: an object, or the text itself if it is none."""
    if isinstance(text, Mapping):
        return text
    if not isinstance(text, str) or not text.strip():
        return {}
    try:
        value = _ARGUMENTS.decode(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def calls_of(found: Iterable[tuple[Any, Any, Any]]) -> tuple[ToolCall, ...]:
    """Calls from their ids, names and arguments; an id that is missing, or that another call has too, is made up."""
    calls: dict[str, ToolCall] = {}
    for number, (given, name, arguments) in enumerate(found):
        id_ = said(given)
        if not id_ or id_ in calls:
            id_ = next(made for n in range(number, 2 * number + 1) if (made := f"call_{n}") not in calls)
        calls[id_] = ToolCall(id_, said(name), arguments_of(arguments))
    return tuple(calls.values())


def sampled(sampling: Sampling, endpoint: Endpoint, names: Mapping[str, str]) -> dict[str, Any]:
    """The fields for the settings that are given; what was asked for is never left out in silence.

    Args:
        sampling: The settings.
        endpoint: What it omits, it cannot be asked for.
        names: Setting to the wire's field for it.

    Raises:
        UnaskableError: The wire, or the endpoint, has no such setting.
    """
    made: dict[str, Any] = {}
    for setting in Sampling.__dataclass_fields__:
        value = getattr(sampling, setting)
        if value is None or value == ():
            continue
        if setting not in names:
            raise UnaskableError(f"{endpoint.name} has no setting {setting!r} on this wire; leave it out")
        if names[setting] in endpoint.omit:
            raise UnaskableError(f"{endpoint.name} has no setting {setting!r}; leave it out")
        made[names[setting]] = list(value) if isinstance(value, tuple) else value
    return made


def count(value: Any) -> int:
    """A number of tokens; 0 for what is none."""
    return value if isinstance(value, int) and value > 0 else 0


def logprob_of(value: Any) -> float:
    """A log-probability; minus infinity for what is none, which makes a token impossible and never certain."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return -math.inf
    return -math.inf if math.isnan(number) else min(number, 0.0)


def object_of(value: Any) -> dict[str, Any]:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """`value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects_of(value: Any) -> list[dict[str, Any]]:
    """The objects in `value`, if it is a list; none otherwise."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def said(value: Any) -> str:
    """`value` if it is text, else an empty string."""
    return value if isinstance(value, str) else ""


def parts_of(content: Content) -> Iterable[TextPart | MediaPart]:
    """The parts of a content, none for an empty string."""
    if isinstance(content, str):
        return (TextPart(content),) if content else ()
    return content


def text_only(content: Content, name: str) -> str:
    """The text of a content that a wire takes as text alone.

    Raises:
        UnaskableError: It holds media.
    """
    if isinstance(content, str):
        return content
    if any(isinstance(part, MediaPart) for part in content):
        raise UnaskableError(f"{name} takes no media there, only text")
    return "\n\n".join(part.text for part in content if isinstance(part, TextPart))


def with_notes(request: ChatRequest, *, images: bool) -> ChatRequest:
    """`request`, with a note in place of media in a tool's result that a wire does not carry.

    Elsewhere such media is refused. But a tool that gave it back has run, and what else it gave must not be lost.
    """
    if all(isinstance(result.content, str) for message in request.messages for result in message.tool_results):
        return request
    messages = tuple([_noted(message, images) for message in request.messages])
    return replace(request, messages=messages)


def _noted(message: Message, images: bool) -> Message:
    def shown(part: TextPart | MediaPart) -> TextPart | MediaPart:
        if isinstance(part, TextPart) or (images and part.kind == "image"):
            return part
        return TextPart(f"[{part.mime_type}, which you cannot be shown]")

    results = [
        replace(result, content=tuple([shown(part) for part in parts_of(result.content)]))
        if not isinstance(result.content, str)
        else result
        for result in message.tool_results
    ]
    return replace(message, tool_results=tuple(results))


def image_data(part: MediaPart, name: str) -> str:
    """An image in base64.

    Raises:
        UnaskableError: It is no image, which is all the media that the wires here carry.
    """
    if part.kind != "image":
        raise UnaskableError(f"{name} is sent text and images; the content holds {part.kind} ({part.mime_type})")
    return base64.b64encode(part.data).decode()


def data_url(part: MediaPart, name: str) -> str:
    """An image as a data URL; raises as `image_data`."""
    return f"data:{part.mime_type};base64,{image_data(part, name)}"


_KEPT = 64


class Lowerings:
    """Schemas in one dialect, each lowered once for its request and its reply.

    Args:
        dialect: What the wire understands; None if it takes any JSON Schema as it is.
    """

    def __init__(self, dialect: Dialect | None) -> None:
        self.dialect = dialect
        self._kept: dict[int, tuple[Mapping[str, Any], Lowered | UnaskableError]] = {}

    def of(self, schema: Mapping[str, Any], where: str) -> Lowered:
        """`schema` in the dialect.

        Raises:
            UnaskableError: It cannot be expressed; the message begins with `where` and holds the path.
        """
        if self.dialect is None:
            return Lowered(dict(schema), None)
        kept = self._kept.get(id(schema))
        if kept is None or kept[0] != schema:  # by value too: a caller may change a schema between two calls
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            try:
                made: Lowered | UnaskableError = lower(schema, self.dialect, where)
            except UnaskableError as error:
                made = error.with_traceback(None)
            kept = self._kept[id(schema)] = (deepcopy(schema), made)
        if isinstance(kept[1], UnaskableError):
            raise UnaskableError(str(kept[1]))
        return kept[1]

    def find(self, schema: Mapping[str, Any]) -> Lowered | None:
        """As `of`, but None for a schema that cannot be expressed."""
        try:
            return self.of(schema, "")
        except UnaskableError:
            return None

    def restored_text(self, text: str, schema: Mapping[str, Any]) -> str:
        """The text of a reply to a lowered schema, as a reply to the schema itself; other text stays as it is."""
        restore = self.of(schema, "").restore
        value = _whole(text) if restore is not None else None
        if restore is None or value is None:
            return text
        back = restore(value)
        return text if back == value else json.dumps(back, ensure_ascii=False)

    def restored_calls(self, calls: tuple[ToolCall, ...], request: ChatRequest) -> tuple[ToolCall, ...]:
        """Tool calls whose arguments followed lowered schemas, in the terms of the schemas themselves."""
        schemas = {tool.name: tool.parameters for tool in request.tools}
        return tuple(self._restored(call, schemas.get(call.name)) for call in calls)

    def _restored(self, call: ToolCall, schema: Mapping[str, Any] | None) -> ToolCall:
        lowered = self.find(schema) if schema is not None else None
        if lowered is None or lowered.restore is None or isinstance(call.arguments, str):
            return call
        return ToolCall(call.id, call.name, lowered.restore(call.arguments))


def _whole(text: str) -> Any:
    try:
        return _ARGUMENTS.decode(text.strip())
    except (ValueError, RecursionError):
        return None
