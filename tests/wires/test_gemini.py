"""The generateContent wire: exact bodies out, every documented answer in, streams cut anywhere, and hostile JSON."""

from __future__ import annotations

import base64
import copy
import json
import random
import re
from collections.abc import Iterable
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
from decidable.providers.wires.codec import HttpReply
from decidable.providers.wires.gemini import GeminiContent
from decidable.providers.wires.sse import SseParser
from decidable.testing.fake_wires import gemini as fake
from decidable.tools import Echo, NamedTool, Token, ToolCall, ToolResult, ToolSpec

FIXTURES = Path(__file__).parent / "fixtures" / "gemini"
ENDPOINT = Endpoint(name="gemini", wire="gemini", key_header="x-goog-api-key", top_logprobs=20)
MODEL = "gemini-3.5-flash"
HELLO = ChatRequest((Message("user", "hello"),))
CITY = ToolSpec(
    "get_weather",
    "Tells the weather.",
    {"type": "object", "properties": {"city": {"type": "string", "minLength": 1}}, "required": ["city"]},
)
PICK = {
    "anyOf": [
        {
            "type": "object",
            "properties": {"call": {"type": "string", "const": "wait"}, "args": {"type": "object", "properties": {}}},
            "required": ["call", "args"],
        },
        {"type": "object", "properties": {"call": {"const": 2}}, "required": ["call"]},
    ]
}
UNSIGNED = "skip_thought_signature_validator"


def codec(endpoint: Endpoint = ENDPOINT, model: str | None = MODEL, **extra: Any) -> GeminiContent:
    return GeminiContent(endpoint, model, extra)


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


def streamed(events: Iterable[tuple[str, str]], request: ChatRequest = HELLO) -> tuple[list[Any], Reply]:
    decoder = codec().decode_stream({}, request)
    deltas = [delta for name, data in events for delta in decoder.feed(name, data)]
    return deltas, decoder.finish()


def turns(*messages: Message, model: str = MODEL) -> list[dict[str, Any]]:
    return sent(ChatRequest(messages, model=model))["contents"]


def text(words: str) -> dict[str, Any]:
    return {"text": words}


# --- out ------------------------------------------------------------------------------------------------------------


def test_the_smallest_request() -> None:
    call = codec().encode(HELLO)
    assert (call.path, call.headers) == ("/models/gemini-3.5-flash:generateContent", {})
    assert json.loads(call.body) == {"contents": [{"role": "user", "parts": [text("hello")]}]}


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-3.5-flash", "/models/gemini-3.5-flash"),
        ("models/gemini-3.5-flash", "/models/gemini-3.5-flash"),
        ("tunedModels/mine-1", "/tunedModels/mine-1"),
        ("odd name?key=1#x", "/models/odd%20name%3Fkey%3D1%23x"),
    ],
)
def test_the_path_names_the_model(model: str, path: str) -> None:
    request = replace(HELLO, model=model)
    assert codec(model=None).encode(request).path == f"{path}:generateContent"
    assert codec().encode(request, stream=True).path == f"{path}:streamGenerateContent?alt=sse"


def test_a_model_must_be_named() -> None:
    with pytest.raises(UnaskableError, match="the model must be named"):
        codec(model=None).encode(HELLO)


def test_streaming_changes_only_the_path() -> None:
    assert sent(HELLO, stream=True) == sent(HELLO)


def test_the_system_prompt() -> None:
    assert sent(replace(HELLO, system="Be brief."))["systemInstruction"] == {"parts": [text("Be brief.")]}
    assert "systemInstruction" not in sent(replace(HELLO, system=""))


def test_extra_fields_have_the_last_word_also_within_the_generation_config() -> None:
    sampling = Sampling(temperature=0.5, seed=3)
    extra = {"generationConfig": {"seed": 4, "thinkingConfig": {"thinkingBudget": 128}}, "safetySettings": []}
    body = sent(replace(HELLO, sampling=sampling), **extra)
    assert body["generationConfig"] == {"temperature": 0.5, "seed": 4, "thinkingConfig": {"thinkingBudget": 128}}
    assert body["safetySettings"] == []
    assert extra["generationConfig"] == {"seed": 4, "thinkingConfig": {"thinkingBudget": 128}}
    endpoint = Endpoint(name="proxy", wire="gemini", omit=frozenset({"generationConfig"}))
    assert "generationConfig" not in sent(replace(HELLO, sampling=sampling), endpoint)


def test_images_and_text_keep_their_order() -> None:
    image = MediaPart("image", b"\x89PNG", "image/png")
    inline = {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(b"\x89PNG").decode()}}
    assert turns(Message("user", (TextPart("What is"), image, TextPart("this?")))) == [
        {"role": "user", "parts": [text("What is"), inline, text("this?")]}
    ]


