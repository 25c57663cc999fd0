"""Our System One client against servers that nobody here wrote, sound ones and broken ones.

The packages are in the dependency group `conformance`; `make conformance` installs them in an environment of their own.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from jevcompat.mock import FAULTS, MockConfig, Running

from decidable import (
    DecisionProviderError,
    Judge,
    Judgement,
    Runtime,
    decision,
    judge_from_provider,
    systemone_provider,
)
from decidable.questions import Choice, ChoiceAnswer, Noul, NoulAnswer, Score, ScoreAnswer
from decidable.testing import allow_requests

STATE = {"ticket": "I was charged twice for order 4471, and nobody answers.", "tags": ["refund", "angry"]}
QUESTIONS = {
    "Réfund?": Noul("Is the customer asking for money back?", "A refund is asked for."),
    "bare": Noul("Is the customer angry?"),
    "sides only": Noul("", "It is late.", "It is in time."),
    "team": Choice("Which team?", {"Billing": "Payments.", "Techniqué": None, "Sales": "Prices."}),
    "crowd": Choice("Which shelf?", [f"Shelf {n}" for n in range(255)]),
    "anger": Score("How angry?", ["calm", "upset", "furious"]),
    "rubric": Score("How far?", [f"step {n}" for n in range(10)]),
}


@pytest.fixture(autouse=True)
def real_requests() -> Iterator[None]:
    """Servers here are on this machine."""
    with allow_requests():
        yield


def judge_of(url: str, model: str = "mock", **settings) -> Judge:
    return judge_from_provider(systemone_provider(url, model, timeout_s=20, **settings))


def ask(judge: Judge, how: str, questions=QUESTIONS, state=STATE, **more):
    async def asked():
        try:
            return await judge.async_ask(state, questions, **more)
        finally:
            for provider in judge.providers.values():
                await provider.aclose()

    if how == "async":
        return asyncio.run(asked())
    try:
        return judge.ask(state, questions, **more)
    finally:
        for provider in judge.providers.values():
            provider.close()


both = pytest.mark.parametrize("how", ["sync", "async"])

REPAIRED = frozenset(
    {  # what is wrong is not needed, or can be told from what is there
        *("plain-content-type", "text-errors", "models-404", "auth-plain", "auth-invalid-403-text", "accept-map-score"),
        *("no-usage", "float-usage", "nan", "unprefixed-extra", "choice-no-confidence", "score-no-legend"),
        *("confidence-margin", "500-on-unknown-type", "accept-boolean", "validation-400", "error-flat"),
        *("reject-array-state", "reject-jev-latest", "forbid-extra", "string-only-text", "nfd-keys"),
    }
)
MOVED = frozenset({"id-leaks", "batch-leaks", "order-leaks"})
"""Answers that depend on what they must not: sound in form, and nobody who asks once can tell."""
REFUSED = {
    "wrong-route": "invalid_request",
    "xssi-200": "invalid_response",
    "auth-rejects-header": "auth",
    "auth-x-api-key": "auth",
    "first-question-only": "invalid_response",
    "strict-ids": "invalid_request",
    "noul-two-sided": "invalid_request",
    "noul-needs-instructions": "invalid_request",
    "no-null-description": "invalid_request",
    "cap-64": "invalid_request",
    "cap-5-levels": "invalid_request",
    "extra-answer": "invalid_response",
    "boolean-type": "invalid_response",
    "noul-range": "invalid_response",
    "choice-key-case": "invalid_response",
    "choice-sum": "invalid_response",
    "choice-second": "invalid_response",
    "legend-1-based": "invalid_response",
    "score-keys-1-based": "invalid_response",
    "score-sum": "invalid_response",
    "score-argmax": "invalid_response",
    "confidence-over": "invalid_response",
}


def test_every_fault_is_spoken_for():
    assert REPAIRED | MOVED | REFUSED.keys() == set(FAULTS)
    assert len(FAULTS) == 47


KEYED = {
    "auth-rejects-header": (None, "any"),
    "auth-x-api-key": ("secret", "secret"),
    "auth-plain": ("secret", "secret"),
}


def served(fault: str | None) -> Running:
    key, _ = KEYED.get(fault or "", (None, None))
    return Running(MockConfig(faults=frozenset({fault} if fault else ()), key=key))


@pytest.fixture(scope="module")
def wanted() -> Judgement:
    """What the mock answers when it is in order."""
    with allow_requests(), served(None) as sound:
        return ask(judge_of(sound.url), "sync")


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_broken_server_never_gives_a_wrong_answer(fault: str, wanted: Judgement):
    with served(fault) as broken:
        for how in ("sync", "async"):  # in one test: such a server takes half a second to stop
            judge = judge_of(broken.url, api_key=KEYED[fault][1] if fault in KEYED else None)
            if fault in REFUSED:
                with pytest.raises(DecisionProviderError) as caught:
                    ask(judge, how)
                assert caught.value.code == REFUSED[fault]
            else:
                check(fault, ask(judge, how), wanted)


def check(fault: str, found: Judgement, wanted: Judgement) -> None:
    """Fail if an answer is another than that of the server in order, where it can be told."""
    assert found.refused == ()
    if fault in MOVED:
        assert found.answers.keys() == wanted.answers.keys()
        return
    assert found.values == wanted.values
    for name, answer in wanted.answers.items():
        other = found.answers[name]
        if isinstance(answer, ChoiceAnswer | ScoreAnswer):
            assert other.probabilities == answer.probabilities
        if isinstance(answer, NoulAnswer) or fault not in ("confidence-margin", "choice-no-confidence"):
            assert other == answer
    if fault == "choice-no-confidence":
        assert found.confidence_source["team"] == "derived"
        assert found.answers["team"].confidence == pytest.approx(wanted.answers["team"].confidence)


@both
def test_a_sound_server_in_every_form(how: str):
    with served(None) as server:
        for state in ("text", {"a": [1, {"b": None}]}, ["list", 1]):
            found = ask(judge_of(server.url), how, state=state)
            assert found.answers.keys() == QUESTIONS.keys()
            assert (found.model, found.provider_request_id) == ("jevcompat-mock-0.1", "req_mock")
            assert found.usage is not None


@both
def test_a_busy_server_is_asked_again(how: str):
    with Running(MockConfig(busy_every=2)) as server:
        for _ in range(3):
            assert ask(judge_of(server.url), how).answers


@both
def test_keys(how: str):
    with Running(MockConfig(key="secret")) as server:
        assert ask(judge_of(server.url, api_key="secret"), how).answers
        for key in ("wrong", None):
            with pytest.raises(DecisionProviderError) as caught:
                ask(judge_of(server.url, api_key=key), how)
            assert caught.value.code == "auth"


def test_an_unknown_model_is_told_of():
    with served(None) as server, pytest.raises(DecisionProviderError) as caught:
        ask(judge_of(server.url, "no-such-model"), "sync")
    assert (caught.value.code, caught.value.detail) == ("invalid_request", "api_usage_error")


def test_a_decision_over_the_wire():
    with served(None) as server:
        rt = Runtime(systemone_provider(server.url, "mock"))
        with rt:
            made = decision.decide("Which team?", {"billing": 1, "tech": 2}, runtime=rt, state=STATE)
        assert made.result == {"billing": 1, "tech": 2}[made.option]
        assert made.probability == max(made.probabilities.values())


# --- two real servers -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sparrow() -> Iterator[str]:
    """`sparrow-decider serve`, a small model behind its own System One server."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = Path(sys.executable).with_name("sparrow-decider")
    with subprocess.Popen([command, "serve", "--port", str(port)], stdout=subprocess.DEVNULL) as process:
        try:
            wait_for(port)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def wait_for(port: int, within_s: float = 60) -> None:
    """Return once somebody listens there."""
    ends = time.monotonic() + within_s
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert time.monotonic() < ends, f"nobody listens on port {port}"
            time.sleep(0.1)
        else:
            return


@both
def test_sparrow_answers_every_type(sparrow: str, how: str):
    questions = {name: q for name, q in QUESTIONS.items() if name != "crowd"}
    found = ask(judge_of(sparrow, "sparrow-nano-general-v1.1"), how, questions)
    assert found.answers.keys() == questions.keys()
    assert found.answers["team"].choice in QUESTIONS["team"].criteria


def test_sparrow_decides(sparrow: str):
    with Runtime(systemone_provider(sparrow, "sparrow-nano-general-v1.1")) as rt:
        options = {"billing": (1, "Invoices, payments and refunds."), "tech": (2, "Bugs and crashes of the app.")}
        assert decision.make("I was charged twice, please refund my payment.", options, runtime=rt) == 1
