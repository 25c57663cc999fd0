"""The chat wire in its many accents: exact bodies out, every documented answer in, streams cut anywhere, hostile JSON."""

from __future__ import annotations

import base64
import contextlib
import copy
import json
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decidable.content import MediaPart, TextPart
from decidable.deltas import ReasoningDelta, TextDelta, ToolCallDelta
from decidable.errors import LLMError, LLMErrorReason, UnaskableError
from decidable.messages import ChatRequest, Message, Reply, Sampling, Usage
from decidable.providers.endpoint import Endpoint
from decidable.providers.endpoints import ENDPOINTS
from decidable.providers.wires.codec import HttpReply
from decidable.providers.wires.openai_chat import OpenAIChat
from decidable.providers.wires.sse import SseParser
from decidable.testing.fake_wires import openai_chat as fake
from decidable.tools import Echo, NamedTool, Token, ToolCall, ToolResult, ToolSpec

FIXTURES = Path(__file__).parent / "fixtures" / "openai_chat"
GPT = "gpt-5.4-2026-03-05"
HELLO = ChatRequest((Message("user", "hello"),))
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "minLength": 1}, "days": {"type": "integer"}},
    "required": ["city"],
}
CITY = ToolSpec("get_weather", "Tells the weather.", SCHEMA)
LIST = {"type": "array", "items": {"type": "string"}}
LOWERED_LIST = {
    "type": "object",
    "properties": {"value": {"type": "array", "items": {"type": "string"}}},
    "required": ["value"],
    "additionalProperties": False,
}


def codec(endpoint: Endpoint | str = "openai", model: str | None = GPT, **extra: Any) -> OpenAIChat:
    return OpenAIChat(ENDPOINTS[endpoint] if isinstance(endpoint, str) else endpoint, model, extra)


def sent(
    request: ChatRequest, endpoint: Endpoint | str = "openai", *, stream: bool = False, **extra: Any
) -> dict[str, Any]:
    return json.loads(codec(endpoint, **extra).encode(request, stream=stream).body)


def fixture(name: str) -> dict[str, Any]:
    return json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))


def http_reply(kept: dict[str, Any]) -> HttpReply:
    return HttpReply(kept["status"], kept["headers"], json.dumps(kept["body"]).encode())


def of(body: Any, endpoint: Endpoint | str = "openai", request: ChatRequest = HELLO) -> Reply:
    return codec(endpoint).decode(HttpReply(200, {}, json.dumps(body).encode()), request)


def answered(message: Any, finish: Any = "stop", **more: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    } | more


def events_of(*chunks: bytes) -> list[tuple[str, str]]:
    parser = SseParser()
    return [event for chunk in chunks for event in parser.feed(chunk)] + parser.end()


def streamed(
    events: Any, headers: dict[str, str], endpoint: Endpoint | str = "openai", request: ChatRequest = HELLO
) -> tuple[list[Any], Reply]:
    decoder = codec(endpoint).decode_stream(headers, request)
    deltas = [delta for name, data in events for delta in decoder.feed(name, data)]
    return deltas, decoder.finish()


def chunks(*deltas: Any, finish: str | None = "stop") -> Iterator[tuple[str, str]]:
    for delta in deltas:
        yield "message", json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield "message", json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})


def turns(*messages: Message, endpoint: Endpoint | str = "openai") -> list[dict[str, Any]]:
    return sent(ChatRequest(messages), endpoint)["messages"]


def failure(act: Any) -> LLMError:
    with pytest.raises(LLMError) as caught:
        act()
    return caught.value


# --- out ------------------------------------------------------------------------------------------------------------


def test_the_smallest_request() -> None:
    call = codec().encode(HELLO)
    assert (call.path, call.headers) == ("/chat/completions", {})
    assert json.loads(call.body) == {"model": GPT, "messages": [{"role": "user", "content": "hello"}]}


def test_the_request_names_the_model_and_the_system_prompt() -> None:
    body = sent(ChatRequest((Message("user", "hi"),), system="Be brief.", model="gpt-5.4-mini"))
    assert body == {
        "model": "gpt-5.4-mini",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
    }
    assert sent(ChatRequest((Message("user", "hi"),), system=""))["messages"] == [{"role": "user", "content": "hi"}]


def test_streaming() -> None:
    body = sent(HELLO, stream=True)
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})
    assert not {"stream", "stream_options"} & set(sent(HELLO))
    assert "stream_options" not in sent(HELLO, "mistral", stream=True)


def test_extra_fields_have_the_last_word() -> None:
    sampling = Sampling(temperature=1.0, max_tokens=5)
    body = sent(replace(HELLO, sampling=sampling), "groq", temperature=0.5, model="other", max_tokens=7, user="u")
    assert (body["temperature"], body["model"], body["max_completion_tokens"], body["user"]) == (0.5, "other", 5, "u")
    assert body["max_tokens"] == 7
    assert sent(replace(HELLO, sampling=sampling), "together", max_tokens=7)["max_tokens"] == 7
    assert sent(replace(HELLO, tools=(CITY,)), "ollama", tool_choice="auto")["tool_choice"] == "auto"


def test_text_of_any_characters_goes_out_and_is_ascii() -> None:
    call = codec().encode(ChatRequest((Message("user", "\ud800 é \x00 ✓"),)))
    assert call.body.isascii()
    assert json.loads(call.body)["messages"][0]["content"] == "\ud800 é \x00 ✓"


def test_images_and_text_keep_their_order() -> None:
    image = MediaPart("image", b"\x89PNG", "image/png")
    url = "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode()
    assert turns(Message("user", (TextPart("What is"), image, TextPart("this?")))) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is"},
                {"type": "image_url", "image_url": {"url": url}},
                {"type": "text", "text": "this?"},
            ],
        }
    ]


def test_other_media_is_refused() -> None:
    with pytest.raises(UnaskableError, match="openai is sent text and images; the content holds audio"):
        turns(Message("user", (MediaPart("audio", b"x", "audio/wav"),)))
    image = MediaPart("image", b"x", "image/png")
    with pytest.raises(UnaskableError, match="an assistant's turn takes no media"):
        turns(Message("assistant", (image,)))