def test_other_media_is_refused() -> None:
    with pytest.raises(UnaskableError, match="gemini is sent text and images; the content holds audio"):
        turns(Message("user", (MediaPart("audio", b"x", "audio/wav"),)))
    with pytest.raises(UnaskableError, match="an assistant's turn takes no media"):
        turns(Message("assistant", (MediaPart("image", b"x", "image/png"),)))


def test_calls_and_results_of_a_turn() -> None:
    calls = (ToolCall("toolu_1", "get_weather", {"city": "Bern"}), ToolCall("toolu_2", "now", {}))
    image = MediaPart("image", b"x", "image/png")
    results = (
        ToolResult("toolu_2", "now", (TextPart("see"), image), is_error=True),
        ToolResult("toolu_1", "get_weather", "sunny"),
        ToolResult("toolu_3", "nothing", ""),
    )
    history = turns(
        Message("user", "Weather?"),
        Message("assistant", "I look.", calls),
        Message("user", "And now?", tool_results=results),
    )
    assert history[1] == {
        "role": "model",
        "parts": [
            text("I look."),
            {
                "functionCall": {"name": "get_weather", "args": {"city": "Bern"}, "id": "toolu_1"},
                "thoughtSignature": UNSIGNED,
            },
            {"functionCall": {"name": "now", "args": {}, "id": "toolu_2"}},
        ],
    }
    assert history[2] == {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "get_weather", "response": {"output": "sunny"}, "id": "toolu_1"}},
            {
                "functionResponse": {
                    "name": "now",
                    "response": {"error": "see"},
                    "id": "toolu_2",
                    "parts": [{"inlineData": {"mimeType": "image/png", "data": "eA=="}}],
                }
            },
            {"functionResponse": {"name": "nothing", "response": {"output": ""}}},
            text("And now?"),
        ],
    }


@pytest.mark.parametrize(
    ("model", "signed"),
    [
        ("gemini-3.5-flash", True),
        ("models/gemini-4-argon", True),
        ("gemini-flash-latest", True),
        ("gemini-2.5-pro", False),
        ("models/gemini-2.5-flash-lite", False),
        ("gemma-4-31b-it", False),
        ("gemini-20-x", True),
    ],
)
def test_calls_of_other_models_carry_googles_word_for_it_where_signatures_are_wanted(model: str, signed: bool) -> None:
    (turn,) = turns(Message("assistant", "", (ToolCall("a", "now", {}), ToolCall("b", "now", {}))), model=model)
    assert [part.get("thoughtSignature") for part in turn["parts"]] == [UNSIGNED if signed else None, None]


def test_ids_that_were_made_up_are_not_sent_and_results_stand_in_the_order_of_their_calls() -> None:
    calls = (ToolCall("call_0", "look", {"at": 1}), ToolCall("call_1", "look", {"at": 2}))
    results = (ToolResult("call_1", "look", "two"), ToolResult("call_0", "look", "one"))
    history = turns(Message("assistant", "", calls), Message("user", "", tool_results=results), model="gemini-2.5-pro")
    assert history == [
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"at": n}}} for n in (1, 2)]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "look", "response": {"output": "one"}}},
                {"functionResponse": {"name": "look", "response": {"output": "two"}}},
            ],
        },
    ]


def test_arguments_that_are_no_object_are_wrapped() -> None:
    (turn,) = turns(Message("assistant", "", (ToolCall("a", "now", '{"a": '),)))
    assert turn["parts"][0]["functionCall"] == {"name": "now", "args": {"arguments": '{"a": '}, "id": "a"}


def test_turns_of_one_role_become_one() -> None:
    assert turns(
        Message("user", "a"),
        Message("assistant", ""),
        Message("user", "b"),
        Message("assistant", "c"),
        Message("assistant", "d"),
    ) == [{"role": "user", "parts": [text("a"), text("b")]}, {"role": "model", "parts": [text("c"), text("d")]}]


def test_results_come_first_also_where_a_turn_before_is_joined() -> None:
    call = Message("assistant", "", (ToolCall("a", "now", {}),))
    (_, turn) = turns(call, Message("user", "d"), Message("user", "e", tool_results=(ToolResult("a", "now", "noon"),)))
    assert [*turn["parts"][0]] == ["functionResponse"]
    assert turn["parts"][1:] == [text("d"), text("e")]


def test_an_empty_user_turn_is_left_to_the_server_to_refuse() -> None:
    assert turns(Message("user", "")) == [{"role": "user", "parts": [text("")]}]


def test_an_echo_goes_back_word_for_word_to_whoever_gave_it() -> None:
    data = [{"text": "hm", "thought": True}, {"text": "Close.", "thoughtSignature": "c2ln"}]
    before = copy.deepcopy(data)
    own = Message("assistant", "Close.", echo=Echo("gemini", data))
    other = Message("assistant", "Close.", echo=Echo("anthropic", [{"type": "thinking"}]))
    assert turns(Message("user", "?"), own)[1] == {"role": "model", "parts": data}
    assert turns(Message("user", "?"), other)[1] == {"role": "model", "parts": [text("Close.")]}
    turns(own, Message("assistant", "More."))
    assert data == before


