"""The faux System One endpoint: stable sound answers over every dialect, and faults that do what they say."""

from __future__ import annotations

import asyncio
import base64
import gzip
import http.client
import json
import math
import os
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Mapping
from typing import Any

import pytest

from decidable.testing import ScriptError
from decidable.testing.systemone import (
    FauxModel,
    FauxSystemOne,
    answering,
    body,
    broken,
    changed,
    leaving_out,
    refused,
    refusing,
    slow,
    sound,
    status,
    without,
)

STATE = {"ticket": "Charged twice for order 4471.", "tags": ["refund", {"mood": "angry"}]}
QUESTIONS: dict[str, Any] = {
    "refund": {"type": "noul", "instructions": "Is a refund asked for?"},
    "team": {
        "type": "choice",
        "instructions": "Which team?",
        "criteria": {"billing": "Money.", "Tëch": None, "x y": None},
    },
    "anger": {"type": "score", "instructions": "How angry?", "criteria": ["calm", "upset", "furious"]},
}
CROWD = {"type": "choice", "instructions": "Which shelf?", "criteria": {f"Shelf {n}": None for n in range(255)}}
PNG = b"\x89PNG\r\n\x1a\n\r\n--not a boundary\r\n\xff\x00"
JPEG = b"\xff\xd8\xff\r\r\n"
SYSTEMONE = "/v1/systemone"
ROUTER = "/api/v1/systemone"
DANGER = {"TypeSafe-Danger-Zone-Images": "true"}


def asked(**more: Any) -> dict[str, Any]:
    return {"model": "jev-latest", "state": STATE, "questions": QUESTIONS, **more}


def post(faux: FauxSystemOne, path: str, what: Any, headers: Mapping[str, str] = {}) -> tuple[int, Any]:
    """Status and JSON of an answer."""
    raw = what if isinstance(what, bytes) else json.dumps(what).encode()
    reply = faux.answer("POST", path, headers, raw)
    assert not isinstance(reply, tuple)
    return reply.status, json.loads(reply.body)


def answers(faux: FauxSystemOne, path: str = SYSTEMONE, **more: Any) -> Any:
    code, found = post(faux, path, asked(**more))
    assert code == 200, found
    return found["answers"]


def flaws(question: Mapping[str, Any], answer: Any, *, confident: bool = True) -> list[str]:
    """What is wrong with an answer; written apart from the library's own rules."""
    if not isinstance(answer, dict) or answer.get("type") != question["type"]:
        return ["type"]
    if question["type"] == "noul":
        extra = set(answer) - {"type", "noul"}
        return [*extra, *([] if 0 <= answer["noul"] <= 1 else ["range"])]
    keys = (
        [*question["criteria"]] if question["type"] == "choice" else [str(n) for n in range(len(question["criteria"]))]
    )
    shares = answer["probabilities"]
    found = [] if list(shares) == keys else ["keys"]
    found += [f"{p} is no probability" for p in shares.values() if not (isinstance(p, float) and 0 <= p <= 1)]
    found += [f"{p} has too many places" for p in shares.values() if len(json.dumps(p).partition(".")[2]) > 2]
    if round(sum(round(100 * p) for p in shares.values())) != 100 or round(sum(shares.values()), 2) != 1.0:
        found.append("sum")
    if confident and not 0 <= answer["confidence"] <= 1:
        found.append("confidence")
    if not confident and "confidence" in answer:
        found.append("confidence is there")
    if question["type"] == "choice":
        return found if shares[answer["choice"]] == max(shares.values()) else [*found, "choice"]
    if abs(sum(int(level) * p for level, p in shares.items()) - answer["score"]) > 1e-9:
        found.append("mean")
    if answer["legend"] != dict(zip(keys, question["criteria"], strict=True)):
        found.append("legend")
    return found


# --- answers ----------------------------------------------------------------------------------------------------------


def test_the_same_request_gets_the_same_bytes():
    raw = json.dumps(asked()).encode()
    first, second = (FauxSystemOne().answer("POST", SYSTEMONE, {}, raw) for _ in range(2))
    assert (first.status, first.headers, first.body) == (second.status, second.headers, second.body)
    assert first.headers["x-typesafe-request-id"].startswith("faux-")


@pytest.mark.parametrize(
    "other",
    [
        {"model": "jev-1.13.0"},
        {"state": {**STATE, "ticket": "Charged once."}},
        {
            "questions": {
                "refund": {"type": "noul", "instructions": "Is a refund asked for!"},
                "team": {**QUESTIONS["team"], "criteria": {**QUESTIONS["team"]["criteria"], "billing": "Cash."}},
                "anger": {**QUESTIONS["anger"], "criteria": ["calm", "upset", "mad"]},
            }
        },
    ],
    ids=["model", "state", "question"],
)
def test_another_request_gets_other_answers(other: dict[str, Any]):
    before, after = answers(FauxSystemOne()), answers(FauxSystemOne(), **other)
    for name in QUESTIONS:
        assert before[name] != after[name]


def test_nothing_else_moves_an_answer():
    faux = FauxSystemOne()
    before = answers(faux)
    renamed = answers(faux, questions={f"Q {name}": question for name, question in QUESTIONS.items()})
    assert {f"Q {name}": answer for name, answer in before.items()} == renamed
    turned = answers(faux, questions={name: QUESTIONS[name] for name in reversed(QUESTIONS)}, seed=7, x_trace="1")
    assert turned == before
    assert list(turned) == [*reversed(before)]
    assert answers(faux, questions={**QUESTIONS, "more": CROWD})["team"] == before["team"]
    assert answers(faux, state={key: STATE[key] for key in reversed(STATE)}) == before
    team = QUESTIONS["team"]
    options = {name: team["criteria"][name] for name in reversed(team["criteria"])}
    moved = answers(faux, questions={"team": {**team, "criteria": options, "labels": 1}})
    assert moved["team"] == before["team"], "the order of options moves none of them"
    assert answers(faux, model="jev-1.14.0") == before, "an alias is another name, not another model"