def test_calls_and_results_of_a_turn() -> None:
    calls = (ToolCall("call_1", "get_weather", {"city": "Zürich"}), ToolCall("call.2:b", "now", '{"a": '))
    results = (
        ToolResult("call_1", "get_weather", "sunny"),
        ToolResult("call.2:b", "now", (TextPart("no"), TextPart("clock")), is_error=True),
    )
    assert turns(
        Message("user", "Weather?"),
        Message("assistant", "I look.", calls),
        Message("user", "And now?", tool_results=results),
        Message("assistant", "", calls[:1]),
        Message("user", "", tool_results=results[:1]),
    ) == [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city": "Z\\u00fcrich"}'},
                },
                {"id": "call.2:b", "type": "function", "function": {"name": "now", "arguments": '{"a": '}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
        {"role": "tool", "tool_call_id": "call.2:b", "content": "no\n\nclock"},
        {"role": "user", "content": "And now?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city": "Z\\u00fcrich"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
    ]


def test_empty_turns_are_sent_as_they_are() -> None:
    assert turns(Message("user", ""), Message("assistant", "")) == [
        {"role": "user", "content": ""},
        {"role": "assistant", "content": ""},
    ]


@pytest.mark.parametrize(("name", "field"), [("deepseek", "reasoning_content"), ("openrouter", "reasoning_details")])
def test_an_echo_goes_back_word_for_word_to_whoever_gave_it(name: str, field: str) -> None:
    kept = fixture({"deepseek": "deepseek_thinking", "openrouter": "openrouter_reasoning"}[name])
    reply = codec(name).decode(http_reply(kept), HELLO)
    message = kept["body"]["choices"][0]["message"]
    assert reply.echo == Echo(name, {field: message[field]})
    before = copy.deepcopy(reply.echo)
    turn = Message("assistant", reply.text, reply.tool_calls, echo=reply.echo)
    (own,) = turns(turn, endpoint=name)
    assert own[field] == message[field]
    assert own["content"] == message["content"]
    (other,) = turns(turn)
    assert {key: value for key, value in own.items() if key != field} == other
    assert reply.echo == before
    assert codec("groq").decode(http_reply(kept), HELLO).echo is None


def test_strict_tools_are_lowered_where_the_endpoint_keeps_to_them() -> None:
    free = ToolSpec("note", "", {"type": "object", "additionalProperties": True})
    request = replace(HELLO, tools=(CITY, free))
    body = sent(request)
    assert body["tool_choice"] == "auto"
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "get_weather",
                "description": "Tells the weather.",
                "parameters": {
                    "type": "object",
                    "properties": {"city": {"type": "string"}, "days": {"type": ["integer", "null"]}},
                    "required": ["city", "days"],
                    "additionalProperties": False,
                },
                "strict": True,
            },
        },
        {"type": "function", "function": {"name": "note", "description": "", "parameters": free.parameters}},
    ]
    plain = {"name": "get_weather", "description": "Tells the weather.", "parameters": SCHEMA}
    assert sent(replace(HELLO, tools=(CITY,)), "groq")["tools"] == [{"type": "function", "function": plain}]


@pytest.mark.parametrize(
    ("choice", "endpoint", "expected"),
    [
        ("auto", "openai", "auto"),
        ("required", "openai", "required"),
        ("required", "mistral", "any"),
        ("none", "mistral", "none"),
        (NamedTool("get_weather"), "mistral", {"type": "function", "function": {"name": "get_weather"}}),
        ("auto", "ollama", None),
    ],
)
def test_tool_choice(choice: Any, endpoint: str, expected: Any) -> None:
    assert sent(replace(HELLO, tools=(CITY,), tool_choice=choice), endpoint).get("tool_choice") == expected
    assert "tool_choice" not in sent(replace(HELLO, tool_choice=choice), endpoint)


def test_a_tool_choice_that_cannot_be_said_is_refused() -> None:
    for choice in ("required", NamedTool("get_weather")):
        with pytest.raises(UnaskableError, match="ollama cannot be made to call a tool; leave tool_choice= out"):
            sent(replace(HELLO, tools=(CITY,), tool_choice=choice), "ollama")


@pytest.mark.parametrize("parallel", [True, False])
def test_the_parallel_switch(parallel: bool) -> None:
    request = replace(HELLO, tools=(CITY,), parallel_tool_calls=parallel)
    assert sent(request)["parallel_tool_calls"] is parallel
    assert "parallel_tool_calls" not in sent(request, "deepseek")
    assert "parallel_tool_calls" not in sent(replace(request, tools=()))
    assert "parallel_tool_calls" not in sent(replace(request, parallel_tool_calls=None))


def test_an_output_schema_is_lowered_where_the_endpoint_is_strict() -> None:
    request = replace(HELLO, output_schema=LIST)
    form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": LOWERED_LIST, "strict": True}}
    assert sent(request)["response_format"] == form
    assert sent(request, "vllm")["response_format"]["json_schema"] == {"name": "reply", "schema": LIST, "strict": True}
    assert "response_format" not in sent(request, "deepseek")
    assert "response_format" not in sent(HELLO)


def test_an_output_schema_that_cannot_be_said_is_refused_with_its_path() -> None:
    request = replace(HELLO, output_schema={"type": "object", "properties": {"any": {"type": "object"}}})
    with pytest.raises(UnaskableError, match=r"output schema: at \$\.any, OpenAI's strict mode cannot express"):
        codec().encode(request)
    assert sent(request, "llamacpp")["response_format"]["json_schema"]["schema"] == request.output_schema


SAMPLING = Sampling(temperature=0.0, top_p=0.5, max_tokens=99, stop=("END", "\n\n"), seed=0, top_logprobs=0)


def test_sampling_and_effort() -> None:
    body = sent(replace(HELLO, sampling=SAMPLING, effort="low"))
    del body["messages"]
    assert body == {
        "model": GPT,
        "temperature": 0.0,
        "top_p": 0.5,
        "max_completion_tokens": 99,
        "stop": ["END", "\n\n"],
        "seed": 0,
        "logprobs": True,
        "top_logprobs": 0,
        "reasoning_effort": "low",
    }
    assert set(sent(replace(HELLO, sampling=Sampling()))) == {"model", "messages"}


