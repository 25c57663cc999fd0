"""Triage support tickets: a decision model decides where it is sure, and a person everywhere else.

It asks a service in this process that makes its answers up, so it runs without key or network; what it prints shows the
form, not judgment. Name a real one to have that: ``python examples/triage_with_unsure.py jev``.
"""

from __future__ import annotations

import sys

from decidable import Exit, Person, PersonQuestion, cascade, connect, decision
from decidable.testing.systemone import FauxSystemOne

TICKETS = [
    "I was charged twice in October. Please send one payment back.",
    "Every time I press Export the app closes at once.",
    "Third message. Nobody answers. I want to talk to a person, now!",
    "Do you have a recipe for lemon cake?",
]

TEAMS = {
    "billing": ("billing", "Charges, invoices, refunds and prices."),
    "technical": ("technical", "A bug, an error, a crash or a feature which does not work."),
    "account": ("account", "Login, password, profile data, permissions."),
}


def ask_somebody(question: PersonQuestion) -> str:
    """Stands for a person at a screen, who takes what nobody is sure of."""
    return "none_of_these" if "cake" in str(question.state) else next(iter(question.options))


def main() -> None:
    model = connect(sys.argv[1]) if len(sys.argv) > 1 else FauxSystemOne().provider()
    runtime = cascade([model, Person(ask_somebody)], threshold=0.45)
    for ticket in TICKETS:
        made = decision.decide("Which team should answer?", TEAMS, state=ticket, none_of_these=True, runtime=runtime)
        team = "nobody" if made.result is Exit.NONE_OF_THESE else made.result
        print(f"{team:10} decided by {made.provider:9} {ticket[:48]}")


if __name__ == "__main__":
    main()