def test_every_answer_is_sound():
    faux = FauxSystemOne()
    questions = {
        **QUESTIONS,
        "crowd": CROWD,
        "one": {"type": "choice", "criteria": {"only": None}},
        "level": {"type": "score", "instructions": ["How?"], "criteria": [{"is": "low"}]},
        "side": {"type": "noul", "criteria": {"true": ["late"], "false": None}},
        "bare": {"type": "noul", "instructions": {"task": "x"}, "criteria": None},
    }
    for size in range(2, 11):
        questions[f"levels {size}"] = {"type": "score", "criteria": [f"L{n}" for n in range(size)]}
    for size in (2, 3, 26, 99, 100, 101, 150, 254):
        questions[f"options {size}"] = {"type": "choice", "criteria": {f"o{n}": None for n in range(size)}}
    for number in range(60):
        found = answers(faux, state=f"state {number}", questions=questions)
        assert {name: flaws(q, found[name]) for name, q in questions.items()} == {name: [] for name in questions}


def test_confidence_is_by_the_reference_formula():
    for number in range(40):
        found = answers(FauxSystemOne(), state=f"state {number}")
        team, anger = found["team"], found["anger"]
        assert team["confidence"] == pytest.approx((3 * max(team["probabilities"].values()) - 1) / 2, abs=0.0051)
        p = list(anger["probabilities"].values())
        spread = sum(share * abs(level - p.index(max(p))) for level, share in enumerate(p))
        assert anger["confidence"] == pytest.approx(max(0.0, 1 - spread / (2 / 3)), abs=0.0051)
    one = answers(FauxSystemOne(), questions={"a": {"type": "choice", "criteria": {"x": None}}})["a"]
    assert (one["choice"], one["probabilities"], one["confidence"]) == ("x", {"x": 1.0}, 1.0)


def test_answers_are_spread():
    picks = [answers(FauxSystemOne(), state=str(n))["team"]["choice"] for n in range(90)]
    assert all(picks.count(option) > 15 for option in QUESTIONS["team"]["criteria"])
    nouls = [answers(FauxSystemOne(), state=str(n))["refund"]["noul"] for n in range(90)]
    assert 0.4 < sum(nouls) / 90 < 0.6
    assert min(nouls) < 0.1
    assert max(nouls) > 0.9


def test_no_socket_is_opened(monkeypatch: pytest.MonkeyPatch):
    faux = FauxSystemOne()
    client, async_client = faux.clients()

    class Forbidden(socket.socket):
        def connect(self, *args: Any) -> Any:  # the event loop's own socket pair does not call it
            raise AssertionError("a connection was opened")

        connect_ex = bind = connect

    async def ask_async() -> Any:
        async with async_client:
            monkeypatch.setattr(socket, "socket", Forbidden)
            return await async_client.post(f"https://api.typesafe.ai{SYSTEMONE}", json=asked())

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a socket was opened")

    late = asyncio.run(ask_async())
    monkeypatch.setattr(socket, "socket", refuse)
    with client:
        reply = client.post(f"https://api.typesafe.ai{SYSTEMONE}", json=asked())
    assert reply.json()["answers"] == late.json()["answers"] == answers(FauxSystemOne())
    assert [request.body for request in faux.requests] == [asked(), asked()]


def test_requests_are_kept():
    faux = FauxSystemOne()
    post(faux, f"{SYSTEMONE}?x=1", asked(), {"Authorization": "Bearer k", "X-Other": "1"})
    post(faux, SYSTEMONE, b"<nothing>")
    faux.answer("GET", "/v1/models", {}, b"")
    first, second, third = faux.requests
    assert (first.method, first.path, first.body) == ("POST", f"{SYSTEMONE}?x=1", asked())
    assert first.headers == {"authorization": "Bearer k", "x-other": "1"}
    assert (first.raw, first.images) == (json.dumps(asked()).encode(), {})
    assert (second.body, second.raw, third.method) == (None, b"<nothing>", "GET")
    assert (faux.tries, faux.posts) == (3, [first, second])
    assert "Bearer" not in repr(first)
    with pytest.raises(AttributeError):
        first.path = "/"  # type: ignore[misc]


