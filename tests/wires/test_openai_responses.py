"""The responses wire: exact bodies out, every documented answer in, streams cut anywhere, and hostile JSON."""

from __future__ import annotations

import contextlib
import json
import random
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
from decidable.providers.wires.codec import HttpReply
from decidable.providers.wires.openai_responses import OpenAIResponses
from decidable.providers.wires.sse import SseParser
from decidable.testing.fake_wires import openai_responses as fake
from decidable.tools import Echo, NamedTool, Token, ToolCall, ToolResult, ToolSpec

FIXTURES = Path(__file__).parent / "fixtures" / "openai_responses"
ENDPOINT = Endpoint(name="openai-responses", wire="openai-responses", strict_tools=True)
PLAIN = Endpoint(name="openai-responses", wire="openai-responses", strict=False)
HELLO = ChatRequest((Message("user", "hello"),))
SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "minLength": 1}}, "required": ["city"]}
CITY = ToolSpec("get_weather", "Tells the weather.", SCHEMA)
LIST = {"type": "array", "items": {"type": "string"}}
ID = "req_8b7f1c2d3e4f5a6b7c8d9e0f1a2b3c4d"


def codec(endpoint: Endpoint = ENDPOINT, **extra: Any) -> OpenAIResponses:
    return OpenAIResponses(endpoint, "gpt-5.2", extra)


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


def streamed(events: Any, headers: Any, request: ChatRequest = HELLO) -> tuple[list[Any], Reply]:
    decoder = codec().decode_stream(headers, request)
    deltas = [delta for name, data in events for delta in decoder.feed(name, data)]
    return deltas, decoder.finish()


# --- out ------------------------------------------------------------------------------------------------------------


def test_the_smallest_request():
    call = codec().encode(HELLO)
    assert (call.path, call.headers) == ("/responses", {})
    assert json.loads(call.body) == {
        "model": "gpt-5.2",
        "input": [{"role": "user", "content": "hello"}],
        "store": False,
    }


def test_model_system_stream_and_extra():
    request = ChatRequest(HELLO.messages, system="Be brief.", model="gpt-5-mini")
    body = sent(request, stream=True, service_tier="flex", store=True)
    assert (body["model"], body["instructions"], body["stream"]) == ("gpt-5-mini", "Be brief.", True)
    assert (body["service_tier"], body["store"]) == ("flex", True)


def test_images_and_text_keep_their_order():
    request = ChatRequest((Message("user", (TextPart("What"), MediaPart("image", b"x", "image/png"), TextPart("?"))),))
    assert sent(request)["input"][0]["content"] == [
        {"type": "input_text", "text": "What"},
        {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,eA=="},
        {"type": "input_text", "text": "?"},
    ]
    with pytest.raises(UnaskableError, match="the content holds audio"):
        sent(ChatRequest((Message("user", (MediaPart("audio", b"x", "audio/wav"),)),)))


def test_calls_and_results_of_a_turn():
    calls = (ToolCall("call_1", "get_weather", {"city": "Bern"}), ToolCall("call_2", "now", "{broken"))
    results = (ToolResult("call_1", "get_weather", "sunny"), ToolResult("call_2", "now", "broken", is_error=True))
    history = (
        Message("user", "Weather?"),
        Message("assistant", "I look.", calls),
        Message("user", "And now?", tool_results=results),
        Message("user", "", tool_results=results[:1]),
    )
    assert sent(ChatRequest(history))["input"] == [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city": "Bern"}'},
        {"type": "function_call", "call_id": "call_2", "name": "now", "arguments": "{broken"},
        {"type": "function_call_output", "call_id": "call_1", "output": "sunny"},
        {"type": "function_call_output", "call_id": "call_2", "output": "broken"},
        {"role": "user", "content": "And now?"},
        {"type": "function_call_output", "call_id": "call_1", "output": "sunny"},
    ]


def test_an_echo_goes_back_word_for_word_to_whoever_gave_it():
    reply = decoded("reasoning_call")
    assert reply.echo is not None
    own = Message("assistant", reply.text, reply.tool_calls, echo=reply.echo)
    assert sent(ChatRequest((own,)))["input"] == fixture("reasoning_call")["body"]["output"]
    other = Message("assistant", "", reply.tool_calls, echo=Echo("anthropic", [{"type": "thinking"}]))
    assert [item["type"] for item in sent(ChatRequest((other,)))["input"]] == ["function_call"]


def test_tools_are_strict_where_they_can_be():
    free = ToolSpec("note", "", {"type": "object"})
    body = sent(ChatRequest(HELLO.messages, tools=(CITY, free)))
    assert body["tools"] == [
        {
            "type": "function",
            "name": "get_weather",
            "description": "Tells the weather.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
                "additionalProperties": False,
            },
            "strict": True,
        },
        {"type": "function", "name": "note", "description": "", "parameters": {"type": "object"}, "strict": False},
    ]
    plain = sent(ChatRequest(HELLO.messages, tools=(CITY,)), PLAIN)["tools"][0]
    assert (plain["parameters"], plain["strict"]) == (SCHEMA, False)