def test_tools_are_sent_as_json_schema() -> None:
    nothing = ToolSpec("now", "", {"type": "object", "properties": {}, "additionalProperties": False})
    body = sent(replace(HELLO, tools=(CITY, nothing)))
    assert body["tools"] == [
        {
            "functionDeclarations": [
                {
                    "name": "get_weather",
                    "description": "Tells the weather.",
                    "parametersJsonSchema": {
                        "type": "object",
                        "properties": {"city": {"type": "string"}},
                        "required": ["city"],
                        "additionalProperties": False,
                    },
                },
                {"name": "now", "description": "", "parametersJsonSchema": nothing.parameters},
            ]
        }
    ]


def test_a_tool_that_cannot_be_lowered_is_sent_as_it_is() -> None:
    free = ToolSpec("note", "Takes anything.", {"type": "object", "additionalProperties": {"type": "integer"}})
    (declared,) = sent(replace(HELLO, tools=(free,)))["tools"][0]["functionDeclarations"]
    assert declared["parametersJsonSchema"] == free.parameters


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", {"mode": "AUTO"}),
        ("required", {"mode": "ANY"}),
        ("none", {"mode": "NONE"}),
        (NamedTool("get_weather"), {"mode": "ANY", "allowedFunctionNames": ["get_weather"]}),
    ],
)
@pytest.mark.parametrize("parallel", [None, True, False])
def test_tool_choice(choice: Any, expected: dict[str, Any], parallel: bool | None) -> None:
    request = replace(HELLO, tools=(CITY,), tool_choice=choice, parallel_tool_calls=parallel)
    body = sent(request)
    assert body["toolConfig"] == {"functionCallingConfig": expected}
    assert body.keys() == {"contents", "tools", "toolConfig"}
    assert sent(replace(request, tools=())).keys() == {"contents"}


def test_an_output_schema() -> None:
    config = sent(replace(HELLO, output_schema=PICK))["generationConfig"]
    closed = {"type": "object", "properties": {}, "additionalProperties": False}
    assert config == {
        "responseMimeType": "application/json",
        "responseJsonSchema": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"call": {"type": "string", "enum": ["wait"]}, "args": closed},
                    "required": ["call", "args"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {"call": {"type": "integer", "enum": [2]}},
                    "required": ["call"],
                    "additionalProperties": False,
                },
            ]
        },
    }
    assert "generationConfig" not in sent(replace(HELLO, output_schema=PICK), replace_endpoint(output_schema=False))


def replace_endpoint(**changes: Any) -> Endpoint:
    return Endpoint(name="gemini", wire="gemini", **changes)


def test_an_output_schema_keeps_what_the_wire_knows_and_drops_the_rest() -> None:
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": ["integer", "null"], "minimum": 1, "exclusiveMaximum": 9, "description": "How many."},
            "at": {"type": "string", "format": "date-time", "pattern": "^2"},
            "of": {"type": "array", "items": {"type": "string", "format": "email"}, "minItems": 1, "uniqueItems": True},
        },
        "required": ["of", "n"],
    }
    assert sent(replace(HELLO, output_schema=schema))["generationConfig"]["responseJsonSchema"] == {
        "type": "object",
        "properties": {
            "n": {"type": ["integer", "null"], "minimum": 1, "description": "How many."},
            "at": {"type": "string", "format": "date-time"},
            "of": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        },
        "required": ["n", "of"],
        "additionalProperties": False,
    }


def test_an_output_schema_that_cannot_be_said_is_refused_with_its_path() -> None:
    schema = {"type": "object", "properties": {"any": {}}}
    with pytest.raises(UnaskableError, match=r"output schema: at \$\.any, Gemini's structured output cannot"):
        codec().encode(replace(HELLO, output_schema=schema))


@pytest.mark.parametrize("effort", ["minimal", "low", "medium", "high"])
def test_effort(effort: str) -> None:
    config = sent(replace(HELLO, effort=effort))["generationConfig"]
    assert config == {"thinkingConfig": {"thinkingLevel": effort.upper(), "includeThoughts": True}}


def test_sampling() -> None:
    sampling = Sampling(temperature=0.0, top_p=0.5, max_tokens=99, stop=("END", "\n\n"), seed=0, top_logprobs=5)
    assert sent(replace(HELLO, sampling=sampling))["generationConfig"] == {
        "temperature": 0.0,
        "topP": 0.5,
        "maxOutputTokens": 99,
        "stopSequences": ["END", "\n\n"],
        "seed": 0,
        "responseLogprobs": True,
        "logprobs": 5,
    }
    none = sent(replace(HELLO, sampling=Sampling(top_logprobs=0)))["generationConfig"]
    assert none == {"responseLogprobs": True}
    assert "generationConfig" not in sent(replace(HELLO, sampling=Sampling()))