# --- dialects ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [SYSTEMONE, "/inference/v1/systemone"])
def test_typesafe(path: str):
    code, found = post(FauxSystemOne(), path, asked())
    assert (code, list(found), found["model"]) == (200, ["model", "answers", "usage"], "jev-1.14.0")
    assert found["usage"] == {"input_tokens": len(json.dumps(asked())) // 4, "output_tokens": 0}


@pytest.mark.parametrize("path", [ROUTER, "/api/alpha/decisions"])
@pytest.mark.parametrize(
    ("model", "named"),
    [
        ("jev-latest", "typesafe/jev-1.14"),
        ("jev-1.14", "typesafe/jev-1.14"),
        ("~typesafe/jev-latest", "typesafe/jev-1.14"),
        ("liquid/d1", "liquid/d1"),
    ],
)
def test_openrouter(path: str, model: str, named: str):
    code, found = post(FauxSystemOne(), path, asked(model=model, session_id="s", user="u", provider=None))
    assert (code, found["model"], found["provider"]) == (200, named, "Faux")
    assert found["id"].startswith("faux-")
    assert 0 < found["usage"]["cost"] < 0.001
    assert {name: flaws(q, found["answers"][name]) for name, q in QUESTIONS.items()} == {n: [] for n in QUESTIONS}


def test_parallel():
    questions = {**QUESTIONS, "team": {**QUESTIONS["team"], "criteria": {"a": "Anna", "b": "Bert"}}}
    sent = {"mode": "fast", "state": STATE, "questions": questions}
    faux = FauxSystemOne("k")
    code, found = post(faux, "/v1/decisions", sent, {"x-api-key": "k"})
    assert (code, list(found), found["mode"]) == (200, ["decision_id", "mode", "answers", "citations"], "fast")
    flawed = {name: flaws(q, found["answers"][name], confident=False) for name, q in questions.items()}
    assert flawed == {name: [] for name in questions}
    assert found["citations"][0]["excerpts"]
    assert found["citations"][0]["url"]
    _, bare = post(faux, "/v1/decisions", {**sent, "include_excerpts": False}, {"x-api-key": "k"})
    assert (bare["citations"][0]["excerpts"], bare["answers"]) == ([], found["answers"])
    one_sided = {"q": {"type": "noul", "instructions": "?", "criteria": {"true": "yes"}}}
    for wrong in (
        {**sent, "mode": "deep"},
        {**sent, "questions": QUESTIONS},  # an option without a description
        {**sent, "questions": one_sided},
        {**sent, "questions": {f"q{n}": QUESTIONS["refund"] for n in range(101)}},
        {**sent, "questions": {"q": {"type": "choice", "instructions": "?", "criteria": {"only": "one"}}}},
    ):
        code, found = post(faux, "/v1/decisions", wrong, {"x-api-key": "k"})
        assert (code, found["type"], list(found["error"])) == (422, "error", ["ref_id", "message", "detail"])
    code, found = post(faux, "/v1/decisions", sent, {"authorization": "Bearer k"})
    assert (code, found["type"]) == (401, "error")


def test_perplexity():
    code, found = post(
        FauxSystemOne("k"), "/v1/decisions", asked(model="pplx-decider-v1.2"), {"authorization": "Bearer k"}
    )
    assert (code, found["model"], found["answers"].keys()) == (200, "pplx-decider-v1.2", QUESTIONS.keys())


@pytest.mark.parametrize("base", ["", "/client/v4"])
@pytest.mark.parametrize("model", ["@cf/cloudflare/clef", "%40cf/cloudflare/clef-flash"])
def test_cloudflare(base: str, model: str):
    sent = {"state": STATE, "questions": QUESTIONS}
    path = f"{base}/accounts/acc/ai/run/{model}"
    code, found = post(FauxSystemOne("k"), path, sent, {"authorization": "bearer k"})
    assert (code, found["success"], found["errors"]) == (200, True, [])
    assert found["result"]["model"] == model[model.index("cf/") + 3 :]
    assert found["result"]["answers"].keys() == QUESTIONS.keys()
    code, found = post(FauxSystemOne("k"), path, sent)
    assert (code, found["success"], found["result"], found["errors"][0]["code"]) == (401, False, None, 401)
    code, found = post(
        FauxSystemOne(), path, {"state": STATE, "questions": {"q": {"type": "noul", "criteria": {"true": "x"}}}}
    )
    assert (code, found["success"]) == (400, False)
    assert post(FauxSystemOne(), "/accounts/a/ai/run/@cf/other/model", sent)[0] == 404


OPENAI_QUESTIONS = [
    {"type": "predicate", "name": "late", "instructions": "Is it late?"},
    {"type": "choice", "instructions": "Which?", "choices": [{"value": "true"}, {"value": True, "description": "yes"}]},
    {"type": "score", "name": None, "instructions": "How?", "levels": [{"label": "low"}, {"label": "high"}]},
]


def test_openai():
    sent = {"model": "gpt-6-luna", "input": "Due in May.", "questions": OPENAI_QUESTIONS}
    faux = FauxSystemOne("k")
    reply = faux.answer("POST", "/v1/decisions", {"authorization": "Bearer k"}, json.dumps(sent).encode())
    found = json.loads(reply.body)
    assert (reply.status, found["model"]) == (200, "gpt-6-luna")
    assert reply.headers["x-request-id"].startswith("faux-")
    late, which, how = found["answers"]
    assert (late["type"], late["name"]) == ("predicate", "late")
    assert 0 <= late["probability"] <= 1
    shares = [(one["value"], one["probability"]) for one in which["probabilities"]]
    assert [(type(v), v) for v, _ in shares] == [(str, "true"), (bool, True)]
    assert (which["name"], which["choice"]) == (None, max(shares, key=lambda pair: pair[1])[0])
    assert math.isclose(sum(p for _, p in shares), 1)
    assert [(one["value"], one["label"]) for one in how["probabilities"]] == [(0, "low"), (1, "high")]
    assert how["score"] == pytest.approx(how["probabilities"][1]["probability"], abs=1e-9)
    tokens = found["usage"]["input_tokens"]
    assert found["usage"] == {
        "input_tokens": tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens,
    }
    renamed = [{**q, "name": f"n{n}"} for n, q in enumerate(OPENAI_QUESTIONS)]
    _, other = post(faux, "/v1/decisions", {**sent, "questions": renamed}, {"authorization": "Bearer k"})
    assert [{**a, "name": None} for a in other["answers"]] == [{**a, "name": None} for a in found["answers"]]
    for header in ({}, {"x-api-key": "k"}, {"authorization": "Bearer other"}):
        code, found = post(faux, "/v1/decisions", sent, header)
        assert (code, list(found["error"])) == (401, ["message", "type", "param", "code"])


ITEMS = [
    {"role": "system", "content": "Judge."},
    {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "t"}, {"type": "input_json", "data": [{"a": 1}]}],
    },
    {"role": "assistant", "content": [{"type": "output_text", "text": "t"}]},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "1"},
]