@pytest.mark.parametrize(
    ("choice", "parallel", "expected"),
    [
        ("auto", None, "auto"),
        ("required", False, "required"),
        ("none", True, "none"),
        (NamedTool("get_weather"), None, {"type": "function", "name": "get_weather"}),
    ],
)
def test_tool_choice(choice, parallel, expected):
    body = sent(ChatRequest(HELLO.messages, tools=(CITY,), tool_choice=choice, parallel_tool_calls=parallel))
    assert body["tool_choice"] == expected
    assert body.get("parallel_tool_calls") is parallel
    assert "tool_choice" not in sent(ChatRequest(HELLO.messages, tool_choice=choice))


def test_output_schema():
    form = sent(ChatRequest(HELLO.messages, output_schema=LIST))["text"]["format"]
    assert form == {
        "type": "json_schema",
        "name": "reply",
        "schema": {
            "type": "object",
            "properties": {"value": {"type": "array", "items": {"type": "string"}}},
            "required": ["value"],
            "additionalProperties": False,
        },
        "strict": True,
    }
    plain = sent(ChatRequest(HELLO.messages, output_schema=LIST), PLAIN)["text"]["format"]
    assert (plain["schema"], plain["strict"]) == (LIST, False)
    with pytest.raises(UnaskableError, match=r"output schema: at \$\.a, OpenAI's strict mode cannot express"):
        sent(ChatRequest(HELLO.messages, output_schema={"type": "object", "properties": {"a": {"type": "object"}}}))


def test_effort_asks_for_reasoning_that_can_go_back():
    body = sent(ChatRequest(HELLO.messages, effort="high"))
    assert (body["reasoning"], body["include"]) == ({"effort": "high"}, ["reasoning.encrypted_content"])


def test_sampling():
    sampling = Sampling(temperature=0.0, top_p=0.5, max_tokens=99, top_logprobs=5)
    body = sent(ChatRequest(HELLO.messages, sampling=sampling))
    assert (body["temperature"], body["top_p"], body["max_output_tokens"], body["top_logprobs"]) == (0.0, 0.5, 99, 5)
    assert body["include"] == ["message.output_text.logprobs"]


@pytest.mark.parametrize("sampling", [Sampling(seed=1), Sampling(stop=("x",))])
def test_what_the_wire_does_not_have_is_refused(sampling):
    with pytest.raises(UnaskableError, match=r"has no setting '(seed|stop)' on this wire"):
        sent(ChatRequest(HELLO.messages, sampling=sampling))


