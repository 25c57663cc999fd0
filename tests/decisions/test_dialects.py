"""Servers as data: every known one reached as it says, and the ways in which dialects differ."""

from __future__ import annotations

import pytest
from decisions_kit import reply

from decidable import DecisionProviderError, Runtime, SettingError, connect, decision, register_endpoint
from decidable.providers.decision_endpoints import DECISION_ENDPOINTS
from decidable.providers.registry import provider_names, resolve_provider
from decidable.providers.wires.codec import HttpReply
from decidable.questions import Choice, ChoiceAnswer, Noul, Score
from decidable.testing import allow_requests

KEY = "key-that-must-not-leak"
ONE = {"q": Noul("So?")}
YES = {"answers": {"q": {"type": "noul", "noul": 0.9}}}
LISTED = {"model": "m", "answers": [{"type": "predicate", "name": "q0", "probability": 0.9}]}

ADDRESSES = {
    "typesafe": "https://api.typesafe.ai/v1/systemone",
    "jev": "https://api.typesafe.ai/v1/systemone",
    "parallel": "https://api.parallel.ai/v1/decisions",
    "openrouter-decisions": "https://openrouter.ai/api/v1/systemone",
    "openai-decisions": "https://api.openai.com/v1/decisions",
    "perplexity-decisions": "https://api.perplexity.ai/v1/decisions",
    "cloudflare-decisions": "https://api.cloudflare.com/client/v4/accounts/acc-1/ai/run/@cf/cloudflare/clef",
    "fireworks-decisions": "https://api.fireworks.ai/inference/v1/systemone",
    "upstage-decisions": "https://api.upstage.ai/v1/systemone",
    "liquid-decisions": "https://liquid.example/v1/systemone",
    "digitalocean-decisions": "https://inference.do-ai.run/v1/systemone",
    "ollama-decisions": "http://localhost:11434/v1/systemone",
    "llamacpp-decisions": "http://localhost:8080/v1/systemone",
    "vllm-decisions": "http://localhost:8000/v1/systemone",
    "sglang-decisions": "http://localhost:30000/v1/systemone",
    "systemone": "http://my.example:1/v1/systemone",
}


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for endpoint in DECISION_ENDPOINTS.values():
        for variable in (endpoint.key, endpoint.url_variable, endpoint.model_variable):
            if variable:
                monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("CLOUDFLARE_ACCOUNT_ID", "acc-1")
    monkeypatch.setenv("LIQUIDAI_BASE_URL", "https://liquid.example")
    monkeypatch.setenv("SYSTEMONE_BASE_URL", "http://my.example:1")


def test_every_known_server_has_a_line_here():
    assert set(ADDRESSES) == set(DECISION_ENDPOINTS)
    assert set(ADDRESSES) <= set(provider_names())


@pytest.mark.parametrize("name", sorted(ADDRESSES))
def test_each_is_reached_at_its_address_with_its_key(service, name, monkeypatch):
    endpoint = DECISION_ENDPOINTS[name]
    if endpoint.key:
        monkeypatch.setenv(endpoint.key, KEY)
    model = None if endpoint.default_model or not endpoint.needs_model else "some-model"
    it = service(lambda **s: connect(f"{name}:{model}" if model else name, **s))
    body = LISTED if endpoint.wire == "openai-decisions" else YES
    found = it.ask("x", ONE, {"result": body, "success": True} if endpoint.envelope else body)
    (sent,) = it.transport.sends
    assert it.provider._transport.base_url + endpoint.path.replace("{model}", "clef") == ADDRESSES[name]
    assert sent.path == "/" + ADDRESSES[name].split("/", 3)[3]
    assert sent.headers[endpoint.key_header].removeprefix("Bearer ") == KEY
    assert found.values == {"q": True}
    assert found.provider == endpoint.name


@pytest.mark.parametrize("name", sorted(n for n, e in DECISION_ENDPOINTS.items() if "localhost" in e.base_url))
def test_servers_on_ones_own_machine_need_no_key_and_are_asked_again(service, name):
    it = service(lambda **s: connect(f"{name}:m", **s))
    it.ask("x", ONE, HttpReply(503, {}, b""), YES)
    assert len(it.sent) == 2
    assert "authorization" not in it.transport.sends[0].headers


@pytest.mark.parametrize("name", sorted(n for n, e in DECISION_ENDPOINTS.items() if e.base_url.startswith("https")))
def test_what_is_paid_is_asked_once_except_by_jev(service, name):
    assert DECISION_ENDPOINTS[name].replay == ("safe" if name in ("typesafe", "jev") else "never")


def test_addresses_that_are_missing(monkeypatch):
    monkeypatch.delenv("CLOUDFLARE_ACCOUNT_ID")
    with pytest.raises(SettingError, match="CLOUDFLARE_ACCOUNT_ID"):
        connect("cloudflare-decisions")
    monkeypatch.delenv("LIQUIDAI_BASE_URL")
    with pytest.raises(SettingError, match="base_url=, or set LIQUIDAI_BASE_URL"):
        connect("liquid-decisions")


def test_an_envelope_that_says_no(service, monkeypatch):
    monkeypatch.setenv("CLOUDFLARE_API_TOKEN", KEY)
    it = service(lambda **s: connect("cloudflare-decisions", **s))
    for body in ({"result": None, "success": False, "errors": [{"code": 7003}]}, {"result": [], "success": True}):
        assert it.fails("x", ONE, body).code == "invalid_response"
    assert it.ask("x", ONE, YES).values == {"q": True}  # without one
    error = it.fails("x", ONE, reply({"success": False, "errors": [{"message": KEY, "type": "bad_model"}]}, 400))
    assert (error.code, error.detail) == ("invalid_request", "bad_model")


