"""Every provider of ours asks the faux service, and each of its faults ends as it must."""

from __future__ import annotations

import asyncio

import pytest

from decidable import DecisionProviderError, Runtime, connect, decision, judge_from_provider
from decidable.providers.decision_endpoints import DECISION_ENDPOINTS
from decidable.questions import Choice, Noul, Score, answer_json
from decidable.testing import allow_requests
from decidable.testing.systemone import (
    FauxSystemOne,
    answering,
    body,
    broken,
    leaving_out,
    refused,
    refusing,
    slow,
    status,
    without,
)

QUESTIONS = {
    "refund": Noul("Is a refund asked for?", "Money is wanted back.", "It is not."),
    "team": Choice("Which team?", {"billing": "Payments.", "Tëch": "Bugs.", "x y": "All else."}),
    "anger": Score("How angry?", ["calm", "upset", "furious"]),
}
MODELS = {
    "openrouter-decisions": "liquid/d1",
    "perplexity-decisions": "pplx-decider-v1.2",
    "fireworks-decisions": "d1",
    "digitalocean-decisions": "d1",
    "ollama-decisions": "d1",
    "vllm-decisions": "d1",
    "sglang-decisions": "d1",
}
NAMES = sorted(DECISION_ENDPOINTS)


def spec_of(name: str) -> str:
    return f"{name}:{MODELS[name]}" if name in MODELS else name


def ask(provider, how, state="Charged twice."):
    judge = judge_from_provider(provider)
    if how == "sync":
        return judge.ask(state, QUESTIONS)

    async def main():
        try:
            return await judge.async_ask(state, QUESTIONS)
        finally:
            await provider.aclose()

    return asyncio.run(main())


@pytest.mark.parametrize("how", ["sync", "async"])
@pytest.mark.parametrize("name", NAMES)
def test_every_endpoint_is_answered(name: str, how: str):
    faux = FauxSystemOne(key="faux-key")
    found = ask(faux.provider(spec_of(name)), how, {"ticket": "Charged twice."})
    assert found.answers.keys() == QUESTIONS.keys()
    again = ask(faux.provider(spec_of(name)), how, {"ticket": "Charged twice."})
    assert again.answers == found.answers
    sent = faux.posts[0].body
    assert len(sent["questions"]) == 3
    if name not in ("openai-decisions", "cloudflare-decisions", "parallel"):
        told = {n: answer_json(a, QUESTIONS[n]) for n, a in found.answers.items()}
        assert told["anger"]["legend"] == {"0": "calm", "1": "upset", "2": "furious"}
    if name == "parallel":
        assert found.confidence_source["team"] == "derived"
        assert found.evidence
    if name == "openrouter-decisions":
        assert found.cost_basis == "reported"


FAULTS = [
    (status(401), "auth"),
    (status(403), "auth"),
    (status(400), "invalid_request"),
    (status(422), "invalid_request"),
    (status(429), "rate_limited"),
    (status(500), "outcome_unknown"),
    (status(529), "outcome_unknown"),
    (broken(), "outcome_unknown"),
    (refused(), "connection"),
    (body(b"<html>"), "invalid_response"),
    (body(b"[]"), "invalid_response"),
    (body(b""), "invalid_response"),
]


@pytest.mark.parametrize(
    "name", ["parallel", "openrouter-decisions", "jev", "openai-decisions", "cloudflare-decisions"]
)
@pytest.mark.parametrize(("fault", "code"), FAULTS, ids=[f"{n}-{code}" for n, (_, code) in enumerate(FAULTS)])
def test_every_fault_ends_in_its_error(name: str, fault, code: str):
    faux = FauxSystemOne()
    provider = faux.provider(spec_of(name), max_attempts=1)
    faux.next(fault)
    with pytest.raises(DecisionProviderError) as caught:
        ask(provider, "sync")
    assert (caught.value.code, faux.tries) == (code, 1)


def test_changes_to_an_answer():
    faux = FauxSystemOne()
    provider = faux.provider("openrouter-decisions:liquid/d1")
    faux.next(
        refusing("team"), without("confidence", "cost", "legend"), leaving_out("team"), answering(team={"type": "box"})
    )
    assert ask(provider, "sync").refused == ("team",)
    sparse = ask(provider, "sync")
    assert (sparse.cost_usd, sparse.confidence_source["team"]) == (None, "derived")
    for _ in range(2):
        with pytest.raises(DecisionProviderError) as caught:
            ask(provider, "sync")
        assert caught.value.code == "invalid_response"
    faux.assert_complete()


def test_a_late_answer():
    faux = FauxSystemOne()
    faux.next(slow(5))
    with pytest.raises(DecisionProviderError) as caught:
        judge_from_provider(faux.provider("parallel")).ask("x", QUESTIONS, timeout_s=0.1)
    assert (caught.value.code, caught.value.cost_usd) == ("outcome_unknown", 0.001)


def test_over_a_real_socket():
    faux = FauxSystemOne(key="k")
    with faux.serve() as url, allow_requests():
        provider = connect("systemone", base_url=url, api_key="k")
        assert ask(provider, "sync").answers == ask(provider, "sync").answers
        with Runtime(provider) as rt:
            assert decision.make("Next?", {"a": 1, "b": 2}, runtime=rt) in (1, 2)
        faux.next(broken())
        careful = connect("systemone", base_url=url, api_key="k", replay="never")
        with pytest.raises(DecisionProviderError) as caught:
            ask(careful, "sync")
        assert caught.value.code == "outcome_unknown"
        careful.close()
    with allow_requests(), pytest.raises(DecisionProviderError) as caught:
        ask(connect("systemone", base_url=url, max_attempts=1), "sync")
    assert caught.value.code == "connection"


def test_a_provider_that_there_is_not():
    from decidable import UnknownProviderError

    with pytest.raises(UnknownProviderError):
        FauxSystemOne().provider("nobody")
