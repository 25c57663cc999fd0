"""The messages wire: exact bodies out, every documented answer in, streams cut anywhere, and hostile JSON."""

from __future__ import annotations

import base64
import contextlib
import copy
import json
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
from decidable.providers.wires.anthropic import AnthropicMessages
from decidable.providers.wires.codec import HttpReply
from decidable.providers.wires.sse import SseParser
from decidable.testing.fake_wires import anthropic as fake
from decidable.tools import Echo, NamedTool, ToolCall, ToolResult, ToolSpec

FIXTURES = Path(__file__).parent / "fixtures" / "anthropic"
ENDPOINT = Endpoint(name="anthropic", wire="anthropic", key_header="x-api-key", strict_tools=True)
PLAIN = Endpoint(name="anthropic", wire="anthropic")
HELLO = ChatRequest((Message("user", "hello"),))
CITY = ToolSpec(
    "get_weather",
    "Tells the weather.",
    {"type": "object", "properties": {"city": {"type": "string", "minLength": 1}}, "required": ["city"]},
)
LIST = {"type": "array", "items": {"type": "string"}}
SIGNATURE = "EqMBCkYICRgCKkBc0m1pb3VzLXNpZ25hdHVyZS1mb3ItYS10ZXN0LW9ubHkSDGZpeHR1cmU="


def codec(endpoint: Endpoint = ENDPOINT, model: str | None = "claude-sonnet-5-5", **extra: Any) -> AnthropicMessages:
    return AnthropicMessages(endpoint, model, extra)


def sent(request: ChatRequest, endpoint: Endpoint = ENDPOINT, *, stream: bool = False, **extra: Any) -> dict[str, Any]:
    return json.loads(codec(endpoint, **extra).encode(request, stream=stream).body)


def fixture(name: str) -> dict[str, Any]:
    return json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))


def http_reply(kept: dict[str, Any]) -> HttpReply:
    return HttpReply(kept["status"], kept["headers"], json.dumps(kept["body"]).encode())


def decoded(name: str, request: ChatRequest = HELLO) -> Reply:
    return codec().decode(http_reply(fixture(name)), request)


def events_of(*chunks: bytes) -> list[tuple[str, str]]:
    parser = SseParser()
    return [event for chunk in chunks for event in parser.feed(chunk)] + parser.end()


def streamed(events: Any, headers: dict[str, str], request: ChatRequest = HELLO) -> tuple[list[Any], Reply]:
    decoder = codec().decode_stream(headers, request)
    deltas = [delta for name, data in events for delta in decoder.feed(name, data)]
    return deltas, decoder.finish()


def turns(*messages: Message) -> list[dict[str, Any]]:
    return sent(ChatRequest(messages))["messages"]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


# --- out ------------------------------------------------------------------------------------------------------------


def test_the_smallest_request() -> None:
    call = codec().encode(HELLO)
    assert call.path == "/messages"
    assert call.headers == {"anthropic-version": "2023-06-01"}
    assert json.loads(call.body) == {
        "model": "claude-sonnet-5-5",
        "max_tokens": 16_384,
        "messages": [{"role": "user", "content": [text("hello")]}],
    }


def test_an_endpoint_may_name_another_version() -> None:
    endpoint = Endpoint(name="anthropic", wire="anthropic", headers={"Anthropic-Version": "2026-10-21"})
    assert codec(endpoint).encode(HELLO).headers == {}


def test_the_request_names_the_model_and_the_system_prompt() -> None:
    body = sent(ChatRequest((Message("user", "hi"),), system="Be brief.", model="claude-haiku-5-5"))
    assert (body["model"], body["system"]) == ("claude-haiku-5-5", "Be brief.")
    assert "system" not in sent(ChatRequest((Message("user", "hi"),), system=""))


def test_streaming_and_extra_fields() -> None:
    body = sent(HELLO, stream=True, max_tokens=5, service_tier="auto")
    assert (body["stream"], body["max_tokens"], body["service_tier"]) == (True, 5, "auto")
    assert "stream" not in sent(HELLO)