def test_accents_rename_and_settings_that_an_endpoint_lacks_are_refused_by_name() -> None:
    body = sent(replace(HELLO, sampling=SAMPLING), "mistral")
    assert (body["max_tokens"], body["random_seed"]) == (99, 0)
    assert not {"max_completion_tokens", "seed"} & set(body)
    with pytest.raises(UnaskableError, match="deepseek has no setting 'seed'; leave it out"):
        sent(replace(HELLO, sampling=Sampling(seed=0)), "deepseek")
    odd = Endpoint(name="odd", omit=frozenset({"max_completion_tokens"}))
    with pytest.raises(UnaskableError, match="odd has no setting 'max_tokens'; leave it out"):
        sent(replace(HELLO, sampling=Sampling(max_tokens=1)), odd)
    assert sent(replace(HELLO, sampling=Sampling(top_p=1.0)), odd)["top_p"] == 1.0


# --- in -------------------------------------------------------------------------------------------------------------

CRASH = "The same crash twice.\n\nSo one closes."
DETAILS = [
    {
        "type": "reasoning.text",
        "text": CRASH,
        "signature": "EqMBCkYICRgCKkBmaXh0dXJl",
        "format": "anthropic-claude-v1",
        "index": 0,
    },
    {
        "type": "reasoning.encrypted",
        "data": "gAAAAABmaXh0dXJl",
        "id": "rs_1",
        "format": "anthropic-claude-v1",
        "index": 1,
    },
]
TWO_CITIES = "The user asks about two cities.\n\nI need the date first."
REPLIES: dict[str, tuple[str, Reply]] = {
    "text": ("openai", Reply("Close the ticket – it is a duplicate. ✓", "stop", usage=Usage(25, 14))),
    "empty": ("openai", Reply("", "stop", usage=Usage(500, 3))),
    "null_content": ("openai", Reply("", "stop", usage=Usage(500, 64, 0, 64))),
    "length": ("openai", Reply("Quantum physics is", "length", usage=Usage(11, 10))),
    "refusal": ("openai", Reply("I'm sorry, I cannot assist with that request.", "refusal", usage=Usage(81, 11))),
    "tool_calls": (
        "openai",
        Reply(
            "Both at once.",
            "tool_calls",
            usage=Usage(377, 88),
            tool_calls=(
                ToolCall("call_Aa1", "get_weather", {"city": "Zürich", "days": 2}),
                ToolCall("call_Bb2", "now", {}),
            ),
        ),
    ),
    "cached": ("openai", Reply("Escalate.", "stop", usage=Usage(188_563, 393, 188_416, 320))),
    "logprobs": (
        "openai",
        Reply(
            "Bé",
            "stop",
            usage=Usage(60, 2),
            tokens=(
                Token("B", -0.25, (("B", -0.25), ("A", -1.5), ("C", -9999.0))),
                Token("é", 0.0, (("é", 0.0), ("e", -31.25))),
            ),
        ),
    ),
    "structured": ("openai", Reply('{"value": ["close", "wait"]}', "stop", usage=Usage(210, 12))),
    "azure_text": ("azure", Reply("Close.", "stop", usage=Usage(20, 9))),
    "azure_filtered": ("azure", Reply("The knife", "content_filter", usage=Usage(20, 5))),
    "azure_filtered_whole": ("azure", Reply("", "content_filter", usage=Usage(20, 0))),
    "deepseek_thinking": (
        "deepseek",
        Reply(
            "I look.",
            "tool_calls",
            reasoning=TWO_CITIES,
            usage=Usage(339, 83, 320, 35),
            tool_calls=(ToolCall("call_00_Cc3", "get_date", {"zone": "CET"}),),
            echo=Echo("deepseek", {"reasoning_content": TWO_CITIES}),
        ),
    ),
    "deepseek_cache_hit": ("deepseek", Reply("Close.", "stop", usage=Usage(339, 12, 256))),
    "openrouter_reasoning": (
        "openrouter",
        Reply(
            "Close #2.",
            "stop",
            reasoning=CRASH,
            usage=Usage(60, 170, 0, 120),
            cost=0.00273,
            echo=Echo("openrouter", {"reasoning_details": DETAILS}),
        ),
    ),
    "vllm_reasoning": (
        "vllm",
        Reply(
            "",
            "tool_calls",
            reasoning="9.8 is larger.",
            usage=Usage(27, 48),
            tool_calls=(ToolCall("chatcmpl-tool-9d1e", "pick", {"n": 9.8}),),
        ),
    ),
    "mistral_thinking": (
        "mistral",
        Reply("John closes it.", "stop", reasoning="Two people: one is John.", usage=Usage(10, 84)),
    ),
    "xai_reasoning": (
        "xai",
        Reply("The result is 303.", "stop", reasoning="101 times 3.", usage=Usage(32, 103, 6, 94)),
    ),
}
FAILED = {
    "openrouter_failed_within_200": (
        "openrouter reported a failure (rate_limit_error): too many requests, or the quota is used up",
        LLMErrorReason.RATE_LIMIT,
    ),
    "openrouter_choice_failed": (
        "openrouter reported a failure: the provider failed inside",
        LLMErrorReason.PROVIDER,
    ),
    "deepseek_exhausted": (
        "deepseek answered without a message (finish reason 'insufficient_system_resource')",
        LLMErrorReason.PROVIDER,
    ),
}


def expected(name: str) -> Reply:
    kept = fixture(name)
    body, headers = kept["body"], kept["headers"]
    return replace(REPLIES[name][1], model=body["model"], request_id=headers.get("x-request-id", body["id"]))


def decoded(name: str, request: ChatRequest = HELLO) -> Reply:
    return codec(REPLIES[name][0]).decode(http_reply(fixture(name)), request)


@pytest.mark.parametrize("name", REPLIES)
def test_answers(name: str) -> None:
    assert decoded(name) == expected(name)


def test_every_fixture_is_used() -> None:
    kept = {path.stem for path in FIXTURES.glob("*.json")}
    assert kept == {*REPLIES, *FAILED, *(f"error_{name}" for name in ERRORS)}
    assert {path.stem for path in FIXTURES.glob("*.sse")} == {*STREAMS, *FAILING}


