"""Decisions within decisions: an option may be an agentic function, which decides again with the same runtime.

The inner function has a system instruction of its own, which no other call sees. The model is a script.
"""

from __future__ import annotations

from decidable import agentic_function, decision, trace
from decidable.testing import pick, scripted


@agentic_function(system="You settle billing questions. Never promise a date.")
def billing(question: str) -> str:
    """Anything about money: invoices, charges, refunds."""
    return decision.make(
        f"Answer this billing question: {question}",
        {
            "explain": ("We explained the charge.", "The charge is right and needs explaining."),
            "correct": ("We corrected the invoice.", "The charge is wrong."),
        },
    )


def technical(symptom: str, urgent: bool = False) -> str:
    """Something does not work."""
    return f"ticket for {symptom!r}" + (", urgent" if urgent else "")


@agentic_function
def front_desk(message: str) -> str:
    """Decide who takes a message."""
    return decision.make(f"Who takes this message?\n\n{message}", [billing, technical])


def main() -> str:
    model = scripted(pick("billing", question="Why 49 euros?"), pick("correct"))
    with model, trace() as recorded:
        answer = front_desk("You billed me 49 euros, my plan costs 9.", runtime=model)
    print(answer)
    print(recorded)
    for seen in model.requests:
        print(f"system instruction: {seen.system!r}")
    return answer


if __name__ == "__main__":
    main()