# --- in -------------------------------------------------------------------------------------------------------------

WEATHER = {"city": "Zürich", "days": 2}
REPLIES = {
    "text": Reply("Close the ticket – it is a duplicate. ✓", "stop", usage=Usage(25, 14)),
    "empty": Reply("", "stop", usage=Usage(500, 0)),
    "no_content": Reply("", "length", usage=Usage(11, 97, 0, 97)),
    "max_tokens": Reply("Quantum physics is", "length", usage=Usage(11, 4)),
    "thinking": Reply(
        "Close #2.",
        "stop",
        reasoning="**Weighing the tickets**\n\nThe user reports the same crash twice.So one closes.\n",
        usage=Usage(60, 125, 0, 120),
        echo=Echo("gemini", fixture("thinking")["body"]["candidates"][0]["content"]["parts"]),
    ),
    "tool_calls": Reply(
        "",
        "tool_calls",
        reasoning="Both are needed.",
        usage=Usage(377, 88, 0, 57),
        tool_calls=(ToolCall("gp737npz", "get_weather", WEATHER), ToolCall("k2x9qq1a", "now", {})),
        echo=Echo("gemini", fixture("tool_calls")["body"]["candidates"][0]["content"]["parts"]),
    ),
    "tool_calls_unsigned": Reply(
        "Both at once.",
        "tool_calls",
        usage=Usage(377, 31),
        model="gemini-2.5-flash-lite",
        tool_calls=(ToolCall("call_0", "get_weather", {"city": "Zürich"}), ToolCall("call_1", "now", {})),
    ),
    "cached": Reply("Escalate.", "stop", usage=Usage(188_563, 3, 188_086)),
    "server_tools": Reply("It rains.", "stop", usage=Usage(250, 12, 0, 9)),
    "structured": Reply('{\n  "call": "close",\n  "args": {"ticket": 2}\n}', "stop", usage=Usage(210, 22)),
    "logprobs": Reply(
        "close it",
        "stop",
        usage=Usage(30, 2),
        model="gemini-2.5-flash",
        tokens=(
            Token("close", -0.05, (("close", -0.05), ("wait", -3.25))),
            Token(" it", -0.025, ((" it", -0.025), (" them", -4.5))),
        ),
    ),
    "blocked": Reply("", "content_filter", usage=Usage(19, 0)),
    "stop_continuation": Reply("… and so on and", "length", usage=Usage(14, 6)),
    "stop_unexpected_tool_call": Reply("", None, usage=Usage(14, 6), tool_calls=(ToolCall("zz81kd0p", "reopen", {}),)),
    "stop_malformed_function_call": Reply("", None, usage=Usage(14, 39, 0, 30)),
    "stop_malformed_response": Reply("", None, usage=Usage(14, 1)),
    "stop_safety_midway": Reply("First, you", "content_filter", usage=Usage(14, 3)),
}
FILTERED = (
    "safety",
    "recitation",
    "language",
    "blocklist",
    "prohibited_content",
    "spii",
    "escalation",
    "model_armor",
    "image_safety",
    "image_prohibited_content",
    "image_recitation",
)
UNTOLD = ("other", "too_many_tool_calls", "image_other", "no_image", "finish_reason_unspecified")
REFUSED = {
    "missing_thought_signature": (LLMErrorReason.INVALID, False),
    "pup_limited_disabled": (LLMErrorReason.AUTHZ, False),
}
REPLIES |= {f"stop_{name}": Reply("", "content_filter", usage=Usage(14, 0)) for name in FILTERED}
REPLIES |= {f"stop_{name}": Reply("", None, usage=Usage(14, 0)) for name in UNTOLD}


@pytest.mark.parametrize("name", REPLIES)
def test_answers(name: str) -> None:
    reply = REPLIES[name]
    assert decoded(name) == replace(reply, model=reply.model or MODEL, request_id="Il0taoSYJ5CezFixture")


@pytest.mark.parametrize("name", REFUSED)
def test_finish_reasons_that_are_failures(name: str) -> None:
    reason, retryable = REFUSED[name]
    with pytest.raises(LLMError, match=rf"^gemini reported a failure \({name.upper()}, ") as caught:
        decoded(f"stop_{name}")
    assert (caught.value.reason, caught.value.retryable, caught.value.model) == (reason, retryable, MODEL)


def test_every_fixture_is_used() -> None:
    kept = {path.stem for path in FIXTURES.glob("*.json")}
    assert kept == {
        *REPLIES,
        *(f"stop_{name}" for name in REFUSED),
        "failed_within_200",
        *(f"error_{name}" for name in ERRORS),
    }
    streams = {path.stem for path in FIXTURES.glob("*.sse")}
    assert streams == {*STREAMS, "error_midway", "error_bare", "unknown_events"}


