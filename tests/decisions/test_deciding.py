"""`decision.make` on decision models over the wire: one request, one pick, and what cannot be asked."""

from __future__ import annotations

import asyncio
import json
from enum import Enum

import pytest
from decisions_kit import reply
from test_openrouter import image

from decidable import (
    ApprovalRequired,
    DecisionError,
    DecisionProviderError,
    RefusedError,
    Runtime,
    UnaskableError,
    Unsure,
    agentic_function,
    decision,
    jev_provider,
    openai_decisions_provider,
    parallel_provider,
    systemone_provider,
    tool,
)
from decidable.content import TextPart
from decidable.testing import distribution, pick, scripted


class Team(Enum):
    BILLING = "billing"
    TECH = "tech"


@agentic_function(input={"urgent": {"options": {True: "Today.", False: "Some day."}}})
def route(team: Team, urgent: bool, note: str = "") -> tuple[Team, bool, str]:
    """Hand it to a team."""
    return team, urgent, note


def refund(order: str) -> str:
    """Give money back."""
    return order


def picked(answers, **more):
    return {"model": "jev-1.14.0", "answers": answers, "usage": {"input_tokens": 9, "output_tokens": 1}, **more}


def chose(option, *others, p=0.9):
    rest = {other: (1 - p) / len(others) for other in others}
    return {"type": "choice", "choice": option, "probabilities": {option: p if others else 1.0, **rest}}


ROUTED = picked(
    {
        "pick": chose("route", "close"),
        "pick:route:team": chose("tech", "billing"),
        "pick:route:urgent": {"type": "noul", "noul": 0.5},
    }
)


@pytest.fixture
def deciding(service):
    """A service, and a way to decide on it."""

    class Deciding:
        def __init__(self, factory=jev_provider, *args, **settings):
            self.service = service(factory, *args, **({"api_key": "k", **settings}))

        def decide(self, prompt, options, *steps, runtime=None, **more):
            self.service.transport.steps = [s if not isinstance(s, dict) else reply(s) for s in steps]
            rt = runtime or Runtime(self.service.provider, host=self.service.clock.host())
            if self.service.how == "sync":
                return decision.decide(prompt, options, runtime=rt, **more)
            return asyncio.run(self._decide(prompt, options, rt, more))

        async def _decide(self, prompt, options, rt, more):
            try:
                return await decision.async_decide(prompt, options, runtime=rt, **more)
            finally:
                await self.service.provider.aclose()

    return Deciding


def test_the_pick_and_every_finite_field_are_one_request(deciding):
    it = deciding()
    made = it.decide(
        "Which team?", {"route": route, "close": (0, "Nothing to do.")}, ROUTED, state={"ticket": "It crashes."}
    )
    assert made.result == (Team.TECH, True, "")
    assert (made.requests, made.origin, made.probability, made.provider) == (1, "model", 0.9, "typesafe")
    assert (made.model, made.usage.input_tokens, made.cost) == ("jev-1.14.0", 9, None)
    assert made.reply.provenance.confidence_source["pick"] == "derived"
    (body,) = it.service.sent
    assert body["state"] == {"ticket": "It crashes."}
    assert set(body["questions"]) == {"pick", "pick:route:team", "pick:route:urgent"}
    assert body["questions"]["pick"]["instructions"] == "Which team?"
    assert body["questions"]["pick:route:urgent"]["criteria"] == {"true": "Today.", "false": "Some day."}


def test_what_a_field_of_another_option_says_does_not_matter(deciding):
    refused = picked({**ROUTED["answers"], "pick": chose("close", "route"), "pick:route:team": {"type": "refusal"}})
    made = deciding().decide("?", {"route": route, "close": (0, "Nothing.")}, refused)
    assert (made.result, made.args) == (0, {})


def test_refusals_and_contradictions(deciding):
    options = {"route": route, "close": (0, "Nothing.")}
    with pytest.raises(RefusedError, match="declined to pick"):
        deciding().decide("?", ["a", "b"], picked({"pick": {"type": "refusal"}}))
    with pytest.raises(RefusedError, match="declined to fill 'team'"):
        deciding().decide("?", options, picked({**ROUTED["answers"], "pick:route:team": {"type": "refusal"}}))
    with pytest.raises(DecisionProviderError, match="choice_option") as caught:
        deciding().decide("?", ["a", "b"], picked({"pick": {**chose("a", "b"), "choice": "b"}}))
    assert caught.value.code == "invalid_response"


