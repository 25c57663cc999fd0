"""The conformance suite on every wire of ours, and on the local model."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from decidable import (
    jev_provider,
    openai_decisions_provider,
    openrouter_provider,
    parallel_provider,
    systemone_provider,
)
from decidable.providers.local import LocalProvider
from decidable.questions import ChoiceAnswer, NoulAnswer, ScoreAnswer, answer_json
from decidable.testing import allow_requests
from decidable.testing.provider_conformance import FakeTransport, ProviderConformance


class OverHttp(ProviderConformance):
    def connected(self, factory, transport, *args, **settings):
        client, async_client = transport.clients()
        return factory(*args, client=client, async_client=async_client, **settings)

    def answer_body(self, questions, answers):
        spelled = {name: answer_json(answers[name], question) for name, question in questions.items()}
        return json.dumps(self.around(spelled)).encode()

    def around(self, answers):
        return {"model": "jev-1.14.0", "answers": answers, "usage": {"input_tokens": 140, "output_tokens": 3}}


class TestParallel(OverHttp):
    key_variable = "PARALLEL_API_KEY"

    def make(self, transport, **settings):
        return self.connected(parallel_provider, transport, **settings)

    def around(self, answers):
        return {"decision_id": "dec_1", "mode": "fast", "answers": answers, "citations": [{"url": "https://a.example"}]}


class TestOpenRouter(OverHttp):
    key_variable = "OPENROUTER_API_KEY"

    def make(self, transport, **settings):
        return self.connected(openrouter_provider, transport, "liquid/d1", **settings)


class TestJev(OverHttp):
    key_variable = "TYPESAFE_API_KEY"

    def make(self, transport, **settings):
        return self.connected(jev_provider, transport, **settings)


class TestAnySystemOneServer(OverHttp):
    def make(self, transport, **settings):
        return self.connected(systemone_provider, transport, "http://localhost:8080", **settings)


class TestOpenAIDecisions(OverHttp):
    key_variable = "OPENAI_API_KEY"

    def make(self, transport, **settings):
        return self.connected(openai_decisions_provider, transport, **settings)

    def answer_body(self, questions, answers):
        listed = [self.spelled(f"q{n}", q, answers[name]) for n, (name, q) in enumerate(questions.items())]
        usage = {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6}
        return json.dumps({"model": "gpt-6-luna", "answers": listed, "usage": usage}).encode()

    def spelled(self, name, question, answer):
        if isinstance(answer, NoulAnswer):
            return {"type": "predicate", "name": name, "probability": answer.noul}
        if isinstance(answer, ChoiceAnswer):
            made = {"type": "choice", "name": name, "choice": answer.choice}
            shares = [{"value": value, "probability": p} for value, p in answer.probabilities.items()]
        elif isinstance(answer, ScoreAnswer):
            made = {"type": "score", "name": name, "score": answer.score}
            labels = zip(question.criteria, answer.probabilities, strict=True)
            shares = [{"value": n, "label": label, "probability": p} for n, (label, p) in enumerate(labels)]
        else:
            return {"type": "refusal", "name": name}
        if answer.confidence is not None:
            made["confidence"] = answer.confidence
        return {**made, "probabilities": shares}

    def sent_state(self, body):
        if isinstance(body["input"], str):
            return body["input"]
        (part,) = body["input"][0]["content"]
        return part["data"] if part["type"] == "input_json" else json.loads(part["text"])


class Matching:
    """Stands in for the model of `local`, whose weights are another test's."""

    def scores(self, text, menus):
        return [[1 - 0.1 * n for n in range(len(menu))] for menu in menus]


class TestLocal(ProviderConformance):
    speaks_http = False

    def make(self, transport, **settings):
        return LocalProvider(scorer=Matching(), **settings)


class OnlyChoices(LocalProvider):
    def __init__(self):
        super().__init__(scorer=Matching())
        self.capabilities = replace(self.capabilities, question_types=frozenset({"choice"}))


class TestOneThatAnswersLess(ProviderConformance):
    speaks_http = False

    def make(self, transport, **settings):
        return OnlyChoices()


class Careless(TestParallel):
    """Asks again what may be paid twice, and says that it never does."""

    __test__ = False

    def make(self, transport, **settings):
        provider = super().make(transport, replay="safe", **settings)
        provider.capabilities = replace(provider.capabilities, replay="never")
        return provider


def test_the_suite_finds_a_provider_that_breaks_its_word():
    check = Careless().test_c22_an_unknown_outcome_of_a_paid_request_is_not_repeated
    with allow_requests(), pytest.raises(AssertionError):
        check(FakeTransport(), "sync", 503)