@pytest.mark.parametrize("name", FAILED)
def test_failures_within_a_successful_answer(name: str) -> None:
    told, reason = FAILED[name]
    error = failure(lambda: codec(name.split("_", maxsplit=1)[0]).decode(http_reply(fixture(name)), HELLO))
    assert (str(error), error.reason, error.retryable, error.http_status) == (told, reason, True, None)


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", "stop"),
        ("eos", "stop"),
        ("end_turn", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("model_length", "length"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("content_filter", "content_filter"),
        ("struck_by_lightning", None),
        (None, None),
        (7, None),
    ],
)
def test_finish_reasons(finish: Any, stop: Any) -> None:
    assert of(answered({"content": "a"}, finish)).stop == stop


def test_a_refusal_beside_a_text_keeps_the_text() -> None:
    message = {"content": "Half", "refusal": "No."}
    assert (of(answered(message)).text, of(answered(message)).stop) == ("Half", "refusal")
    deltas, reply = streamed(chunks({"content": "Half"}, {"refusal": "No."}), {})
    assert (reply.text, reply.stop, deltas) == ("Half", "refusal", [TextDelta("Half")])


@pytest.mark.parametrize(
    "message",
    [
        {"content": "a", "reasoning_content": "b"},
        {"content": "a", "reasoning": "b"},
        {"content": "a", "reasoning": "b", "reasoning_content": "b"},
        {"content": "a", "reasoning": "b", "reasoning_content": ""},
        {"content": [{"type": "thinking", "thinking": "b"}, {"type": "text", "text": "a"}]},
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "b"}, {"type": "reference"}]},
                {"type": "reference", "reference_ids": [1]},
                "odd",
                {"type": "text", "text": "a"},
            ]
        },
    ],
    ids=range(6),
)
def test_every_spelling_of_reasoning(message: dict[str, Any]) -> None:
    reply = of(answered(message))
    assert (reply.text, reply.reasoning) == ("a", "b")
    deltas, again = streamed(chunks(message), {})
    assert (again.text, again.reasoning) == ("a", "b")
    assert deltas == [ReasoningDelta("b"), TextDelta("a")]


def test_a_lowered_output_schema_is_mapped_back_only_where_it_was_lowered() -> None:
    request = replace(HELLO, output_schema=LIST)
    assert decoded("structured", request).text == '["close", "wait"]'
    assert streamed(events_of(raw("structured")), {}, "openai", request)[1].text == '["close", "wait"]'
    kept = http_reply(fixture("structured"))
    for plain in ("vllm", "deepseek"):
        assert codec(plain).decode(kept, request).text == '{"value": ["close", "wait"]}'


def test_lowered_arguments_are_mapped_back() -> None:
    message = {
        "tool_calls": [{"id": "1", "function": {"name": "get_weather", "arguments": '{"city":"a","days":null}'}}]
    }
    request = replace(HELLO, tools=(CITY,))
    assert of(answered(message), "openai", request).tool_calls == (ToolCall("1", "get_weather", {"city": "a"}),)
    (call,) = of(answered(message), "vllm", request).tool_calls
    assert call.arguments == {"city": "a", "days": None}


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
        (None, {}),
        ("{}", {}),
        ('{"a": ', '{"a": '),
        ("[1]", "[1]"),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
    ],
)
def test_arguments(arguments: Any, read: Any) -> None:
    message = {"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": arguments}}]}
    assert of(answered(message)).tool_calls == (ToolCall("1", "f", read),)
    pieces = {"tool_calls": [{"index": 0, "id": "1", "function": {"name": "f", "arguments": arguments}}]}
    assert streamed(chunks(pieces), {})[1].tool_calls == (ToolCall("1", "f", read),)


def test_ids_are_made_up_where_they_are_missing_or_stand_twice() -> None:
    ids = [None, "", "call_3", "call_3", "null", "null", 7]
    calls = [{"id": id_, "function": {"name": "f", "arguments": "{}"}} for id_ in ids]
    found = [call.id for call in of(answered({"tool_calls": calls})).tool_calls]
    assert found == ["call_0", "call_1", "call_3", "call_4", "null", "call_5", "call_6"]


@pytest.mark.parametrize(
    ("cost", "read"),
    [(0, 0.0), (0.25, 0.25), (None, None), ("0.25", None), (True, None), (-1, None), (10**400, None), (math.inf, None)],
)
def test_cost(cost: Any, read: float | None) -> None:
    assert of(answered({"content": ""}, usage={"cost": cost})).cost == read


def test_no_usage_is_unknown_usage() -> None:
    assert of(answered({"content": "a"})).usage is None
    assert of(answered({"content": "a"}, usage=None)).usage is None
    assert of(answered({"content": "a"}, usage={})).usage == Usage()


def test_an_odd_log_probability_is_never_a_certain_one() -> None:
    body = answered({"content": "a"})
    body["choices"][0]["logprobs"] = {"content": [{"token": "a", "logprob": None, "top_logprobs": [{"token": "b"}]}]}
    assert of(body).tokens == (Token("a", -math.inf, (("b", -math.inf),)),)


def test_the_request_id_falls_back_to_the_answers_id() -> None:
    assert of(answered({"content": ""})).request_id == "chatcmpl-1"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>secret",
        b"null",
        b"[]",
        b"{}",
        b'{"choices": []}',
        b'{"choices": [], "usage": {"prompt_tokens": 1}}',
        b'{"choices": [null]}',
        b'{"choices": "secret"}',
        b'{"choices": [{"message": null, "finish_reason": "stop"}]}',
        b'{"choices": [{"message": null, "finish_reason": "secret"}]}',
        b'{"choices": [{"message": "secret"}]}',
        b"[" * 99_999,
    ],
)
def test_what_is_not_of_the_form_is_the_providers_failure(body: bytes) -> None:
    error = failure(lambda: codec().decode(HttpReply(200, {}, body), HELLO))
    assert str(error).startswith("openai answered with")
    assert (error.reason, error.provider) == (LLMErrorReason.PROVIDER, "openai")
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"error": {"code": 429, "message": "no"}}, "rate_limit"),
        ({"error": {"code": "429"}}, "rate_limit"),
        ({"error": {"code": 401}}, "auth"),
        ({"error": {"code": 402}}, "authz"),
        ({"error": {"code": 400, "message": "maximum context length is 5"}}, "context"),
        ({"error": {"code": 413}}, "context"),
        ({"error": {"code": 403, "metadata": {"reasons": ["x"]}}}, "policy"),
        ({"error": "out of memory"}, "provider"),
        ({"object": "error", "message": "no", "type": "BadRequestError", "code": 400}, "invalid"),
        ([{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}], "provider"),
    ],
)
def test_failures_of_every_form_within_a_successful_answer(body: Any, reason: str) -> None:
    assert failure(lambda: of(body)).reason == reason