def test_instructions_that_are_required(service, monkeypatch):
    monkeypatch.setenv("CLOUDFLARE_API_TOKEN", KEY)
    it = service(lambda **s: connect("cloudflare-decisions", **s))
    assert it.fails("x", {"q": Noul("", "Yes.", "No.")}, YES).code == "invalid_request"
    chosen = {"type": "choice", "choice": "a", "probabilities": {"a": 0.9, "b": 0.1}}
    rt = Runtime(it.provider)
    it.transport.steps = [reply({"result": {"answers": {"pick": chosen}}})]
    assert decision.make("Next?", ["a", "b"], runtime=rt) == "a"  # a menu always asks something


def test_names_in_another_unicode_form_are_the_same_text(service):
    it = service(lambda **s: connect("systemone", **s))
    composed, decomposed = "Caf\u00e9", "Cafe\u0301"
    answer = {"type": "choice", "choice": decomposed, "probabilities": {decomposed: 0.8, "b": 0.2}}
    found = it.ask("x", {"q": Choice("?", [composed, "b"])}, {"answers": {"q": answer}})
    assert (found.answers["q"].choice, set(found.answers["q"].probabilities)) == (composed, {composed, "b"})
    both = {"type": "choice", "choice": composed, "probabilities": {composed: 0.8, decomposed: 0.2}}
    assert it.ask("x", {"q": Choice("?", [composed, decomposed])}, {"answers": {"q": both}}).answers["q"] == (
        ChoiceAnswer(composed, {composed: 0.8, decomposed: 0.2}, pytest.approx(0.6))
    )
    once = {"type": "choice", "choice": "b", "probabilities": {composed: 0.4, "b": 0.6}}
    error = it.fails("x", {"q": Choice("?", [composed, decomposed, "b"])}, {"answers": {"q": once}})
    assert error.detail == "probability_keys"


def test_dialects_of_other_makers_are_a_line_of_data(service):
    register_endpoint(
        "acme-decide",
        "https://decide.acme.example/v2",
        like="systemone",
        path="/decisions",
        key="ACME_KEY",
        key_header="x-acme-key",
        state_field="input",
        replay="never",
        default_model="acme-1",
    )
    it = service(lambda **s: resolve_provider("acme-decide", **{**s, "api_key": KEY}))
    noul = {"type": "noul", "noul": 0.9, "confidence": 0.9}
    found = it.ask({"a": 1}, ONE, {"model": "acme-1", "answers": {"q": noul}, "prompt_feedback": {}})
    (sent,) = it.transport.sends
    assert (sent.path, sent.headers["x-acme-key"]) == ("/v2/decisions", KEY)
    assert sent.json() == {
        "model": "acme-1",
        "input": {"a": 1},
        "questions": {"q": {"type": "noul", "instructions": "So?"}},
    }
    assert found.sidecar.confidence == {"q": 0.8}
    with pytest.raises(SettingError, match="did you mean 'envelope'"):
        register_endpoint("x", "https://x.example", like="systemone", envelop="r")
    with pytest.raises(SettingError, match="'systemone', 'openai-decisions'"):
        register_endpoint("x", "https://x.example", like="systemone", wire="anthropic")


def test_settings_of_a_decision_endpoint():
    with pytest.raises(SettingError, match="'max_attempt'; did you mean 'max_attempts'"):
        connect("parallel", max_attempt=2)
    with pytest.raises(SettingError, match="has no setting 'replay'"):
        connect("openai:gpt", api_key=KEY, replay="never")
    with pytest.raises(SettingError, match="headers of parallel is a Mapping"):
        connect("parallel", headers=5)


def test_extra_fields_and_headers_go_along(service):
    it = service(lambda **s: connect("systemone", headers={"X-Tenant": "t"}, extra={"trace": {"id": 1}}, **s))
    it.ask("x", ONE, YES)
    assert it.sent[0]["trace"] == {"id": 1}
    assert it.transport.sends[0].headers["x-tenant"] == "t"


def test_what_a_server_says_more_is_ignored(service):
    it = service(lambda **s: connect("systemone", **s))
    body = '{"answers": {"q": {"type": "noul", "noul": 0.9, "why": "..."}}, "latency_ms": 1, "x_debug": NaN}'
    found = it.ask("x", ONE, reply(body.encode()))
    assert (found.values, found.model, found.usage) == ({"q": True}, None, None)


def test_scores_printed_in_two_places(service):
    it = service(lambda **s: connect("systemone", **s))
    score = {"type": "score", "score": 0.97, "probabilities": {"0": 0.17, "1": 0.72, "2": 0.11}}
    assert it.ask("x", {"q": Score("?", ["a", "b", "c"])}, {"answers": {"q": score}}).values == {"q": 1}


def test_real_requests_are_off_in_tests():
    from decidable import RequestForbiddenError, judge_from_provider

    with pytest.raises(RequestForbiddenError):
        judge_from_provider(connect("parallel", api_key=KEY)).ask("x", ONE)


def test_a_chat_endpoint_answers_no_questions():
    from decidable import judge_from_provider

    with allow_requests(), pytest.raises(DecisionProviderError) as caught:
        judge_from_provider(connect("openai:gpt", api_key=KEY))
    assert caught.value.code == "configuration"
