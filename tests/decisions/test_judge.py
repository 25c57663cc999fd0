"""The judge: which provider is asked, what it makes of answers, and what is said of mistakes."""

from __future__ import annotations

import pickle
import time

import pytest
from decisions_kit import reply

from decidable import (
    Budget,
    BudgetExceeded,
    ContentError,
    DecisionProviderError,
    LLMError,
    QuestionError,
    Runtime,
    SettingError,
    connect,
    judge_from_provider,
    judge_from_providers,
    parallel_provider,
    systemone_provider,
    trace,
    use_budget,
)
from decidable.flow.run import Host
from decidable.messages import Reply
from decidable.providers.protocol import Capabilities, DecisionProvider, SyncProvider
from decidable.questions import Choice, ChoiceAnswer, Limits, Noul, NoulAnswer, QuestionRequest, Refusal
from decidable.testing import scripted
from decidable.testing.provider_conformance import FakeTransport

ONE = {"q": Noul("So?")}


class Answering(SyncProvider):
    """A decision provider in a few lines, as a user would write one."""

    def __init__(self, answers, name="mine", models=None, types=("noul", "choice"), **reply):
        self.name, self.model, self.answers, self.more = name, None, answers, reply
        self.capabilities = Capabilities(
            question_types=frozenset(types), remote=False, models=models, limits=Limits(choice_options=(2, 3))
        )
        self.asked = []

    def send(self, request, deadline=None):
        self.asked.append(request)
        if isinstance(self.answers, Exception):
            raise self.answers
        return Reply(answers=self.answers, **self.more)


@pytest.fixture(params=["sync", "async"])
def ask(request):
    import asyncio

    def asked(judge, *args, **more):
        if request.param == "sync":
            return judge.ask(*args, **more)
        return asyncio.run(judge.async_ask(*args, **more))

    return asked


def test_a_provider_of_ones_own(ask):
    mine = Answering({"q": NoulAnswer(0.2), "c": ChoiceAnswer("a", {"a": 0.8, "b": 0.2})}, cost=0.5)
    found = ask(judge_from_provider(mine), {"state": 1}, {**ONE, "c": Choice("?", ["a", "b"])}, model="m")
    assert found.values == {"q": False, "c": "a"}
    assert found.sidecar.confidence == {"q": 0.6, "c": 0.6}
    assert found.confidence_source == {"q": "noul", "c": "derived"}
    assert (found.cost_usd, found.cost_basis, found.provider) == (0.5, "reported", "mine")
    assert mine.asked == [QuestionRequest({"state": 1}, {**ONE, "c": Choice("?", ["a", "b"])}, "m")]


def test_refusals_are_split_off_before_anything_is_checked_or_decoded(ask):
    found = ask(judge_from_provider(Answering({"q": Refusal(), "r": NoulAnswer(1)})), "x", {**ONE, "r": Noul("?")})
    assert (found.refused, found.answers, found.values) == (("q",), {"r": NoulAnswer(1)}, {"r": True})
    assert "q" not in found.confidence_source


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (None, "answers_shape"),
        ({}, "answer_keys"),
        ({"q": ChoiceAnswer("a", {"a": 1.0})}, "answer_type"),
        ({"q": NoulAnswer(2)}, "noul_probability"),
    ],
)
def test_a_provider_that_answers_nonsense(ask, answers, why):
    with pytest.raises(DecisionProviderError) as caught:
        ask(judge_from_provider(Answering(answers, cost=0.25)), "x", ONE)
    assert (caught.value.code, caught.value.detail, caught.value.cost_usd) == ("invalid_response", why, 0.25)


def test_limits_and_types_hold_without_a_check_of_its_own(ask):
    mine = Answering({})
    for questions in ({"q": Choice("?", list("abcd"))}, {"q": Choice("?", ["a"])}):
        with pytest.raises(DecisionProviderError, match="2 to 3 options"):
            ask(judge_from_provider(mine), "x", questions)
    with pytest.raises(DecisionProviderError, match="no choice questions, only noul"):
        ask(judge_from_provider(Answering({}, types=("noul",))), "x", {"q": Choice("?", ["a", "b"])})
    assert mine.asked == []