def test_an_endpoints_accent():
    odd = Endpoint(
        name="odd", wire="openai-responses", required="any", omit=frozenset({"max_output_tokens", "temperature"})
    )
    body = sent(ChatRequest(HELLO.messages, tools=(CITY,), tool_choice="required", sampling=Sampling(top_p=1.0)), odd)
    assert (body["tool_choice"], body["top_p"]) == ("any", 1.0)
    for sampling, setting in ((Sampling(max_tokens=1), "max_tokens"), (Sampling(temperature=0.0), "temperature")):
        with pytest.raises(UnaskableError, match=f"odd has no setting '{setting}'; leave it out"):
            sent(ChatRequest(HELLO.messages, sampling=sampling), odd)


# --- in -------------------------------------------------------------------------------------------------------------

USAGE = Usage(36, 20)
MODEL = "gpt-5.2-2025-12-11"
PARIS = ToolCall("call_unLAR8MvFNptuiZK6K6HCy0k", "get_weather", {"city": "Paris"})
BOGOTA = ToolCall("call_unLAR8MvFNptuiZK6K6HCy1k", "get_weather", {"city": "Bogotá"})


def reply(text: str, stop: Any = "stop", **more: Any) -> Reply:
    return Reply(text, stop, **{"usage": USAGE, "model": MODEL, "request_id": ID, **more})


def echo(name: str) -> Echo:
    items = fixture(name)["body"]["output"]
    return Echo("openai-responses", [{k: v for k, v in item.items() if v is not None} for item in items])


REPLIES = {
    "text": reply("In a peaceful grove, a unicorn slept."),
    "two_parts": reply("One. Two."),
    "empty": reply("", usage=Usage(36, 0)),
    "no_items": reply(""),
    "refusal": reply("I can't help with that.", "refusal"),
    "length": reply("In a peaceful", "length"),
    "content_filter": reply("In", "content_filter"),
    "steered": reply("In", None),
    "calls": reply("", "tool_calls", tool_calls=(PARIS, BOGOTA)),
    "broken_call": reply("", "length", tool_calls=(ToolCall(PARIS.id, "get_weather", '{"city":"Par'),)),
    "reasoning": reply(
        "Close.", reasoning="**Weighing**\n\nClose it.", usage=Usage(81, 1035, 64, 832), echo=echo("reasoning")
    ),
    "reasoning_call": reply(
        "", "tool_calls", tool_calls=(PARIS,), usage=Usage(81, 95, 0, 64), echo=echo("reasoning_call")
    ),
    "reasoning_open": reply("Yes.", reasoning="The whole thought.", model="gpt-oss-120b", echo=echo("reasoning_open")),
    "logprobs": reply("A.", tokens=(Token("A", -0.1, (("A", -0.1), ("B", -2.4))), Token(".", -0.5))),
    "other_items": reply("Found."),
}


@pytest.mark.parametrize("name", REPLIES)
def test_replies(name):
    assert decoded(name) == REPLIES[name]


def test_every_fixture_is_used():
    kept = {path.stem for path in FIXTURES.glob("*.json")}
    assert kept == {*REPLIES, *FAILED, "cancelled", "queued", *(f"error_{name}" for name in ERRORS)}
    assert {path.stem for path in FIXTURES.glob("*.sse")} == {*STREAMS, "error_midway", "failed_midway"}
    for path in FIXTURES.iterdir():
        assert "https://platform.openai.com/" in path.read_text(encoding="utf-8")[:200]


def test_the_request_id_falls_back_to_the_response_id():
    kept = fixture("text")
    made = codec().decode(HttpReply(200, {}, json.dumps(kept["body"]).encode()), HELLO)
    assert made.request_id == "resp_67cb32528d6881909eb2859a55e18a85"


def said_by(*items: Any, **more: Any) -> Reply:
    body = json.dumps({"status": "completed", "output": items, **more}).encode()
    return codec().decode(HttpReply(200, {}, body), HELLO)