def test_images_and_text_keep_their_order() -> None:
    image = MediaPart("image", b"\x89PNG", "image/png")
    assert turns(Message("user", (TextPart("What is"), image, TextPart("this?")))) == [
        {
            "role": "user",
            "content": [
                text("What is"),
                {
                    "type": "image",
                    "source": {
                        "type": "base64",
                        "media_type": "image/png",
                        "data": base64.b64encode(b"\x89PNG").decode(),
                    },
                },
                text("this?"),
            ],
        }
    ]


def test_other_media_is_refused() -> None:
    with pytest.raises(UnaskableError, match="anthropic is sent text and images; the content holds audio"):
        turns(Message("user", (MediaPart("audio", b"x", "audio/wav"),)))
    with pytest.raises(UnaskableError, match="an assistant's turn takes no media"):
        turns(Message("assistant", (MediaPart("image", b"x", "image/png"),)))


def test_calls_and_results_of_a_turn() -> None:
    calls = (ToolCall("toolu_1", "get_weather", {"city": "Bern"}), ToolCall("call.2:b", "now", {}))
    image = MediaPart("image", b"x", "image/png")
    results = (
        ToolResult("toolu_1", "get_weather", "sunny"),
        ToolResult("call.2:b", "now", (TextPart("see"), image), is_error=True),
        ToolResult("toolu_3", "nothing", ""),
    )
    history = turns(
        Message("user", "Weather?"),
        Message("assistant", "I look.", calls),
        Message("user", "And now?", tool_results=results),
    )
    assert history[1] == {
        "role": "assistant",
        "content": [
            text("I look."),
            {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Bern"}},
            {"type": "tool_use", "id": "call_2_b", "name": "now", "input": {}},
        ],
    }
    assert history[2] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"},
            {
                "type": "tool_result",
                "tool_use_id": "call_2_b",
                "content": [
                    text("see"),
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}},
                ],
                "is_error": True,
            },
            {"type": "tool_result", "tool_use_id": "toolu_3"},
            text("And now?"),
        ],
    }


def test_arguments_that_are_no_object_are_wrapped() -> None:
    (turn,) = turns(Message("assistant", "", (ToolCall("toolu_1", "now", '{"a": '),)))
    assert turn["content"] == [
        {"type": "tool_use", "id": "toolu_1", "name": "now", "input": {"INVALID_JSON": '{"a": '}}
    ]


def test_turns_of_one_role_become_one_and_results_come_first() -> None:
    call = ToolCall("toolu_1", "now", {})
    assert turns(
        Message("user", "a"),
        Message("assistant", ""),
        Message("user", "b"),
        Message("assistant", "c"),
        Message("assistant", "", (call,)),
        Message("user", "d"),
        Message("user", "e", tool_results=(ToolResult("toolu_1", "now", "noon"),)),
    ) == [
        {"role": "user", "content": [text("a"), text("b")]},
        {
            "role": "assistant",
            "content": [text("c"), {"type": "tool_use", "id": "toolu_1", "name": "now", "input": {}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "noon"}, text("d"), text("e")],
        },
    ]


def test_an_empty_user_turn_is_left_to_the_server_to_refuse() -> None:
    assert turns(Message("user", "")) == [{"role": "user", "content": [text("")]}]


def test_an_echo_goes_back_word_for_word_to_whoever_gave_it() -> None:
    data = [{"type": "thinking", "thinking": "hm", "signature": SIGNATURE}, text("Close.")]
    before = copy.deepcopy(data)
    own = Message("assistant", "Close.", echo=Echo("anthropic", data))
    other = Message("assistant", "Close.", echo=Echo("openai-responses", [{"type": "reasoning"}]))
    assert turns(Message("user", "?"), own)[1] == {"role": "assistant", "content": data}
    assert turns(Message("user", "?"), other)[1] == {"role": "assistant", "content": [text("Close.")]}
    turns(own, Message("assistant", "More."))
    assert data == before