def test_an_unknown_finish_reason_is_none() -> None:
    kept = fixture("text")
    kept["body"]["candidates"][0]["finishReason"] = "STRUCK_BY_LIGHTNING"
    assert codec().decode(http_reply(kept), HELLO).stop is None


@pytest.mark.parametrize("reason", ["MAX_TOKENS", "SAFETY"])
def test_calls_do_not_hide_why_a_model_was_stopped(reason: str) -> None:
    kept = fixture("tool_calls")
    kept["body"]["candidates"][0]["finishReason"] = reason
    reply = codec().decode(http_reply(kept), HELLO)
    assert reply.stop == {"MAX_TOKENS": "length", "SAFETY": "content_filter"}[reason]
    assert len(reply.tool_calls) == 2


def test_an_echo_of_the_answer_is_what_goes_back_and_results_find_their_calls() -> None:
    reply = decoded("tool_calls")
    results = (ToolResult("k2x9qq1a", "now", "noon"), ToolResult("gp737npz", "get_weather", "sun"))
    history = turns(
        Message("user", "?"),
        Message("assistant", reply.text, reply.tool_calls, echo=reply.echo),
        Message("user", "", tool_results=results),
    )
    assert history[1]["parts"] == fixture("tool_calls")["body"]["candidates"][0]["content"]["parts"]
    assert [part["functionResponse"]["id"] for part in history[2]["parts"]] == ["gp737npz", "k2x9qq1a"]


def test_an_echo_without_ids_gets_results_without_ids() -> None:
    kept = fixture("tool_calls")
    for part in kept["body"]["candidates"][0]["content"]["parts"][1:]:
        del part["functionCall"]["id"]
    reply = codec().decode(http_reply(kept), HELLO)
    assert [call.id for call in reply.tool_calls] == ["call_0", "call_1"]
    results = tuple(ToolResult(call.id, call.name, "x") for call in reply.tool_calls)
    history = turns(
        Message("assistant", "", reply.tool_calls, echo=reply.echo), Message("user", "", tool_results=results)
    )
    assert [part["functionResponse"] for part in history[1]["parts"]] == [
        {"name": "get_weather", "response": {"output": "x"}},
        {"name": "now", "response": {"output": "x"}},
    ]


def test_a_spoiled_reply_is_not_echoed() -> None:
    assert decoded("stop_malformed_function_call").echo is None


def test_log_probabilities_that_are_missing_or_odd() -> None:
    kept = fixture("logprobs")
    result = kept["body"]["candidates"][0]["logprobsResult"]
    del result["topCandidates"][1]
    result["topCandidates"].append(None)
    result["chosenCandidates"][1] = {"token": " it", "logProbability": "-Infinity"}
    result["chosenCandidates"].append({"token": "!", "logProbability": -1})
    result["chosenCandidates"].append({"token": "?", "logProbability": 10**400})
    tokens = codec().decode(http_reply(kept), HELLO).tokens
    assert tokens is not None
    assert tokens[1:] == (Token(" it", float("-inf")), Token("!", -1.0), Token("?", float("-inf")))


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"null", b"[]", b"{}", b'{"candidates": null}', b'{"candidates": []}', b'{"candidates": [1]}'],
)
def test_what_is_not_of_the_form_is_the_providers_failure(body: bytes) -> None:
    with pytest.raises(LLMError, match="^gemini answered") as caught:
        codec().decode(HttpReply(200, {}, body), HELLO)
    assert (caught.value.reason, caught.value.provider) == (LLMErrorReason.PROVIDER, "gemini")
    assert "html" not in str(caught.value)


def test_a_failure_within_a_successful_answer() -> None:
    with pytest.raises(LLMError) as caught:
        decoded("failed_within_200")
    assert (caught.value.reason, caught.value.retryable) == (LLMErrorReason.PROVIDER, True)
    assert str(caught.value) == "gemini reported a failure (UNAVAILABLE): the provider failed inside"


# --- errors ---------------------------------------------------------------------------------------------------------