@pytest.mark.parametrize(
    ("body", "stop"),
    [
        ({"status": "completed"}, "stop"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_messages"}}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ({"status": "incomplete", "incomplete_details": {"reason": "steered"}}, None),
        ({"status": "incomplete", "incomplete_details": None}, None),
        ({"status": "struck_by_lightning"}, None),
        ({"status": None}, None),
    ],
)
def test_stop_reasons(body, stop):
    assert said_by(**body).stop == stop


def test_ids_are_made_up_where_they_are_missing_or_stand_twice():
    ids = [None, "", "call_3", "call_3", "same", "same", 7]
    calls = [{"type": "function_call", "call_id": id_, "name": "f", "arguments": "{}"} for id_ in ids]
    found = [call.id for call in said_by({"type": "reasoning"}, *calls).tool_calls]
    assert found == ["call_0", "call_1", "call_3", "call_4", "same", "call_5", "call_6"]


@pytest.mark.parametrize(
    ("thought", "goes_back"),
    [
        ({"encrypted_content": "gAAAA"}, True),
        ({"content": [{"type": "reasoning_text", "text": "hm"}]}, True),
        ({"encrypted_content": None, "content": []}, False),
        ({}, False),
    ],
)
def test_reasoning_that_is_only_a_reference_does_not_go_back(thought, goes_back):
    items = [
        {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAAA", "summary": []},
        {"type": "reasoning", "id": "rs_2", "summary": [{"type": "summary_text", "text": "sum"}], **thought},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
    ]
    reply = said_by(*items)
    assert (reply.text, reply.echo is not None) == ("Yes.", goes_back)
    turn = sent(ChatRequest((Message("assistant", reply.text, echo=reply.echo),)))["input"]
    assert turn == (items if goes_back else [{"role": "assistant", "content": "Yes."}])


def test_several_thoughts_are_parted_by_blank_lines():
    thoughts = [{"type": "reasoning", "summary": [{"text": text}]} for text in ("One.", "", "Two.")]
    assert said_by(*thoughts).reasoning == "One.\n\nTwo."


@pytest.mark.parametrize(
    ("body", "reason", "codes"),
    [
        ({"status": "failed", "error": None, "output": []}, "provider", ""),
        ({"status": "completed", "error": {"code": "rate_limit_exceeded"}}, "rate_limit", " (rate_limit_exceeded)"),
        ({"error": "maximum context length is 8192 tokens"}, "context", ""),
        ({"error": {"type": "error", "code": "server_error"}}, "provider", " (server_error)"),
        ({"error": ["odd"]}, "provider", ""),
    ],
)
def test_failures_of_every_form_inside_an_answer(body, reason, codes):
    with pytest.raises(LLMError) as caught:
        codec().decode(HttpReply(200, {}, json.dumps(body).encode()), HELLO)
    assert caught.value.reason == reason
    assert str(caught.value).startswith(f"openai-responses reported a failure{codes}: ")


def test_an_error_body_without_an_error_object():
    error = codec().error(HttpReply(400, {}, b'{"error": null, "code": "invalid_prompt", "param": "input"}'))
    assert error.reason is LLMErrorReason.POLICY
    assert "(invalid_prompt), about input: " in str(error)


def happened(*events: tuple[str, dict[str, Any]], typed: bool = True) -> tuple[list[Any], Reply]:
    return streamed([(kind, json.dumps({"type": kind, **body} if typed else body)) for kind, body in events], {})


THOUGHT = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Count."}]}
MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "Four."}]}
ANSWERED = {"response": {"status": "completed", "output": [THOUGHT, MESSAGE]}}


@pytest.mark.parametrize("typed", [True, False])
def test_open_reasoning_arrives_in_pieces_and_events_may_be_known_by_name_alone(typed):
    deltas, reply = happened(
        ("response.reasoning_text.delta", {"delta": "Cou"}),
        ("response.reasoning_text.delta", {"delta": "nt."}),
        ("response.output_text.delta", {"delta": "Four."}),
        ("response.completed", ANSWERED),
        typed=typed,
    )
    assert deltas == [ReasoningDelta("Cou"), ReasoningDelta("nt."), TextDelta("Four.")]
    assert (reply.reasoning, reply.text) == ("Count.", "Four.")


