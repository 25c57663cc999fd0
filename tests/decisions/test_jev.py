"""TypeSafe's Jev: what is sent, what is asked again, and what an answer may be."""

from __future__ import annotations

import asyncio
import json
import threading
import time

import pytest
from decisions_kit import reply

from decidable import CancelToken, DecisionProviderError, SettingError, jev_provider
from decidable.judging import Judge
from decidable.questions import Choice, ChoiceAnswer, Noul, NoulAnswer, Score, ScoreAnswer
from decidable.testing import allow_requests
from decidable.testing.provider_conformance import FastClock
from loopback import serving

KEY = "key-that-must-not-leak"
ASKED = {
    "late": Noul("Is it late?"),
    "desk": Choice("Which desk?", ["returns", "sales"]),
    "harm": Score("How much harm?", ["Small", "Large"]),
}
ONE = {"q": Noul("So?")}
YES = {
    "model": "jev-1.14.0",
    "answers": {"q": {"type": "noul", "noul": 0.9}},
    "usage": {"input_tokens": 100, "output_tokens": 10},
}


@pytest.fixture
def jev(service, monkeypatch):
    for name in ("TYPESAFE_BASE_URL", "TYPESAFE_DEFAULT_MODEL", "TYPESAFE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return lambda model=None, **settings: service(jev_provider, model, **{"api_key": KEY, **settings})


def test_all_three_types(jev):
    it = jev()
    found = it.ask("A parcel.", ASKED, reply("jev_ok", x_typesafe_request_id="req_1"))
    assert found.answers == {
        "late": NoulAnswer(0.88),
        "desk": ChoiceAnswer("returns", {"returns": 0.9, "sales": 0.1}, 0.8),
        "harm": ScoreAnswer(0.6, (0.4, 0.6), 0.2),
    }
    assert (found.model, found.usage.input_tokens, found.usage.output_tokens) == ("jev-1.14.0", 140, 3)
    assert (found.cost_usd, found.cost_basis, found.provider_request_id) == (None, "unknown", "req_1")
    (sent,) = it.transport.sends
    assert (sent.path, sent.headers["authorization"]) == ("/v1/systemone", f"Bearer {KEY}")
    assert (sent.json()["model"], sent.json().keys()) == ("jev-latest", {"model", "state", "questions"})


def test_where_and_which_model_come_from_the_environment(jev, monkeypatch):
    monkeypatch.setenv("TYPESAFE_BASE_URL", "https://other.example")
    monkeypatch.setenv("TYPESAFE_DEFAULT_MODEL", "jev-1.13.0")
    it = jev()
    assert it.provider._transport.address == "https://other.example"
    it.ask("x", ONE, YES)
    assert it.sent[0]["model"] == "jev-1.13.0"


def test_a_price_is_an_estimate(jev):
    found = jev(prices=(1, 2)).ask("x", ONE, YES)
    assert (found.cost_usd, found.cost_basis) == (pytest.approx(0.00012), "estimate")
    found = jev(prices=(1, 2)).ask("x", ONE, {"model": "m", "answers": YES["answers"]})
    assert (found.cost_usd, found.cost_basis) == (None, "unknown")
    for prices in ((1,), (-1, 0), ("1", 2), (1, float("inf")), 5):
        with pytest.raises(SettingError, match="per million"):
            jev(prices=prices)


@pytest.mark.parametrize(
    "body",
    [
        {**YES, "answers": {}},
        {**YES, "answers": {"q": {"type": "choice", "choice": "a"}}},
        {**YES, "usage": {"input_tokens": -1, "output_tokens": 0}},
        {**YES, "usage": {"input_tokens": 1.5, "output_tokens": 0}},
        {**YES, "usage": "many"},
        {**YES, "model": 5},
        {**YES, "model": ""},
    ],
)
def test_an_answer_that_contradicts_the_wire_is_refused_and_not_asked_again(jev, body):
    it = jev()
    assert (it.fails("x", ONE, body).code, len(it.sent)) == ("invalid_response", 1)


def test_counts_printed_with_a_point_are_counts(jev):
    found = jev().ask("x", ONE, {**YES, "usage": {"input_tokens": 100.0, "output_tokens": 10.0}})
    assert (found.usage.input_tokens, found.usage.output_tokens) == (100, 10)


def test_a_billed_answer_that_is_none_keeps_its_usage_and_cost(jev):
    error = jev(prices=(1, 2)).fails("x", ONE, {**YES, "answers": {}})
    assert error.cost_usd == pytest.approx(0.00012)
    (attempt,) = error.provider_attempts
    assert (attempt.status, attempt.usage.input_tokens) == ("answered", 100)


def test_what_failed_is_asked_again(jev):
    it = jev()
    it.ask("x", ONE, reply(b"", 429), reply(b"", 529), YES)
    assert (len(it.sent), it.clock.slept) == (3, [0.5, 1.0])
    it = jev()
    error = it.fails("x", ONE, reply(b"", 503))
    assert (error.code, len(it.sent), error.http_status) == ("outcome_unknown", 3, 503)
    it = jev(max_attempts=5)
    assert it.fails("x", ONE, ConnectionResetError("x")).code == "outcome_unknown"
    assert (len(it.sent), it.clock.slept) == (5, [0.5, 1.0, 2.0, 4.0])
    it = jev(max_attempts=6)
    assert it.fails("x", ONE, ConnectionRefusedError("x")).code == "connection"
    assert it.clock.slept == [0.5, 1.0, 2.0, 4.0, 5.0]


def test_attempts_have_ids_and_equal_requests_equal_hashes(jev):
    it = jev()
    found = it.ask("x", ONE, reply(b"", 503), YES)
    assert [(a.number, a.status, a.http_status) for a in found.attempts] == [(1, "unknown", 503), (2, "answered", 200)]
    assert len({a.id for a in found.attempts}) == 2
    assert it.ask("x", ONE, YES).request_sha256 == found.request_sha256


def test_one_that_is_careful_asks_once(jev):
    it = jev(replay="never")
    assert (it.fails("x", ONE, reply(b"", 503), YES).code, len(it.sent)) == ("outcome_unknown", 1)


@pytest.mark.parametrize("status", [400, 413])
def test_a_request_that_is_too_long_is_not_repeated_or_split(jev, status):
    it = jev()
    error = it.fails("x", ONE, reply("jev_capacity", status))
    assert (error.code, error.detail, len(it.sent)) == ("invalid_request", "max_tokens_exceeded", 1)


@pytest.mark.parametrize(
    "body",
    [
        {"detail": [{"loc": ["body", "state"], "msg": "state-that-must-not-leak", "type": "string_type"}]},
        {"error": {"message": "state-that-must-not-leak", "type": "string_type"}},
        {"message": "state-that-must-not-leak", "error_type": "string_type"},
    ],
)
def test_every_dialect_of_errors_tells_its_code(jev, body):
    error = jev().fails("x", ONE, reply(body, 422))
    assert (error.code, error.detail) == ("invalid_request", "string_type")
    assert jev().fails("x", ONE, reply({"error": "state-that-must-not-leak"}, 422)).detail == ""


def loop():
    made = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    "state", [5, None, True, float("nan"), {"x": float("inf")}, {"x": object()}, loop(), {"x": {1, 2}}]
)
def test_a_state_that_is_no_json(jev, state):
    it = jev()
    assert (it.fails(state, ONE, YES).code, it.sent) == ("invalid_request", [])