ERRORS = {
    "400": (LLMErrorReason.INVALID, False, "INVALID_ARGUMENT"),
    "400_level": (LLMErrorReason.INVALID, False, "INVALID_ARGUMENT"),
    "400_key": (LLMErrorReason.AUTH, False, "API_KEY_INVALID"),
    "400_too_long": (LLMErrorReason.CONTEXT, False, "INVALID_ARGUMENT"),
    "400_unsigned": (LLMErrorReason.INVALID, False, "INVALID_ARGUMENT"),
    "400_region": (LLMErrorReason.AUTHZ, False, "FAILED_PRECONDITION"),
    "401": (LLMErrorReason.AUTH, False, "UNAUTHENTICATED"),
    "403": (LLMErrorReason.AUTHZ, False, "SERVICE_DISABLED, PERMISSION_DENIED"),
    "404": (LLMErrorReason.INVALID, False, "NOT_FOUND"),
    "429": (LLMErrorReason.RATE_LIMIT, True, "RESOURCE_EXHAUSTED"),
    "429_exhausted": (LLMErrorReason.RATE_LIMIT, True, "RESOURCE_EXHAUSTED"),
    "499": (LLMErrorReason.INVALID, False, "CANCELLED"),
    "500": (LLMErrorReason.PROVIDER, True, "INTERNAL"),
    "503": (LLMErrorReason.PROVIDER, True, "UNAVAILABLE"),
    "504": (LLMErrorReason.PROVIDER, True, "DEADLINE_EXCEEDED"),
}
WAITS = {"429": 34.074824224, "429_exhausted": 17.0}


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str, listed: bool) -> None:
    reason, retryable, codes = ERRORS[name]
    kept = fixture(f"error_{name}")
    words = kept["body"]["error"]["message"]
    kept["body"] = [kept["body"]] if listed else kept["body"]
    error = codec().error(http_reply(kept))
    assert (error.reason, error.retryable, error.http_status) == (reason, retryable, kept["status"])
    assert (error.provider, error.model) == ("gemini", MODEL)
    assert error.retry_after_s == WAITS.get(name)
    assert codes in str(error)
    assert words not in str(error)


def test_another_status_than_400_says_itself_what_it_means() -> None:
    kept = fixture("error_400_region")
    error = codec().error(http_reply({**kept, "status": 503}))
    assert (error.reason, error.http_status) == (LLMErrorReason.PROVIDER, 503)


def test_what_a_request_is_blamed_for_is_shown() -> None:
    said = str(codec().error(http_reply(fixture("error_400"))))
    assert "about generation_config.temperature" in said
    assert "warm" not in said


@pytest.mark.parametrize("delay", ["", "soon", "-3s", "1e3s", "99999999s", "3", 3, None, ["3s"], "٣s"])
def test_a_delay_that_is_none_is_passed_over(delay: Any) -> None:
    kept = fixture("error_429")
    kept["body"]["error"]["details"][2]["retryDelay"] = delay
    assert codec().error(http_reply(kept)).retry_after_s is None


@pytest.mark.parametrize(
    "body", [b"", b"<html>secret</html>", b"[]", b'{"error": "secret"}', b'{"error": [1]}', b"[" * 9999]
)
def test_errors_without_a_body_of_the_wire(body: bytes) -> None:
    error = codec().error(HttpReply(502, {}, body))
    assert str(error) == "gemini answered with status 502: the provider failed inside"
    assert error.retryable


# --- streams --------------------------------------------------------------------------------------------------------

STREAMS = (
    "text",
    "empty",
    "max_tokens",
    "no_content",
    "thinking",
    "tool_calls",
    "tool_calls_unsigned",
    "cached",
    "server_tools",
    "structured",
    "logprobs",
    "stop_malformed_function_call",
    "stop_safety_midway",
    "blocked",
)


def raw(name: str) -> bytes:
    return (FIXTURES / f"{name}.sse").read_bytes()


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_gives_the_reply_of_the_whole_answer_wherever_it_is_cut(name: str) -> None:
    data, reply = raw(name), decoded(name)
    whole = events_of(data)
    assert streamed(whole)[1] == reply
    for cut in range(len(data) + 1):
        events = events_of(data[:cut], data[cut:])
        assert events == whole, f"cut at {cut}"
        if cut % 50 == 0:
            assert streamed(events)[1] == reply
    chance = random.Random(name)
    for _ in range(20):
        cuts = sorted(chance.sample(range(len(data)), 30))
        chunks = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        assert streamed(events_of(*chunks))[1] == reply


@pytest.mark.parametrize("name", [name for name in STREAMS if "malformed" not in name])
def test_the_deltas_add_up_to_the_reply(name: str) -> None:
    deltas, reply = streamed(events_of(raw(name)))
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == reply.text
    assert "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta)) == reply.reasoning
    called = [delta for delta in deltas if isinstance(delta, ToolCallDelta)]
    assert [(d.index, d.id, d.name, json.loads(d.arguments)) for d in called] == [
        (number, call.id, call.name, call.arguments) for number, call in enumerate(reply.tool_calls)
    ]


def test_the_deltas_come_one_by_one() -> None:
    deltas, _ = streamed(events_of(raw("tool_calls_unsigned")))
    assert deltas == [
        TextDelta("Both at "),
        TextDelta("once."),
        ToolCallDelta(0, '{"city": "Z\\u00fcrich"}', "call_0", "get_weather"),
        ToolCallDelta(1, "{}", "call_1", "now"),
    ]