def test_openai_takes_what_the_service_takes():
    sent = {"model": "gpt-6-luna", "input": ITEMS, "questions": OPENAI_QUESTIONS}
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}"}
    faux = FauxSystemOne()
    assert post(faux, "/v1/decisions", sent)[0] == 200
    assert post(faux, "/v1/decisions", {**sent, "input": [{"role": "user", "content": [picture]}]})[0] == 200
    assert faux.requests[-1].images == {"0": PNG}
    assert (
        post(faux, "/v1/decisions", {**sent, "model": "liquid/d1", "input": [{"role": "user", "content": [picture]}]})[
            0
        ]
        == 400
    )
    code, found = post(faux, "/v1/decisions", {**sent, "model": "gpt-0"})
    assert (code, found["error"]["type"]) == (404, "invalid_request_error")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", None),
        ("input", []),
        ("input", 3),
        ("input", ["text"]),
        ("input", [{"role": "robot", "content": "x"}]),
        ("input", [{"role": "user", "content": 3}]),
        ("input", [{"role": "developer", "content": [{"type": "input_json", "data": {}}]}]),
        ("input", [{"role": "user", "content": [{"type": "input_json", "data": [1]}]}]),
        ("input", [{"role": "user", "content": [{"type": "input_json", "data": {"a": "x" * 262_144}}]}]),
        ("input", [{"role": "user", "content": [{"type": "input_json", "data": {"a": [0] * 10_000}}]}]),
        ("input", [{"role": "user", "content": [{"type": "input_image"}]}]),
        ("input", [{"type": "function_call_output", "call_id": "c", "output": "1"}]),
        ("input", [{"type": "reasoning"}]),
        ("questions", []),
        ("questions", [{"type": "noul", "instructions": "?"}]),
        ("questions", [{"type": "predicate"}]),
        ("questions", [{"type": "predicate", "instructions": "?", "name": 3}]),
        ("questions", [OPENAI_QUESTIONS[0]] * 401),
        ("questions", [{"type": "choice", "instructions": "?", "choices": [{"value": "a"}]}]),
        ("questions", [{"type": "choice", "instructions": "?", "choices": [{"value": "a"}, {"value": "a"}]}]),
        ("questions", [{"type": "choice", "instructions": "?", "choices": [{"value": 1}, {"value": 2}]}]),
        ("questions", [{"type": "score", "instructions": "?", "levels": [{"label": str(n)} for n in range(11)]}]),
        ("questions", [{"type": "score", "instructions": "?", "levels": ["a", "b"]}]),
    ],
)
def test_openai_refuses_the_rest(field: str, value: Any):
    sent = {"model": "gpt-6-luna", "input": "x", "questions": OPENAI_QUESTIONS, field: value}
    code, found = post(FauxSystemOne(), "/v1/decisions", sent)
    assert (code, found["error"]["param"].split(".")[0]) == (400, field)


def test_lists_of_models():
    faux = FauxSystemOne("k")
    assert faux.answer("GET", "/v1/models", {}, b"").status == 401
    listed = json.loads(faux.answer("GET", "/v1/models", {"authorization": "Bearer k"}, b"").body)
    assert all(one.keys() == {"name", "description", "release_date"} for one in listed["models"])
    assert "jev-latest" in [one["name"] for one in listed["models"]]
    reply = faux.answer("GET", "/api/v1/models?output_modalities=decisions", {}, b"")
    modalities = {one["id"]: one["architecture"]["input_modalities"] for one in json.loads(reply.body)["data"]}
    assert modalities["typesafe/jev-1.14"] == modalities["cloudflare/clef"] == ["text", "image"]
    assert modalities["liquid/d1"] == ["text"]
    assert "jev-latest" not in modalities
    own = FauxSystemOne(models=["mine", FauxModel("me/too", images=True)])
    assert answers(own, model="mine")
    assert post(own, SYSTEMONE, asked())[0] == 404
    reply = own.answer("GET", "/v1/models?output_modalities=decisions", {}, b"")
    assert [one["id"] for one in json.loads(reply.body)["data"]] == ["me/too"]


def test_paths_and_methods():
    faux = FauxSystemOne()
    assert faux.answer("GET", SYSTEMONE, {}, b"").status == 405
    assert faux.answer("POST", "/v1/models", {}, b"{}").status == 405
    code, found = post(faux, "/v1/nothing", asked())
    assert (code, found["detail"]["error_type"]) == (404, "not_found_error")
    code, found = post(faux, "/api/v1/nothing", asked())
    assert (code, found["error"]["code"]) == (404, 404)


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({}, "a key is needed"),
        ({"authorization": "Basic right"}, "a key is needed"),
        ({"x-api-key": "right"}, "a key is needed"),
        ({"authorization": "Bearer wrong-secret"}, "the key is wrong"),
    ],
)
def test_keys(headers: dict[str, str], said: str):
    faux = FauxSystemOne("right")
    for what in (asked(), b"not JSON"):
        assert post(faux, SYSTEMONE, what, headers) == (
            401,
            {"detail": {"error_type": "authentication_error", "message": said}},
        )
        code, found = post(faux, ROUTER, what, headers)
        assert (code, found["error"]["code"]) == (401, 401)
    assert post(faux, SYSTEMONE, asked(), {"Authorization": "Bearer right"})[0] == 200
    assert post(FauxSystemOne(), SYSTEMONE, asked(), headers)[0] == 200


