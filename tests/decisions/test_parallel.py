"""Parallel: what is sent, what its answers mean, and what is never asked twice."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from decisions_kit import reply

from decidable import DecisionProviderError, SettingError, judge_from_provider, parallel_provider
from decidable.providers.decision_endpoints import PARALLEL_LIST_PRICE_USD, PARALLEL_MODES
from decidable.questions import Choice, ChoiceAnswer, Evidence, Noul, NoulAnswer, QuestionRequest, Score
from decidable.testing import allow_requests
from loopback import serving

KEY = "key-that-must-not-leak"
STATE = {"company": "Acme Robotics", "website": "https://acme.example"}
HAS_API = Noul("Does the company publish a public API?", "Public docs describe it.", "The company says there is none.")
STATUS = Choice(
    "Is the company operating?",
    {"active": None, "closed": "It announced closure.", "unknown": "Evidence is missing."},
)
SIZE = Score("How large is the team?", ["under 10", "10 to 100", "over 100"])
ASKED = {"has_api": HAS_API, "status": STATUS, "size": SIZE}
ONE = {"q": Noul("So?")}
YES = {"decision_id": "d", "mode": "fast", "answers": {"q": {"type": "noul", "noul": 0.9}}, "citations": []}


@pytest.fixture
def parallel(service):
    return lambda **settings: service(parallel_provider, **{"api_key": KEY, **settings})


def test_the_request(parallel):
    it = parallel()
    it.ask(STATE, ASKED, "parallel_ok")
    (sent,) = it.transport.sends
    assert (sent.method, sent.path) == ("POST", "/v1/decisions")
    assert it.provider._transport.address == "https://api.parallel.ai"
    assert sent.headers["x-api-key"] == KEY
    assert sent.headers["content-type"] == sent.headers["accept"] == "application/json"
    assert "authorization" not in sent.headers
    assert sent.json() == {
        "mode": "fast",
        "state": STATE,
        "questions": {
            "has_api": {
                "type": "noul",
                "instructions": "Does the company publish a public API?",
                "criteria": {"true": "Public docs describe it.", "false": "The company says there is none."},
            },
            "status": {
                "type": "choice",
                "instructions": "Is the company operating?",
                "criteria": {"active": "active", "closed": "It announced closure.", "unknown": "Evidence is missing."},
            },
            "size": {
                "type": "score",
                "instructions": "How large is the team?",
                "criteria": ["under 10", "10 to 100", "over 100"],
            },
        },
        "include_excerpts": True,
    }


def test_a_side_that_is_not_described_is_the_others_complement(parallel):
    it = parallel()
    it.ask(STATE, {"q": Noul("Wet?", true="It rains.")}, YES)
    assert it.sent[0]["questions"]["q"]["criteria"] == {"true": "It rains.", "false": "Not the case: It rains."}


def test_the_answer(parallel):
    found = parallel().ask(STATE, ASKED, "parallel_ok")
    assert found.answers["has_api"] == NoulAnswer(0.97)
    status = found.answers["status"]
    assert isinstance(status, ChoiceAnswer)
    assert (status.choice, status.probabilities) == ("active", {"active": 0.91, "closed": 0.03, "unknown": 0.06})
    assert status.confidence == pytest.approx(0.865)
    assert found.confidence_source == {"has_api": "noul", "status": "derived"}
    assert found.refused == ("size",)
    assert (found.model, found.provider_request_id, found.usage) == ("parallel-fast", "dec_0b1f", None)
    assert (found.cost_usd, found.cost_basis) == (PARALLEL_LIST_PRICE_USD, "estimate") == (0.001, "estimate")
    assert found.evidence == (
        Evidence("call", "https://acme.example/docs", "API reference", ("The REST API ...",)),
        Evidence("call", "https://news.example/acme", None, ()),
    )


def test_confidence_that_is_reported_stays_and_a_derived_one_is_ours(parallel):
    found = parallel().ask(STATE, ASKED, "parallel_conf")
    assert found.answers["status"].confidence == 0.9
    assert found.confidence_source["status"] == "reported"
    rated = parallel().ask(STATE, {"fit": Score("Fit?", ["poor", "fair", "good"])}, "parallel_score")
    assert rated.answers["fit"].confidence == pytest.approx(0.7)
    assert rated.values == {"fit": 2}


def test_drift_is_kept_as_reported(parallel):
    found = parallel().ask(STATE, {"status": STATUS}, "parallel_drift")
    assert set(found.answers["status"].probabilities.values()) == {0.33}


def test_without_a_key_the_variable_is_named_and_one_set_later_is_seen(service, monkeypatch):
    monkeypatch.delenv("PARALLEL_API_KEY", raising=False)
    it = service(parallel_provider)
    error = it.fails(STATE, ONE, YES)
    assert (error.code, it.sent) == ("configuration", [])
    assert "PARALLEL_API_KEY" in str(error)
    monkeypatch.setenv("PARALLEL_API_KEY", KEY)
    it.ask(STATE, ONE, YES)
    assert it.transport.sends[0].headers["x-api-key"] == KEY


def good(questions):
    from test_conformance import TestParallel

    from decidable.testing.provider_conformance import good_answers

    return reply(TestParallel().answer_body(questions, good_answers(questions)))


@pytest.mark.parametrize(
    ("fits", "does_not"),
    [
        ({f"q{n}": Noul("So?") for n in range(100)}, {f"q{n}": Noul("So?") for n in range(101)}),
        ({"q": Choice("?", ["a", "b"])}, {"q": Choice("?", ["a"])}),
        ({"q": Choice("?", map(str, range(255)))}, {"q": Choice("?", map(str, range(256)))}),
        ({"q": Score("?", map(str, range(10)))}, {"q": Score("?", map(str, range(11)))}),
        ({"q": Score("?", ["a", "b"])}, {"q": Score("?", ["a"])}),
        ({"q": Noul("é" * (5000 - 39))}, {"q": Noul("é" * (5000 - 38))}),
    ],
)
def test_limits(parallel, fits, does_not):
    it = parallel()
    assert it.ask(STATE, fits, good(fits)).answers
    error = it.fails(STATE, does_not)
    assert (error.code, len(it.sent)) == ("invalid_request", 1)
    assert "é" not in str(error)


def test_the_length_of_a_question_counts_all_of_it():
    text = json.dumps({"q": {"type": "noul", "instructions": ""}}, separators=(",", ":"))
    assert len(text) == 39


def test_the_states_bytes_are_counted(parallel):
    it = parallel()
    state = "é" * 47_999  # two bytes each, and two for the quotes
    assert it.ask(state, ONE, YES).answers
    error = it.fails(state + "x", ONE, YES)
    assert (error.code, len(it.sent)) == ("invalid_request", 1)
    assert "96000 bytes, this has 96001" in str(error)


def test_modes_are_models(parallel):
    it = parallel()
    it.ask(STATE, ONE, YES, model="parallel-fast")
    error = it.fails(STATE, ONE, YES, model="parallel-deep")
    assert (error.code, len(it.sent)) == ("invalid_request", 1)
    deep = parallel(modes=["fast", "deep"])
    deep.ask(STATE, ONE, {**YES, "mode": "deep"}, model="parallel-deep")
    assert deep.sent[0]["mode"] == "deep"
    deep.ask(STATE, ONE, YES)
    assert deep.sent[1]["mode"] == "fast"
    assert PARALLEL_MODES == ("fast",)
    for modes in ([], "fast", [""]):
        with pytest.raises(SettingError, match="modes"):
            parallel(modes=modes)


@pytest.mark.parametrize("status", [401, 402, 403])
def test_who_is_asking(parallel, status):
    error = parallel().fails(STATE, ONE, reply({"error": {"message": KEY}}, status))
    assert (error.code, error.http_status, error.cost_basis) == ("auth", status, None)


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_what_it_refuses_carries_its_reference_and_nothing_else(parallel, status):
    error = parallel().fails(STATE, ONE, reply("parallel_422", status))
    assert (error.code, error.ref_id) == ("invalid_request", "dec_err_9")
    assert "validation error" not in str(error)


def test_a_wait_that_is_named_is_waited(parallel):
    it = parallel()
    assert it.ask(STATE, ONE, reply(b"", 429, retry_after="1"), YES).values == {"q": True}
    assert it.clock.slept == [1.0]
    it = parallel()
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=3), usegmt=True)
    it.ask(STATE, ONE, reply(b"", 429, retry_after=date), YES)
    assert 1 < it.clock.slept[0] <= 3
    for absent in ("-1", "nan", "soon", ""):
        it = parallel()
        assert it.fails(STATE, ONE, reply(b"", 429, retry_after=absent)).code == "rate_limited"
        assert len(it.sent) == 1


def test_attempts_are_spent(parallel):
    it = parallel()
    error = it.fails(STATE, ONE, reply(b"", 429, retry_after="1"))
    assert (error.code, len(it.sent), it.clock.slept) == ("rate_limited", 3, [1.0, 1.0])
    it = parallel(max_attempts=1)
    assert (it.fails(STATE, ONE, reply(b"", 429, retry_after="1")).code, len(it.sent)) == ("rate_limited", 1)


@pytest.mark.parametrize("status", [408, 500, 502, 503, 524, 529])
def test_what_may_have_been_answered_is_booked_and_not_asked_again(parallel, status):
    it = parallel()
    error = it.fails(STATE, ONE, reply(b"busy", status, retry_after="1"), YES)
    assert (error.code, error.cost_usd, error.cost_basis, len(it.sent)) == ("outcome_unknown", 0.001, "estimate", 1)
    assert not error.retryable
    assert [attempt.status for attempt in error.provider_attempts] == ["unknown"]


def test_what_never_arrived_is_sent_again_with_back_off(parallel):
    it = parallel()
    assert it.ask(STATE, ONE, ConnectionRefusedError("no"), ConnectionRefusedError("no"), YES).values == {"q": True}
    assert it.clock.slept == [0.5, 1.0]
    it = parallel()
    error = it.fails(STATE, ONE, ConnectionRefusedError("no"))
    assert (error.code, len(it.sent), error.cost_basis) == ("connection", 3, None)
    it = parallel()
    error = it.fails(STATE, ONE, ConnectionResetError("gone"), YES)
    assert (error.code, len(it.sent), error.cost_usd) == ("outcome_unknown", 1, 0.001)


def test_its_own_deadline_is_kept(parallel):
    error = parallel(timeout_s=0.1).fails(STATE, ONE, (reply(YES), 5.0))
    assert (error.code, error.cost_usd) == ("outcome_unknown", 0.001)
    it = parallel(timeout_s=3)
    error = it.fails(STATE, ONE, reply(b"", 429, retry_after="4"))
    assert (error.code, error.retry_after_s, it.clock.slept) == ("timeout", 4, [])


@pytest.mark.parametrize("status", [301, 307])
def test_redirects_are_not_followed(parallel, status):
    it = parallel()
    error = it.fails(STATE, ONE, reply(b"", status, location="https://elsewhere.example/"))
    assert (error.code, len(it.sent)) == ("invalid_response", 1)


def test_a_paid_answer_that_is_none_is_booked(parallel):
    for body in (b"<html>", {**YES, "answers": {}}, {**YES, "answers": {**YES["answers"], "x": {"type": "refusal"}}}):
        error = parallel().fails(STATE, ONE, reply(body))
        assert (error.code, error.cost_usd, error.cost_basis) == ("invalid_response", 0.001, "estimate")


def test_preflight_refuses_a_bad_pin_before_a_run(parallel):
    it = parallel()
    fine = QuestionRequest(STATE, ONE)
    it.judge.preflight(fine)
    with pytest.raises(DecisionProviderError, match=r"parallel-deep.*; .*2 to 255 options") as caught:
        it.judge.preflight(
            fine,
            QuestionRequest(STATE, ONE, "parallel-deep"),
            QuestionRequest(STATE, {"q": Choice("?", ["a"])}),
        )
    assert caught.value.code == "invalid_request"
    assert it.sent == []


def test_no_connection_is_kept_for_a_request_that_is_paid():
    with allow_requests():
        never = parallel_provider(api_key=KEY)
        safe = parallel_provider(api_key=KEY, replay="safe")
    assert never._transport._settings["limits"].max_keepalive_connections == 0
    assert safe._transport._settings["limits"].max_keepalive_connections > 0


@pytest.mark.parametrize(("replay", "connections"), [("never", 2), ("safe", 1)])
def test_each_paid_request_has_a_connection_of_its_own(replay, connections):
    def answer(connection):
        connection.reply("200 OK", json.dumps(YES).encode())

    with serving(answer) as server, allow_requests():
        provider = parallel_provider(api_key=KEY, base_url=server.url, replay=replay)
        judge = judge_from_provider(provider)
        for _ in range(2):
            assert judge.ask(STATE, ONE).values == {"q": True}
        provider.close()
    assert server.connections == connections


@pytest.mark.skipif(not os.environ.get("DECIDABLE_LIVE"), reason="asks the paid service: set DECIDABLE_LIVE=1")
def test_live():
    if not os.environ.get("PARALLEL_API_KEY"):
        pytest.skip("PARALLEL_API_KEY is not set; three decisions cost about 0.003 US dollars")
    with allow_requests():
        judge = judge_from_provider(parallel_provider())
        for state in ("Python is a programming language.", {"company": "OpenAI"}, [{"city": "Paris"}]):
            found = judge.ask(state, {"real": Noul("Does what is named exist?", "It exists.", "It does not.")})
            assert found.values == {"real": True}
            assert found.cost_basis == "estimate"
