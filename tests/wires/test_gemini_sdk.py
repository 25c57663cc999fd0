"""The generateContent wire against the types of Google's own client: what is sent and what is read are of its form."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from decidable.content import MediaPart, TextPart
from decidable.messages import ChatRequest, Message, Reply, Sampling, Usage
from decidable.providers.endpoint import Endpoint
from decidable.providers.wires.gemini import _FAILED, _STOPS, _UNREADABLE, GeminiContent
from decidable.providers.wires.sse import SseParser
from decidable.testing.fake_wires import gemini as fake
from decidable.tools import Echo, NamedTool, Token, ToolCall, ToolResult, ToolSpec

pytest.importorskip("google.genai", reason="compares with the types of the google-genai package, not installed here")

from google.genai import errors, types

FIXTURES = Path(__file__).parent / "fixtures" / "gemini"
CODEC = GeminiContent(Endpoint(name="gemini", wire="gemini"), "gemini-3.5-flash", {})
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = (ToolSpec("get_weather", "Tells.", SCHEMA), ToolSpec("note", "Free.", {"type": "object"}))
HELLO = (Message("user", "hello"),)
ECHO = [{"text": "hm", "thought": True}, {"functionCall": {"name": "note", "args": {}}, "thoughtSignature": "c2ln"}]
FIELDS: dict[str, TypeAdapter[Any]] = {
    "contents": TypeAdapter(list[types.Content]),
    "systemInstruction": TypeAdapter(types.Content),
    "tools": TypeAdapter(list[types.Tool]),
    "toolConfig": TypeAdapter(types.ToolConfig),
    "generationConfig": TypeAdapter(types.GenerationConfig),
}
"""The client has no model of a whole body; these are its fields, and each model forbids what it does not know."""

HISTORY = (
    Message("user", (TextPart("Look:"), MediaPart("image", b"x", "image/png"))),
    Message("assistant", "I look.", (ToolCall("k1", "get_weather", {"city": "Bern"}), ToolCall("call_1", "note", {}))),
    Message(
        "user",
        "And?",
        tool_results=(
            ToolResult("k1", "get_weather", "sun"),
            ToolResult("call_1", "note", (TextPart("a"), MediaPart("image", b"x", "image/webp")), is_error=True),
        ),
    ),
    Message("assistant", "", (ToolCall("call_0", "note", {}),), echo=Echo("gemini", ECHO)),
    Message("user", "Go on.", tool_results=(ToolResult("call_0", "note", "done"),)),
)
REQUESTS = {
    "smallest": ChatRequest(HELLO),
    "history": ChatRequest(HISTORY, system="Be brief."),
    "auto": ChatRequest(HELLO, tools=TOOLS, parallel_tool_calls=False),
    "any": ChatRequest(HELLO, tools=TOOLS, tool_choice="required"),
    "none": ChatRequest(HELLO, tools=TOOLS, tool_choice="none"),
    "tool": ChatRequest(HELLO, tools=TOOLS, tool_choice=NamedTool("note")),
    "schema": ChatRequest(HELLO, output_schema=SCHEMA),
    "sampling": ChatRequest(
        HELLO, sampling=Sampling(temperature=0.5, top_p=0.9, max_tokens=5, stop=("END",), seed=7, top_logprobs=20)
    ),
    **{level: ChatRequest(HELLO, effort=level) for level in ("minimal", "low", "medium", "high", "xhigh")},
}


def check(body: dict[str, Any]) -> None:
    assert body.keys() <= FIELDS.keys()
    for name, value in body.items():
        model = FIELDS[name].validate_python(value)
        assert FIELDS[name].dump_python(model, mode="json", by_alias=True, exclude_unset=True) == unnamed(value)


def unnamed(value: Any) -> Any:
    """`value` with its bytes in the alphabet of base64 that the client writes."""
    if isinstance(value, dict):
        return {
            key: inner.replace("+", "-").replace("/", "_") if key in ("thoughtSignature", "data") else unnamed(inner)
            for key, inner in value.items()
        }
    return [unnamed(inner) for inner in value] if isinstance(value, list) else value


def body_of(request: ChatRequest) -> dict[str, Any]:
    return json.loads(CODEC.encode(request).body)


@pytest.mark.parametrize("name", REQUESTS)
def test_requests_are_of_the_clients_form(name: str) -> None:
    check(body_of(REQUESTS[name]))


def test_the_check_finds_what_is_wrong() -> None:
    body = body_of(REQUESTS["history"])
    body["contents"][1]["parts"][1]["functionCall"]["arguments"] = {}
    with pytest.raises(ValidationError, match=r"functionCall\.arguments\n +Extra inputs are not permitted"):
        check(body)
    with pytest.raises(ValidationError, match="maxTokens"):
        check({"generationConfig": {"maxTokens": 5}})


def test_the_modes_and_levels_are_among_the_clients() -> None:
    modes = {mode.value for mode in types.FunctionCallingConfigMode}
    for name in ("auto", "any", "none", "tool"):
        assert body_of(REQUESTS[name])["toolConfig"]["functionCallingConfig"]["mode"] in modes
    levels = {level.value for level in types.ThinkingLevel}
    for name in ("minimal", "low", "medium", "high", "xhigh"):
        assert body_of(REQUESTS[name])["generationConfig"]["thinkingConfig"]["thinkingLevel"] in levels


def test_every_finish_reason_of_the_client_is_told_or_left_open_on_purpose() -> None:
    told = {*_STOPS, *_FAILED, *_UNREADABLE}
    known = {reason.value for reason in types.FinishReason}
    assert told <= known
    assert known - told == {
        "FINISH_REASON_UNSPECIFIED",
        "OTHER",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "IMAGE_OTHER",
        "NO_IMAGE",
    }
    assert {f"stop_{reason.lower()}" for reason in known - {"STOP", "MAX_TOKENS"}} <= {
        path.stem for path in FIXTURES.glob("stop_*.json")
    }


def kept(pattern: str) -> list[Path]:
    return sorted(FIXTURES.glob(pattern))


def check_answer(body: dict[str, Any]) -> types.GenerateContentResponse:
    response = types.GenerateContentResponse.model_validate(body)
    assert response.model_dump(mode="json", by_alias=True, exclude_unset=True) == unnamed(body)
    return response


@pytest.mark.parametrize("path", kept("*.json"), ids=lambda path: path.stem)
def test_answers_are_of_the_clients_form(path: Path) -> None:
    fixture = json.loads(path.read_text(encoding="utf-8"))
    assert fixture["page"].startswith("https://ai.google.dev/")
    body = fixture["body"]
    if "error" in body:
        error = errors.APIError(fixture["status"], body)
        assert (error.status, error.message) == (body["error"]["status"], body["error"]["message"])
        return
    response = check_answer(body)
    reply = CODEC.decode(_http(fixture), ChatRequest(HELLO)) if path.stem not in UNANSWERED else None
    if reply is not None and response.candidates and response.candidates[0].finish_reason not in _UNREADABLE:
        assert reply.text == "".join(part.text for part in response.parts or () if part.text and not part.thought)
        assert [(call.name, call.arguments) for call in reply.tool_calls] == [
            (call.name, call.args or {}) for call in response.function_calls or ()
        ]


UNANSWERED = {f"stop_{reason.lower()}" for reason in _FAILED}


def _http(fixture: dict[str, Any]) -> Any:
    from decidable.providers.wires.codec import HttpReply

    return HttpReply(fixture["status"], fixture["headers"], json.dumps(fixture["body"]).encode())


@pytest.mark.parametrize(
    "path",
    [path for path in kept("*.sse") if path.stem not in ("unknown_events", "error_midway")],
    ids=lambda path: path.stem,
)
def test_events_are_of_the_clients_form(path: Path) -> None:
    raw = path.read_bytes()
    assert raw.startswith(b": page https://ai.google.dev/")
    parser = SseParser()
    for name, data in (*parser.feed(raw), *parser.end()):
        assert name == "message"
        check_answer(json.loads(data))


SAID = {"usage": Usage(10, 5, 4, 2), "request_id": "r1"}
FAKED = [
    Reply("Close.", "stop", reasoning="hm", **SAID),
    Reply("Both.", "tool_calls", tool_calls=(ToolCall("k1", "a", {"x": 1}), ToolCall("call_1", "b", {})), **SAID),
    Reply("", "tool_calls", tool_calls=(ToolCall("k1", "a", '{"x'),), **SAID),
    Reply("", "content_filter"),
    Reply("ab", "stop", tokens=(Token("a", -0.5, (("a", -0.5),)), Token("b", -0.1)), **SAID),
    Reply("cut", "length", echo=Echo("gemini", [{"text": "cut", "thoughtSignature": "c2ln"}]), **SAID),
]


@pytest.mark.parametrize("reply", FAKED, ids=range(len(FAKED)))
def test_the_fake_speaks_as_the_server_does(reply: Reply) -> None:
    response = check_answer(fake.answer(reply, "gemini-4-argon"))
    assert response.model_version == "gemini-4-argon"
    assert response.usage_metadata is not None
    usage = replace(reply, usage=reply.usage or Usage()).usage
    assert usage is not None
    assert response.usage_metadata.total_token_count == usage.input_tokens + usage.output_tokens
    pieces = [check_answer(json.loads(data)) for _, data in fake.events(reply, "gemini-4-argon")]
    assert "".join(said(pieces)) == "".join(said([response]))


def said(responses: Iterable[types.GenerateContentResponse]) -> Iterable[str]:
    for response in responses:
        for part in response.parts or ():
            if part.text and not part.thought:
                yield part.text


def test_the_fake_fails_as_the_server_does() -> None:
    error = errors.APIError(400, fake.failure(400, "API_KEY_INVALID", "Bad key"))
    assert (error.code, error.status, error.message) == (400, "INVALID_ARGUMENT", "Bad key")