def test_strict_tools_are_lowered() -> None:
    body = sent(ChatRequest(HELLO.messages, tools=(CITY,)))
    assert body["tools"] == [
        {
            "name": "get_weather",
            "description": "Tells the weather.",
            "input_schema": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
                "additionalProperties": False,
            },
            "strict": True,
        }
    ]
    assert body["tool_choice"] == {"type": "auto"}


def test_a_tool_that_cannot_be_strict_is_sent_as_it_is() -> None:
    free = ToolSpec("note", "Takes anything.", {"type": "object", "additionalProperties": True})
    shown = {"name": "note", "description": "Takes anything.", "input_schema": free.parameters}
    assert sent(ChatRequest(HELLO.messages, tools=(free,)))["tools"] == [shown]
    loose = {"name": "get_weather", "description": "Tells the weather.", "input_schema": CITY.parameters}
    assert sent(ChatRequest(HELLO.messages, tools=(CITY,)), PLAIN)["tools"] == [loose]


def test_a_tool_without_a_description_has_none() -> None:
    tool = ToolSpec("now", "", {"type": "object"})
    body = sent(ChatRequest(HELLO.messages, tools=(tool,)), PLAIN)
    assert body["tools"] == [{"name": "now", "input_schema": {"type": "object"}}]


def strict_of(*tools: ToolSpec, schema: dict[str, Any] | None = None) -> list[bool]:
    body = sent(ChatRequest(HELLO.messages, tools=tools, output_schema=schema))
    return ["strict" in tool for tool in body["tools"]]


def with_optional(name: str, keys: int, schema: dict[str, Any]) -> ToolSpec:
    return ToolSpec(name, "", {"type": "object", "properties": {f"k{n}": schema for n in range(keys)}})


def test_no_more_is_strict_than_a_request_has_room_for() -> None:
    one = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert strict_of(*(ToolSpec(f"t{n}", "", one) for n in range(22))) == [True] * 20 + [False] * 2
    word, either = {"type": "string"}, {"type": ["string", "null"]}
    assert strict_of(with_optional("a", 20, word), with_optional("b", 5, word), with_optional("c", 4, word)) == [
        True,
        False,
        True,
    ]
    assert strict_of(with_optional("a", 10, either), with_optional("b", 7, either), CITY) == [True, False, True]
    full = {"type": "object", "properties": {f"k{n}": word for n in range(24)}}
    assert strict_of(with_optional("a", 1, word), CITY, schema=full) == [False, True]
    nested = {"type": "object", "properties": {"in": {"type": "array", "items": full}}, "required": ["in"]}
    assert strict_of(ToolSpec("a", "", nested), with_optional("b", 1, word)) == [True, False]