def test_signed_parts_stay_apart() -> None:
    parts = [{"text": "a"}, {"text": "b", "thoughtSignature": "c2ln"}, {"text": "c"}, {"text": "d"}]
    chunks = [{"candidates": [{"content": {"parts": [part]}}]} for part in parts]
    chunks[-1]["candidates"][0]["finishReason"] = "STOP"  # type: ignore[assignment]
    reply = streamed(("message", json.dumps(chunk)) for chunk in chunks)[1]
    assert reply.text == "abcd"
    assert reply.echo == Echo("gemini", [parts[0], parts[1], {"text": "cd"}])


def test_unknown_events_are_passed_over() -> None:
    assert streamed(events_of(raw("unknown_events")))[1] == decoded("text")


def test_a_stream_that_fails_midway() -> None:
    decoder = codec().decode_stream({}, HELLO)
    first, last = events_of(raw("error_midway"))
    assert list(decoder.feed(*first)) == [TextDelta("Close ")]
    with pytest.raises(LLMError, match=r"^gemini reported a failure \(UNAVAILABLE\)") as caught:
        decoder.feed(*last)
    assert (caught.value.reason, caught.value.retryable) == (LLMErrorReason.PROVIDER, True)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("RESOURCE_EXHAUSTED", LLMErrorReason.RATE_LIMIT),
        ("INVALID_ARGUMENT", LLMErrorReason.INVALID),
        ("INTERNAL", LLMErrorReason.PROVIDER),
        ("DEADLINE_EXCEEDED", LLMErrorReason.PROVIDER),
    ],
)
def test_the_kinds_of_failures_midway(status: str, reason: LLMErrorReason) -> None:
    failed = json.dumps([{"error": {"code": 1, "message": "secret", "status": status}}])
    with pytest.raises(LLMError) as caught:
        codec().decode_stream({}, HELLO).feed("message", failed)
    assert caught.value.reason is reason
    assert "secret" not in str(caught.value)


def test_a_failure_that_is_no_event_reads_as_a_stream_that_broke_off() -> None:
    with pytest.raises(LLMError, match="broke off") as caught:
        streamed(events_of(raw("error_bare")))
    assert (caught.value.reason, caught.value.retryable) == (LLMErrorReason.TRANSPORT, True)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_that_ends_early_is_broken_off(name: str) -> None:
    events = events_of(raw(name))
    for kept in range(len(events)):
        with pytest.raises(LLMError, match="^gemini broke off its reply$") as caught:
            streamed(events[:kept])
        assert caught.value.reason is LLMErrorReason.TRANSPORT


# --- the fake counterpart -------------------------------------------------------------------------------------------

SAID = {"usage": Usage(9, 9, 4, 2), "model": "m", "request_id": "r1"}
ROUND_TRIPS = [
    Reply("Close the ticket.", "stop", **SAID),
    Reply("", "stop", usage=Usage(), model="m", request_id="r1"),
    Reply("cut of", "length", **SAID),
    Reply("", "content_filter", **SAID),
    Reply("Up to here", "content_filter", **SAID),
    Reply("Close. – ✓", "stop", reasoning="Twice the same crash.", **SAID),
    Reply(
        "Both.",
        "tool_calls",
        tool_calls=(ToolCall("k1", "a", {"x": [1, {"y": "é"}]}), ToolCall("call_1", "b", {})),
        **SAID,
    ),
    Reply("ab", "stop", tokens=(Token("a", -0.5, (("a", -0.5), ("c", -2.0))), Token("b", 0.0)), **SAID),
    Reply(
        "Close.",
        "stop",
        reasoning="Twice.",
        echo=Echo("gemini", [{"text": "Twice.", "thought": True}, {"text": "Close.", "thoughtSignature": "c2ln"}]),
        **SAID,
    ),
]


@pytest.mark.parametrize("reply", ROUND_TRIPS, ids=range(len(ROUND_TRIPS)))
def test_round_trips(reply: Reply) -> None:
    body = json.dumps(fake.answer(reply, "other")).encode()
    assert codec().decode(HttpReply(200, {}, body), HELLO) == reply
    events = list(fake.events(reply, "other"))
    assert streamed(events)[1] == replace(reply, echo=streamed(events)[1].echo)
    assert len(events) > 1 or not reply.text


def test_an_echo_round_trips_through_a_stream() -> None:
    reply = streamed(fake.events(ROUND_TRIPS[-1], "m"))[1]
    assert reply.echo is not None
    assert [part for part in reply.echo.data if part != {"text": ""}] == ROUND_TRIPS[-1].echo.data  # type: ignore[union-attr]


