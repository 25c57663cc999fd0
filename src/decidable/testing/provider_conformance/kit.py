"""The fake service, the clock and the ways of asking that the checks share."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest

from decidable.errors import DecisionProviderError
from decidable.flow.run import Host
from decidable.judging import Judge, Judgement
from decidable.providers.forbid import allow_requests
from decidable.providers.protocol import Provider
from decidable.providers.wires.codec import HttpReply
from decidable.questions.types import (
    Answer,
    Choice,
    ChoiceAnswer,
    Noul,
    NoulAnswer,
    Question,
    Score,
    ScoreAnswer,
)

__all__ = ["FakeTransport", "Kit", "assert_no_secret", "both", "good_answers"]


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
        from decidable.providers.http_mock import mock_clients

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


class FastClock:
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


class Kit:
    """What a subclass says of its provider, and how the checks ask it."""

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
    def clock(self) -> FastClock:
        """Sleeps in no time."""
        return FastClock()

    def _ok(self, questions: Mapping[str, Question], answers: Mapping[str, Answer] | None = None) -> HttpReply:
        body = self.answer_body(questions, good_answers(questions) if answers is None else answers)
        return HttpReply(200, {"content-type": "application/json"}, body)

    def _judge(self, transport: FakeTransport, clock: FastClock | None = None, **settings: Any) -> Judge:
        settings = {"api_key": KEY, **settings} if self.key_variable is not None else settings
        provider = self.make(transport, **settings)
        return Judge({provider.name: provider}, provider.name, (clock or FastClock()).host())

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
        found: Judgement = asyncio.run(closing(judge, lambda: judge.async_ask(state, questions, **more)))
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


async def closing(judge: Judge, work: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return await work()
    finally:
        await judge.aclose()
