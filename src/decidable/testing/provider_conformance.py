"""What every decision provider must do, as tests to inherit: one class per provider, two methods to write.

    from decidable.testing.provider_conformance import FakeTransport, ProviderConformance

    class TestAcme(ProviderConformance):
        key_variable = "ACME_API_KEY"

        def make(self, transport: FakeTransport, **settings):
            client, async_client = transport.clients()
            return acme_provider(client=client, async_client=async_client, **settings)

        def answer_body(self, questions, answers):
            return json.dumps({"answers": {...}}).encode()

Run by pytest, each sync and async; no request leaves the process. What a provider does not declare is skipped, and
says so.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest

from decidable.cancelling import CancelToken
from decidable.content import MediaPart
from decidable.errors import DecisionProviderError
from decidable.flow.run import Host
from decidable.judging import Judge, Judgement
from decidable.providers.forbid import allow_requests
from decidable.providers.protocol import Provider
from decidable.providers.wires.codec import HttpReply
from decidable.questions.decoding import derived_confidence
from decidable.questions.types import (
    Answer,
    Choice,
    ChoiceAnswer,
    Noul,
    NoulAnswer,
    Question,
    Refusal,
    Score,
    ScoreAnswer,
)

__all__ = ["FakeTransport", "ProviderConformance", "good_answers"]

Step: TypeAlias = "HttpReply | tuple[HttpReply, float] | Exception"


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One request that reached the fake transport."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Its body."""
        return json.loads(self.body)


