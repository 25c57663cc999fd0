"""Faults on demand: each does what it says."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from typing import Any

import pytest
from faux_kit import OPENAI_QUESTIONS, QUESTIONS, ROUTER, STATE, SYSTEMONE, answers, asked, post

from decidable.testing import ScriptError
from decidable.testing.systemone import (
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
        leaving_out("anger"),
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
        refusing("0", "1"), leaving_out("late"), answering(more={"type": "refusal"}, late=7), without("confidence")
    )
    sent = {"model": "gpt-6-luna", "input": "x", "questions": OPENAI_QUESTIONS}
    found = post(faux, "/v1/decisions", sent)[1]["answers"]
    assert found[:2] == [{"type": "refusal", "name": "late"}, {"type": "refusal", "name": None}]
    assert [a["type"] for a in post(faux, "/v1/decisions", sent)[1]["answers"]] == ["choice", "score"]
    found = post(faux, "/v1/decisions", sent)[1]["answers"]
    assert (found[0], found[3]) == (7, {"type": "refusal", "name": "more"})
    assert "confidence" not in post(faux, "/v1/decisions", sent)[1]["answers"][1]


@pytest.mark.parametrize("fault", [refusing("nobody"), leaving_out("nobody")])
def test_a_script_that_names_no_question(fault: Any):
    faux = FauxSystemOne()
    for path, sent in (
        (SYSTEMONE, asked()),
        ("/v1/decisions", {"model": "gpt-6-luna", "input": "x", "questions": OPENAI_QUESTIONS}),
    ):
        faux.next(fault)
        with pytest.raises(ScriptError, match="no question 'nobody'"):
            post(faux, path, sent)


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
