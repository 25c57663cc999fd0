"""The one task that everything here is timed on: a support ticket, N queues, a model that costs nothing.

Imports only the standard library, because each peer runs it in a virtual environment of its own.
"""

from __future__ import annotations

import json
from typing import Any

TICKET = (
    "Hello, I was charged twice for my October invoice (INV-20391). My bank shows two debits of 49.00 EUR on the 3rd. "
    "I restarted the app and logged in again, and the billing page still shows a single payment. Could you refund the "
    "second one? I would also like to know whether this can happen again next month. Thanks, Ana"
)
ANSWER = "billing"
_QUEUES = [
    ("billing", "Charges, invoices, refunds, payment methods and questions about subscription prices."),
    ("technical", "Something in the product does not work: errors, crashes, slow pages, sync."),
    ("account", "Login, password, profile data, permissions, deleting or merging accounts."),
]

Queues = list[tuple[str, str]]


def queues(count: int) -> Queues:
    """Queues as (name, description): three real ones, then filler of the same length."""
    filler = [
        (f"queue_{i:03d}", f"Overflow queue number {i:03d} for tickets that fit no other description here.")
        for i in range(3, count)
    ]
    return _QUEUES[:count] + filler


def prompt_text(options: Queues, key: str = "choice") -> str:
    """The prompt that the floor and every peer send; it is built per decision."""
    menu = "\n".join([f"- {name}: {about}" for name, about in options])
    return (
        f"Choose exactly one option for the ticket.\n\nTicket:\n{TICKET}\n\nOptions:\n{menu}\n\n"
        f'Answer with JSON: {{"{key}": "<option name>"}}'
    )


class Script:
    """A model's replies: always the good one, or a bad one (a name off the menu) before each good one."""

    def __init__(self, *, bad_first: bool = False, key: str = "choice") -> None:
        names = ("refunds", ANSWER) if bad_first else (ANSWER,)
        self.replies = [json.dumps({key: name}) for name in names]
        self.calls = 0

    def next(self) -> str:
        """The reply to one request."""
        reply = self.replies[self.calls % len(self.replies)]
        self.calls += 1
        return reply


def floor(options: Queues, script: Script) -> str:
    """The least that a decision costs: build the prompt, decode the reply, look the name up; on a bad name, again."""
    index = dict(options)
    prompt = prompt_text(options)
    while True:
        name: str = json.loads(script.next())["choice"]
        if name in index:
            return name
        prompt += f"\nYour answer was not valid: choose one of {', '.join(index)}"


_SENTENCE = (
    'Looking at the ticket, the phrase "charged twice" {see note} suggests a payment problem; the customer\'s wording '
    "isn't conclusive, so let me weigh the other queues [1] as well.\n"
)
_PLAIN = _SENTENCE.translate(str.maketrans("", "", '{}[]"'))


def long_replies(key: str) -> dict[str, str]:
    """100 kB replies with one pick in each, in three shapes."""

    def fenced(**more: str) -> str:
        return "\n```json\n" + json.dumps({key: ANSWER, **more}, indent=2) + "\n```\n"

    def prose(sentence: str) -> str:
        return sentence * (98_000 // len(sentence)) + "\nSo my final answer is:\n" + fenced() + "\n" + _PLAIN * 10

    return {
        "plain prose": prose(_PLAIN),
        "stray braces": prose(_SENTENCE),
        "JSON in prose": _SENTENCE * 8 + fenced(reason="The invoice was debited twice. " * 3_150) + _SENTENCE * 2,
    }


def hostile(size: int) -> dict[str, str]:
    """Text of about `size` characters that makes careless readers quadratic."""
    units = {
        "open braces": "{",
        "open keys": '{"a":',
        "quotes in braces": '{"',
        "spaced braces": "{ ",
        "bare keys": "{a:",
        "brackets": "[{",
        "fences": "```\n",
        "reasoning": "<think>",
        "nested calls": '{"a":{"call":',
        "comments": "{/*",
        "typographic quotes": "{“",
    }
    shapes = {name: unit * (size // len(unit)) for name, unit in units.items()}
    shapes["unclosed string"] = '{"call": "billing, ' + "frag, 'x', " * (size // 11)
    shapes["backslashes"] = '{"a": "' + "\\\\" * (size // 2)
    shapes["inner quotes"] = '{"a": "' + 'x" y ' * (size // 5)
    return shapes


ROUNDS = 10
"""Rounds of the tool loop: a reply that calls `lookup` once, its result, and so on; then a reply in words."""


def lookup(order: str) -> str:
    """Find an order."""
    return order


def floor_of_tools() -> int:
    """The least that ten rounds cost: arguments decoded, the tool looked up and run, the result encoded and kept."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "?"}]
    tools = {"lookup": lookup}
    for turn in range(ROUNDS):
        arguments = json.loads(f'{{"order": "A-{turn}"}}')
        result = tools["lookup"](**arguments)
        messages += [{"role": "assistant", "tool_calls": [arguments]}, {"role": "tool", "content": json.dumps(result)}]
    return len(messages)