def test_items_are_put_in_order_where_the_last_event_leaves_them_out():
    _, reply = happened(
        ("response.output_item.done", {"output_index": 1, "item": MESSAGE}),
        ("response.output_item.done", {"output_index": 0, "item": THOUGHT}),
        ("response.completed", {"response": {"status": "completed"}}),
    )
    assert reply.echo == Echo("openai-responses", [THOUGHT, MESSAGE])


def test_calls_without_a_place_are_told_apart():
    call = {"type": "function_call", "name": "f", "arguments": ""}
    events: list[tuple[str, dict[str, Any]]] = []
    for id_ in ("a", "b"):
        events += [
            ("response.output_item.added", {"item": {**call, "call_id": id_}}),
            ("response.function_call_arguments.delta", {"delta": ""}),
            ("response.function_call_arguments.delta", {"delta": "{}"}),
            ("response.output_item.done", {"item": {**call, "call_id": id_, "arguments": "{}"}}),
        ]
    deltas, reply = happened(*events, ("response.completed", {"response": {"status": "completed", "output": []}}))
    assert deltas == [
        ToolCallDelta(0, "", "a", "f"),
        ToolCallDelta(0, "{}", "a", "f"),
        ToolCallDelta(1, "", "b", "f"),
        ToolCallDelta(1, "{}", "b", "f"),
    ]
    assert reply.tool_calls == (ToolCall("a", "f", {}), ToolCall("b", "f", {}))


def test_a_cancelled_stream_has_no_reply():
    with pytest.raises(LLMError, match="openai-responses answered without output"):
        happened(("response.cancelled", {"response": {"status": "cancelled", "output": []}}))


def test_a_failed_response_is_told_from_an_error_beside_none():
    failed = {"response": {"status": "failed", "error": {"code": "invalid_prompt"}}, "error": {"code": "server_error"}}
    with pytest.raises(LLMError, match=r"\(invalid_prompt\)"):
        happened(("response.failed", failed))
    with pytest.raises(LLMError, match=r"\(rate_limit_exceeded\)"):
        streamed([("message", '{"error": {"code": "rate_limit_exceeded"}}')], {})


def test_an_event_that_is_not_json_is_the_providers_failure():
    with pytest.raises(LLMError, match="answered with 10 bytes that are not JSON") as caught:
        streamed([("message", "secret \ud800")], {})
    assert caught.value.reason is LLMErrorReason.PROVIDER


def test_a_refusal_beside_a_text_keeps_the_text():
    parts = [{"type": "output_text", "text": "Half"}, {"type": "refusal", "refusal": "No."}]
    reply = said_by({"type": "message", "role": "assistant", "content": parts})
    assert (reply.text, reply.stop) == ("Half", "refusal")
    events = [
        ("response.output_text.delta", {"delta": "Half"}),
        ("response.refusal.delta", {"delta": "No."}),
        (
            "response.completed",
            {"response": {"status": "completed", "output": [{"type": "message", "content": parts}]}},
        ),
    ]
    found = streamed([(kind, json.dumps({"type": kind, **fields})) for kind, fields in events], {})
    assert found == ([TextDelta("Half")], reply)


def test_lowered_schemas_are_mapped_back():
    optional = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
    tool = ToolSpec("get_weather", "", optional)
    body = fixture("calls")["body"]
    body["output"][0]["arguments"] = '{"city":"Paris","days":null}'
    made = codec().decode(HttpReply(200, {}, json.dumps(body).encode()), ChatRequest(HELLO.messages, tools=(tool,)))
    assert made.tool_calls[0].arguments == {"city": "Paris"}
    body = fixture("text")["body"]
    body["output"][0]["content"][0]["text"] = '{"value": ["a"]}'
    request = ChatRequest(HELLO.messages, output_schema=LIST)
    assert codec().decode(HttpReply(200, {}, json.dumps(body).encode()), request).text == '["a"]'


