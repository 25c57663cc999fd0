"""Whatever a service says: a checked answer, or one of our errors, and never a word of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decidable import DecisionProviderError, connect, judge_from_provider
from decidable.providers.http_mock import mock_clients
from decidable.providers.wires.codec import HttpReply
from decidable.questions import Choice, Noul, Score, invalid_answers
from decidable.testing import allow_requests

QUESTIONS = {"n": Noul("?"), "c": Choice("?", ["a", "b"]), "s": Score("?", ["x", "y"])}
WORD = "a word that must not leak"
KEYS = st.sampled_from(
    [
        "answers",
        "n",
        "c",
        "s",
        "type",
        "noul",
        "choice",
        "score",
        "probabilities",
        "confidence",
        "legend",
        "usage",
        "model",
        "result",
        "error",
        "detail",
        "ref_id",
        "name",
        "value",
        "probability",
        "label",
        "0",
        "1",
        "a",
        "b",
        WORD,
        "input_tokens",
        "output_tokens",
        "cost",
        "citations",
        "url",
        "input_tokens_details",
        "mode",
        "decision_id",
        "id",
    ]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.sampled_from(["noul", "choice", "score", "refusal", "predicate", "a", "b", "q0", WORD, ""])
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6))
GOOD = {
    "n": {"type": "noul", "noul": 0.5},
    "c": {"type": "choice", "choice": "a", "probabilities": {"a": 0.9, "b": 0.1}},
    "s": {"type": "score", "score": 0.75, "probabilities": {"0": 0.25, "1": 0.75}, "legend": {"0": "x", "1": "y"}},
}
SERVICES = ["jev", "parallel", "openrouter-decisions:m", "openai-decisions", "cloudflare-decisions"]


def judged(name, reply):
    client, async_client = mock_clients(lambda *_: reply)
    more = {"base_url": "https://x.example"} if name.startswith("cloudflare") else {}
    provider = connect(name, api_key="key-1", client=client, async_client=async_client, max_attempts=1, **more)
    with allow_requests():
        return judge_from_provider(provider).ask("?", QUESTIONS)


def check(name, reply):
    try:
        found = judged(name, reply)
    except DecisionProviderError as error:
        assert WORD not in f"{error!r} {error} {error.detail} {error.__cause__!r} {error.__context__!r}"
    else:
        whole = {**found.answers, **dict.fromkeys(found.refused)}
        assert whole.keys() == QUESTIONS.keys()
        asked = {name: question for name, question in QUESTIONS.items() if name in found.answers}
        assert invalid_answers(asked, found.answers, rounded=True) is None


@pytest.mark.parametrize("name", SERVICES)
@given(VALUES, st.sampled_from([200, 201, 400, 422, 429, 500]))
@settings(max_examples=150, deadline=None)
def test_any_json(name, value, status):
    check(name, HttpReply(status, {"content-type": "application/json"}, json.dumps(value).encode()))


@pytest.mark.parametrize("name", SERVICES)
@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_good_answer_with_something_else_in_it(name, data):
    answers = json.loads(json.dumps(GOOD))
    for _ in range(data.draw(st.integers(1, 3))):
        holder = data.draw(st.sampled_from([answers, *[a for a in answers.values() if isinstance(a, dict)]]))
        holder[data.draw(KEYS)] = data.draw(VALUES)
    body = {"model": data.draw(VALUES | st.just("m")), "answers": answers, "usage": data.draw(VALUES)}
    if name == "openai-decisions":
        body["answers"] = list(answers.values())
    check(name, HttpReply(200, {}, json.dumps(body).encode()))


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"answers":' * 5_000, b"\xff", b"1e999", b'{"answers": {"n": }', b"\x00"]
)
def test_bodies_that_are_no_json(name, body):
    for status in (200, 400, 503):
        with pytest.raises(DecisionProviderError):
            judged(name, HttpReply(status, {}, body))
