"""The responses wire against the types of OpenAI's own client: what is sent and what is read are of its form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from decidable.content import MediaPart, TextPart
from decidable.messages import ChatRequest, Message, Reply, Sampling
from decidable.providers.endpoint import Endpoint
from decidable.providers.wires.openai_responses import OpenAIResponses
from decidable.providers.wires.sse import SseParser
from decidable.testing.fake_wires import openai_responses as fake
from decidable.tools import NamedTool, Token, ToolCall, ToolResult, ToolSpec

pytest.importorskip("openai", reason="compares with the types of the openai package, which is not installed")

from openai.types.responses import Response, ResponseStreamEvent
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)

FIXTURES = Path(__file__).parent / "fixtures" / "openai_responses"
CODEC = OpenAIResponses(Endpoint(name="openai-responses", wire="openai-responses", strict_tools=True), "gpt-5.2", {})
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = (ToolSpec("get_weather", "Tells.", SCHEMA), ToolSpec("note", "Free.", {"type": "object"}))
HELLO = (Message("user", "hello"),)
ECHO = CODEC.whole(json.loads((FIXTURES / "reasoning_call.json").read_text())["body"], {}, ChatRequest(HELLO)).echo
HISTORY = (
    Message("user", (TextPart("Look:"), MediaPart("image", b"x", "image/png"))),
    Message("assistant", "I look.", (ToolCall("call_1", "get_weather", {"city": "Bern"}),)),
    Message("user", "And?", tool_results=(ToolResult("call_1", "get_weather", "sun"),)),
    Message("assistant", "", echo=ECHO),
    Message("user", "", tool_results=(ToolResult("call_2", "get_weather", (TextPart("a"),), is_error=True),)),
)
REQUESTS = {
    "plain": ChatRequest(HELLO),
    "history": ChatRequest(HISTORY, "Be brief."),
    "tools": ChatRequest(HELLO, tools=TOOLS, tool_choice="required", parallel_tool_calls=False),
    "named": ChatRequest(HELLO, tools=TOOLS, tool_choice=NamedTool("note")),
    "schema": ChatRequest(HELLO, output_schema=SCHEMA),
    "effort": ChatRequest(HELLO, effort="xhigh"),
    "sampling": ChatRequest(HELLO, sampling=Sampling(temperature=1, top_p=0.5, max_tokens=16, top_logprobs=5)),
}


def consumed(value: Any) -> None:
    """Go through all of it: an Iterable is only checked as it is read."""
    if isinstance(value, Mapping):
        for inner in value.values():
            consumed(inner)
    elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        for inner in value:
            consumed(inner)


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("stream", [False, True])
def test_requests_are_of_the_clients_form(name, stream):
    params: TypeAdapter[Any] = TypeAdapter(
        ResponseCreateParamsStreaming if stream else ResponseCreateParamsNonStreaming
    )
    body = json.loads(CODEC.encode(REQUESTS[name], stream=stream).body)
    consumed(params.validate_python(body, extra="forbid"))
    with pytest.raises(ValidationError):
        consumed(params.validate_python({**body, "mesages": []}, extra="forbid"))


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.json")), ids=lambda path: path.stem)
def test_fixtures_are_of_the_clients_form(path):
    kept = json.loads(path.read_text(encoding="utf-8"))
    if kept["status"] == 200:
        body = {**kept["body"], "usage": kept["body"]["usage"] or None}
        assert Response.model_validate(body).status == kept["body"]["status"]
    else:
        assert set(kept["body"]["error"]) == {"message", "type", "param", "code"}


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.sse")), ids=lambda path: path.stem)
def test_streams_are_of_the_clients_form(path):
    events: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    parser = SseParser()
    for name, data in parser.feed(path.read_bytes()):
        event = json.loads(data)
        if "response" in event:
            event["response"]["usage"] = event["response"]["usage"] or None
        assert events.validate_python(event).type == name


SAID = [
    Reply("Hi.", "stop", reasoning="hm"),
    Reply("", "tool_calls", tool_calls=(ToolCall("a", "x", {}),)),
    Reply("No.", "refusal"),
    Reply("Cut", "length"),
    Reply("A", "stop", tokens=(Token("A", -0.5, (("A", -0.5),)),)),
]


@pytest.mark.parametrize("made", SAID)
def test_the_fake_speaks_as_the_client_expects(made):
    Response.model_validate(fake.answer(made, "m"))
    events: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    for name, data in fake.events(made, "m"):
        assert events.validate_json(data).type == name