def test_a_lone_surrogate_is_sent(jev):
    it = jev()
    it.ask("\ud800", ONE, YES)
    assert it.sent[0]["state"] == "\ud800"


def test_the_deadline_includes_the_waits(jev):
    it = jev(timeout_s=2)
    error = it.fails("x", ONE, reply(b"", 503))
    assert (error.code, len(it.sent), it.clock.slept) == ("outcome_unknown", 3, [0.5, 1.0])
    it = jev(timeout_s=1.2)
    error = it.fails("x", ONE, reply(b"", 503))
    assert (error.code, len(it.sent), it.clock.slept) == ("timeout", 2, [0.5])


def test_called_off_before_in_a_wait_and_late(jev):
    it = jev()
    it.judge = Judge({"it": it.provider}, "it")  # with the real clock
    token = CancelToken()
    token.cancel()
    assert (it.fails("x", ONE, YES, cancel=token).code, it.sent) == ("aborted", [])
    token = CancelToken()
    threading.Timer(0.05, token.cancel).start()
    begun = time.monotonic()
    assert it.fails("x", ONE, reply(b"", 503), cancel=token).code == "aborted"
    assert time.monotonic() - begun < 0.45
    for bad in (reply(b"<html>"), reply(b"", 400)):  # what comes too late does not count
        token = CancelToken()
        threading.Timer(0.05, token.cancel).start()
        assert it.fails("x", ONE, (bad, 0.3), cancel=token).code == "aborted"
    for thread in threading.enumerate():
        if thread.name == "decidable-request":
            thread.join(5)


