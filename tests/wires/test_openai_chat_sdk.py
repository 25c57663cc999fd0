"""The chat wire against the types of OpenAI's own client: what is sent and what is read are of its form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from decidable.content import MediaPart, TextPart
from decidable.messages import ChatRequest, Message, Reply, Sampling, Usage
from decidable.providers.endpoints import ENDPOINTS
from decidable.providers.wires.openai_chat import OpenAIChat
from decidable.providers.wires.sse import SseParser
from decidable.testing.fake_wires import openai_chat as fake
from decidable.tools import NamedTool, Token, ToolCall, ToolResult, ToolSpec

pytest.importorskip("openai", reason="compares with the types of the openai package, which is not installed")

from openai.types import ErrorObject
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParams

FIXTURES = Path(__file__).parent / "fixtures" / "openai_chat"
PARAMS: TypeAdapter[Any] = TypeAdapter(CompletionCreateParams)
CODEC = OpenAIChat(ENDPOINTS["openai"], "gpt-5.4", {})
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = (ToolSpec("get_weather", "Tells.", SCHEMA), ToolSpec("note", "Free.", {"type": "object"}))
HELLO = (Message("user", "hello"),)


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
    Message("assistant", "I look.", (ToolCall("call_1", "get_weather", {"city": "Bern"}),)),
    Message(
        "user",
        "And?",
        tool_results=(
            ToolResult("call_1", "get_weather", "sun"),
            ToolResult("call_2", "note", (TextPart("a"), TextPart("b")), is_error=True),
        ),
    ),
    Message("assistant", "", (ToolCall("call_3", "note", '{"x'),)),
    Message("user", "", tool_results=(ToolResult("call_3", "note", ""),)),
    Message("assistant", "Close."),
    Message("user", "Go on."),
)
REQUESTS = {
    "smallest": ChatRequest(HELLO),
    "history": ChatRequest(HISTORY, system="Be brief."),
    "auto": ChatRequest(HELLO, tools=TOOLS, parallel_tool_calls=False),
    "required": ChatRequest(HELLO, tools=TOOLS, tool_choice="required", parallel_tool_calls=True),
    "none": ChatRequest(HELLO, tools=TOOLS, tool_choice="none"),
    "tool": ChatRequest(HELLO, tools=TOOLS, tool_choice=NamedTool("note")),
    "schema": ChatRequest(HELLO, output_schema=SCHEMA, effort="high"),
    "sampling": ChatRequest(
        HELLO,
        sampling=Sampling(temperature=0.5, top_p=0.5, max_tokens=5, stop=("END",), seed=1, top_logprobs=3),
    ),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", REQUESTS)
def test_requests_are_of_the_clients_form(name: str, stream: bool) -> None:
    check(body_of(REQUESTS[name], stream=stream))


def test_the_check_finds_what_is_wrong() -> None:
    body = body_of(REQUESTS["history"])
    del body["messages"][2]["tool_calls"][0]["id"]
    with pytest.raises(ValidationError):
        check(body)
    with pytest.raises(ValidationError):
        check({**body_of(REQUESTS["smallest"]), "tool_choise": "auto"})
    with pytest.raises(ValidationError):
        check({**body_of(REQUESTS["auto"]), "tool_choice": "any"})


def kept(pattern: str) -> list[Path]:
    return sorted(FIXTURES.glob(pattern))


def fixture(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


OTHER_FORMS = {
    "azure_filtered_whole": "choices.0.message",  # what was filtered as a whole leaves it out
    "mistral_thinking": "choices.0.message.content",  # a list
    "deepseek_exhausted": "choices.0.finish_reason",  # two reasons of other vendors
    "openrouter_choice_failed": "choices.0.finish_reason",
}
"""Answers that OpenAI's client cannot read as they are, and where they part from its form."""
ANSWERS = [path for path in kept("*.json") if "choices" in fixture(path)["body"]]


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: path.stem)
def test_answers_are_of_the_clients_form(path: Path) -> None:
    body = fixture(path)["body"]
    if path.stem not in OTHER_FORMS:
        parsed = ChatCompletion.model_validate(body)
        assert parsed.model_dump(mode="json", exclude_unset=True) == body
        return
    with pytest.raises(ValidationError) as caught:
        ChatCompletion.model_validate(body)
    assert {".".join(map(str, error["loc"])) for error in caught.value.errors()} == {OTHER_FORMS[path.stem]}


@pytest.mark.parametrize("path", kept("*"), ids=lambda path: path.name)
def test_fixtures_name_the_page_that_they_follow(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith((": page https://", '{\n "page": "https://'))


@pytest.mark.parametrize(
    "path", [path for path in kept("error_*.json") if path.stem[6].isdigit()], ids=lambda path: path.stem
)
def test_errors_are_of_the_clients_form(path: Path) -> None:
    error = fixture(path)["body"]["error"]
    assert ErrorObject.model_validate(error).model_dump(mode="json", exclude_unset=True) == error


def events_of(path: Path) -> list[dict[str, Any]]:
    parser = SseParser()
    events = [*parser.feed(path.read_bytes()), *parser.end()]
    assert {name for name, _ in events} == {"message"}
    return [json.loads(data) for _, data in events if data != "[DONE]"]


def check_events(events: Iterable[dict[str, Any]]) -> None:
    for event in events:
        assert ChatCompletionChunk.model_validate(event).model_dump(mode="json", exclude_unset=True) == event


STRICTLY = ["text", "empty", "length", "refusal", "tool_calls", "cached", "logprobs", "structured", "azure_filtered"]
STRICTLY += ["deepseek_thinking", "openrouter_reasoning", "vllm_reasoning", "xai_reasoning"]


@pytest.mark.parametrize("name", STRICTLY)
def test_events_are_of_the_clients_form(name: str) -> None:
    first, *rest = events_of(FIXTURES / f"{name}.sse")
    if not name.startswith("azure"):  # the first of Azure's tells of its filters alone
        check_events([first])
    check_events(rest)


FAKED = [
    Reply("Close.", "stop", usage=Usage(10, 5, 4, 2), reasoning="hm", request_id="chatcmpl-1", cost=0.5),
    Reply("", "tool_calls", tool_calls=(ToolCall("1", "a", {"x": 1}), ToolCall("2", "b", '{"x'))),
    Reply("No.", "refusal"),
    Reply("cut", "length", tokens=(Token("cut", -0.5, (("cut", -0.5), ("put", -1.5))),)),
    Reply("", "content_filter"),
]


@pytest.mark.parametrize("reply", FAKED, ids=range(len(FAKED)))
def test_the_fake_speaks_as_the_server_does(reply: Reply) -> None:
    parsed = ChatCompletion.model_validate(fake.answer(reply, "gpt-5.4"))
    message = parsed.choices[0].message
    assert (message.refusal if reply.stop == "refusal" else message.content or "") == reply.text
    assert len(message.tool_calls or ()) == len(reply.tool_calls)
    check_events(json.loads(data) for _, data in fake.events(reply, "gpt-5.4") if data != "[DONE]")


def test_the_fake_fails_as_the_server_does() -> None:
    failure = ErrorObject.model_validate(fake.failure(429, "", "Slow down")["error"])
    assert (failure.code, failure.type, failure.message) == (
        "rate_limit_exceeded",
        "invalid_request_error",
        "Slow down",
    )
