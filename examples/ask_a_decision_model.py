"""Ask a decision model about support tickets: typed questions in, probabilities out, and a step decided on them.

Without arguments it asks a service in this process that makes its answers up, so it runs without key or network; what
it prints shows the form, not judgment. Name a real one to have that::

    python examples/ask_a_decision_model.py local                      # a small model on this machine: decidable[local]
    python examples/ask_a_decision_model.py jev                        # needs TYPESAFE_API_KEY
    python examples/ask_a_decision_model.py ollama-decisions:d1
    python examples/ask_a_decision_model.py http://localhost:8080      # any server that speaks /v1/systemone
"""

from __future__ import annotations

import sys

from decidable import (
    DecisionProvider,
    DecisionProviderError,
    Runtime,
    UsageError,
    connect,
    decision,
    judge_from_provider,
    systemone_provider,
)
from decidable.questions import Choice, Noul, Score

TICKETS = [
    {"subject": "Invoice 4471", "text": "I was charged twice in October. Please send one payment back.", "plan": "pro"},
    {"subject": "Export", "text": "Every time I press Export the app closes at once.", "plan": "free"},
    {"subject": "Hello?", "text": "Third message. Nobody answers. I want to talk to a person, now!", "plan": "pro"},
]

QUESTIONS = {
    "refund": Noul(
        "Does the customer ask for money back?",
        "The customer wants a payment, a charge or a fee returned.",
        "The customer asks for something else than money.",
    ),
    "team": Choice(
        "Which team should answer?",
        {
            "billing": "Charges, invoices, refunds and prices.",
            "technical": "A bug, an error, a crash or a feature which does not work.",
            "none of these": "Anything else.",
        },
    ),
    "anger": Score(
        "How angry is the customer?",
        ["Calm: asks or tells politely.", "Impatient: has waited, asks again.", "Furious: shouts, threatens to leave."],
    ),
}


def start_refund() -> str:
    """The customer wants money back."""
    return "refund opened"


def file_bug() -> str:
    """Something in the product does not work."""
    return "bug filed"


def call_a_person() -> str:
    """The customer wants to talk to a person."""
    return "a person will call"


def provider_of(name: str) -> DecisionProvider:
    """The provider that was asked for."""
    if name == "faux":
        from decidable.testing.systemone import FauxSystemOne

        return FauxSystemOne().provider()
    if name.startswith("http"):
        return systemone_provider(name)
    return connect(name)  # type: ignore[return-value]  # the names in the docstring are those of decision models


def main(name: str = "faux") -> None:
    provider = provider_of(name)
    judge = judge_from_provider(provider)
    runtime = Runtime(provider)
    options = {"start_refund": start_refund, "file_bug": file_bug, "call_a_person": call_a_person}
    for ticket in TICKETS:
        found = judge.ask(ticket, QUESTIONS)
        print(f"{ticket['subject']}: {ticket['text']}")
        for question, value in found.values.items():
            sure = found.sidecar.confidence[question]
            print(f"  {question:8} {value!s:14} confidence {sure:.2f} ({found.confidence_source[question]})")
        made = decision.decide("What should happen with this ticket?", options, state=ticket, runtime=runtime)
        print(f"  decided: {made.option} ({made.probability:.2f}) -> {made.result}\n")
    cost = "unknown" if found.cost_usd is None else f"{found.cost_usd:.6f} US dollars ({found.cost_basis})"
    print(f"asked {provider!r}; the last request cost: {cost}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:2])
    except DecisionProviderError as error:
        sys.exit(f"{error.code.value}: {error}")
    except UsageError as error:
        sys.exit(str(error))