@pytest.mark.parametrize(
    ("choice", "parallel", "expected"),
    [
        ("auto", None, {"type": "auto"}),
        ("auto", False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("required", None, {"type": "any"}),
        ("required", True, {"type": "any", "disable_parallel_tool_use": False}),
        ("none", False, {"type": "none"}),
        (NamedTool("get_weather"), False, {"type": "tool", "name": "get_weather", "disable_parallel_tool_use": True}),
    ],
)
def test_tool_choice(choice: Any, parallel: bool | None, expected: dict[str, Any]) -> None:
    request = ChatRequest(HELLO.messages, tools=(CITY,), tool_choice=choice, parallel_tool_calls=parallel)
    assert sent(request)["tool_choice"] == expected
    assert "tool_choice" not in sent(ChatRequest(HELLO.messages, tool_choice=choice, parallel_tool_calls=parallel))


def test_output_schema_and_effort() -> None:
    body = sent(ChatRequest(HELLO.messages, output_schema=LIST, effort="low"))
    assert body["output_config"] == {
        "format": {
            "type": "json_schema",
            "schema": {
                "type": "object",
                "properties": {"value": {"type": "array", "items": {"type": "string"}}},
                "required": ["value"],
                "additionalProperties": False,
            },
        },
        "effort": "low",
    }
    assert body["thinking"] == {"type": "adaptive"}
    assert "thinking" not in sent(ChatRequest(HELLO.messages, output_schema=LIST))
    without = Endpoint(name="gateway", wire="anthropic", output_schema=False)
    assert "output_config" not in sent(ChatRequest(HELLO.messages, output_schema=LIST), without)


def test_an_output_schema_that_cannot_be_said_is_refused_with_its_path() -> None:
    schema = {"type": "object", "properties": {"any": {"type": "object", "additionalProperties": True}}}
    with pytest.raises(UnaskableError, match=r"output schema: at \$\.any, Anthropic's structured output cannot"):
        codec().encode(ChatRequest(HELLO.messages, output_schema=schema))


def test_sampling() -> None:
    sampling = Sampling(temperature=0.0, top_p=0.5, max_tokens=99, stop=("END", "\n\n"))
    body = sent(ChatRequest(HELLO.messages, sampling=sampling))
    del body["messages"]
    assert body == {
        "model": "claude-sonnet-5-5",
        "max_tokens": 99,
        "temperature": 0.0,
        "top_p": 0.5,
        "stop_sequences": ["END", "\n\n"],
    }


@pytest.mark.parametrize("setting", ["seed", "top_logprobs"])
def test_settings_that_the_wire_lacks_are_refused_by_name(setting: str) -> None:
    request = ChatRequest(HELLO.messages, sampling=Sampling(**{setting: 0}))
    with pytest.raises(UnaskableError, match=f"anthropic has no setting '{setting}'"):
        codec().encode(request)


# --- in -------------------------------------------------------------------------------------------------------------

SONNET = "claude-sonnet-5-5"
REPLIES = {
    "text": Reply("Close the ticket – it is a duplicate. ✓", "stop", usage=Usage(25, 14)),
    "cached": Reply("Escalate.", "stop", usage=Usage(188_563, 393, 188_086)),
    "tool_calls": Reply(
        "Both at once.",
        "tool_calls",
        usage=Usage(377, 88),
        tool_calls=(
            ToolCall("toolu_01Aa", "get_weather", {"city": "Zürich", "days": 2}),
            ToolCall("toolu_01Bb", "now", {}),
        ),
    ),
    "thinking": Reply(
        "Close #2.",
        "tool_calls",
        reasoning="The user reports the same crash twice.\n\nSo one of them closes.",
        usage=Usage(60, 170, 0, 120),
        tool_calls=(ToolCall("toolu_01Cc", "close", {"ticket": 2, "why": 'said "twice" \\ again'}),),
        model="claude-opus-5-5",
        echo=Echo("anthropic", fixture("thinking")["body"]["content"]),
    ),
    "thinking_omitted": Reply(
        "wait",
        "stop",
        usage=Usage(60, 40, 0, 33),
        model="claude-opus-5-5",
        echo=Echo("anthropic", fixture("thinking_omitted")["body"]["content"]),
    ),
    "structured": Reply('{"value": ["close", "wait"]}', "stop", usage=Usage(210, 12)),
    "empty": Reply("", "stop", usage=Usage(500, 3)),
    "max_tokens": Reply("Quantum physics is", "length", usage=Usage(11, 10)),
    "stop_sequence": Reply("1, 2, 3, ", "stop", usage=Usage(11, 10)),
    "pause_turn": Reply(
        "I will look it up.",
        "length",
        usage=Usage(300, 44),
        echo=Echo("anthropic", fixture("pause_turn")["body"]["content"]),
    ),
    "refusal": Reply("This request could enable cyber harm.", "refusal", usage=Usage(400, 1)),
    "refusal_unexplained": Reply("", "refusal", usage=Usage(400, 1)),
    "refusal_midway": Reply("First, you", "refusal", usage=Usage(400, 9)),
    "context_window": Reply("… and so on and", "length", usage=Usage(199_000, 1000)),
    "citations": Reply("As stated, the grass is green.", "stop", usage=Usage(610, 30)),
}


def expected(name: str) -> Reply:
    reply = REPLIES[name]
    return replace(reply, model=reply.model or SONNET, request_id=fixture(name)["headers"]["request-id"])


@pytest.mark.parametrize("name", REPLIES)
def test_answers(name: str) -> None:
    assert decoded(name) == expected(name)


def test_every_fixture_is_used() -> None:
    kept = {path.stem for path in FIXTURES.glob("*.json")}
    assert kept == {*REPLIES, "failed_within_200", *(f"error_{name}" for name in ERRORS)}
    assert {path.stem for path in FIXTURES.glob("*.sse")} == {*STREAMS, "error_midway", "unknown_events"}


def test_the_request_id_falls_back_to_the_message_id() -> None:
    kept = fixture("text")
    assert codec().decode(HttpReply(200, {}, json.dumps(kept["body"]).encode()), HELLO).request_id == "msg_01Fixture01"


def test_a_lowered_output_schema_is_mapped_back() -> None:
    assert decoded("structured", ChatRequest(HELLO.messages, output_schema=LIST)).text == '["close", "wait"]'


def test_an_unknown_stop_reason_is_none() -> None:
    kept = fixture("text")
    kept["body"]["stop_reason"] = "struck_by_lightning"
    assert codec().decode(http_reply(kept), HELLO).stop is None


def test_ids_are_made_up_where_there_are_none() -> None:
    kept = fixture("tool_calls")
    for block in kept["body"]["content"]:
        block.pop("id", None)
    assert [call.id for call in codec().decode(http_reply(kept), HELLO).tool_calls] == ["call_0", "call_1"]


def test_an_echo_leaves_out_the_empty_text_that_the_server_does_not_take_back() -> None:
    kept = fixture("thinking_omitted")
    kept["body"]["content"][1]["text"] = ""
    reply = codec().decode(http_reply(kept), HELLO)
    assert reply.echo == Echo("anthropic", [{"type": "thinking", "thinking": "", "signature": SIGNATURE}])


def test_an_echo_of_the_answer_is_what_goes_back() -> None:
    reply = decoded("thinking")
    history = (Message("user", "?"), Message("assistant", reply.text, reply.tool_calls, echo=reply.echo))
    assert turns(*history)[1]["content"] == fixture("thinking")["body"]["content"]


@pytest.mark.parametrize("body", [b"", b"<html>", b"null", b"[]", b"{}", b'{"content": null}', b'{"content": "x"}'])
def test_what_is_not_of_the_form_is_the_providers_failure(body: bytes) -> None:
    with pytest.raises(LLMError, match="^anthropic answered") as caught:
        codec().decode(HttpReply(200, {}, body), HELLO)
    assert (caught.value.reason, caught.value.provider) == (LLMErrorReason.PROVIDER, "anthropic")
    assert "html" not in str(caught.value)


def test_a_failure_within_a_successful_answer() -> None:
    with pytest.raises(LLMError) as caught:
        decoded("failed_within_200")
    assert caught.value.reason is LLMErrorReason.PROVIDER
    assert str(caught.value) == "anthropic reported a failure (overloaded_error): the provider failed inside"


# --- errors ---------------------------------------------------------------------------------------------------------

ERRORS = {
    "400_no_room": (LLMErrorReason.CONTEXT, False, "invalid_request_error"),
    "400_filtered": (LLMErrorReason.POLICY, False, "invalid_request_error"),
    "400": (LLMErrorReason.INVALID, False, "invalid_request_error"),
    "400_temperature": (LLMErrorReason.INVALID, False, "invalid_request_error"),
    "400_too_long": (LLMErrorReason.CONTEXT, False, "invalid_request_error"),
    "401": (LLMErrorReason.AUTH, False, "authentication_error"),
    "402": (LLMErrorReason.AUTHZ, False, "billing_error"),
    "403": (LLMErrorReason.AUTHZ, False, "permission_error"),
    "404": (LLMErrorReason.INVALID, False, "not_found_error"),
    "409": (LLMErrorReason.PROVIDER, True, "conflict_error"),
    "413": (LLMErrorReason.CONTEXT, False, "request_too_large"),
    "429": (LLMErrorReason.RATE_LIMIT, True, "rate_limit_error"),
    "429_spent": (LLMErrorReason.RATE_LIMIT, False, "enforced_spend_limit_reached, rate_limit_error"),
    "500": (LLMErrorReason.PROVIDER, True, "api_error"),
    "504": (LLMErrorReason.PROVIDER, True, "timeout_error"),
    "529": (LLMErrorReason.PROVIDER, True, "overloaded_error"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    reason, retryable, codes = ERRORS[name]
    kept = fixture(f"error_{name}")
    error = codec().error(http_reply(kept))
    assert (error.reason, error.retryable, error.http_status) == (reason, retryable, kept["status"])
    assert str(error).startswith(f"anthropic answered with status {kept['status']} ({codes}): ")
    assert (error.provider, error.model) == ("anthropic", "claude-sonnet-5-5")
    assert error.retry_after_s == (17.0 if name == "429" else None)
    assert kept["body"]["error"]["message"] not in str(error)


@pytest.mark.parametrize(
    "body", [b"", b"<html>secret</html>", b"[]", b'{"error": "secret"}', b'{"error": [1]}', b"[" * 9999]
)
def test_errors_without_a_body_of_the_wire(body: bytes) -> None:
    error = codec().error(HttpReply(502, {}, body))
    assert str(error) == "anthropic answered with status 502: the provider failed inside"
    assert error.retryable


# --- streams --------------------------------------------------------------------------------------------------------

STREAMS = (
    "text",
    "cached",
    "tool_calls",
    "thinking",
    "thinking_omitted",
    "structured",
    "empty",
    "max_tokens",
    "pause_turn",
    "refusal",
    "refusal_midway",
    "citations",
)


def raw(name: str) -> bytes:
    return (FIXTURES / f"{name}.sse").read_bytes()


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_gives_the_reply_of_the_whole_answer_wherever_it_is_cut(name: str) -> None:
    headers, data, reply = fixture(name)["headers"], raw(name), decoded(name)
    whole = events_of(data)
    assert streamed(whole, headers)[1] == reply
    for cut in range(len(data) + 1):
        events = events_of(data[:cut], data[cut:])
        assert events == whole, f"cut at {cut}"
        if cut % 50 == 0:
            assert streamed(events, headers)[1] == reply
    chance = random.Random(name)
    for _ in range(20):
        cuts = sorted(chance.sample(range(len(data)), 30))
        chunks = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        assert streamed(events_of(*chunks), headers)[1] == reply


@pytest.mark.parametrize("name", STREAMS)
def test_the_deltas_add_up_to_the_reply(name: str) -> None:
    deltas, reply = streamed(events_of(raw(name)), {})
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == reply.text
    assert "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta)) == reply.reasoning
    for number, call in enumerate(reply.tool_calls):
        pieces = [delta for delta in deltas if isinstance(delta, ToolCallDelta) and delta.index == number]
        assert {(piece.id, piece.name) for piece in pieces} == {(call.id, call.name)}
        assert json.loads("".join(piece.arguments for piece in pieces) or "{}") == call.arguments


def test_the_deltas_of_a_call_come_one_by_one() -> None:
    deltas, _ = streamed(events_of(raw("tool_calls")), {})
    assert deltas[:5] == [
        TextDelta("Both at o"),
        TextDelta("nce."),
        ToolCallDelta(0, "", "toolu_01Aa", "get_weather"),
        ToolCallDelta(0, '{"city": ', "toolu_01Aa", "get_weather"),
        ToolCallDelta(0, '"Zürich",', "toolu_01Aa", "get_weather"),
    ]
    assert deltas[-1] == ToolCallDelta(1, "", "toolu_01Bb", "now")


def test_the_explanation_of_a_refusal_stands_in_for_the_text_only_where_there_is_none() -> None:
    told = "This request could enable biological harm."
    midway = raw("refusal_midway").replace(b'"explanation": null', f'"explanation": "{told}"'.encode())
    deltas, reply = streamed(events_of(midway), {})
    assert (reply.text, deltas[-1]) == ("First, you", TextDelta("u"))
    deltas, reply = streamed(events_of(raw("refusal")), {})
    assert (reply.text, deltas) == (REPLIES["refusal"].text, [TextDelta(REPLIES["refusal"].text)])


def test_counts_that_the_end_of_a_stream_leaves_out_are_those_of_its_beginning() -> None:
    events = [
        (
            name,
            data.replace(
                '"cache_read_input_tokens": 188086, "output_tokens": 393',
                '"cache_read_input_tokens": null, "output_tokens": 393',
            ),
        )
        for name, data in events_of(raw("cached"))
    ]
    assert events != events_of(raw("cached"))
    assert streamed(events, {})[1].usage == Usage(188_563, 393, 188_086)


def test_unknown_events_are_passed_over() -> None:
    assert streamed(events_of(raw("unknown_events")), fixture("text")["headers"])[1] == decoded("text")


def test_a_stream_that_fails_midway() -> None:
    decoder = codec().decode_stream({}, HELLO)
    with pytest.raises(LLMError, match=r"anthropic reported a failure \(overloaded_error\)") as caught:
        for name, data in events_of(raw("error_midway")):
            list(decoder.feed(name, data))
    assert (caught.value.reason, caught.value.retryable) == (LLMErrorReason.PROVIDER, True)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_that_ends_early_is_broken_off(name: str) -> None:
    events = events_of(raw(name))
    for kept in range(len(events)):
        with pytest.raises(LLMError, match="broke off") as caught:
            streamed(events[:kept], {})
        assert caught.value.reason is LLMErrorReason.TRANSPORT


def test_arguments_that_end_midway_stay_text() -> None:
    events = [event for event in events_of(raw("thinking")) if "why" not in event[1] and "again" not in event[1]]
    reply = streamed(events, {})[1]
    (call,) = reply.tool_calls
    assert isinstance(call.arguments, str)
    assert call.arguments.startswith('{"ticket"')
    assert reply.echo is not None
    assert reply.echo.data[-1]["input"] == {"INVALID_JSON": call.arguments}


# --- the fake counterpart -------------------------------------------------------------------------------------------

ROUND_TRIPS = [
    Reply("Close.", "stop", usage=Usage(10, 5, 4, 2), model="m", request_id="msg_1"),
    Reply("", "stop", usage=Usage(), model="m", request_id="msg_1"),
    Reply("cut of", "length", usage=Usage(1, 1), model="m", request_id="msg_1"),
    Reply("I will not. – ✓", "refusal", usage=Usage(1, 1), model="m", request_id="msg_1"),
    Reply(
        "Both.",
        "tool_calls",
        usage=Usage(9, 9),
        model="m",
        request_id="msg_1",
        tool_calls=(ToolCall("toolu_1", "a", {"x": [1, {"y": "é"}]}), ToolCall("toolu_2", "b", {})),
    ),
    Reply(
        "Close.",
        "stop",
        reasoning="Twice the same.",
        usage=Usage(9, 9, 0, 5),
        model="m",
        request_id="msg_1",
        echo=Echo(
            "anthropic",
            [
                {"type": "thinking", "thinking": "Twice the same.", "signature": SIGNATURE},
                {"type": "redacted_thinking", "data": "EmwK"},
                {"type": "text", "text": "Close."},
            ],
        ),
    ),
]


@pytest.mark.parametrize("reply", ROUND_TRIPS, ids=range(len(ROUND_TRIPS)))
def test_round_trips(reply: Reply) -> None:
    body = json.dumps(fake.answer(reply, "other")).encode()
    assert codec().decode(HttpReply(200, {}, body), HELLO) == reply
    events = list(fake.events(reply, "other"))
    assert streamed(events, {})[1] == reply
    assert len(events) > 5 or not reply.text


def test_the_fake_signs_reasoning_and_fills_in_the_rest() -> None:
    reply = codec().decode(HttpReply(200, {}, json.dumps(fake.answer(Reply("a", reasoning="b"), "m")).encode()), HELLO)
    assert (reply.text, reply.reasoning, reply.stop, reply.model) == ("a", "b", "stop", "m")
    assert reply.echo is not None
    assert [block["type"] for block in reply.echo.data] == ["thinking", "text"]
    called = fake.answer(Reply(tool_calls=(ToolCall("toolu_1", "a", {}),)), "m")
    assert called["stop_reason"] == "tool_use"
    broken = Reply(tool_calls=(ToolCall("toolu_1", "a", '{"x'),))
    assert streamed(fake.events(broken, "m"), {})[1].tool_calls == broken.tool_calls


def test_what_was_asked_reads_back() -> None:
    call = ToolCall("toolu_1", "get_weather", {"city": "Bern"})
    image = MediaPart("image", b"x", "image/png")
    request = ChatRequest(
        (
            Message("user", (TextPart("Look:"), image)),
            Message("assistant", "I look.", (call,)),
            Message("user", "And?", tool_results=(ToolResult("toolu_1", "get_weather", "sun", is_error=True),)),
        ),
        "Be brief.",
        "claude-haiku-5-5",
        {"type": "object", "properties": {}, "additionalProperties": False},
        "low",
        (CITY,),
        NamedTool("get_weather"),
        False,
        Sampling(temperature=0.5, top_p=0.9, max_tokens=7, stop=("END",)),
    )
    call_ = codec(PLAIN).encode(request)
    assert fake.asked(call_.path, json.loads(call_.body)) == request


@pytest.mark.parametrize("choice", ["auto", "required", "none"])
def test_tool_choices_read_back(choice: Any) -> None:
    call = codec(PLAIN).encode(ChatRequest(HELLO.messages, tools=(CITY,), tool_choice=choice))
    assert fake.asked(call.path, json.loads(call.body)).tool_choice == choice


@pytest.mark.parametrize("name", ERRORS)
def test_the_fake_fails_as_the_server_does(name: str) -> None:
    status = fixture(f"error_{name}")["status"]
    kind = fixture(f"error_{name}")["body"]["error"]["type"]
    assert fake.failure(status, "", "no")["error"] == {"type": kind, "message": "no"}
    assert fake.failure(status, "odd_error", "no")["error"]["type"] == "odd_error"


# --- hostile JSON ---------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    ["text", "type", "tool_use", "thinking", "input", "id", "name", "content", "error", "delta", "index", "usage"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | WORDS, inner, max_size=4),
    max_leaves=8,
)
ASKED = ChatRequest(HELLO.messages, tools=(CITY,), output_schema=LIST)


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
@given(JSON | mutated([fixture(name)["body"] for name in (*REPLIES, "failed_within_200")]))
def test_any_answer_is_a_reply_or_an_llm_error(body: Any) -> None:
    reply = HttpReply(200, {}, json.dumps(body).encode())
    only_llm_errors(lambda: codec().decode(reply, ASKED))


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
@given(st.data(), st.sampled_from(["thinking", "tool_calls", "citations", "pause_turn", "refusal"]))
def test_any_events_are_a_reply_or_an_llm_error(data: Any, name: str) -> None:
    events = [(event, json.loads(text)) for event, text in events_of(raw(name))]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(events) - 1))
        event, body = events[place]
        events[place] = (event, data.draw(JSON | mutated([body])))
    only_llm_errors(lambda: streamed([(event, json.dumps(body)) for event, body in events], {}, ASKED))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["message", "message_stop", "error", "content_block_start"]), st.text())))
def test_any_text_as_events_is_a_reply_or_an_llm_error(events: list[tuple[str, str]]) -> None:
    only_llm_errors(lambda: streamed(events, {}))
