"""Every path and spelling that the faux service answers."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import pytest
from faux_kit import OPENAI_QUESTIONS, PNG, QUESTIONS, ROUTER, STATE, SYSTEMONE, answers, asked, flaws, post

from decidable.testing.systemone import (
    FauxModel,
    FauxSystemOne,
)


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