def test_what_the_state_is(deciding):
    class Ticket:
        def model_dump(self, mode):
            return {"text": "It crashes."}

    for state, sent in (
        (None, "Which?"),
        ("text", "text"),
        ([1, "x"], [1, "x"]),
        (Ticket(), {"text": "It crashes."}),
        (5, "5"),
        ({"t": (1, 2)}, {"t": [1, 2]}),
    ):
        it = deciding()
        it.decide("Which?", ["a"], picked({"pick": chose("a")}), state=state)
        assert it.service.sent[0]["state"] == sent
        assert it.service.sent[0]["questions"]["pick"]["instructions"]


def test_images_of_the_prompt_go_along(deciding):
    it = deciding()
    it.decide([TextPart("Torn?"), image()], ["a"], picked({"pick": chose("a")}))
    (body,) = it.service.sent
    (token,) = body["assets"]
    assert body["state"] == ["Torn?", token]
    it.decide([TextPart("Torn?"), image()], ["a"], picked({"pick": chose("a")}), state={"order": 1})
    body = it.service.sent[1]
    assert body["state"] == [{"order": 1}, token]
    assert body["questions"]["pick"]["instructions"] == "Torn?"
    with pytest.raises(UnaskableError, match="reads text only"):
        deciding(parallel_provider).decide([image()], ["a", "b"])


def test_limits_are_found_before_anything_is_sent(deciding):
    it = deciding(parallel_provider)
    with pytest.raises(UnaskableError, match="parallel: question 'pick': it takes 2 to 255 options, this has 1"):
        it.decide("?", ["a"])
    with pytest.raises(UnaskableError, match="'refund', field 'order': a str is free text.*fallback"):
        it.decide("?", [refund, "b"])
    with pytest.raises(UnaskableError, match="serves no model 'parallel-deep'"):
        it.decide("?", ["a", "b"], model="parallel-deep")
    with pytest.raises(UnaskableError, match="via="):
        it.decide("?", ["a", "b"], via="tools")
    assert it.service.sent == []


def test_a_question_that_may_be_paid_is_not_asked_twice(deciding):
    it = deciding(parallel_provider)
    with pytest.raises(DecisionProviderError) as caught:
        it.decide("?", ["a", "b"], reply(b"", 503))
    assert (caught.value.code, caught.value.cost_usd, len(it.service.sent)) == ("outcome_unknown", 0.001, 1)


def test_the_next_provider_after_an_outage_and_who_filled(deciding):
    it = deciding()
    chat = scripted(pick("refund", order="A-17"))
    rt = Runtime([it.service.provider, chat.provider], host=it.service.clock.host())
    made = it.decide("?", {"refund": refund, "b": 1}, picked({"pick": chose("refund", "b")}), runtime=rt)
    assert (made.result, made.provider, made.filled_by, made.requests) == ("A-17", "typesafe", "scripted", 2)
    it = deciding()
    rt = Runtime([it.service.provider, scripted(pick("b")).provider], host=it.service.clock.host(), max_retries=0)
    made = it.decide("?", {"refund": refund, "b": 1}, reply(b"", 503), runtime=rt)
    assert (made.result, made.provider, made.fallbacks[0].reason) == (1, "scripted", "failure")
    assert len(it.service.sent) == 1


@pytest.mark.parametrize("via", ["menu", "tools", "schema"])
def test_who_fills_is_asked_as_the_caller_says(via):
    decider, writer = scripted(pick("refund"), questions=True), scripted(pick("refund", order="A"))
    rt = Runtime([decider.provider, writer.provider])
    made = decision.decide("?", {"refund": refund, "b": 1}, runtime=rt, via=via, samples=3, sampling={"seed": 7})
    assert (made.result, made.requests) == ("A", 2)
    request = writer.requests[0].request
    assert (request.sampling.seed, bool(request.tools), request.output_schema is not None) == (
        7,
        via == "tools",
        via == "schema",
    )