def test_the_fake_fills_in_the_rest() -> None:
    reply = codec().decode(HttpReply(200, {}, json.dumps(fake.answer(Reply("a"), "m")).encode()), HELLO)
    assert (reply.text, reply.stop, reply.model, reply.usage) == ("a", "stop", "m", Usage())
    broken = fake.answer(Reply("a", tool_calls=(ToolCall("k", "a", '{"x'),)), "m")
    assert broken["candidates"] == [{"finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}]


def test_what_was_asked_reads_back() -> None:
    call = ToolCall("k1", "get_weather", {"city": "Bern"})
    unnamed = (ToolCall("call_0", "look", {"at": 1}), ToolCall("call_1", "look", {"at": 2}))
    request = ChatRequest(
        (
            Message("user", (TextPart("Look:"), MediaPart("image", b"x", "image/png"))),
            Message("assistant", "I look.", (call,)),
            Message("user", "And?", tool_results=(ToolResult("k1", "get_weather", "sun", is_error=True),)),
            Message("assistant", "", unnamed),
            Message("user", "", tool_results=tuple(ToolResult(c.id, "look", c.id) for c in unnamed)),
        ),
        "Be brief.",
        "gemini-4-argon",
        {"type": "object", "properties": {}, "additionalProperties": False},
        "low",
        (ToolSpec("now", "Tells.", {"type": "object", "properties": {}, "additionalProperties": False}),),
        NamedTool("now"),
        sampling=Sampling(temperature=0.5, top_p=0.9, max_tokens=5, stop=("END",), seed=1, top_logprobs=3),
    )
    for stream in (False, True):
        call_ = codec().encode(request, stream=stream)
        assert fake.asked(f"/v1beta{call_.path}", json.loads(call_.body)) == request
    for choice in ("auto", "required", "none"):
        other = replace(HELLO, model=MODEL, tools=request.tools, tool_choice=choice, sampling=Sampling())
        encoded = codec().encode(other)
        assert fake.asked(encoded.path, json.loads(encoded.body)) == other


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        (400, "", LLMErrorReason.INVALID),
        (400, "API_KEY_INVALID", LLMErrorReason.AUTH),
        (400, "FAILED_PRECONDITION", LLMErrorReason.AUTHZ),
        (429, "RESOURCE_EXHAUSTED", LLMErrorReason.RATE_LIMIT),
        (503, "", LLMErrorReason.PROVIDER),
        (418, "", LLMErrorReason.INVALID),
    ],
)
def test_the_fakes_failures(status: int, code: str, reason: LLMErrorReason) -> None:
    body = fake.failure(status, code, "made to fail")
    error = codec().error(HttpReply(status, {}, json.dumps(body).encode()))
    assert (error.reason, error.http_status) == (reason, status)


# --- hostile JSON ---------------------------------------------------------------------------------------------------

KEYS = st.sampled_from(
    sorted({key for path in FIXTURES.glob("*.json") for key in re.findall(r'"(\S+)": ', path.read_text("utf-8"))})
)
WORDS = st.sampled_from(
    [
        "STOP",
        "MALFORMED_FUNCTION_CALL",
        "MISSING_THOUGHT_SIGNATURE",
        "API_KEY_INVALID",
        "type.googleapis.com/google.rpc.RetryInfo",
        "type.googleapis.com/google.rpc.BadRequest",
        "34s",
    ]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=5)
JSON = st.recursive(LEAVES, lambda j: st.lists(j, max_size=3) | st.dictionaries(KEYS, j, max_size=4), max_leaves=20)
ASKED = [HELLO, replace(HELLO, tools=(CITY,), output_schema=PICK)]


def survives(body: Any) -> None:
    data = json.dumps(body)
    for request in ASKED:
        for read in (
            lambda request=request: codec().decode(HttpReply(200, {}, data.encode()), request),
            lambda request=request: streamed([("message", data), ("", data)], request)[1],
        ):
            try:
                reply = read()
            except LLMError:
                continue
            assert isinstance(reply.text, str)
            assert all(isinstance(call.id, str) and isinstance(call.name, str) for call in reply.tool_calls)
    for status in (400, 429, 500):
        assert codec().error(HttpReply(status, {}, data.encode())).http_status == status


@settings(max_examples=300, deadline=None)
@given(JSON)
def test_no_json_breaks_it(body: Any) -> None:
    survives(body)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterable[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from places(part, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = changed(value[path[0]], path[1:], new)
    return copied


@pytest.mark.parametrize(
    "name", ["tool_calls", "logprobs", "thinking", "blocked", "structured", "error_429", "error_400_key", "error_400"]
)
def test_no_change_of_an_answer_breaks_it(name: str) -> None:
    body = fixture(name)["body"]
    for path in places(body):
        for new in (None, True, -1, 10**400, 0.5, "x", [], [None], [[]], {}, {"a": 1}):
            survives(changed(body, path, new))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40), st.text(max_size=200))
def test_no_event_breaks_it(event: str, data: str) -> None:
    try:
        streamed([(event, data)])
    except LLMError as error:
        assert error.provider == "gemini"
    else:
        raise AssertionError("nothing ended the reply")