DEEP: Any = "x"
for _ in range(65):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("what", "where"),
    [
        (b"", []),
        (b'{"model": ', []),
        (b"\xff\xfe\x00", []),
        (b"[1]", []),
        (b'{"model": NaN}', []),
        (b"[" * 200_000 + b"]" * 200_000, []),
        (b"[" * 150 + b"]" * 150, []),
        ({"state": "x", "questions": QUESTIONS}, ["model"]),
        (asked(model=7), ["model"]),
        ({"model": "jev-latest", "questions": QUESTIONS}, ["state"]),
        (asked(state=None), ["state"]),
        (asked(state=3), ["state"]),
        (asked(state=DEEP), ["state"]),
        ({"model": "jev-latest", "state": "x"}, ["questions"]),
        (asked(questions=[]), ["questions"]),
        (asked(questions={}), ["questions"]),
        (asked(questions={"": QUESTIONS["refund"]}), ["questions", ""]),
        (asked(questions={"q": "is it?"}), ["questions", "q"]),
        (asked(questions={"q": {"instructions": "x"}}), ["questions", "q", "type"]),
        (asked(questions={"q": {"type": "boolean", "instructions": "x"}}), ["questions", "q", "type"]),
        (asked(questions={"q": {"type": [], "instructions": "x"}}), ["questions", "q", "type"]),
        (asked(questions={"q": {"type": "box", "instructions": "x"}}), ["questions", "q", "type"]),
        (asked(questions={"q": {"type": "noul", "instructions": 3}}), ["questions", "q", "instructions"]),
        (asked(questions={"q": {"type": "noul"}}), ["questions", "q"]),
        (
            asked(questions={"q": {"type": "noul", "instructions": "x", "criteria": ["yes"]}}),
            ["questions", "q", "criteria"],
        ),
        (
            asked(questions={"q": {"type": "noul", "instructions": "x", "criteria": {"true": 1}}}),
            ["questions", "q", "criteria"],
        ),
        (asked(questions={"q": {"type": "choice", "criteria": {}}}), ["questions", "q", "criteria"]),
        (asked(questions={"q": {"type": "choice", "criteria": ["a", "b"]}}), ["questions", "q", "criteria"]),
        (asked(questions={"q": {"type": "choice", "criteria": {"a": 1}}}), ["questions", "q", "criteria"]),
        (
            asked(questions={"q": {**CROWD, "criteria": {**CROWD["criteria"], "more": None}}}),
            ["questions", "q", "criteria"],
        ),
        (asked(questions={"q": {"type": "score", "criteria": {"0": "a"}}}), ["questions", "q", "criteria"]),
        (asked(questions={"q": {"type": "score", "criteria": []}}), ["questions", "q", "criteria"]),
        (asked(questions={"q": {"type": "score", "criteria": ["x"] * 11}}), ["questions", "q", "criteria"]),
        (asked(questions={"q": {"type": "score", "criteria": ["calm", None]}}), ["questions", "q", "criteria"]),
    ],
)
def test_bodies_that_are_not_valid(what: Any, where: list[str]):
    code, found = post(FauxSystemOne(), SYSTEMONE, what)
    assert (code, [one["loc"] for one in found["detail"]]) == (422, [["body", *where]])
    assert all(one["msg"] and one["type"] for one in found["detail"])
    code, found = post(FauxSystemOne(), ROUTER, what)
    assert (code, found["error"]["code"], found["error"]["metadata"]) == (400, 400, None)


def test_all_problems_are_told_and_nothing_is_quoted():
    sent = {
        "model": "",
        "state": "my secret",
        "questions": {"a": {"type": "secret"}, "b": {"type": "choice", "instructions": "secret"}},
    }
    reply = FauxSystemOne("key-secret").answer(
        "POST", SYSTEMONE, {"authorization": "Bearer key-secret"}, json.dumps(sent).encode()
    )
    found = json.loads(reply.body)
    assert [one["loc"][1:] for one in found["detail"]] == [
        ["model"],
        ["questions", "a", "type"],
        ["questions", "b", "criteria"],
    ]
    assert b"secret" not in reply.body
    code, found = post(FauxSystemOne(), SYSTEMONE, asked(model="secret"))
    assert (code, found["detail"]["error_type"], "secret" in str(found)) == (404, "not_found_error", False)


def test_compressed_bodies():
    faux = FauxSystemOne()
    raw = json.dumps(asked()).encode()
    plain = faux.answer("POST", SYSTEMONE, {}, raw).body
    for encoding, packed in (
        ("gzip", gzip.compress(raw)),
        ("deflate", zlib.compress(raw)),
        ("identity", raw),
        ("deflate, gzip", gzip.compress(zlib.compress(raw))),
    ):
        reply = faux.answer("POST", SYSTEMONE, {"content-encoding": encoding}, packed)
        assert (reply.status, reply.body) == (200, plain)
        assert (faux.requests[-1].raw, faux.requests[-1].body) == (packed, asked())
    for encoding, packed, code in (
        ("zstd", b"(\xb5/\xfd", 415),
        ("gzip", raw, 400),
        ("gzip", gzip.compress(raw)[:-9], 400),
        ("gzip", gzip.compress(bytes(65 * 2**20)), 413),
    ):
        found = post(faux, SYSTEMONE, packed, {"content-encoding": encoding})
        assert found[0] == code
        assert found[1]["detail"]["message"]


# --- images -----------------------------------------------------------------------------------------------------------


def asset(data: bytes, form: str = "png") -> dict[str, str]:
    return {"type": "image", "format": form, "data_base64": base64.b64encode(data).decode()}


def shown(state: Any, *tokens: str, **more: Any) -> dict[str, Any]:
    return asked(state=state, assets={token: asset(PNG) for token in tokens or ("<i1>",)}, **more)


def test_an_image_is_part_of_what_is_asked():
    faux = FauxSystemOne()
    one = {"state": {"deep": ["see <i1> there"]}, "assets": {"<i1>": asset(PNG)}}
    found = post(faux, SYSTEMONE, asked(**one), DANGER)[1]["answers"]
    assert faux.requests[0].images == {"<i1>": PNG}
    other = post(faux, SYSTEMONE, asked(**{**one, "assets": {"<i1>": asset(JPEG, "jpg")}}), DANGER)[1]["answers"]
    assert all(found[name] != other[name] for name in QUESTIONS)
    renamed = {"state": {"deep": ["see <longer> there"]}, "assets": {"<longer>": asset(PNG)}}
    assert post(faux, SYSTEMONE, asked(**renamed), DANGER)[1]["answers"] == found, "a token is a made-up name"
    more = {**QUESTIONS, "look": {"type": "score", "instructions": "At <i2>?", "criteria": ["like <i2>", "not"]}}
    both = {**one, "assets": {"<i1>": asset(PNG), "<i2>": asset(JPEG, "jpeg")}, "questions": more}
    last = post(faux, SYSTEMONE, asked(**both), DANGER)[1]["answers"]
    assert last.pop("look")["legend"] == {"0": "like <i2>", "1": "not"}
    assert last == found, "another question's image moves no answer"


