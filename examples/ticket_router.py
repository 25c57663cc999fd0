"""Route customer messages with a real model on this machine: no key, no network. Run by `make demo`.

Each message goes through one agentic function. Its options are functions (one with an argument from a closed list)
and plain values; what the model picks is what happens.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
import time

from decidable import Decision, Runtime, agentic_function, decision

MESSAGES = [
    "I was charged twice for my October invoice, please send one payment back.",
    "The mug arrived in pieces, I would like my money back.",
    "You took 49 euros from my card but I cancelled in August. I want that returned.",
    "The tracking page has said 'in transit' for nine days now.",
    "Where is my parcel? It should have been here on Friday.",
    "Has my order left the warehouse yet?",
    "I forgot my password and the reset mail never comes.",
    "The text message with the six digits does not arrive, so I cannot log in.",
    "My account is locked after three wrong tries.",
    "Every time I press Export the app closes at once on Android 14.",
    "The dashboard shows a white page and the console says 500.",
    "Since yesterday's update my notes no longer sync between phone and laptop.",
    "My colleague left the company, how do I take away her admin rights?",
    "Please erase everything you hold about me and close my profile.",
    "What would you charge for sixty seats, compared to the small plan?",
    "Do you offer a discount for schools? We would like a quote.",
    "Could someone show us the product on a call before we buy?",
    "Thanks, that solved it. Have a nice weekend!",
    "Great, it works now, thank you so much for the quick help.",
    "Congratulations! You have won a 1000 dollar gift card, click here to claim your prize.",
    "We can bring your website to page one of every search engine, cheap backlinks!",
    "I need a VAT receipt for the last three months for our bookkeeping.",
]


def start_refund() -> str:
    """The customer wants money back: charged twice, charged wrongly, or the goods arrived broken."""
    return "refund opened"


def track_parcel() -> str:
    """Where is the parcel: delivery is late, tracking does not move, has the order been shipped."""
    return "tracking link sent"


def send_login_link() -> str:
    """The customer cannot log in: forgotten password, missing code, locked account."""
    return "login link sent"


@agentic_function(
    input={
        "area": {
            "description": "Which part does not work?",
            "options": {
                "app": "The app crashes, closes or freezes on a phone.",
                "website": "A page of the site is blank, slow, or shows an error code.",
                "sync": "Data is missing or does not sync between devices.",
            },
        }
    }
)
def report_bug(area: str) -> str:
    """Something in the product does not work: a crash, an error, a blank page, data that does not sync."""
    return f"bug filed for {area}"


@agentic_function(
    input={
        "task": {
            "description": "What is to be done?",
            "options": {
                "access": "Take away or give somebody's rights, roles and permissions.",
                "erase": "Delete the profile and all personal data.",
                "receipt": "Send an invoice, a receipt or another document for bookkeeping.",
            },
        }
    }
)
def manage_account(task: str) -> str:
    """Change the account: admin rights and permissions, delete a profile and data, get a receipt for bookkeeping."""
    return f"account task: {task}"


def call_back() -> str:
    """A question before buying: prices per seat, quotes, discounts, comparing plans, a demo of the product."""
    return "sales will call back"


@agentic_function
def route(message: str) -> Decision[str]:
    """Decide what happens with one customer message."""
    return decision.decide(
        "What should happen with this customer message?",
        {
            "start_refund": start_refund,
            "track_parcel": track_parcel,
            "send_login_link": send_login_link,
            "report_bug": report_bug,
            "manage_account": manage_account,
            "call_back": call_back,
            "close": ("CLOSED", "The customer says thanks, everything is solved, nothing more to do."),
            "spam": ("DELETED", "Advertising, prizes, offers to promote a website; not from a customer."),
        },
        state=message,
    )


def main(model: str = "local") -> None:
    width = max(min(shutil.get_terminal_size((110, 24)).columns, 130) - 54, 30)
    print(f"{'message':<{width}}  {'decided':<16} {'score':>5}  what ran")
    print("-" * (width + 50))
    started = time.perf_counter()
    with Runtime(model) as rt:
        for message in MESSAGES:
            made = route(message, runtime=rt)
            score = "" if made.probability is None else f"{made.probability:.2f}"
            shown = textwrap.shorten(message, width, placeholder="...")
            print(f"{shown:<{width}}  {made.option:<16} {score:>5}  {made.result}")
    seconds = time.perf_counter() - started
    print(f"\n{len(MESSAGES)} messages in {seconds:.1f} s, model and all, by {rt.provider!r}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