# --- errors ---------------------------------------------------------------------------------------------------------

ERRORS = {
    "400": ("invalid", "invalid_value, invalid_request_error", "messages[0].role"),
    "400_context": ("context", "context_length_exceeded, invalid_request_error", "messages"),
    "400_policy": ("policy", "invalid_prompt, invalid_request_error", ""),
    "401": ("auth", "invalid_api_key, invalid_request_error", ""),
    "403": ("authz", "unsupported_country_region_territory, request_forbidden", ""),
    "404": ("invalid", "model_not_found, invalid_request_error", ""),
    "429": ("rate_limit", "rate_limit_exceeded, tokens", ""),
    "429_quota": ("rate_limit", "insufficient_quota", ""),
    "500": ("provider", "server_error", ""),
    "503": ("provider", "slow_down, server_error", ""),
    "azure_400_filtered": ("policy", "content_filter, ResponsibleAIPolicyViolation", "prompt"),
    "azure_401": ("auth", "authentication_error", ""),
    "azure_429": ("rate_limit", "rate_limit_error", ""),
    "openrouter_400_context": ("context", "invalid_request_error", ""),
    "openrouter_402": ("authz", "billing_error", ""),
    "openrouter_403_moderated": ("policy", "moderation, permission_error", ""),
    "openrouter_429": ("rate_limit", "rate_limit_error", ""),
    "openrouter_502": ("provider", "", ""),
    "llamacpp_400_context": ("context", "exceed_context_size_error, invalid_request_error", ""),
    "llamacpp_401": ("auth", "authentication_error", ""),
    "llamacpp_503": ("provider", "unavailable_error", ""),
    "ollama_404": ("invalid", "", ""),
    "ollama_500": ("provider", "", ""),
    "vllm_400_context": ("context", "BadRequestError, invalid_request_error", ""),
    "vllm_400_nested": ("invalid", "BadRequestError, invalid_request_error", "top_logprobs"),
    "vllm_404": ("invalid", "NotFoundError, not_found_error", ""),
    "mistral_400_context": ("context", "invalid_request_prompt", ""),
    "mistral_401": ("auth", "", ""),
    "mistral_422": ("invalid", "", "body.messages.0.content"),
    "mistral_429": ("rate_limit", "service_tier_capacity_exceeded", ""),
    "deepseek_402": ("authz", "invalid_request_error, unknown_error", ""),
    "xai_400": ("invalid", "", ""),
}
WAITS = {"429": 17.0, "azure_429": 6.25, "openrouter_429": 8.0}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    reason, codes, where = ERRORS[name]
    kept = fixture(f"error_{name}")
    vendor = name.split("_", maxsplit=1)[0] if not name[0].isdigit() else "openai"
    error = codec(vendor).error(http_reply(kept))
    assert (error.reason, error.http_status) == (reason, kept["status"])
    assert error.retryable == (reason in ("rate_limit", "provider") and name != "429_quota")
    told = f"{vendor} answered with status {kept['status']}{codes and f' ({codes})'}{where and f', about {where}'}: "
    assert str(error).startswith(told)
    assert (error.provider, error.model) == (vendor, GPT)
    assert error.retry_after_s == WAITS.get(name)
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>secret</html>",
        b"[]",
        b'"secret"',
        b'{"error": "secret"}',
        b'{"error": ["secret"]}',
        b'{"error": {"message": {"secret": 1}, "code": "se cret", "type": 7, "param": ["secret"]}}',
        b'{"detail": [{"loc": [null, "sec ret"]}]}',
        b'{"message": ["secret"]}',
        b"[" * 99_999,
    ],
)
def test_errors_without_a_body_of_the_wire(body: bytes) -> None:
    error = codec().error(HttpReply(502, {}, body))
    assert str(error) == "openai answered with status 502: the provider failed inside"
    assert error.retryable


def test_an_error_in_a_list_is_read() -> None:
    body = b'[{"error": {"code": 400, "message": "secret", "status": "INVALID_ARGUMENT"}}]'
    assert "(invalid_request_error)" in str(codec().error(HttpReply(400, {}, body)))


# --- streams --------------------------------------------------------------------------------------------------------

STREAMS = (
    "text",
    "empty",
    "length",
    "refusal",
    "tool_calls",
    "cached",
    "logprobs",
    "structured",
    "azure_text",
    "azure_filtered",
    "deepseek_thinking",
    "openrouter_reasoning",
    "vllm_reasoning",
    "mistral_thinking",
    "xai_reasoning",
)
FAILING = {
    "openrouter_error_midway": "openrouter reported a failure (server_error): the provider failed inside",
    "vllm_error_midway": "vllm reported a failure (InternalServerError): the provider failed inside",
}


def raw(name: str) -> bytes:
    return (FIXTURES / f"{name}.sse").read_bytes()


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_gives_the_reply_of_the_whole_answer_wherever_it_is_cut(name: str) -> None:
    endpoint, headers, data, reply = REPLIES[name][0], fixture(name)["headers"], raw(name), expected(name)
    whole = events_of(data)
    assert streamed(whole, headers, endpoint)[1] == reply
    for cut in range(len(data) + 1):
        events = events_of(data[:cut], data[cut:])
        assert events == whole, f"cut at {cut}"
        if cut % 50 == 0:
            assert streamed(events, headers, endpoint)[1] == reply
    assert events_of(*(data[place : place + 1] for place in range(len(data)))) == whole
    chance = random.Random(name)
    for _ in range(20):
        cuts = sorted(chance.sample(range(len(data)), 30))
        parts = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        assert streamed(events_of(*parts), headers, endpoint)[1] == reply


@pytest.mark.parametrize("name", STREAMS)
def test_the_deltas_add_up_to_the_reply(name: str) -> None:
    deltas, reply = streamed(events_of(raw(name)), {}, REPLIES[name][0])
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == reply.text
    assert "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta)) == reply.reasoning
    for number, call in enumerate(reply.tool_calls):
        pieces = [delta for delta in deltas if isinstance(delta, ToolCallDelta) and delta.index == number]
        assert {(piece.id, piece.name) for piece in pieces} == {(call.id, call.name)}
        assert json.loads("".join(piece.arguments for piece in pieces)) == call.arguments


