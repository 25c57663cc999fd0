"""C1 to C8, C15, C16 and C28 to C33: what it answers, what is no answer, and what comes with one."""

from __future__ import annotations

import asyncio
import copy
import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from decidable.judging import Judgement
from decidable.providers.wires.codec import HttpReply
from decidable.questions.decoding import derived_confidence
from decidable.questions.types import Choice, ChoiceAnswer, NoulAnswer, Question, Refusal, ScoreAnswer
from decidable.testing.provider_conformance.kit import (
    CHOICE,
    HOSTILE,
    NOUL,
    SCORE,
    SECRET,
    FakeTransport,
    Kit,
    both,
    closing,
)

__all__ = ["Answering"]


class Answering(Kit):
    """Answers, and what comes with them."""

    def test_c01_declares_what_it_is(self, transport: FakeTransport) -> None:
        """Name, question types, replay, limits."""
        provider = self._provider(transport)
        assert isinstance(provider.name, str)
        assert provider.name
        assert frozenset() < provider.capabilities.question_types <= {"noul", "choice", "score"}
        assert provider.capabilities.replay in ("never", "safe")
        assert provider.capabilities.limits is not None

    @both
    def test_c02_a_yes_no_is_answered_unchanged(self, transport: FakeTransport, how: str) -> None:
        """P(yes) as it came."""
        self._needs(transport, "noul")
        found = self._asked(transport, how, {"q": NOUL})
        answer = found.answers["q"]
        assert isinstance(answer, NoulAnswer)
        if self.speaks_http:
            assert answer.noul == 0.97
        assert found.confidence_source == {"q": "noul"}

    @both
    def test_c03_distributions_are_those_of_the_options(self, transport: FakeTransport, how: str) -> None:
        """Exactly the options, exactly the levels."""
        self._needs(transport, "choice", "score")
        answers = self._asked(transport, how, {"c": CHOICE, "s": SCORE}).answers
        choice, score = answers["c"], answers["s"]
        assert isinstance(choice, ChoiceAnswer)
        assert isinstance(score, ScoreAnswer)
        assert set(choice.probabilities) == set(CHOICE.criteria)
        assert len(score.probabilities) == len(SCORE.criteria)
        assert choice.choice in CHOICE.criteria

    @both
    def test_c04_three_types_are_one_request(self, transport: FakeTransport, how: str) -> None:
        """All in one send."""
        self._needs(transport, "noul", "choice", "score")
        found = self._asked(transport, how, {"n": NOUL, "c": CHOICE, "s": SCORE})
        assert set(found.answers) == {"n", "c", "s"}
        assert len(transport.sends) == (1 if self.speaks_http else 0)

    @both
    @pytest.mark.parametrize("name", HOSTILE)
    def test_c05_hostile_names_come_back(self, transport: FakeTransport, how: str, name: str) -> None:
        """Ids and options are any text."""
        self._needs(transport, "choice")
        question = Choice("Which?", {name: "This one.", "other": "That one."})
        found = self._asked(transport, how, {name: question})
        answer = found.answers[name]
        assert isinstance(answer, ChoiceAnswer)
        assert set(answer.probabilities) == {name, "other"}

    @both
    def test_c06_an_option_needs_no_description(self, transport: FakeTransport, how: str) -> None:
        """None is a description."""
        self._needs(transport, "choice")
        assert self._asked(transport, how, {"c": Choice("Which?", {"a": None, "b": None})}).answers

    @both
    @pytest.mark.parametrize(
        "state",
        ["plain text", {"a": 1}, [{"a": 1}, {"b": 2}], ["x", 1], {"deep": [{"er": {"é": [1.5, None, True]}}]}],
    )
    def test_c07_the_state_is_sent_as_it_is(self, transport: FakeTransport, how: str, state: Any) -> None:
        """Equal as JSON."""
        judge = self._judge(transport)
        transport.steps = [self._ok(self._some(judge))] if self.speaks_http else []
        self._ask(judge, how, state, self._some(judge))
        if self.speaks_http:
            assert self.sent_state(transport.sends[0].json()) == state

    @both
    def test_c08_nothing_that_it_is_given_is_changed(self, transport: FakeTransport, how: str) -> None:
        """Neither state nor questions."""
        state: dict[str, Any] = {"list": [1, {"a": None}], "text": SECRET}
        judge = self._judge(transport)
        questions = self._some(judge)
        before = copy.deepcopy((state, questions))
        transport.steps = [self._ok(questions)] if self.speaks_http else []
        self._ask(judge, how, state, questions)
        assert (state, questions) == before

    @both
    def test_c15_answers_that_do_not_match_the_questions(self, transport: FakeTransport, how: str) -> None:
        """Missing, extra, of another type, of another mass, of other options: one send, an error."""
        self._needs_http()
        self._needs(transport, "choice", "noul")
        asked: dict[str, Question] = {"c": CHOICE, "n": NOUL}
        light = ChoiceAnswer("billing", {"billing": 0.8, "tech": 0.05, "other": 0.05})
        foreign = Choice("?", {"billing": None, "tech": None, "stranger": None})
        bad = {
            "missing": self._ok({"c": CHOICE}),
            "extra": self._ok({**asked, "x": NOUL}),
            "type": self._ok({"c": NOUL, "n": NOUL}),
            "mass": self._ok(asked, {"c": light, "n": NoulAnswer(0.5)}),
            "option": self._ok({"c": foreign, "n": NOUL}),
        }
        for what, reply in bad.items():
            transport.sends.clear()
            error = self._failed(transport, how, reply, questions=asked)
            assert (error.code, len(transport.sends)) == ("invalid_response", 1), what
            assert error.detail, what

    @both
    @pytest.mark.parametrize("body", [b"<html>state-that-must-not-leak</html>", b"[]", b"", b"\xff\xfe", b'"text"'])
    def test_c16_a_body_that_is_no_answer(self, transport: FakeTransport, how: str, body: bytes) -> None:
        """An error without a word of it."""
        self._needs_http()
        error = self._failed(transport, how, HttpReply(200, {"content-type": "application/json"}, body))
        assert (error.code, len(transport.sends)) == ("invalid_response", 1)

    @both
    def test_c28_confidence_says_where_it_comes_from(self, transport: FakeTransport, how: str) -> None:
        """Missing: derived. Reported: untouched."""
        self._needs_http()
        self._needs(transport, "choice")
        found = self._asked(transport, how, {"c": CHOICE})
        answer = found.answers["c"]
        assert isinstance(answer, ChoiceAnswer)
        if found.confidence_source["c"] == "derived":
            assert answer.confidence == pytest.approx(derived_confidence(answer.probabilities))
        told = ChoiceAnswer("billing", {"billing": 0.8, "tech": 0.1, "other": 0.1}, 0.123)
        found = self._asked(transport, how, {"c": CHOICE}, answers={"c": told})
        assert (found.answers["c"], found.confidence_source) == (told, {"c": "reported"})

    @both
    def test_c29_a_refusal_stays_one(self, transport: FakeTransport, how: str) -> None:
        """Beside the answers of others."""
        self._needs_http()
        self._needs(transport, "choice", "noul")
        asked: dict[str, Question] = {"c": CHOICE, "n": NOUL}
        found = self._asked(transport, how, asked, answers={"c": Refusal(), "n": NoulAnswer(0.25)})
        assert (found.refused, found.values) == (("c",), {"n": False})

    @both
    def test_c30_an_unknown_cost_is_never_nothing(self, transport: FakeTransport, how: str) -> None:
        """Reported, an estimate that says so, or None."""
        judge = self._judge(transport)
        found = self._asked(transport, how, self._some(judge))
        assert found.cost_basis in ("reported", "estimate", "unknown")
        assert (found.cost_usd is None) == (found.cost_basis == "unknown")

    @both
    def test_c31_evidence_says_what_it_stands_for(self, transport: FakeTransport, how: str) -> None:
        """A call, or one question."""
        judge = self._judge(transport)
        for item in self._asked(transport, how, self._some(judge)).evidence:
            assert item.scope in ("call", "question")
            assert (item.question is None) == (item.scope == "call")

    @both
    def test_c32_the_hash_is_that_of_the_bytes(self, transport: FakeTransport, how: str) -> None:
        """SHA-256 of what was sent."""
        self._needs_http()
        judge = self._judge(transport)
        questions = self._some(judge)
        transport.steps = [self._ok(questions)]
        first = self._ask(judge, how, SECRET, questions)
        assert first.request_sha256 == hashlib.sha256(transport.sends[0].body).hexdigest()
        assert self._ask(judge, how, SECRET, questions).request_sha256 == first.request_sha256
        assert self._ask(judge, how, "another", questions).request_sha256 != first.request_sha256
        ids = [attempt.id for attempt in first.attempts]
        assert len(ids) == len(set(ids)) == 1

    def test_c33_requests_at_once_do_not_mix(self, transport: FakeTransport) -> None:
        """Each has its own answers."""
        judge = self._judge(transport)
        questions = self._some(judge)
        transport.steps = [(self._ok(questions), 0.01)] if self.speaks_http else []
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda n: judge.ask(f"state {n}", questions), range(8)))
        assert len({judgement.request_sha256 for judgement in found}) == (8 if self.speaks_http else 1)
        assert all(set(judgement.answers) == set(questions) for judgement in found)

        async def at_once() -> list[Judgement]:
            return await asyncio.gather(*[judge.async_ask(f"state {n}", questions) for n in range(8)])

        again = asyncio.run(closing(judge, at_once))
        assert [one.request_sha256 for one in again] == [one.request_sha256 for one in found]