def test_which_provider_is_asked(ask):
    first, second = (
        Answering({"q": NoulAnswer(0.9)}, "first"),
        Answering({"q": NoulAnswer(0.1)}, "second", models=("m2",)),
    )
    judge = judge_from_providers({"a": first, "b": second}, default="a")
    assert ask(judge, "x", ONE).provider == "first"
    assert ask(judge, "x", ONE, provider="b").provider == "second"
    assert ask(judge, "x", ONE, model="m2").provider == "second"
    assert ask(judge, "x", ONE, model="other").provider == "first"
    assert ask(judge, "x", ONE, model="m2", provider="a").provider == "first"
    for name in ("c", ""):
        with pytest.raises(DecisionProviderError, match="no provider is named") as caught:
            ask(judge, "x", ONE, provider=name)
        assert caught.value.code == "configuration"


def test_a_judge_needs_a_default_that_answers():
    mine = Answering({})
    with pytest.raises(DecisionProviderError, match="'bb'; did you mean 'b'|known: 'a'") as caught:
        judge_from_providers({"a": mine}, default="bb")
    assert caught.value.code == "configuration"
    with pytest.raises(DecisionProviderError, match="no provider that answers typed questions"):
        judge_from_provider(scripted().provider)


@pytest.mark.parametrize(
    ("questions", "said"),
    [
        ({}, "at least one"),
        (None, "at least one"),
        ([Noul("?")], "at least one"),
        ({1: Noul("?")}, "id is text"),
        ({"": Noul("?")}, "id is text"),
        ({"q": "So?"}, "a Noul, a Choice or a Score, not 'So\\?'"),
    ],
)
def test_what_are_no_questions(ask, questions, said):
    with pytest.raises(QuestionError, match=said):
        ask(judge_from_provider(Answering({})), "x", questions)


def test_a_foreign_error_of_a_provider_keeps_its_meaning(ask):
    with pytest.raises(ZeroDivisionError):
        ask(judge_from_provider(Answering(ZeroDivisionError("mine"))), "x", ONE)
    with pytest.raises(DecisionProviderError, match="mine: it broke") as caught:
        ask(judge_from_provider(Answering(LLMError("it broke"))), "x", ONE)
    assert (caught.value.code, caught.value.cost_basis) == ("outcome_unknown", "unknown")


def test_budgets_count_questions_too(ask):
    judge = judge_from_provider(Answering({"q": NoulAnswer(0.9)}, cost=0.5))
    with use_budget(Budget(requests=2)):
        ask(judge, "x", ONE)
        ask(judge, "x", ONE)
        with pytest.raises(BudgetExceeded):
            ask(judge, "x", ONE)


def test_requests_are_in_the_trace(ask):
    with trace() as kept:
        ask(judge_from_provider(Answering({"q": NoulAnswer(0.9)})), "x", ONE)
    assert [node.kind for node in kept.nodes] == ["model_call"]


def test_errors_can_be_pickled():
    error = DecisionProviderError("x", code="outcome_unknown", cost_usd=0.1, cost_basis="estimate", ref_id="r")
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.cost_usd, again.ref_id, str(again)) == ("outcome_unknown", 0.1, "r", "x")


def test_what_is_a_decision_provider():
    assert isinstance(parallel_provider(api_key="k"), DecisionProvider)
    assert isinstance(systemone_provider("http://localhost:1"), DecisionProvider)
    assert not isinstance(Answering({}), DecisionProvider)


def test_a_runtime_and_a_judge_may_share_a_provider(service):
    it = service(systemone_provider, "http://localhost:8080")
    answer = {"type": "choice", "choice": "b", "probabilities": {"a": 0.1, "b": 0.9}, "confidence": 0.8}
    it.transport.steps = [reply({"model": "m", "answers": {"pick": answer}})]
    from decidable import decision

    assert decision.make("Next?", ["a", "b"], runtime=Runtime(it.provider)) == "b"
    assert it.sent[0]["state"] == "Next?"