def test_a_filler_that_never_fills_is_told_of(deciding):
    it = deciding()
    rt = Runtime([it.service.provider, scripted("no", "no", "no", "no").provider])
    with pytest.raises(DecisionError, match="no valid pick"):
        it.decide("?", {"refund": refund, "b": 1}, picked({"pick": chose("refund", "b")}), runtime=rt)


def test_the_same_menu_on_every_wire(deciding):
    it = deciding(openai_decisions_provider)
    answers = [
        {"type": "choice", "name": "q0", **_listed(chose("route", "close"))},
        {"type": "choice", "name": "q1", **_listed(chose("tech", "billing"))},
        {"type": "predicate", "name": "q2", "probability": 0.9},
    ]
    made = it.decide("?", {"route": route, "close": 0}, {"model": "m", "answers": answers, "usage": {}})
    assert made.result == (Team.TECH, True, "")
    it = deciding(systemone_provider, "http://localhost:1")
    assert it.decide("?", {"route": route, "close": 0}, ROUTED).result == (Team.TECH, True, "")
    rt = scripted(distribution(route=0.7, close=0.3), questions=True)
    assert decision.decide("?", {"route": route, "close": 0}, runtime=rt).option == "route"


def _listed(answer):
    shares = [{"value": value, "probability": p} for value, p in answer["probabilities"].items()]
    return {"choice": answer["choice"], "probabilities": shares, "confidence": 0.5}


def test_margins_of_the_local_kind_stay(deciding):
    rt = scripted(distribution(a=0.51, b=0.49), questions=True)
    from dataclasses import replace

    rt.provider.capabilities = replace(rt.provider.capabilities, min_margin=0.1)
    with pytest.raises(Unsure):
        decision.make("?", ["a", "b"], runtime=rt)


def test_a_filled_pick_waits_for_a_person_and_goes_on_elsewhere():
    careful = {"refund": tool(refund, requires_approval=True), "b": 1}
    decider, writer = scripted(pick("refund"), questions=True), scripted(pick("refund", order="A-17"))
    with pytest.raises(ApprovalRequired) as caught:
        decision.make("?", careful, runtime=Runtime([decider.provider, writer.provider]), state={"a": (1, 2)})
    assert caught.value.pending[0].arguments == {"order": "A-17"}
    kept = json.loads(json.dumps(caught.value.snapshot))
    again = Runtime([scripted(questions=True).provider, scripted().provider])
    assert again.resume(kept, {"pick": True}, choices=careful) == "A-17"


def test_a_pick_of_a_decision_model_waits_with_its_evidence(deciding):
    def close() -> str:
        """Close it."""
        return "closed"

    careful = {"close": tool(close, requires_approval=True), "b": 1}
    it = deciding()
    with pytest.raises(ApprovalRequired) as caught:
        it.decide("?", careful, picked({"pick": chose("close", "b")}))
    kept = json.loads(json.dumps(caught.value.snapshot))
    made = Runtime(it.service.provider).resume(kept, {"pick": True}, choices=careful)
    assert (made.result, made.origin, made.reply.provenance.confidence_source) == (
        "closed",
        "model",
        {"pick": "derived"},
    )
    assert len(it.service.sent) == 1


def test_after_a_no_the_writer_is_asked_again(deciding):
    careful = {"refund": tool(refund, requires_approval=True), "b": 1}
    it = deciding()
    writer = scripted(pick("refund", order="A"), pick("refund", order="B"))
    rt = Runtime([it.service.provider, writer.provider], host=it.service.clock.host())
    made = it.decide(
        "?", careful, picked({"pick": chose("refund", "b")}), runtime=rt, approver=lambda r: r.arguments["order"] == "B"
    )
    assert (made.result, len(it.service.sent)) == ("B", 1)


def test_a_writer_that_cannot_be_asked_so_is_found_before_anything_is_paid():
    decider = scripted(questions=True)
    with pytest.raises(UnaskableError, match="no tools"):
        decision.make(
            "?",
            {"refund": refund, "b": 1},
            runtime=Runtime([decider.provider, lambda content: "?"]),
            via="tools",
        )
    assert decider.requests == ()