def test_the_deltas_of_a_call_come_one_by_one() -> None:
    deltas, _ = streamed(events_of(raw("tool_calls")), {})
    assert deltas == [
        TextDelta("Both at o"),
        TextDelta("nce."),
        ToolCallDelta(0, "", "call_Aa1", "get_weather"),
        ToolCallDelta(0, '{"city": ', "call_Aa1", "get_weather"),
        ToolCallDelta(0, '"Zürich",', "call_Aa1", "get_weather"),
        ToolCallDelta(0, ' "days": 2}', "call_Aa1", "get_weather"),
        ToolCallDelta(1, "", "call_Bb2", "now"),
        ToolCallDelta(1, "{}", "call_Bb2", "now"),
    ]


def test_a_stream_without_its_last_line_is_whole_once_the_reason_is_told() -> None:
    events = events_of(raw("text"))
    assert events[-1] == ("message", "[DONE]")
    assert streamed(events[:-1], fixture("text")["headers"])[1] == expected("text")
    assert streamed(events[:-2], fixture("text")["headers"])[1] == replace(expected("text"), usage=None)


def test_a_stream_that_is_done_without_a_reason_is_whole() -> None:
    events = [event for event in events_of(raw("text")) if '"finish_reason": "stop"' not in event[1]]
    assert streamed(events, fixture("text")["headers"])[1] == replace(expected("text"), stop=None)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_that_ends_early_is_broken_off(name: str) -> None:
    endpoint, events = REPLIES[name][0], events_of(raw(name))
    reason = next(place for place, (_, data) in enumerate(events) if f'"finish_reason": "{_finish(name)}"' in data)
    assert reason >= 1
    for kept in range(reason + 1):
        error = failure(lambda kept=kept: streamed(events[:kept], {}, endpoint))
        assert str(error) == f"{endpoint} broke off its reply"
        assert (error.reason, error.retryable) == (LLMErrorReason.TRANSPORT, True)


def _finish(name: str) -> str:
    return fixture(name)["body"]["choices"][0]["finish_reason"]


@pytest.mark.parametrize("name", FAILING)
def test_a_stream_that_fails_midway(name: str) -> None:
    decoder = codec(name.split("_", maxsplit=1)[0]).decode_stream({}, HELLO)
    events = events_of(raw(name))
    assert list(decoder.feed(*events[0])) == [TextDelta("Clo")]
    error = failure(lambda: list(decoder.feed(*events[1])))
    assert (str(error), error.reason, error.retryable) == (FAILING[name], LLMErrorReason.PROVIDER, True)


@pytest.mark.parametrize(
    ("event", "data"),
    [
        ("message", {"error": {"code": 429, "message": "secret"}}),
        ("error", {"code": 429, "message": "secret"}),
        ("message", {"object": "error", "message": "secret", "code": 429}),
        ("message", {"choices": [{"delta": {}, "error": {"code": 429}, "finish_reason": "error"}]}),
    ],
)
def test_failures_of_every_form_midway(event: str, data: dict[str, Any]) -> None:
    error = failure(lambda: streamed([(event, json.dumps(data))], {}))
    assert error.reason is LLMErrorReason.RATE_LIMIT
    assert str(error).startswith("openai reported a failure (rate_limit_error): ")


def test_a_stream_that_ends_with_a_failed_reason() -> None:
    error = failure(lambda: streamed(chunks({"content": "Clo"}, finish="insufficient_system_resource"), {}))
    assert str(error) == "openai answered without a message (finish reason 'insufficient_system_resource')"


def test_chunks_of_other_forms_are_passed_over() -> None:
    odd = [
        "null",
        "[]",
        "7",
        '"text"',
        "{}",
        '{"choices": null}',
        '{"choices": [null]}',
        '{"choices": [{"index": 1, "delta": {"content": "another choice"}}]}',
        '{"choices": [{"delta": null}]}',
        '{"usage": null, "id": "", "model": "", "choices": []}',
    ]
    events = events_of(raw("text"))
    mixed = [event for place in events for event in [*(("message", data) for data in odd), place]]
    assert streamed(mixed, fixture("text")["headers"])[1] == expected("text")


def test_what_is_not_json_is_the_providers_failure() -> None:
    error = failure(lambda: streamed([("message", "secret \ud800")], {}))
    assert (error.reason, str(error)) == (LLMErrorReason.PROVIDER, "openai answered with 10 bytes that are not JSON")


def call_pieces(*pieces: tuple[Any, Any, Any, Any]) -> tuple[list[Any], tuple[ToolCall, ...]]:
    """Deltas and calls of pieces (index, id, name, arguments); what is None is left out."""
    deltas = []
    for index, id_, name, arguments in pieces:
        function = {key: v for key, v in (("name", name), ("arguments", arguments)) if v is not None}
        call = {key: v for key, v in (("index", index), ("id", id_), ("function", function or None)) if v is not None}
        deltas.append({"tool_calls": [call]})
    found, reply = streamed(chunks(*deltas, finish="tool_calls"), {})
    return found, reply.tool_calls


A, B = ToolCall("a", "f", {"x": 1}), ToolCall("b", "g", {"y": [2]})
LOOSE: dict[str, list[tuple[Any, Any, Any, Any]]] = {
    "as documented": [(0, "a", "f", ""), (0, None, None, '{"x"'), (0, None, None, ": 1}"), (1, "b", "g", '{"y": [2]}')],
    "interleaved": [(0, "a", "f", '{"x"'), (1, "b", "g", '{"y"'), (0, None, None, ": 1}"), (1, None, None, ": [2]}")],
    "no index": [(None, "a", "f", '{"x"'), (None, None, None, ": 1}"), (None, "b", "g", '{"y": [2]}')],
    "always index 0": [(0, "a", "f", '{"x": 1}'), (0, "b", "g", '{"y"'), (0, None, None, ": [2]}")],
    "name later": [(0, "a", None, '{"x"'), (0, None, "f", ": 1}"), (1, "b", None, ""), (1, None, "g", '{"y": [2]}')],
    "name in pieces": [(0, "a", "", '{"x": 1}'), (0, None, "f", None), (1, "b", "g", '{"y": [2]}')],
    "objects": [(0, "a", "f", {"x": 1}), (1, "b", "g", {"y": [2]})],
    "objects without an index": [(None, "a", "f", {"x": 1}), (None, "b", "g", {"y": [2]})],
    "id on every piece": [(0, "a", "f", '{"x"'), (0, "a", "", ": 1}"), (1, "b", "g", '{"y"'), (1, "b", "g", ": [2]}")],
    "id on every piece and no index": [
        (None, "a", "f", '{"x"'),
        (None, "b", "g", '{"y"'),
        (None, "a", "", ": 1}"),
        (None, "b", "", ": [2]}"),
    ],
    "nulls and odd types": [("0", "a", "f", '{"x": 1}'), ("0", 7, 7, 7), ({}, "b", "g", '{"y": [2]}')],
    "the name again at the end": [(0, "a", "f", '{"x": 1}'), (0, None, "f", ""), (1, "b", "g", '{"y": [2]}')],
}