@pytest.mark.parametrize(
    ("model", "state", "code"),
    [
        ("cloudflare/clef", ["look", "<i1>"], 200),
        ("cloudflare/clef", ["look at <i1>", "<i1>"], 400),
        ("cloudflare/clef", [["<i1>"]], 400),
        ("cloudflare/clef", {"photo": "<i1>"}, 400),
        ("cloudflare/clef", "<i1>", 400),
        ("cloudflare/clef", ["nothing"], 400),
        ("liquid/d1", ["<i1>"], 400),
        ("typesafe/jev-1.14", {"a": {"b": "see <i1>"}}, 200),
        ("typesafe/jev-1.14", "nothing", 400),
        ("typesafe/jev-1.13", "<i1>", 400),
        ("jev-latest", "<i1>", 200),
    ],
)
def test_where_an_image_may_stand(model: str, state: Any, code: int):
    found = post(FauxSystemOne(), ROUTER, shown(state, model=model), DANGER)
    assert found[0] == code
    assert ("answers" in found[1]) == (code == 200)


def test_an_image_in_a_question_is_read_by_jev_alone():
    questions = {"q": {"type": "noul", "instructions": "Is <i1> a dog?"}}
    assert post(FauxSystemOne(), ROUTER, shown("x", questions=questions), DANGER)[0] == 200
    assert (
        post(FauxSystemOne(), ROUTER, shown(["<i1>"], questions=questions, model="cloudflare/clef"), DANGER)[0] == 400
    )


def test_images_need_their_header():
    for path in (SYSTEMONE, ROUTER):
        for headers in ({}, {"typesafe-danger-zone-images": "false"}):
            assert post(FauxSystemOne(), path, shown("<i1>"), headers)[0] == 400
    assert post(FauxSystemOne(), SYSTEMONE, shown("<i1>"))[1]["detail"]["error_type"] == "invalid_request_error"


@pytest.mark.parametrize(
    "assets",
    [
        {},
        [],
        {" ": asset(PNG)},
        {"t" * 1025: asset(PNG)},
        {"<i1>": "data"},
        {"<i1>": asset(PNG, "gif")},
        {"<i1>": {**asset(PNG), "type": "video"}},
        {"<i1>": {"type": "image", "format": "png"}},
        {"<i1>": {"type": "image", "format": "png", "data_base64": "data:image/png;base64,AA=="}},
        {"<i1>": {"type": "image", "part": "asset-0"}},
    ],
)
def test_assets_that_are_not_valid(assets: Any):
    assert post(FauxSystemOne(), SYSTEMONE, asked(state="<i1>", assets=assets), DANGER)[0] == 422


def form(parts: dict[str, bytes], boundary: str = "b0undary") -> tuple[dict[str, str], bytes]:
    raw = b""
    for name, content in parts.items():
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\nContent-Type: image/png\r\n\r\n'
        raw += head.encode() + content + b"\r\n"
    return {**DANGER, "content-type": f"multipart/form-data; boundary={boundary}"}, raw + f"--{boundary}--\r\n".encode()


def in_parts(*parts: str) -> bytes:
    return json.dumps(asked(state="<i1>", assets={"<i1>": {"type": "image", "part": part} for part in parts})).encode()


def test_a_body_in_parts():
    faux = FauxSystemOne()
    headers, raw = form({"request": in_parts("asset-0"), "asset-0": PNG})
    code, found = post(faux, SYSTEMONE, raw, headers)
    assert (code, found["answers"]) == (200, post(faux, SYSTEMONE, shown("<i1>"), DANGER)[1]["answers"])
    kept = faux.requests[0]
    assert (kept.images, kept.body, kept.raw) == ({"<i1>": PNG}, json.loads(in_parts("asset-0")), raw)
    assert post(faux, ROUTER, raw, headers)[0] == 415
    assert post(faux, SYSTEMONE, *reversed(form({"request": json.dumps(asked()).encode()})))[0] == 200
    for parts, expected in (
        ({"asset-0": PNG}, 400),
        ({"request": in_parts("asset-0"), "asset-0": PNG, "asset-1": PNG}, 400),
        ({"request": in_parts("asset-1"), "asset-0": PNG}, 422),
        ({"request": json.dumps(asked()).encode(), "asset-0": PNG}, 422),
        ({"request": b"{"}, 422),
    ):
        headers, raw = form(parts)
        assert post(faux, SYSTEMONE, raw, headers)[0] == expected
    assert post(faux, SYSTEMONE, b"junk", headers)[0] == 400
    assert post(faux, SYSTEMONE, raw, {"content-type": "multipart/form-data"})[0] == 400


# --- faults -----------------------------------------------------------------------------------------------------------


def test_faults_come_in_order_and_then_all_is_well():
    faux = FauxSystemOne()
    faux.next(
        status(429, retry_after="1", retry_after_ms="5"), sound(), status(529), status(500, "oops", message="Oh.")
    )
    reply = faux.answer("POST", SYSTEMONE, {}, b"{}")
    assert (reply.status, reply.headers["retry-after"], reply.headers["retry-after-ms"]) == (429, "1", "5")
    assert json.loads(reply.body) == {"detail": {"error_type": "rate_limit_error", "message": "made to fail"}}
    with pytest.raises(ScriptError, match="3 of"):
        faux.assert_complete()
    assert answers(faux)
    assert post(faux, SYSTEMONE, asked())[0] == 529
    assert post(faux, SYSTEMONE, asked()) == (500, {"detail": {"error_type": "oops", "message": "Oh."}})
    faux.assert_complete()
    assert answers(faux)
    assert len(faux.requests) == 5


@pytest.mark.parametrize(
    ("path", "what", "at"),
    [
        (SYSTEMONE, asked(), ("detail", "error_type")),
        (ROUTER, asked(), ("error", "code")),
        ("/v1/decisions", {"state": "x", "questions": {}}, ("error", "ref_id")),
        ("/v1/decisions", {"input": "x", "questions": []}, ("error", "type")),
        ("/accounts/a/ai/run/@cf/cloudflare/clef", {}, ("errors", 0, "code")),
    ],
)
def test_a_failure_in_each_dialect(path: str, what: Any, at: tuple[Any, ...]):
    faux = FauxSystemOne()
    faux.next(status(402))
    code, found = post(faux, path, what)
    for step in at:
        found = found[step]
    assert code == 402
    assert found