def test_two_transports_do_not_share_anything():
    assert FakeTransport().sends is not FakeTransport().sends


def test_a_budget_of_time_says_so_itself(service):
    it = service(systemone_provider, "http://localhost:8080")
    with use_budget(Budget(seconds=0.1)), pytest.raises(BudgetExceeded) as caught:
        it.ask("x", ONE, (reply({"answers": {"q": {"type": "noul", "noul": 0.5}}}), 5.0))
    assert isinstance(caught.value.__cause__, DecisionProviderError)
    assert caught.value.__cause__.code == "outcome_unknown"


def test_a_deadline_around_the_call_counts(service):
    it = service(systemone_provider, "http://localhost:8080")
    error = it.fails("x", ONE, (reply({}), 5.0), timeout_s=0.05)
    assert error.code == "outcome_unknown"
    (attempt,) = error.provider_attempts
    assert (attempt.status, attempt.number) == ("unknown", 1)
    assert 40 < attempt.elapsed_ms < 3000


def test_states_and_images_as_people_have_them(service):
    from dataclasses import dataclass

    from pydantic import BaseModel
    from test_openrouter import png

    class Ticket(BaseModel):
        text: str

    @dataclass
    class Parcel:
        number: int

    it = service(connect, "jev", api_key="k")
    good = {"answers": {"q": {"type": "noul", "noul": 0.5}}}
    for state in (Ticket(text="x"), Parcel(7), (1, "x")):
        it.ask(state, ONE, good)
    assert [body["state"] for body in it.sent] == [{"text": "x"}, {"number": 7}, [1, "x"]]
    it.ask("<i>", ONE, good, images={"<i>": {"type": "image", "data": png(), "mime_type": "image/png"}})
    assert it.sent[3]["assets"]["<i>"]["format"] == "png"
    with pytest.raises(ContentError):
        it.ask("<i>", ONE, good, images={"<i>": b"bytes"})
    assert it.fails("<i>", ONE, good, images={"<i>": "text"}).code == "invalid_request"


def test_providers_by_name(monkeypatch):
    monkeypatch.setenv("TYPESAFE_API_KEY", "k")
    assert "typesafe" in repr(judge_from_provider("jev"))
    assert judge_from_providers({"a": "jev", "b": Answering({})}, "b").providers["a"].name == "typesafe"
    with pytest.raises(DecisionProviderError, match="no provider that answers typed questions: 5"):
        judge_from_provider(5)


def test_a_provider_that_always_wants_another_try_is_left_in_the_end(ask):
    down = Answering(DecisionProviderError("down", code="connection", retryable=True))
    slept = []
    host = Host(time.monotonic, slept.append, _sleeping(slept), lambda: 0.5)
    with pytest.raises(DecisionProviderError) as caught:
        ask(judge_from_provider(down, host=host), "x", ONE)
    assert (len(down.asked), slept, caught.value.code) == (3, [0.5, 1.0], "connection")


def _sleeping(slept):
    async def sleep(seconds):
        slept.append(seconds)

    return sleep


@pytest.mark.parametrize("headers", [{"x": "line\nbreak"}, {"x": "é"}, {"x": 5}, {5: "x"}])
def test_headers_that_are_none(headers):
    with pytest.raises(SettingError, match="printable ASCII") as caught:
        connect("jev", api_key="k", headers=headers)
    assert "break" not in str(caught.value)


def test_extra_fields_that_are_no_json():
    with pytest.raises(SettingError, match="extra of 'typesafe' must be JSON"):
        connect("jev", api_key="k", extra={"x": object()})


def test_a_judge_closes_its_providers():
    import asyncio

    closed = []

    class Closing(Answering):
        def close(self):
            closed.append("sync")

        async def aclose(self):
            closed.append("async")

    judge = judge_from_provider(Closing({}))
    judge.close()
    asyncio.run(judge.aclose())
    assert closed == ["sync", "async"]
