"""OpenAI's Decisions: another spelling of the same questions, held to the types of its own client."""

from __future__ import annotations

import json

import pytest
from decisions_kit import reply
from pydantic import TypeAdapter
from test_conformance import TestOpenAIDecisions as Spelling
from test_openrouter import image

from decidable import openai_decisions_provider
from decidable.questions import Choice, ChoiceAnswer, Noul, NoulAnswer, Score, ScoreAnswer
from decidable.testing.provider_conformance import good_answers

ASKED = {
    "late": Noul("Is it late?", "Past its date."),
    "desk": Choice("Which desk?", {"returns": "Parcels that come back.", "sales": None}),
    "harm": Score("How much harm?", ["none", "some", "much"]),
}
ONE = {"q": Noul("So?")}


def answered(questions, **changes):
    return {**json.loads(Spelling().answer_body(questions, good_answers(questions))), **changes}


@pytest.fixture
def openai(service):
    return lambda *args, **settings: service(openai_decisions_provider, *args, **{"api_key": "k", **settings})


def test_the_request_is_one_that_its_client_would_send(openai):
    from openai.types.decision_create_params import DecisionCreateParams

    it = openai()
    for state in ("text", {"a": [1, None]}, [{"a": 1}], ["mixed", 1], [], {"deep": {"er": []}}):
        it.ask(state, ASKED, answered(ASKED))
    sent = it.transport.sends[0]
    assert (sent.path, sent.headers["authorization"]) == ("/v1/decisions", "Bearer k")
    assert it.sent[0]["questions"] == [
        {"type": "predicate", "name": "q0", "instructions": "Is it late?\nTrue: Past its date."},
        {
            "type": "choice",
            "name": "q1",
            "instructions": "Which desk?",
            "choices": [{"value": "returns", "description": "Parcels that come back."}, {"value": "sales"}],
        },
        {
            "type": "score",
            "name": "q2",
            "instructions": "How much harm?",
            "levels": [{"label": "none"}, {"label": "some"}, {"label": "much"}],
        },
    ]
    form = TypeAdapter(DecisionCreateParams)
    for body in it.sent:
        assert body["model"] == "gpt-6-luna"
        form.validate_python(body)
    kinds = [
        body["input"] if isinstance(body["input"], str) else body["input"][0]["content"][0]["type"] for body in it.sent
    ]
    assert kinds == ["text", "input_json", "input_json", "input_text", "input_text", "input_json"]


def deep(levels):
    made = {}
    for _ in range(levels - 1):
        made = {"x": made}
    return made


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (deep(32), "input_json"),
        (deep(33), "input_text"),
        ({"x": [0] * 9_998}, "input_json"),
        ({"x": [0] * 9_999}, "input_text"),
        ({"x": "é" * (128 * 1024 - 4)}, "input_json"),
        ({"x": "é" * (128 * 1024 - 3)}, "input_text"),
    ],
)
def test_a_state_too_large_for_one_part_goes_as_text(openai, state, kind):
    it = openai()
    it.ask(state, ONE, answered(ONE))
    (part,) = it.sent[0]["input"][0]["content"]
    assert part["type"] == kind
    assert (part["data"] if kind == "input_json" else json.loads(part["text"])) == state


def test_the_answers(openai):
    usage = {
        "input_tokens": 50,
        "input_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 0},
        "output_tokens": 4,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 54,
    }
    found = openai().ask("x", ASKED, answered(ASKED, usage=usage))
    assert found.answers["late"] == NoulAnswer(0.97)
    assert isinstance(found.answers["desk"], ChoiceAnswer)
    assert isinstance(found.answers["harm"], ScoreAnswer)
    assert (found.usage.cached_tokens, found.usage.reasoning_tokens, found.model) == (20, 2, "gpt-6-luna")
    assert (found.cost_usd, found.cost_basis) == (None, "unknown")


SHARES = [{"value": "a", "probability": 0.9}, {"value": "b", "probability": 0.1}]
CHOICE = {"type": "choice", "name": "q0", "choice": "a", "confidence": 0.8, "probabilities": SHARES}


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({}, "answers_shape"),
        (None, "answers_shape"),
        ([], "answer_keys"),
        ([CHOICE, CHOICE], "answer_keys"),
        ([{**CHOICE, "name": "q1"}], "answer_keys"),
        (["a"], "answer_shape"),
        ([{**CHOICE, "type": "ranking"}], "answer_type"),
        ([{**CHOICE, "type": ["choice"]}], "answer_type"),
        ([{"type": "predicate", "probability": 0.5}], "answer_type"),
        ([{**CHOICE, "probabilities": [*SHARES, SHARES[0]]}], "probability_keys"),
        ([{**CHOICE, "probabilities": [{"value": True, "probability": 0.9}, SHARES[1]]}], "probability_keys"),
        ([{**CHOICE, "probabilities": [{"value": {}, "probability": 0.9}, SHARES[1]]}], "probability_keys"),
        ([{**CHOICE, "probabilities": {"a": 0.9, "b": 0.2}}], "probability_mass"),
        ([{**CHOICE, "choice": True}], "choice_option"),
        ([{**CHOICE, "choice": "b"}], "choice_option"),
    ],
)
def test_what_is_no_answer(openai, answers, why):
    error = openai().fails("x", {"c": Choice("?", ["a", "b"])}, {"model": "m", "answers": answers})
    assert (error.code, error.detail) == ("invalid_response", why)


def test_names_may_be_missing(openai):
    unnamed = {name: value for name, value in CHOICE.items() if name != "name"}
    for answer in (unnamed, {**CHOICE, "name": None}):
        found = openai().ask("x", {"c": Choice("?", ["a", "b"])}, {"model": "m", "answers": [answer]})
        assert found.values == {"c": "a"}


def test_levels_that_read_the_same_are_refused(openai):
    it = openai()
    error = it.fails("x", {"s": Score("?", ["a", "a"])}, answered(ONE))
    assert (error.code, it.sent) == ("invalid_request", [])


def test_a_yes_no_of_sides_alone(openai):
    it = openai()
    it.ask("x", {"q": Noul("", "Wet.", "Dry.")}, answered(ONE))
    assert it.sent[0]["questions"][0]["instructions"] == "True: Wet.\nFalse: Dry."


def test_images_are_parts_of_the_message(openai):
    it = openai()
    it.ask({"photo": "<i1>"}, ONE, answered(ONE), images={"<i1>": image()})
    first, label, picture = it.sent[0]["input"][0]["content"]
    assert (first["type"], label["text"], picture["type"]) == ("input_json", "<i1>:", "input_image")
    assert picture["image_url"].startswith("data:image/png;base64,")


def test_asked_once_where_it_may_have_been_paid(openai):
    it = openai()
    assert (it.fails("x", ONE, reply(b"", 500)).code, len(it.sent)) == ("outcome_unknown", 1)