FAILED = {"failed": "provider", "failed_limit": "rate_limit", "failed_prompt": "policy"}


@pytest.mark.parametrize("name", FAILED)
def test_failures_inside_an_answer(name):
    with pytest.raises(LLMError) as caught:
        decoded(name)
    assert caught.value.reason == FAILED[name]
    assert fixture(name)["body"]["error"]["message"] not in str(caught.value)


@pytest.mark.parametrize("name", ["cancelled", "queued"])
def test_an_answer_that_is_none(name):
    with pytest.raises(LLMError, match="openai-responses answered without output") as caught:
        decoded(name)
    assert caught.value.reason is LLMErrorReason.PROVIDER


ERRORS = {
    "400": ("invalid", False, "unsupported_parameter, invalid_request_error), about temperature"),
    "400_context": ("context", False, "context_length_exceeded, invalid_request_error), about input"),
    "400_schema": ("invalid", False, "invalid_json_schema, invalid_request_error), about text.format.schema"),
    "401": ("auth", False, "invalid_api_key, invalid_request_error)"),
    "403": ("authz", False, "unsupported_country_region_territory, request_forbidden)"),
    "404": ("invalid", False, "model_not_found, invalid_request_error), about model"),
    "429": ("rate_limit", True, "rate_limit_exceeded, requests)"),
    "429_quota": ("rate_limit", False, "insufficient_quota)"),
    "500": ("provider", True, "server_error)"),
    "503": ("provider", True, "slow_down, server_error)"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    reason, retryable, told = ERRORS[name]
    kept = fixture(f"error_{name}")
    error = codec().error(http_reply(kept))
    assert (error.reason, error.retryable, error.http_status) == (reason, retryable, kept["status"])
    assert f"({told}: " in str(error)
    assert error.retry_after_s == (20.0 if name == "429" else None)
    assert kept["body"]["error"]["message"] not in str(error)


# --- streams --------------------------------------------------------------------------------------------------------

STREAMS = {
    "text": ("text", [TextDelta("In a "), TextDelta("peaceful grove"), TextDelta(", a unicorn slept.")]),
    "refusal": ("refusal", [TextDelta("I can't "), TextDelta("help with that.")]),
    "length": ("length", [TextDelta("In a "), TextDelta("peaceful")]),
    "calls": (
        "calls",
        [
            ToolCallDelta(0, "", PARIS.id, "get_weather"),
            ToolCallDelta(0, '{"city":', PARIS.id, "get_weather"),
            ToolCallDelta(0, '"Paris"}', PARIS.id, "get_weather"),
            ToolCallDelta(1, "", BOGOTA.id, "get_weather"),
            ToolCallDelta(1, '{"ci', BOGOTA.id, "get_weather"),
            ToolCallDelta(1, 'ty":"Bogotá"}', BOGOTA.id, "get_weather"),
        ],
    ),
    "calls_without_output": ("calls", None),
    "reasoning": (
        "reasoning",
        [
            ReasoningDelta("**Wei"),
            ReasoningDelta("ghing**"),
            ReasoningDelta("Close"),
            ReasoningDelta(" it."),
            TextDelta("Clo"),
            TextDelta("se."),
        ],
    ),
    "reasoning_call": ("reasoning_call", None),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_gives_the_reply_of_the_whole_answer_wherever_it_is_cut(name):
    whole, deltas = STREAMS[name]
    data = (FIXTURES / f"{name}.sse").read_bytes()
    events = events_of(data)
    found = streamed(events, fixture(whole)["headers"])
    assert found[1] == REPLIES[whole]
    if deltas is not None:
        assert found[0] == deltas
    assert events_of(*(data[i : i + 1] for i in range(len(data)))) == events
    for cut in range(len(data) + 1):
        assert events_of(data[:cut], data[cut:]) == events, f"cut at {cut}"
    chance = random.Random(7)
    for _ in range(20):
        cuts = sorted(chance.sample(range(len(data)), 6))
        pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        assert streamed(events_of(*pieces), fixture(whole)["headers"]) == found


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_that_ends_early_is_no_reply(name):
    events = events_of((FIXTURES / f"{name}.sse").read_bytes())
    for end in range(len(events)):
        with pytest.raises(LLMError, match="broke off its reply") as caught:
            streamed(events[:end], {})
        assert caught.value.reason is LLMErrorReason.TRANSPORT


def test_the_last_line_of_gateways_is_passed_over():
    events = [*events_of((FIXTURES / "text.sse").read_bytes()), ("message", "[DONE]")]
    assert streamed(events, fixture("text")["headers"])[1] == REPLIES["text"]
    with pytest.raises(LLMError, match="broke off its reply"):
        streamed([*events[:-2], events[-1]], {})


@pytest.mark.parametrize(("name", "reason"), [("error_midway", "provider"), ("failed_midway", "rate_limit")])
def test_a_failure_midway(name, reason):
    with pytest.raises(LLMError, match="reported a failure") as caught:
        streamed(events_of((FIXTURES / f"{name}.sse").read_bytes()), {})
    assert caught.value.reason == reason


# --- the fake, and what means harm ----------------------------------------------------------------------------------

SAID = [
    Reply("Hello.", "stop"),
    Reply("", "tool_calls", tool_calls=(ToolCall("a", "x", {"y": 1}), ToolCall("b", "x", {}))),
    Reply("Look.", "tool_calls", tool_calls=(ToolCall("a", "x", "{half"),)),
    Reply("No.", "refusal"),
    Reply("Cut", "length"),
    Reply("Cut", "content_filter"),
    Reply("A", "stop", tokens=(Token("A", -0.5, (("A", -0.5),)),)),
]


@pytest.mark.parametrize("made", SAID)
def test_what_the_fake_says_comes_back(made):
    from dataclasses import replace

    full = replace(made, usage=Usage(9, 5, 3, 2), model="m", request_id="r")
    body = json.dumps(fake.answer(full, "other")).encode()
    assert codec().decode(HttpReply(200, {}, body), HELLO) == full
    assert streamed(list(fake.events(full, "other")), {})[1] == full


def test_what_the_fake_says_with_reasoning_comes_back_with_an_echo():
    made = Reply("Hi.", "stop", reasoning="hm")
    found = codec().decode(HttpReply(200, {}, json.dumps(fake.answer(made, "m")).encode()), HELLO)
    assert (found.text, found.reasoning) == ("Hi.", "hm")
    assert found.echo is not None
    again = codec().decode(HttpReply(200, {}, json.dumps(fake.answer(found, "m")).encode()), HELLO)
    assert again.echo == found.echo


def test_the_fake_understands_what_is_sent():
    calls = (ToolCall("call_1", "get_weather", {"city": "Bern"}),)
    request = ChatRequest(
        (
            Message("user", "Weather?"),
            Message("assistant", "I look.", calls),
            Message("user", "And?", tool_results=(ToolResult("call_1", "get_weather", "sunny"),)),
        ),
        "Be brief.",
        "m",
        None,
        "low",
        (ToolSpec("get_weather", "", SCHEMA),),
        NamedTool("get_weather"),
        False,
        Sampling(temperature=0.5, max_tokens=5),
    )
    assert fake.asked("/responses", sent(request, PLAIN)) == request


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
BODIES = [fixture(name)["body"] for name in ("calls", "reasoning", "logprobs", "refusal", "failed")]
EVENTS = [
    json.loads(data)
    for name in ("calls", "reasoning", "failed_midway")
    for _, data in events_of((FIXTURES / f"{name}.sse").read_bytes())
]


@st.composite
def spoiled(draw, whole):
    """A body with one of its values replaced by any JSON at all."""
    body = json.loads(json.dumps(draw(st.sampled_from(whole))))
    place: Any = body
    while isinstance(place, (dict, list)) and place:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if draw(st.booleans()) or not isinstance(place[key], (dict, list)) or not place[key]:
            place[key] = draw(JSON)
            break
        place = place[key]
    return body


@settings(max_examples=300, deadline=None)
@given(st.one_of(JSON, spoiled(BODIES)), st.sampled_from([HELLO, ChatRequest(HELLO.messages, output_schema=LIST)]))
def test_no_body_makes_it_crash(body, request_):
    data = json.dumps(body).encode()
    with contextlib.suppress(LLMError):
        assert isinstance(codec().decode(HttpReply(200, {}, data), request_), Reply)
    assert isinstance(codec().error(HttpReply(400, {}, data)), LLMError)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(JSON, spoiled(EVENTS)), max_size=6), st.sampled_from(["message", "error", "response.failed"]))
def test_no_events_make_it_crash(chunks, name):
    decoder = codec().decode_stream({}, HELLO)
    with contextlib.suppress(LLMError):
        for chunk in chunks:
            list(decoder.feed(name, json.dumps(chunk)))
        decoder.finish()


@pytest.mark.parametrize("body", [b"", b"no", b"[" * 100_000, b'"\\ud800"'])
def test_bodies_that_are_no_answer(body):
    with pytest.raises(LLMError) as caught:
        codec().decode(HttpReply(200, {}, body), HELLO)
    assert caught.value.reason is LLMErrorReason.PROVIDER
    assert codec().error(HttpReply(500, {}, body)).reason is LLMErrorReason.PROVIDER


# --- what a model says while it works --------------------------------------------------------------------------------


def with_commentary() -> dict[str, Any]:
    """An answer in two phases."""
    body = fixture("text")["body"]
    aside = {**body["output"][0], "id": "msg_0", "phase": "commentary"}
    aside["content"] = [{"type": "output_text", "text": "I will look it up.", "annotations": [], "logprobs": []}]
    body["output"] = [aside, {**body["output"][0], "phase": "final_answer"}]
    return body


def test_commentary_is_no_part_of_the_answer_and_goes_back_with_it():
    body = with_commentary()
    made = codec().decode(HttpReply(200, {}, json.dumps(body).encode()), HELLO)
    assert (made.text, made.reasoning) == ("In a peaceful grove, a unicorn slept.", "I will look it up.")
    assert made.echo == Echo("openai-responses", body["output"])


def test_commentary_streams_as_reasoning():
    body = with_commentary()
    events = [
        ("response.output_item.added", {"output_index": 0, "item": {**body["output"][0], "content": []}}),
        ("response.output_text.delta", {"output_index": 0, "delta": "I will look it up."}),
        ("response.output_item.added", {"output_index": 1, "item": {**body["output"][1], "content": []}}),
        ("response.output_text.delta", {"output_index": 1, "delta": "In a"}),
        ("response.completed", {"response": body}),
    ]
    decoder = codec().decode_stream({}, HELLO)
    deltas = [d for kind, more in events for d in decoder.feed(kind, json.dumps({"type": kind, **more}))]
    assert deltas == [ReasoningDelta("I will look it up."), TextDelta("In a")]
    assert decoder.finish().text == "In a peaceful grove, a unicorn slept."


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("bio_policy", "policy"),
        ("misalignment_policy_violation", "policy"),
        ("image_content_policy_violation", "policy"),
        ("invalid_image_format", "invalid"),
        ("image_file_too_large", "invalid"),
        ("failed_to_download_image", "invalid"),
        ("data_residency_mismatch", "invalid"),
        ("vector_store_timeout", "provider"),
    ],
)
def test_codes_of_failed_responses(code, reason):
    body = {**fixture("failed")["body"], "error": {"code": code, "message": "..."}}
    with pytest.raises(LLMError) as caught:
        codec().decode(HttpReply(200, {}, json.dumps(body).encode()), HELLO)
    assert caught.value.reason == reason