@pytest.mark.parametrize("name", LOOSE)
def test_loosely_labelled_calls(name: str) -> None:
    deltas, calls = call_pieces(*LOOSE[name])
    assert calls == (A, B)
    for number, call in enumerate(calls):
        pieces = [delta for delta in deltas if delta.index == number]
        assert json.loads("".join(piece.arguments for piece in pieces)) == call.arguments
        assert (pieces[-1].id, pieces[-1].name) == (call.id, call.name)


def test_calls_without_ids_are_told_apart() -> None:
    first, second = ToolCall("call_0", "f", {"x": 1}), ToolCall("call_1", "f", {"x": 2})
    assert call_pieces((0, None, "f", '{"x": 1}'), (0, None, "f", '{"x": 2}'))[1] == (first, second)
    assert call_pieces((None, None, "f", '{"x": 1}'), (None, None, "f", '{"x": 2}'))[1] == (first, second)
    assert call_pieces((0, None, "f", '{"x": 1}'), (1, None, "f", '{"x": 2}'))[1] == (first, second)
    assert call_pieces((0, None, "f", '{"x"'), (0, None, "f", ": 1}"))[1] == (first,)


def test_calls_with_one_id_and_two_indices_are_two() -> None:
    assert call_pieces((0, "a", "f", '{"x": 1}'), (1, "a", "g", '{"y": [2]}'))[1] == (A, replace(B, id="call_1"))


def test_arguments_too_deep_to_be_read_stay_text() -> None:
    deep = '{"a":' * 99_999 + "1" + "}" * 99_999
    _, (call,) = call_pieces((0, None, "f", deep), (0, None, "f", " "))
    assert call == ToolCall("call_0", "f", deep + " ")


def test_reasoning_details_that_come_in_pieces() -> None:
    def detail(kind: str, **more: Any) -> dict[str, Any]:
        return {"reasoning_details": [{"type": f"reasoning.{kind}", **more}]}

    _, reply = streamed(
        chunks(
            detail("summary", summary="a", index=0, id=None),
            detail("summary", summary="b", index=0, id="rs_0"),
            detail("summary", summary="c", index=1),
            detail("encrypted", data="x", index=1),
            detail("encrypted", data="y", index=1),
            detail("text", text="d", signature=None),
            detail("text", signature="s"),
            detail("text", signature=None),
            {"reasoning_details": ["odd", {"type": 7}]},
        ),
        {},
        "openrouter",
    )
    assert reply.echo == Echo(
        "openrouter",
        {
            "reasoning_details": [
                {"type": "reasoning.summary", "summary": "ab", "index": 0, "id": "rs_0"},
                {"type": "reasoning.summary", "summary": "c", "index": 1},
                {"type": "reasoning.encrypted", "data": "x", "index": 1},
                {"type": "reasoning.encrypted", "data": "y", "index": 1},
                {"type": "reasoning.text", "text": "d", "signature": "s"},
                {"type": 7},
            ]
        },
    )


# --- the fake counterpart -------------------------------------------------------------------------------------------

KNOWN: dict[str, Any] = {"usage": Usage(9, 9, 4, 2), "model": "m", "request_id": "chatcmpl-1"}
ROUND_TRIPS = [
    ("openai", Reply("Close.", "stop", cost=0.5, **KNOWN)),
    ("openai", Reply("", "stop", **KNOWN)),
    ("openai", Reply("cut of", "length", **KNOWN)),
    ("openai", Reply("filtered", "content_filter", **KNOWN)),
    ("openai", Reply("I will not. – ✓", "refusal", **KNOWN)),
    ("openai", Reply("Ab", "stop", tokens=(Token("A", -0.5, (("A", -0.5), ("B", -2.0))), Token("b", 0.0)), **KNOWN)),
    (
        "openai",
        Reply(
            "Both.",
            "tool_calls",
            tool_calls=(ToolCall("1", "a", {"x": [1, {"y": "é"}]}), ToolCall("2", "b", {}), ToolCall("3", "c", '{"x')),
            **KNOWN,
        ),
    ),
    ("openai", Reply("", "tool_calls", tool_calls=(ToolCall("1", "a", {}),), **KNOWN)),
    ("groq", Reply("Close.", "stop", reasoning="Twice the same.", **KNOWN)),
    (
        "deepseek",
        Reply("Close.", "stop", reasoning="Twice.", echo=Echo("deepseek", {"reasoning_content": "Twice."}), **KNOWN),
    ),
    (
        "openrouter",
        Reply("Close.", "stop", reasoning="Twice.", echo=Echo("openrouter", {"reasoning_details": DETAILS}), **KNOWN),
    ),
]


@pytest.mark.parametrize(("endpoint", "reply"), ROUND_TRIPS, ids=range(len(ROUND_TRIPS)))
def test_round_trips(endpoint: str, reply: Reply) -> None:
    assert of(fake.answer(reply, "other"), endpoint) == reply
    events = list(fake.events(reply, "other"))
    assert streamed(events, {}, endpoint)[1] == reply
    assert len(events) > 4 or not reply.text


def test_the_fake_fills_in_the_rest() -> None:
    reply = of(fake.answer(Reply("a", reasoning="b"), "m"))
    assert (reply.text, reply.reasoning, reply.stop, reply.model, reply.usage) == ("a", "b", "stop", "m", Usage())
    assert reply.request_id == "chatcmpl-Fake0Fake0Fake0"
    assert of(fake.answer(Reply(tool_calls=(ToolCall("1", "a", {}),)), "m")).stop == "tool_calls"


