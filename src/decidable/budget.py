"""What a call may spend, everything that happens within it included: re-asks, samples, nested calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isfinite
from threading import Lock
from time import monotonic
from typing import Any

from decidable.ambient import Meter, current_scope, use_scope
from decidable.errors import ArgumentTypeError, BudgetExceeded, SettingError
from decidable.messages import Reply, Request, Usage

__all__ = ["Budget", "Spending", "meter_of", "use_budget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits on what a call may spend; what is None is not limited.

    A request is sent only while every limit has room. Tokens and price are known once a reply is there, so the last
    reply may go beyond its limit, and is used; no other request follows it.

    Attributes:
        requests: Requests that are sent, failed ones and retries included.
        input_tokens: Tokens of prompts.
        output_tokens: Tokens of replies.
        cost: US dollars.
        seconds: Wall-clock time.
        price: Says what a reply cost in US dollars, for providers that do not: called with the `Reply`.

    Raises:
        SettingError: A limit that is no positive number.
    """

    requests: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    price: Callable[[Reply], float | None] | None = None

    def __post_init__(self) -> None:
        """Check the limits."""
        for name in ("requests", "input_tokens", "output_tokens", "cost", "seconds"):
            value: Any = getattr(self, name)
            whole = name not in ("cost", "seconds")
            fits = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
            if value is not None and not (fits and isfinite(value) and value > 0):
                noun = "a whole number" if whole else "a number"
                raise SettingError(f"Budget({name}=...) is {noun} above 0, or None, not {value!r}")

    def begun(self, now: float) -> Spending:
        """A count that begins at zero, at this instant."""
        return Spending(self, now)


class Spending:
    """What has been spent of one budget so far; safe to share between threads.

    Attributes:
        budget: The limits.
        requests: Requests sent.
        usage: Tokens of the replies that said them.
        cost: US dollars of the replies whose price is known.
        until: Instant, on `time.monotonic`'s clock, at which the time is over; None without such a limit.
    """

    def __init__(self, budget: Budget, now: float) -> None:
        self.budget = budget
        self.requests = 0
        self.usage = Usage()
        self.cost = 0.0
        self.until = None if budget.seconds is None else now + budget.seconds
        self._unknown: set[str] = set()
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"Spending(requests={self.requests}, usage={self.usage}, cost={self.cost:g})"

    def admit(self, request: Request) -> None:
        """Count a request that is about to be sent.

        Raises:
            BudgetExceeded: A limit is reached.
        """
        budget = self.budget
        with self._lock:
            spent = (
                ("requests", budget.requests, self.requests),
                ("input_tokens", budget.input_tokens, self.usage.input_tokens),
                ("output_tokens", budget.output_tokens, self.usage.output_tokens),
                ("cost", budget.cost, self.cost),
            )
            for name, limit, value in spent:
                if limit is not None and value >= limit:
                    raise BudgetExceeded(name, limit, value)
                if limit is not None and name in self._unknown:
                    raise BudgetExceeded(name, limit, None)
            self.requests += 1

    def book(self, reply: Reply) -> None:
        """Count what a reply cost. One that does not say what is limited lets no other request follow."""
        price = self.budget.price
        cost = _priced(price, reply) if price is not None else reply.cost
        with self._lock:
            if reply.usage is not None:
                self.usage += reply.usage
            else:
                self._unknown |= {"input_tokens", "output_tokens"}
            if cost is not None:
                self.cost += cost
            else:
                self._unknown.add("cost")

    def out_of_time(self, instant: float) -> BudgetExceeded:
        """The error that says that the time is over at `instant`."""
        seconds = self.budget.seconds or 0.0
        return BudgetExceeded("seconds", seconds, seconds + instant - (self.until or instant))


def _priced(price: Callable[[Reply], float | None], reply: Reply) -> float | None:
    try:
        return price(reply)
    except Exception as error:
        error.add_note("in Budget(price=...)")
        raise


def meter_of(budget: Any, now: float) -> Meter:
    """`budget` as what counts for one call: a `Budget` begun now, or a `Meter` of the caller's own.

    Raises:
        ArgumentTypeError: It is neither.
    """
    if isinstance(budget, Budget):
        return budget.begun(now)
    if callable(getattr(budget, "admit", None)) and callable(getattr(budget, "book", None)):
        meter: Meter = budget
        return meter
    raise ArgumentTypeError(
        f"budget= takes a Budget, such as Budget(requests=10), or an object with admit and book, not {budget!r}"
    )


@contextmanager
def use_budget(budget: Budget) -> Iterator[Spending]:
    """One budget for everything within a ``with`` block; what it gives says how much is spent.

    Raises:
        BudgetExceeded: Within the block, from the call that would go beyond it.

    Example:
        >>> from decidable import Budget, decision, use_budget
        >>> from decidable.testing import pick, scripted
        >>> with use_budget(Budget(requests=5)) as spent:
        ...     decision.make("Go on?", ["yes", "no"], runtime=scripted(pick("yes")))
        'yes'
        >>> spent.requests
        1
    """
    if not isinstance(budget, Budget):
        raise ArgumentTypeError(f"use_budget takes a Budget, such as Budget(cost=0.5), not {budget!r}")
    spent, scope = budget.begun(monotonic()), current_scope()
    until = spent.until
    deadline = scope.deadline if until is None else until if scope.deadline is None else min(until, scope.deadline)
    with use_scope(replace(scope, deadline=deadline, meters=(*scope.meters, spent))):
        yield spent
