"""Work first, then decide: one turn that reasons about a ticket and must end by picking what happens next.

The model is a script, so that this runs without a key; pass a provider's name to use a real chat model.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from decidable import Runtime, agentic_function, runtime, trace
from decidable.testing import scripted

REASONED = """The order was delivered on Monday and the customer sent a photo of the broken handle.
Damage on arrival is covered for 30 days, so a refund is due.

{"call": "refund", "args": {"order_id": "A-17", "reason": "arrived broken"}}"""


def issue_refund(order_id: str, reason: str) -> dict[str, str]:
    """Give the money back for one order."""
    return {"status": "refunded", "order": order_id, "reason": reason}


def escalate_to_human(why: str) -> dict[str, str]:
    """Hand the ticket to a person."""
    return {"status": "escalated", "why": why}


@agentic_function(system="You work at the help desk of a shop for tableware.")
def handle_ticket(ticket: str) -> Any:
    """Read the ticket, think it through, then decide which flow it goes to."""
    return runtime.exec(
        f"Handle this ticket: {ticket}",
        choices={
            "refund": issue_refund,
            "escalate": escalate_to_human,
            "close": {"status": "closed"},
        },
    )


def main(model: str | None = None) -> Mapping[str, Any]:
    rt = Runtime(model) if model else scripted(REASONED)
    with rt, trace() as recorded:
        outcome: Mapping[str, Any] = handle_ticket("The mug of order A-17 came without its handle.", runtime=rt)
    print(outcome)
    print(recorded)
    return outcome


if __name__ == "__main__":
    main(*sys.argv[1:2])