@pytest.mark.parametrize("endpoint", ["groq", "mistral", "openrouter"])
def test_what_was_asked_reads_back(endpoint: str) -> None:
    calls = (ToolCall("call_1", "get_weather", {"city": "Bern"}), ToolCall("call_2", "now", '{"x'))
    image = MediaPart("image", b"x", "image/png")
    request = ChatRequest(
        (
            Message("user", (TextPart("Look:"), image)),
            Message("assistant", "I look.", calls),
            Message(
                "user",
                "And?",
                tool_results=(ToolResult("call_1", "get_weather", "sun"), ToolResult("call_2", "now", "broken")),
            ),
            Message("assistant", "", calls[:1]),
            Message("user", "", tool_results=(ToolResult("call_1", "get_weather", "rain"),)),
            Message("assistant", "Hm."),
            Message("user", "Go on."),
        ),
        "Be brief.",
        "m",
        {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
        "low",
        (CITY,),
        NamedTool("get_weather"),
        False,
        Sampling(temperature=0.5, top_p=0.9, max_tokens=7, stop=("END",), seed=3, top_logprobs=2),
    )
    call = codec(endpoint).encode(request)
    assert fake.asked(call.path, json.loads(call.body)) == request


@pytest.mark.parametrize("choice", ["auto", "required", "none"])
@pytest.mark.parametrize("endpoint", ["groq", "mistral"])
def test_tool_choices_read_back(endpoint: str, choice: Any) -> None:
    call = codec(endpoint).encode(replace(HELLO, tools=(CITY,), tool_choice=choice))
    assert fake.asked(call.path, json.loads(call.body)).tool_choice == choice


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        (400, "context_length_exceeded", "context"),
        (401, "", "auth"),
        (404, "", "invalid"),
        (429, "", "rate_limit"),
        (500, "", "provider"),
    ],
)
def test_the_fake_fails_as_the_server_does(status: int, code: str, reason: str) -> None:
    body = fake.failure(status, code, "secret")
    assert set(body["error"]) == {"message", "type", "param", "code"}
    error = codec().error(HttpReply(status, {}, json.dumps(body).encode()))
    assert error.reason == reason
    assert "secret" not in str(error)


# --- hostile JSON ---------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(["text", "type", "content", "thinking", "reasoning", "id", "name", "error", "delta", "index"])
FIELDS = st.sampled_from(["usage", "message", "choices", "tool_calls", "function", "arguments", "logprobs", "detail"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | WORDS | FIELDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | WORDS | FIELDS, inner, max_size=4)
    ),
    max_leaves=8,
)
ASKED = replace(HELLO, tools=(CITY,), output_schema=LIST)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    made = copy.copy(value)
    made[path[0]] = replaced(value[path[0]], path[1:], new)
    return made


@st.composite
def mutated(draw: Any, values: list[Any]) -> Any:
    value = draw(st.sampled_from(values))
    for _ in range(draw(st.integers(1, 3))):
        value = replaced(value, draw(st.sampled_from(list(places(value)))), draw(JSON))
    return value


def only_llm_errors(act: Any) -> None:
    with contextlib.suppress(LLMError):
        act()


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(["openai", "openrouter", "vllm"]),
    JSON | mutated([fixture(name)["body"] for name in (*REPLIES, *FAILED)]),
)
def test_any_answer_is_a_reply_or_an_llm_error(endpoint: str, body: Any) -> None:
    reply = HttpReply(200, {}, json.dumps(body).encode())
    only_llm_errors(lambda: codec(endpoint).decode(reply, ASKED))


@settings(max_examples=300, deadline=None)
@given(st.integers(300, 599), JSON | mutated([fixture(f"error_{name}")["body"] for name in ERRORS]))
def test_any_error_body_is_an_llm_error(status: int, body: Any) -> None:
    assert isinstance(codec().error(HttpReply(status, {}, json.dumps(body).encode())), LLMError)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=50))
def test_any_bytes_are_a_reply_or_an_llm_error(body: bytes) -> None:
    only_llm_errors(lambda: codec().decode(HttpReply(200, {}, body), ASKED))
    assert isinstance(codec().error(HttpReply(500, {}, body)), LLMError)


@settings(max_examples=400, deadline=None)
@given(st.data(), st.sampled_from(STREAMS))
def test_any_events_are_a_reply_or_an_llm_error(data: Any, name: str) -> None:
    events = [(event, json.loads(text)) for event, text in events_of(raw(name)) if text != "[DONE]"]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(events) - 1))
        event, body = events[place]
        events[place] = (event, data.draw(JSON | mutated([body])))
    endpoint = REPLIES[name][0]
    only_llm_errors(lambda: streamed([(event, json.dumps(body)) for event, body in events], {}, endpoint, ASKED))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["message", "error"]), st.text() | st.just("[DONE]"))))
def test_any_text_as_events_is_a_reply_or_an_llm_error(events: list[tuple[str, str]]) -> None:
    only_llm_errors(lambda: streamed(events, {}))


@pytest.mark.parametrize("depth", range(100, 1100, 25))
def test_json_of_any_depth_is_a_reply_or_an_llm_error(depth: int) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth
    call = '{"index": 0, "id": "a", "function": {"name": "get_weather", "arguments": %s}}' % deep  # noqa: UP031
    message = '{"content": "", "tool_calls": [%s], "reasoning_details": [%s]}' % (call, deep)  # noqa: UP031
    whole = f'{{"choices": [{{"message": {message}, "finish_reason": "stop"}}]}}'.encode()
    only_llm_errors(lambda: codec("openrouter").decode(HttpReply(200, {}, whole), ASKED))
    chunk = f'{{"choices": [{{"delta": {message}, "finish_reason": "stop"}}]}}'
    only_llm_errors(lambda: streamed([("message", chunk)], {}, "openrouter", ASKED))
    error = f'{{"error": {{"message": {deep}, "detail": {deep}, "code": {deep}}}}}'.encode()
    assert isinstance(codec().error(HttpReply(400, {}, error)), LLMError)
    quoted = json.dumps({"choices": [{"message": {"content": deep.replace("1", "[]")}}]}).encode()
    only_llm_errors(lambda: codec().decode(HttpReply(200, {}, quoted), ASKED))