def test_a_status_that_is_no_failure():
    for code in (200, 600, "500", True):
        with pytest.raises(ValueError, match="300 to 599"):
            status(code)  # type: ignore[arg-type]


def test_connections_that_fail():
    faux = FauxSystemOne()
    faux.next(refused(), broken())
    with pytest.raises(ConnectionRefusedError):
        faux.answer("POST", SYSTEMONE, {}, b"{}")
    assert (faux.requests, faux.tries) == ([], 1)
    with pytest.raises(ConnectionResetError):
        faux.answer("POST", SYSTEMONE, {}, b"{}")
    assert (len(faux.requests), faux.tries) == (1, 2)


def test_faults_through_the_clients():
    import httpx

    faux = FauxSystemOne()
    faux.next(refused(), broken(), slow(0.3), slow(0.01))
    client, async_client = faux.clients()
    with client:
        for expected in (httpx.ConnectError, httpx.ReadError, httpx.ReadTimeout):
            with pytest.raises(expected):
                client.post(f"http://x{SYSTEMONE}", json=asked(), timeout=0.05)
        assert client.post(f"http://x{SYSTEMONE}", json=asked(), timeout=0.05).status_code == 200
    faux.next(refused(), status(503))

    async def asked_async() -> int:
        async with async_client:
            with pytest.raises(httpx.ConnectError):
                await async_client.post(f"http://x{SYSTEMONE}", json=asked())
            return int((await async_client.post(f"http://x{SYSTEMONE}", json=asked())).status_code)

    assert asyncio.run(asked_async()) == 503


def test_late_answers():
    faux = FauxSystemOne()
    faux.next(slow(2.0), slow(1.0) & status(500) & slow(0.5), slow(1.0) & refusing("team"))
    reply, seconds = faux.answer("POST", SYSTEMONE, {}, json.dumps(asked()).encode())
    assert (reply.status, seconds) == (200, 2.0)
    reply, seconds = faux.answer("POST", SYSTEMONE, {}, json.dumps(asked()).encode())
    assert (reply.status, seconds) == (500, 1.5)
    reply, seconds = faux.answer("POST", SYSTEMONE, {}, json.dumps(asked()).encode())
    assert (json.loads(reply.body)["answers"]["team"], seconds) == ({"type": "refusal"}, 1.0)


@pytest.mark.parametrize("content", [b"<html>", b"[]", b"", b"null"])
def test_bodies_that_are_no_answer(content: bytes):
    faux = FauxSystemOne()
    faux.next(body(content), body(content, status=502, content_type="text/html"))
    reply = faux.answer("POST", SYSTEMONE, {}, b"")
    assert (reply.status, reply.body, reply.headers["content-type"]) == (200, content, "application/json")
    reply = faux.answer("POST", SYSTEMONE, {}, b"")
    assert (reply.status, reply.headers["content-type"]) == (502, "text/html")


def test_answers_that_are_changed():
    faux = FauxSystemOne()
    before = answers(faux)
    faux.next(
        refusing("team", "anger"),
        without("confidence", "legend"),
        answering({"Réf": {"type": "noul", "noul": 2}}, refund={"type": "noul", "noul": 0.25}),
        leaving_out("anger", "nobody"),
        changed(lambda whole: {**whole, "model": 3}),
        changed(lambda whole: [whole]),
        changed(lambda whole: {**whole, "usage": {"input_tokens": math.nan}}),
    )
    refusal = {"type": "refusal"}
    assert answers(faux) == {**before, "team": refusal, "anger": refusal}
    bare = answers(faux)
    assert bare["team"].keys() == {"type", "choice", "probabilities"}
    assert bare["anger"].keys() == {"type", "score", "probabilities"}
    assert answers(faux) == {**before, "Réf": {"type": "noul", "noul": 2}, "refund": {"type": "noul", "noul": 0.25}}
    assert answers(faux).keys() == {"refund", "team"}
    assert post(faux, SYSTEMONE, asked())[1]["model"] == 3
    assert post(faux, SYSTEMONE, asked())[1][0]["answers"] == before
    assert math.isnan(post(faux, SYSTEMONE, asked())[1]["usage"]["input_tokens"])
    faux.next(refusing("team"), method="POST")
    assert post(faux, SYSTEMONE, b"{")[0] == 422, "what is refused anyhow is not changed"


def test_costs_that_are_left_out():
    faux = FauxSystemOne()
    faux.next(without("cost"), without("usage", "id"), without("probabilities", "provider"))
    assert post(faux, ROUTER, asked())[1]["usage"].keys() == {"input_tokens", "output_tokens"}
    assert post(faux, ROUTER, asked())[1].keys() == {"provider", "model", "answers"}
    assert "probabilities" not in post(faux, ROUTER, asked())[1]["answers"]["team"]


def test_changes_in_an_envelope_and_in_a_list():
    faux = FauxSystemOne()
    faux.next(refusing("team") & without("confidence", "usage"))
    sent = {"state": STATE, "questions": QUESTIONS}
    result = post(faux, "/accounts/a/ai/run/@cf/cloudflare/clef", sent)[1]["result"]
    assert result["answers"]["team"] == {"type": "refusal"}
    assert "usage" not in result
    assert "confidence" not in result["answers"]["anger"]
    faux.next(
        refusing("late", "1"), leaving_out("late"), answering(more={"type": "refusal"}, late=7), without("confidence")
    )
    sent = {"model": "gpt-6-luna", "input": "x", "questions": OPENAI_QUESTIONS}
    found = post(faux, "/v1/decisions", sent)[1]["answers"]
    assert found[:2] == [{"type": "refusal", "name": "late"}, {"type": "refusal", "name": None}]
    assert [a["type"] for a in post(faux, "/v1/decisions", sent)[1]["answers"]] == ["choice", "score"]
    found = post(faux, "/v1/decisions", sent)[1]["answers"]
    assert (found[0], found[3]) == (7, {"type": "refusal", "name": "more"})
    assert "confidence" not in post(faux, "/v1/decisions", sent)[1]["answers"][1]


