"""The messages wire against the types of Anthropic's own client: what is sent and what is read are of its form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from decidable.content import MediaPart, TextPart
from decidable.messages import ChatRequest, Message, Reply, Sampling, Usage
from decidable.providers.endpoint import Endpoint
from decidable.providers.wires.anthropic import AnthropicMessages
from decidable.providers.wires.sse import SseParser
from decidable.testing.fake_wires import anthropic as fake
from decidable.tools import Echo, NamedTool, ToolCall, ToolResult, ToolSpec

pytest.importorskip("anthropic", reason="compares with the types of the anthropic package, which is not installed")

from anthropic import types
from anthropic.types.message_create_params import MessageCreateParams
from anthropic.types.raw_message_stream_event import RawMessageStreamEvent
from anthropic.types.shared import ErrorResponse

FIXTURES = Path(__file__).parent / "fixtures" / "anthropic"
PARAMS: TypeAdapter[Any] = TypeAdapter(MessageCreateParams)
EVENT: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
CODEC = AnthropicMessages(Endpoint(name="anthropic", wire="anthropic", strict_tools=True), "claude-sonnet-5-5", {})
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = (ToolSpec("get_weather", "Tells.", SCHEMA), ToolSpec("note", "Free.", {"type": "object"}))
HELLO = (Message("user", "hello"),)
ECHO = [
    {"type": "thinking", "thinking": "", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "EmwK"},
    {"type": "text", "text": "Close.", "citations": None},
]


def consumed(value: Any) -> None:
    """Go through all of it: an Iterable is only checked as it is read."""
    if isinstance(value, Mapping):
        for inner in value.values():
            consumed(inner)
    elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        for inner in value:
            consumed(inner)


def check(body: dict[str, Any]) -> None:
    consumed(PARAMS.validate_python(body, extra="forbid"))


def body_of(request: ChatRequest, *, stream: bool = False) -> dict[str, Any]:
    return json.loads(CODEC.encode(request, stream=stream).body)


HISTORY = (
    Message("user", (TextPart("Look:"), MediaPart("image", b"x", "image/png"))),
    Message("assistant", "I look.", (ToolCall("toolu_1", "get_weather", {"city": "Bern"}),)),
    Message(
        "user",
        "And?",
        tool_results=(
            ToolResult("toolu_1", "get_weather", "sun"),
            ToolResult("toolu_2", "note", (TextPart("a"), MediaPart("image", b"x", "image/webp")), is_error=True),
            ToolResult("toolu_3", "note", ""),
        ),
    ),
    Message("assistant", "Close.", echo=Echo("anthropic", ECHO)),
    Message("user", "Go on."),
)
REQUESTS = {
    "smallest": ChatRequest(HELLO),
    "history": ChatRequest(HISTORY, system="Be brief."),
    "auto": ChatRequest(HELLO, tools=TOOLS, parallel_tool_calls=False),
    "any": ChatRequest(HELLO, tools=TOOLS, tool_choice="required", parallel_tool_calls=True),
    "none": ChatRequest(HELLO, tools=TOOLS, tool_choice="none", parallel_tool_calls=False),
    "tool": ChatRequest(HELLO, tools=TOOLS, tool_choice=NamedTool("note")),
    "schema": ChatRequest(HELLO, output_schema=SCHEMA, effort="max"),
    "sampling": ChatRequest(HELLO, sampling=Sampling(max_tokens=5, stop=("END",))),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", REQUESTS)
def test_requests_are_of_the_clients_form(name: str, stream: bool) -> None:
    check(body_of(REQUESTS[name], stream=stream))


def test_the_check_finds_what_is_wrong() -> None:
    body = body_of(REQUESTS["history"])
    del body["messages"][1]["content"][1]["input"]
    with pytest.raises(ValidationError):
        check(body)
    with pytest.raises(ValidationError):
        check({**body_of(REQUESTS["smallest"]), "tool_choise": {"type": "auto"}})


def test_only_the_older_version_takes_temperature_and_top_p() -> None:
    body = body_of(ChatRequest(HELLO, sampling=Sampling(temperature=0.5, top_p=0.5)))
    with pytest.raises(ValidationError) as caught:
        check(body)
    assert {error["loc"][-1] for error in caught.value.errors() if error["type"] == "extra_forbidden"} == {
        "temperature",
        "top_p",
    }


def kept(pattern: str) -> list[Path]:
    return sorted(FIXTURES.glob(pattern))


@pytest.mark.parametrize("path", kept("*.json"), ids=lambda path: path.stem)
def test_answers_are_of_the_clients_form(path: Path) -> None:
    fixture = json.loads(path.read_text(encoding="utf-8"))
    assert fixture["page"].startswith("https://platform.claude.com/docs/en/")
    body = fixture["body"]
    if body["type"] == "message":
        message = types.Message.model_validate(body)
        assert message.model_dump(mode="json", exclude_unset=True) == body
    elif body["error"]["type"] not in ("conflict_error", "request_too_large"):  # documented, and not among its models
        assert ErrorResponse.model_validate(body).error.type == body["error"]["type"]


def events_of(path: Path) -> list[tuple[str, dict[str, Any]]]:
    raw = path.read_bytes()
    assert raw.startswith(b": page https://platform.claude.com/docs/en/")
    parser = SseParser()
    return [(name, json.loads(data)) for name, data in (*parser.feed(raw), *parser.end())]


def check_events(events: Iterable[tuple[str, dict[str, Any]]]) -> None:
    for name, data in events:
        assert data["type"] == name
        if name not in ("ping", "error"):
            EVENT.validate_python(data)


@pytest.mark.parametrize(
    "path", [path for path in kept("*.sse") if path.stem != "unknown_events"], ids=lambda path: path.stem
)
def test_events_are_of_the_clients_form(path: Path) -> None:
    check_events(events_of(path))


FAKED = [
    Reply("Close.", "stop", usage=Usage(10, 5, 4, 2), reasoning="hm", request_id="msg_1"),
    Reply("", "tool_calls", tool_calls=(ToolCall("toolu_1", "a", {"x": 1}), ToolCall("toolu_2", "b", '{"x'))),
    Reply("No.", "refusal"),
    Reply("cut", "length", echo=Echo("anthropic", [*ECHO, {"type": "text", "text": "cut"}])),
]


@pytest.mark.parametrize("reply", FAKED, ids=range(len(FAKED)))
def test_the_fake_speaks_as_the_server_does(reply: Reply) -> None:
    message = types.Message.model_validate(fake.answer(reply, "claude-haiku-5-5"))
    assert "".join(block.text for block in message.content if block.type == "text").endswith(reply.text)
    check_events((name, json.loads(data)) for name, data in fake.events(reply, "claude-haiku-5-5"))


def test_the_fake_fails_as_the_server_does() -> None:
    failure = ErrorResponse.model_validate(fake.failure(529, "", "Overloaded"))
    assert (failure.error.type, failure.error.message) == ("overloaded_error", "Overloaded")
