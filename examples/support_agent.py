"""A support agent: it looks things up with tools in a SQLite file, then decides: refund, escalate or close.

Refunds of 50 EUR and more wait for a person's word. The model is a script, so that this runs without a key; give a
provider's name to use a real one:

    python examples/support_agent.py openai:gpt-5.2
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import textwrap
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from decidable import ApprovalRequest, Budget, ModelRetry, Runtime, agentic_function, runtime, tool, trace
from decidable.testing import call_tool, call_tools, pick, scripted

SCHEMA = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE);
CREATE TABLE orders (id TEXT PRIMARY KEY, customer INTEGER, item TEXT, eur REAL, status TEXT, delivered TEXT);
CREATE TABLE tickets (id INTEGER PRIMARY KEY, email TEXT, message TEXT, outcome TEXT);
INSERT INTO customers VALUES (1, 'Mara Lind', 'mara@example.com'), (2, 'Jon Abel', 'jon@example.com');
INSERT INTO orders VALUES
    ('A-17', 1, 'mug', 12.5, 'delivered', '2026-11-24'),
    ('A-18', 1, 'tea set for six', 89.0, 'delivered', '2026-11-24'),
    ('B-02', 2, 'cast-iron pan', 64.0, 'in transit', NULL);
INSERT INTO tickets (email, message) VALUES
    ('mara@example.com', 'The tea set came with two broken cups, photo attached. I would like my money back.'),
    ('jon@example.com', 'My pan is nine days late. If it is not here tomorrow, my lawyer will write to you.'),
    ('mara@example.com', 'The mug is lovely, thank you!');
"""


class Shop:
    """The shop's database. Each method has a connection of its own: tools may run side by side, in threads."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """What a query gives."""
        with closing(sqlite3.connect(self.file)) as connection, connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query, values)]

    def find_customer(self, email: str) -> dict[str, Any]:
        """Who writes from an address."""
        found = self.rows("SELECT * FROM customers WHERE email = ?", email)
        if not found:
            raise ModelRetry(f"no customer has the address {email!r}; take it from the ticket, letter by letter")
        return found[0]

    def orders_of(self, customer: int) -> list[dict[str, Any]]:
        """All orders of a customer, by the customer's id."""
        return self.rows("SELECT * FROM orders WHERE customer = ?", customer)

    def refund(self, order: str, reason: str) -> dict[str, Any]:
        """Give the money back for one order."""
        eur = self.price(order)
        self.rows("UPDATE orders SET status = 'refunded' WHERE id = ?", order)
        return {"outcome": "refund", "order": order, "eur": eur, "reason": reason}

    def escalate(self, team: Literal["logistics", "legal"], why: str) -> dict[str, Any]:
        """Hand the ticket to a team of people."""
        return {"outcome": "escalate", "team": team, "why": why}

    def price(self, order: str) -> float:
        """What an order cost, in EUR; of an order that is none the model is told, and may correct itself."""
        found = self.rows("SELECT eur FROM orders WHERE id = ?", order)
        if not found:
            raise ModelRetry(f"there is no order {order!r}; orders_of lists the orders of a customer")
        return float(found[0]["eur"])


@agentic_function(system="You work at the help desk of a shop for tableware. Look things up before you decide.")
def handle_ticket(email: str, message: str, shop: Shop) -> Any:
    """Look up what the ticket is about, then decide what happens to it."""
    return runtime.exec(
        f"Handle this ticket of {email}: {message}",
        tools=[shop.find_customer, shop.orders_of],
        choices={
            "refund": tool(shop.refund, requires_approval=lambda arguments: shop.price(arguments["order"]) >= 50),
            "escalate": shop.escalate,
            "close": {"outcome": "close"},
        },
        budget=Budget(requests=8),
        approver=ask_manager,
    )


def ask_manager(request: ApprovalRequest) -> bool:
    """A person's word; here the manager always agrees."""
    print(f"  manager, may I {request.name} {dict(request.arguments)}? Yes.")
    return True


SCRIPT = (
    call_tool("find_customer", email="mara@example.com"),
    call_tool("orders_of", customer=1),
    pick("refund", order="A-18", reason="two cups of the set arrived broken"),
    call_tools(("find_customer", {"email": "jon@example.com"}), ("orders_of", {"customer": 2})),
    pick("escalate", team="logistics", why="B-02 is nine days late, and the customer speaks of a lawyer"),
    pick("close"),
)
"""What a model might do with the three tickets; the third needs nothing looked up."""


def main(model: str | None = None) -> list[Any]:
    """Handle all tickets; returns what became of each."""
    outcomes: list[Any] = []
    with tempfile.TemporaryDirectory() as folder, Runtime(model) if model else scripted(*SCRIPT) as rt:
        shop = Shop(Path(folder) / "shop.db")
        with closing(sqlite3.connect(shop.file)) as connection:
            connection.executescript(SCHEMA)
        for ticket in shop.rows("SELECT * FROM tickets"):
            print(ticket["message"])
            with trace() as recorded:
                outcome = handle_ticket(ticket["email"], ticket["message"], shop, runtime=rt)
            shop.rows("UPDATE tickets SET outcome = ? WHERE id = ?", outcome["outcome"], ticket["id"])
            print(textwrap.indent(f"{recorded}\n=> {outcome}\n", "  "))
            outcomes.append(outcome)
        for row in shop.rows("SELECT id, outcome FROM tickets"):
            print(row)
    return outcomes


if __name__ == "__main__":
    main(*sys.argv[1:2])
