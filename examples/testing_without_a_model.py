"""How to test a program that lets a model decide: `pytest examples/testing_without_a_model.py`, or run it.

No network and no key: the model follows a script, and a script that is not followed to the letter fails the test.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from decidable import DecisionError, LLMError, RefusedError, agentic_function, decision
from decidable.testing import pick, refusal, scripted, truncated


def refund(order_id: str, amount: float) -> str:
    """Give money back for one order."""
    return f"refunded {amount:.2f} for {order_id}"


@agentic_function
def handle(message: str) -> str:
    """The program under test."""
    return decision.make(f"What next?\n\n{message}", {"refund": refund, "close": "closed"})


def test_the_picked_function_runs() -> None:
    with scripted(pick("refund", order_id="A-17", amount=9.5)) as rt:
        assert handle("The mug broke.", runtime=rt) == "refunded 9.50 for A-17"


def test_the_prompt_holds_the_message_and_the_menu() -> None:
    with scripted(pick("close")) as rt:
        handle("Thanks!", runtime=rt)
    (seen,) = rt.requests
    assert "Thanks!" in seen.prompt
    assert "refund(order_id: str, amount: float)" in seen.menu


def test_a_bad_reply_is_asked_for_again() -> None:
    with scripted("I would refund it.", pick("close")) as rt:
        assert handle("The mug broke.", runtime=rt) == "closed"
    assert "cannot be used" in rt.requests[1].prompt


def test_a_model_that_never_picks_is_an_error_that_says_why() -> None:
    cut = truncated('{"call": "refund", "args": {"order_id": "A')
    with scripted(cut, "no") as rt, pytest.raises(DecisionError) as caught:
        handle("The mug broke.", runtime=rt)
    assert [attempt.kind for attempt in caught.value.attempts] == ["truncated", "no_action"]


def test_a_refusal_is_not_asked_again() -> None:
    with scripted(refusal()) as rt, pytest.raises(RefusedError):
        handle("Something forbidden.", runtime=rt)


def test_a_provider_that_is_down() -> None:
    with scripted(LLMError("no connection", reason="transport")) as rt, pytest.raises(LLMError):
        handle("The mug broke.", runtime=rt)


if __name__ == "__main__":
    raise SystemExit(subprocess.call([sys.executable, "-m", "pytest", "-q", __file__]))