def test_a_cancelled_task_is_cancelled(service):
    it = service(jev_provider, api_key=KEY)
    it.transport.steps = [(reply(YES), 5.0)]

    async def main():
        task = asyncio.create_task(it.judge.async_ask("x", ONE))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


@pytest.mark.parametrize(
    "settings",
    [
        {"timeout_s": 0},
        {"timeout_s": True},
        {"timeout_s": 2**31},
        {"max_attempts": 0},
        {"max_attempts": 11},
        {"replay": "perhaps"},
    ],
)
def test_settings_out_of_range(settings):
    with pytest.raises(SettingError, match=next(iter(settings))):
        jev_provider(api_key=KEY, **settings)


@pytest.mark.parametrize("key", ["line\nbreak", " space", "é"])
def test_a_key_that_cannot_be_one(service, key):
    error = service(jev_provider, api_key=key).fails("x", ONE, YES)
    assert error.code == "configuration"
    assert key not in str(error)


def test_images_go_along(jev):
    from test_openrouter import image

    it = jev()
    it.ask({"photo": "<i1>"}, ONE, YES, images={"<i1>": image()})
    assert [one.method for one in it.transport.sends] == ["POST"]
    assert json.loads(it.transport.sends[0].body)["assets"].keys() == {"<i1>"}


def test_over_real_sockets(monkeypatch):
    """A server that fails once, and a connection that breaks once."""

    def ok(connection):
        connection.reply("200 OK", json.dumps(YES).encode())

    def busy(connection):
        connection.reply("503 Service Unavailable", b"{}")

    with serving(busy, lambda connection: connection.cut(), ok) as server, allow_requests():
        provider = jev_provider(api_key=KEY, base_url=server.url)
        judge = Judge({"it": provider}, "it", FastClock().host())
        found = judge.ask("x", ONE)
        provider.close()
    assert [attempt.status for attempt in found.attempts] == ["unknown", "unknown", "answered"]
    assert b"authorization: Bearer" in server.requests[0] or b"Authorization: Bearer" in server.requests[0]


@pytest.mark.parametrize("replay", ["never", "safe"])
def test_a_refused_port_and_a_silent_server(replay):
    with serving(lambda connection: time.sleep(2)) as server, allow_requests():
        provider = jev_provider(api_key=KEY, base_url=server.url, replay=replay, timeout_s=0.3)
        with pytest.raises(DecisionProviderError) as caught:
            Judge({"it": provider}, "it").ask("x", ONE)
        assert caught.value.code == "outcome_unknown"
        provider.close()
    with allow_requests():
        provider = jev_provider(api_key=KEY, base_url="http://127.0.0.1:9", replay=replay)
        with pytest.raises(DecisionProviderError) as caught:
            Judge({"it": provider}, "it", FastClock().host()).ask("x", ONE)
        assert (caught.value.code, caught.value.attempts) == ("connection", 3)
        provider.close()