@dataclass
class FakeTransport:
    """Answers from a script, and keeps what was sent.

    Attributes:
        steps: One per request: an `HttpReply`, the same with the seconds it takes, or an exception. A
            `ConnectionRefusedError` never arrived, any other `ConnectionError` broke after the request was sent. The
            last step answers all that follow.
        sends: Every request so far.
    """

    steps: list[Step] = field(default_factory=list)
    sends: list[SentRequest] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def clients(self) -> tuple[Any, Any]:
        """A sync and an async client with httpx's interface."""
        from decidable.providers.http import mock_clients

        return mock_clients(self._answer)

    def _answer(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> HttpReply | tuple[HttpReply, float]:
        with self._lock:
            self.sends.append(SentRequest(method, path, headers, body))
            step = self.steps[min(len(self.sends), len(self.steps)) - 1]
        if isinstance(step, Exception):
            raise step
        return step


class _Clock:
    """The real clock, except that sleeping takes no time and is kept."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def host(self) -> Host:
        return Host(self.now, self.sleep, self.sleep_async, lambda: 0.5)

    def now(self) -> float:
        return time.monotonic() + sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def sleep_async(self, seconds: float) -> None:
        self.slept.append(seconds)


NOUL = Noul("Is it late?", "Past its date.", "In time.")
CHOICE = Choice("Who answers?", {"billing": "Payments.", "tech": "Bugs.", "other": "All else."})
SCORE = Score("How angry?", ("calm", "upset", "furious"))
SECRET = "state-that-must-not-leak"  # noqa: S105 - looked for in errors
KEY = "key-that-must-not-leak"
HOSTILE = ("__proto__", "constructor", "0", "a.b", "mit Leer zeichen", "日本語")


def good_answers(questions: Mapping[str, Question]) -> dict[str, Answer]:
    """A good answer to each question, without a confidence."""
    return {name: _good(question) for name, question in questions.items()}


def _good(question: Question) -> Answer:
    if isinstance(question, Noul):
        return NoulAnswer(0.97)
    if isinstance(question, Choice):
        first, *rest = question.criteria
        if not rest:
            return ChoiceAnswer(first, {first: 1.0})
        return ChoiceAnswer(first, {first: 0.8, **{name: 0.2 / len(rest) for name in rest}})
    count = len(question.criteria) if isinstance(question, Score) else 0
    shares = (*[0.25 / (count - 1) if count > 1 else 0.0] * (count - 1), 0.75 if count > 1 else 1.0)
    return ScoreAnswer(sum(level * share for level, share in enumerate(shares)), shares)


both = pytest.mark.parametrize("how", ["sync", "async"])


class ProviderConformance:
    """The checks; a subclass says how its provider is made, and how its service answers."""

    key_variable: str | None = None
    """Environment variable of the key; None if it needs none."""
    speaks_http = True
    """Whether it asks a service; a model in this process does not, and is spared what only concerns one."""

    def make(self, transport: FakeTransport, **settings: Any) -> Provider:
        """The provider, on `transport`.

        Args:
            transport: Whose clients it uses.
            settings: ``api_key`` and ``max_attempts``, which are to be passed on.
        """
        raise NotImplementedError

    def answer_body(self, questions: Mapping[str, Question], answers: Mapping[str, Answer]) -> bytes:
        """The service's body for these answers."""
        raise NotImplementedError

    def sent_state(self, body: Any) -> Any:
        """The state in a body that was sent."""
        return body["state"]

    # --- what the checks are made of ------------------------------------------------------------------------------

    @pytest.fixture(autouse=True)
    def _on_the_fake_transport(self) -> Iterator[None]:
        """Requests go no further than the fake transport, so they may be made."""
        with allow_requests():
            yield

    @pytest.fixture
    def transport(self) -> FakeTransport:
        """Nothing scripted yet."""
        return FakeTransport()

    @pytest.fixture
    def clock(self) -> _Clock:
        """Sleeps in no time."""
        return _Clock()

    def _ok(self, questions: Mapping[str, Question], answers: Mapping[str, Answer] | None = None) -> HttpReply:
        body = self.answer_body(questions, good_answers(questions) if answers is None else answers)
        return HttpReply(200, {"content-type": "application/json"}, body)

    def _judge(self, transport: FakeTransport, clock: _Clock | None = None, **settings: Any) -> Judge:
        settings = {"api_key": KEY, **settings} if self.key_variable is not None else settings
        provider = self.make(transport, **settings)
        return Judge({provider.name: provider}, provider.name, (clock or _Clock()).host())

    def _asked(
        self,
        transport: FakeTransport,
        how: str,
        questions: Mapping[str, Question],
        state: Any = SECRET,
        answers: Mapping[str, Answer] | None = None,
        **settings: Any,
    ) -> Judgement:
        """The judgement, the service answering well."""
        if self.speaks_http:
            transport.steps = [self._ok(questions, answers)]
        return self._ask(self._judge(transport, **settings), how, state, questions)

    def _ask(self, judge: Judge, how: str, state: Any, questions: Mapping[str, Question], **more: Any) -> Judgement:
        if how == "sync":
            return judge.ask(state, questions, **more)
        found: Judgement = asyncio.run(_closing(judge, lambda: judge.async_ask(state, questions, **more)))
        return found

    def _failed(
        self,
        transport: FakeTransport,
        how: str,
        *steps: Step,
        judge: Judge | None = None,
        questions: Mapping[str, Question] | None = None,
        state: Any = SECRET,
        **more: Any,
    ) -> DecisionProviderError:
        """The error, the service answering with `steps`; nothing secret may be in it."""
        transport.steps = list(steps)
        judge = judge or self._judge(transport)
        with pytest.raises(DecisionProviderError) as caught:
            self._ask(judge, how, state, self._some(judge) if questions is None else questions, **more)
        assert_no_secret(caught.value)
        return caught.value

    def _provider(self, transport: FakeTransport) -> Provider:
        settings = {"api_key": KEY} if self.key_variable is not None else {}
        return self.make(transport, **settings)

    def _some(self, judge: Judge) -> dict[str, Question]:
        """One question of a type that the provider answers."""
        types = judge.providers[judge.default].capabilities.question_types
        return {"q": NOUL if "noul" in types else CHOICE if "choice" in types else SCORE}

    def _needs(self, transport: FakeTransport, *types: str) -> None:
        if missing := set(types) - self._provider(transport).capabilities.question_types:
            pytest.skip(f"it answers no {', '.join(sorted(missing))} questions")

    def _needs_http(self) -> None:
        if not self.speaks_http:
            pytest.skip("it asks no service")

    def _most(self, transport: FakeTransport) -> int:
        patience = self._provider(transport).capabilities.patience
        return 1 if patience is None else patience.max_attempts

    def _replay(self, transport: FakeTransport) -> str:
        return self._provider(transport).capabilities.replay

    # --- what it is, and what it answers --------------------------------------------------------------------------

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

    # --- keys -----------------------------------------------------------------------------------------------------

    @both
    def test_c09_without_a_key_nothing_is_sent(
        self, transport: FakeTransport, how: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The error names the variable."""
        variable = self._key_variable()
        monkeypatch.delenv(variable, raising=False)
        error = self._failed(transport, how, judge=self._keyless(transport))
        assert error.code == "configuration"
        assert variable in str(error)
        assert transport.sends == []

    @both
    def test_c10_the_key_is_read_when_a_request_is_made(
        self, transport: FakeTransport, how: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One that is set after the provider was made counts."""
        variable = self._key_variable()
        monkeypatch.delenv(variable, raising=False)
        judge = self._keyless(transport)
        monkeypatch.setenv(variable, KEY)
        transport.steps = [self._ok(self._some(judge))]
        self._ask(judge, how, SECRET, self._some(judge))
        assert any(KEY in value for value in transport.sends[0].headers.values())

    @both
    def test_c11_a_given_key_wins_and_is_never_shown(
        self, transport: FakeTransport, how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Not in an error, a repr or a log."""
        monkeypatch.setenv(self._key_variable(), "key-of-the-environment")
        judge = self._judge(transport)
        with caplog.at_level(logging.DEBUG, logger="decidable"):
            error = self._failed(transport, how, HttpReply(401, {}, f'{{"key": "{KEY}"}}'.encode()), judge=judge)
        assert error.code == "auth"
        values = transport.sends[0].headers.values()
        assert any(KEY in value for value in values)
        assert not any("key-of-the-environment" in value for value in values)
        assert KEY not in repr(judge) + repr(judge.providers[judge.default]) + caplog.text

    # --- what is refused before it is sent ------------------------------------------------------------------------

    @both
    def test_c12_a_model_that_it_does_not_serve(self, transport: FakeTransport, how: str) -> None:
        """Refused, where the models are declared."""
        if self._provider(transport).capabilities.models is None:
            pytest.skip("it takes any model's name")
        error = self._failed(transport, how, model="no-such-model")
        assert (error.code, transport.sends) == ("invalid_request", [])
        assert "no-such-model" in str(error)

    @both
    def test_c13_each_limit_is_kept_at_its_edge(self, transport: FakeTransport, how: str) -> None:
        """At the edge asked, one past it refused unsent."""
        judge = self._judge(transport)
        edges = list(self._edges(judge))
        if not edges:
            pytest.skip("it declares no limits")
        for what, fits, too_much, state, long_state in edges:
            transport.sends.clear()
            transport.steps = [self._ok(fits)] if self.speaks_http else []
            self._ask(judge, how, state, fits)
            transport.sends.clear()
            error = self._failed(transport, how, judge=judge, questions=too_much, state=long_state)
            assert (error.code, transport.sends) == ("invalid_request", []), what

    def _edges(self, judge: Judge) -> list[tuple[str, dict[str, Question], dict[str, Question], Any, Any]]:
        """For each limit: what it is, what just fits, what does not."""
        capabilities = judge.providers[judge.default].capabilities
        limits, some = capabilities.limits, self._some(judge)
        edges: list[tuple[str, dict[str, Question], dict[str, Question], Any, Any]] = []
        if limits is None:
            return edges
        one = next(iter(some.values()))
        if limits.max_questions is not None:
            most = {f"q{n}": one for n in range(limits.max_questions)}
            edges.append(("questions", most, {**most, "more": one}, SECRET, SECRET))
        for make, bounds, kind in (
            (_options, limits.choice_options, "choice"),
            (_levels, limits.score_levels, "score"),
        ):
            if bounds is not None and kind in capabilities.question_types:
                edges.append((f"most of a {kind}", make(bounds[1]), make(bounds[1] + 1), SECRET, SECRET))
                if bounds[0] > 1:
                    edges.append((f"least of a {kind}", make(bounds[0]), make(bounds[0] - 1), SECRET, SECRET))
        if limits.max_state_bytes is not None:
            text = "é" * ((limits.max_state_bytes - 2) // 2)
            text += "x" * (limits.max_state_bytes - 2 - 2 * len(text))
            edges.append(("state", some, some, text, text + "x"))
        return edges

    @both
    def test_c14_a_type_that_it_does_not_answer(self, transport: FakeTransport, how: str) -> None:
        """Refused unsent."""
        types = self._provider(transport).capabilities.question_types
        others = {n: q for n, q in (("noul", NOUL), ("choice", CHOICE), ("score", SCORE)) if n not in types}
        if not others:
            pytest.skip("it answers every type")
        for question in others.values():
            error = self._failed(transport, how, questions={"q": question})
            assert (error.code, transport.sends) == ("invalid_request", [])

    # --- what is no answer ----------------------------------------------------------------------------------------

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

    # --- failures -------------------------------------------------------------------------------------------------

    @both
    @pytest.mark.parametrize(
        ("status", "code"), [(401, "auth"), (403, "auth"), (400, "invalid_request"), (422, "invalid_request")]
    )
    def test_c17_c18_refusals_are_not_repeated(
        self, transport: FakeTransport, how: str, status: int, code: str
    ) -> None:
        """One send."""
        self._needs_http()
        error = self._failed(transport, how, HttpReply(status, {}, f'{{"error": {{"message": "{SECRET}"}}}}'.encode()))
        assert (error.code, error.http_status, len(transport.sends)) == (code, status, 1)

    @both
    def test_c19_a_named_wait_is_kept(self, transport: FakeTransport, clock: _Clock, how: str) -> None:
        """Two sends, and at least that long between them."""
        self._needs_http()
        judge = self._judge(transport, clock)
        transport.steps = [HttpReply(429, {"retry-after": "2"}, b""), self._ok(self._some(judge))]
        found = self._ask(judge, how, SECRET, self._some(judge))
        assert len(transport.sends) == 2
        assert sum(clock.slept) >= 2
        assert [(one.number, one.status) for one in found.attempts] == [(1, "failed"), (2, "answered")]

    @both
    def test_c20_without_a_named_wait_a_paid_request_is_not_repeated(self, transport: FakeTransport, how: str) -> None:
        """`rate_limited`."""
        self._needs_http()
        error = self._failed(transport, how, HttpReply(429, {}, b""))
        assert error.code == "rate_limited"
        assert len(transport.sends) == (1 if self._replay(transport) == "never" else self._most(transport))

    @both
    def test_c21_attempts_are_counted(self, transport: FakeTransport, how: str) -> None:
        """`rate_limited` once they are spent."""
        self._needs_http()
        error = self._failed(transport, how, HttpReply(429, {"retry-after": "0"}, b""))
        assert (error.code, len(transport.sends)) == ("rate_limited", self._most(transport))
        assert error.attempts == len(error.provider_attempts) == self._most(transport)

    @both
    @pytest.mark.parametrize("status", [408, 500, 502, 503, 529])
    def test_c22_an_unknown_outcome_of_a_paid_request_is_not_repeated(
        self, transport: FakeTransport, how: str, status: int
    ) -> None:
        """One send, and what it may have cost."""
        self._needs_http()
        error = self._failed(transport, how, HttpReply(status, {}, b"{}"))
        assert error.code == "outcome_unknown"
        self._assert_sent_as_replay_allows(transport, error)

    @both
    def test_c23_a_connection_that_broke_after_sending(self, transport: FakeTransport, how: str) -> None:
        """As an unknown outcome."""
        self._needs_http()
        error = self._failed(transport, how, ConnectionResetError("gone"))
        assert error.code == "outcome_unknown"
        self._assert_sent_as_replay_allows(transport, error)

    def _assert_sent_as_replay_allows(self, transport: FakeTransport, error: DecisionProviderError) -> None:
        never = self._replay(transport) == "never"
        assert len(transport.sends) == (1 if never else self._most(transport))
        assert error.cost_basis in ("estimate", "unknown")
        assert (error.cost_usd is None) == (error.cost_basis == "unknown")

    @both
    def test_c24_what_never_arrived_is_sent_again(self, transport: FakeTransport, how: str) -> None:
        """Refused once: answered. Refused always: `connection`."""
        self._needs_http()
        judge = self._judge(transport)
        transport.steps = [ConnectionRefusedError("no"), self._ok(self._some(judge))]
        assert self._ask(judge, how, SECRET, self._some(judge)).answers
        assert len(transport.sends) == 2
        transport.sends.clear()
        error = self._failed(transport, how, ConnectionRefusedError("no"), judge=judge)
        assert (error.code, len(transport.sends)) == ("connection", self._most(transport))
        assert (error.cost_usd, error.cost_basis) == (None, None)

    # --- time, and a change of mind -------------------------------------------------------------------------------

    @both
    def test_c25_a_deadline_in_flight(self, transport: FakeTransport, how: str) -> None:
        """The caller's, nearer than its own: nobody knows what came of it."""
        self._needs_http()
        judge = self._judge(transport)
        slow = (self._ok(self._some(judge)), 5.0)
        begun = time.monotonic()
        error = self._failed(transport, how, slow, judge=judge, timeout_s=0.1)
        assert (error.code, len(transport.sends)) == ("outcome_unknown", 1)
        assert error.cost_basis is not None
        assert time.monotonic() - begun < 3

    @both
    def test_c26_a_deadline_between_attempts(self, transport: FakeTransport, clock: _Clock, how: str) -> None:
        """`timeout`, and no further send."""
        self._needs_http()
        judge = self._judge(transport, clock)
        error = self._failed(transport, how, HttpReply(429, {"retry-after": "20"}, b""), judge=judge, timeout_s=10)
        assert (error.code, len(transport.sends), clock.slept) == ("timeout", 1, [])
        assert error.retry_after_s == 20

    @both
    def test_c27_a_change_of_mind(self, transport: FakeTransport, how: str) -> None:
        """Before it is sent, in flight, and in a wait: `aborted`, promptly, and nothing sent after it."""
        self._needs_http()
        judge = Judge({"p": self._provider(transport)}, "p")
        cancelled = CancelToken()
        cancelled.cancel()
        error = self._failed(transport, how, self._ok(self._some(judge)), judge=judge, cancel=cancelled)
        assert (error.code, len(transport.sends)) == ("aborted", 0)
        waits = HttpReply(429, {"retry-after": "5"}, b"")
        for step, cost_known in (((self._ok(self._some(judge)), 0.6), True), (waits, False)):
            transport.sends.clear()
            token = CancelToken()
            threading.Timer(0.05, token.cancel).start()
            begun = time.monotonic()
            error = self._failed(transport, how, step, judge=judge, cancel=token)
            assert (error.code, len(transport.sends)) == ("aborted", 1)
            assert time.monotonic() - begun < 0.5
            assert (error.cost_basis is not None) == cost_known
        for thread in threading.enumerate():  # what was called off ends by itself, unheard
            if thread.name == "decidable-request":
                thread.join(5)

    # --- what comes with the answers ------------------------------------------------------------------------------

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

        again = asyncio.run(_closing(judge, at_once))
        assert [one.request_sha256 for one in again] == [one.request_sha256 for one in found]

    @both
    def test_c34_images_where_it_takes_none(self, transport: FakeTransport, how: str) -> None:
        """Refused unsent."""
        if "image" in self._provider(transport).capabilities.experimental_inputs:
            pytest.skip("it takes images")
        images = {"<image:1>": MediaPart("image", b"x", "image/png")}
        error = self._failed(transport, how, state="<image:1>", images=images)
        assert (error.code, transport.sends) == ("invalid_request", [])

    def _key_variable(self) -> str:
        if self.key_variable is None:
            pytest.skip("it needs no key")
        return self.key_variable

    def _keyless(self, transport: FakeTransport) -> Judge:
        return self._judge(transport, api_key=None)


def assert_no_secret(error: BaseException) -> None:
    """Fail if an error, or what it was raised from, shows the key or a body."""
    seen: list[BaseException] = []
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop()
        if one is None or one in seen:
            continue
        seen.append(one)
        left += [one.__cause__, one.__context__]
        shown = repr(one) + str(one) + repr(one.__dict__) + "".join(getattr(one, "__notes__", []))
        assert KEY not in shown
        assert SECRET not in shown


async def _closing(judge: Judge, work: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return await work()
    finally:
        for provider in judge.providers.values():
            await provider.aclose()


def _options(count: int) -> dict[str, Question]:
    return {"q": Choice("Which?", {f"o{n}": None for n in range(count)})}


def _levels(count: int) -> dict[str, Question]:
    return {"q": Score("How much?", tuple(f"level {n}" for n in range(count)))}