def test_lists_of_models_have_faults_of_their_own():
    faux = FauxSystemOne()
    faux.next(status(503), method="GET")
    assert answers(faux)
    assert faux.answer("GET", "/api/v1/models?output_modalities=decisions", {}, b"").status == 503
    assert faux.answer("GET", "/api/v1/models?output_modalities=decisions", {}, b"").status == 200


def test_threads():
    faux = FauxSystemOne()
    faux.next(*[status(500)] * 50)
    codes: list[int] = []
    threads = [
        threading.Thread(target=lambda: codes.extend(post(faux, SYSTEMONE, asked())[0] for _ in range(25)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (codes.count(500), codes.count(200), len(faux.requests)) == (50, 150, 200)
    faux.assert_complete()


# --- over sockets -----------------------------------------------------------------------------------------------------


def over(url: str, timeout: float = 10) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(url.removeprefix("http://"), timeout=timeout)


def test_the_server_answers_as_the_handler_does():
    faux = FauxSystemOne("k")
    raw = json.dumps(asked()).encode()
    wanted = faux.answer("POST", SYSTEMONE, {"authorization": "Bearer k"}, raw)
    with faux.serve() as url:
        connection = over(url)
        for _ in range(3):  # over one connection
            connection.request("POST", SYSTEMONE, raw, {"Authorization": "Bearer k"})
            reply = connection.getresponse()
            assert (reply.status, reply.read()) == (200, wanted.body)
            assert reply.headers["x-typesafe-request-id"] == wanted.headers["x-typesafe-request-id"]
        connection.request("HEAD", SYSTEMONE)
        reply = connection.getresponse()
        assert (reply.status, reply.read()) == (405, b"")
        connection.request("DELETE", "/v1/models")
        assert connection.getresponse().read()
        connection.close()
    assert faux.requests[1].raw == raw
    assert faux.requests[1].headers["authorization"] == "Bearer k"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), 1)


def test_the_server_reads_chunks():
    faux = FauxSystemOne()
    raw = json.dumps(asked()).encode()
    with faux.serve() as url:
        connection = over(url)
        connection.request("POST", SYSTEMONE, iter([raw[:7], raw[7:20], raw[20:]]), encode_chunked=True)
        assert connection.getresponse().read()
        connection.request("POST", SYSTEMONE, raw)  # the connection is in step
        assert connection.getresponse().status == 200
        connection.close()
        for bad in (b"zz\r\n", b"3\r\nabcdef\r\n0\r\n\r\n", b"-1\r\n"):
            assert b" 400 " in said(url, b"transfer-encoding: chunked", bad)
        for bad in (b"-1", b"many", b"99999999999"):
            assert b" 400 " in said(url, b"content-length: " + bad, b"")
        trailers = b"%x;ext=1\r\n%s\r\n0\r\nx-trailer: 1\r\n\r\n" % (len(raw), raw)
        assert b" 200 " in said(url, b"transfer-encoding: chunked", trailers)
    assert [request.body for request in faux.requests] == [asked()] * 3


def said(url: str, header: bytes, content: bytes) -> bytes:
    """The first line that the server answers to a request made by hand."""
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), 10) as sock:
        sock.sendall(b"POST /v1/systemone HTTP/1.1\r\nhost: x\r\n%s\r\n\r\n%s" % (header, content))
        return sock.recv(65536).partition(b"\r\n")[0]


def test_faults_over_sockets():
    faux = FauxSystemOne()
    faux.next(broken(), refused(), slow(0.2), body(b"<html>"), status(429, retry_after="1"))
    with faux.serve() as url:
        for _ in range(2):
            connection = over(url)
            with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected)):
                connection.request("POST", SYSTEMONE, b"{}")
                connection.getresponse()
            connection.close()
        connection = over(url)
        began = time.monotonic()
        connection.request("POST", SYSTEMONE, json.dumps(asked()))
        reply = connection.getresponse()
        assert (reply.status, time.monotonic() - began > 0.19) == (200, True)
        reply.read()
        connection.request("POST", SYSTEMONE, b"{}")
        assert connection.getresponse().read() == b"<html>"
        connection.request("POST", SYSTEMONE, b"{}")
        reply = connection.getresponse()
        assert (reply.status, reply.headers["retry-after"]) == (429, "1")
        connection.close()


def test_the_server_does_not_wait_for_those_who_wait():
    faux = FauxSystemOne()
    faux.next(slow(60))
    idle = late = None
    began = time.monotonic()
    with faux.serve() as url:
        idle, late = over(url), over(url)
        idle.request("GET", "/v1/models")
        idle.getresponse().read()
        late.request("POST", SYSTEMONE, b"{}")
        while not faux.posts:
            time.sleep(0.005)
    assert time.monotonic() - began < 5
    idle.close()
    late.close()


def test_many_at_once_over_sockets():
    faux = FauxSystemOne()
    found: list[int] = []

    def ask(url: str) -> None:
        connection = over(url)
        for _ in range(5):
            connection.request("POST", SYSTEMONE, json.dumps(asked()))
            reply = connection.getresponse()
            reply.read()
            found.append(reply.status)
        connection.close()

    with faux.serve() as url:
        threads = [threading.Thread(target=ask, args=(url,)) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [200] * 80


def test_the_command():
    command = [sys.executable, "-m", "decidable.testing.systemone", "--port", "0", "--key", "k"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        url = process.stdout.readline().strip()
        connection = over(url)
        connection.request("POST", SYSTEMONE, json.dumps(asked()), {"Authorization": "Bearer k"})
        assert json.loads(connection.getresponse().read())["answers"] == answers(FauxSystemOne())
        connection.close()
        process.stdin.close()
        assert process.wait(10) == 0
