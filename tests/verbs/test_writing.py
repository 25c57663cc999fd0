"""The verbs on models that write: plain answers, votes, log-probabilities; nothing is made up."""

from __future__ import annotations

import json
import math

import pytest

from decidable import RefusedError, Reply, Runtime, UnaskableError, trace
from decidable.questions import Choice, Noul, Score, Stated
from decidable.receipts import MemoryReceipts, use_receipts
from decidable.testing import fake_endpoint, refusal, scripted
from decidable.tools import Token

ASKED = {
    "late": Noul("Is it late?", "After noon.", "Before noon."),
    "team": Choice("Who?", {"billing": "Money.", "tech": None}),
    "anger": Score("How angry?", ["calm", "upset", "furious"]),
}
GOOD = '{"q1": true, "q2": "tech", "q3": 1}'


def test_a_plain_answer_has_no_probability(call):
    rt = scripted(GOOD)
    found = call("judge", {"parcel": 7}, ASKED, runtime=rt)
    assert found.values == {"late": True, "team": "tech", "anger": 1}
    assert set(found.answers.values()) == {Stated(True), Stated("tech"), Stated(1)}
    assert (found.origin, found.confidence("team", "top"), found.cost_usd, found.cost_basis) == (
        "none",
        None,
        None,
        "unknown",
    )
    prompt = rt.requests[0].prompt
    for words in ('"parcel": 7', "q1: Is it late?", "yes: After noon.", "billing: Money.", "0: calm"):
        assert words in prompt


def test_the_reply_is_held_to_a_schema_and_asked_for_again(call):
    rt = scripted('{"q1": true, "q2": "sales", "q3": 1}', GOOD)
    assert call("judge", "s", ASKED, runtime=rt).values["team"] == "tech"
    assert len(rt.requests) == 2
    schema = rt.requests[0].request.output_schema
    assert schema["properties"]["q2"] == {"type": "string", "enum": ["billing", "tech"]}
    assert schema["required"] == ["q1", "q2", "q3"]


def test_votes_are_shares_of_the_samples(call):
    replies = [GOOD, '{"q1": false, "q2": "tech", "q3": 2}', GOOD, '{"q1": true, "q2": "billing", "q3": 1}']
    found = call("judge", "s", ASKED, samples=4, runtime=scripted(*replies))
    assert found.origin == "votes"
    assert found.answers["late"].noul == 0.75
    assert found.answers["team"].probabilities == {"billing": 0.25, "tech": 0.75}
    assert found.answers["anger"].probabilities == (0, 0.75, 0.25)
    assert found.answers["anger"].score == 1.25
    assert found.confidence_source == {"late": "noul", "team": "derived", "anger": "derived"}


def lettered(**shares):
    top = tuple((letter, math.log(p)) for letter, p in shares.items())
    letter = max(shares, key=shares.__getitem__)
    return Reply(letter, stop="stop", tokens=(Token(letter, dict(top)[letter], top),))


def test_log_probabilities_are_asked_for_each_question(call):
    rt = scripted(lettered(A=0.8, B=0.2), lettered(A=0.3, B=0.7), lettered(A=0.1, B=0.2, C=0.7))
    found = call("judge", "s", ASKED, logprobs=True, runtime=rt)
    assert found.origin == "logprobs"
    assert found.answers["late"].noul == pytest.approx(0.8)
    assert found.answers["team"].choice == "tech"
    assert found.answers["anger"].score == pytest.approx(1.6)


def test_without_tokens_in_the_reply_nothing_is_made_up(call):
    rt = scripted(*["A"] * 3)
    found = call("judge", "s", ASKED, logprobs=True, runtime=rt)
    assert found.origin == "none"
    assert found.values == {"late": True, "team": "billing", "anger": 0}


@pytest.mark.parametrize(
    ("verb", "args", "more"),
    [
        ("ask", ("Late?", "s"), {"gte": 0.9}),
        ("route", ("s", "Which?", {"a": 1, "b": 2}), {"unsure": "b", "gte": 0.5}),
        ("sift", ("abc", {"late": Noul("L?")}), {"keep": "late", "gte": 0.9}),
        ("sift", ("abc", {"late": Noul("L?")}), {"keep": "late.confidence"}),
        ("verify", ({"a": 1}, {"a": Noul("A?")}), {"below": 0.2}),
    ],
)
def test_a_threshold_needs_a_probability(call, verb, args, more):
    rt = scripted()
    with pytest.raises(UnaskableError, match="samples=5, or logprobs=True"):
        call(verb, *args, **more, runtime=rt)
    assert not rt.requests


def test_every_verb_works_on_plain_answers(call):
    assert call("ask", "Late?", "s", runtime=scripted('{"q1": true}'))
    assert not call("ask", "Late?", "s", runtime=scripted('{"q1": false}'))
    assert call("pick", ["a", "b"], "Which?", runtime=scripted('{"q1": "item_1"}')).item == "b"
    assert call("route", "s", "Which?", {"a": 1, "b": 2}, runtime=scripted('{"q1": "b"}')).result == 2
    found = call(
        "sift", "abc", {"late": Noul("L?")}, keep="late", runtime=scripted('{"q1": true, "q2": false, "q3": true}')
    )
    assert (found.items, found.answers[0].min_confidence) == (["a", "c"], 0)
    assert call("verify", {"a": 1}, {"a": Noul("A?")}, runtime=scripted('{"q1": true}')).drives[0].accepted


def test_a_gate_is_held_against_votes(call):
    assert call("ask", "Late?", "s", gte=0.75, samples=4, runtime=scripted(*['{"q1": true}'] * 3, '{"q1": false}'))
    assert not call("ask", "Late?", "s", gte=0.8, samples=4, runtime=scripted(*['{"q1": true}'] * 3, '{"q1": false}'))


def test_a_model_that_declines_has_refused(call):
    with pytest.raises(RefusedError, match="declined 'late', 'team', 'anger'"):
        call("judge", "s", ASKED, runtime=scripted(refusal()))


def test_no_log_probabilities_to_be_had_is_said_before_anything_is_sent(call):
    def model(content):
        raise AssertionError

    with pytest.raises(UnaskableError, match="use samples="):
        call("ask", "Late?", "s", logprobs=True, runtime=Runtime(model))


def test_several_samples_of_one_receipt(call):
    store = MemoryReceipts()
    for _ in range(2):
        with use_receipts(store):
            answer = call("ask", "Late?", "s", samples=2, runtime=scripted('{"q1": true}', '{"q1": false}'))
    assert (answer.p_yes, answer.judgement.replayed, answer.judgement.origin) == (0.5, True, "votes")


def test_it_is_one_request_in_the_trace_and_on_a_wire(call):
    seen = []

    def answer(request):
        seen.append(request)
        return Reply('{"q1": true}', stop="stop")

    fake = fake_endpoint("openai:gpt-5.2", answer)
    with trace() as t:
        assert call("ask", "Late?", {"n": 1}, runtime=Runtime(fake.provider))
    assert [node.kind for node in t.nodes] == ["ask", "model_call"]
    assert "Late?" in json.dumps(str(seen[0].messages))
