"""Ask a provider once, with transport retries: the exec flow's inner step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from decidable.ambient import Meter
from decidable.errors import LLMError, LLMErrorReason
from decidable.flow.effects import Draw, Flow, Now, Send, Wait
from decidable.messages import Reply, Request, Usage
from decidable.providers.protocol import Provider

if TYPE_CHECKING:
    from decidable.cancelling import CancelToken

__all__ = ["Call", "RetryInfo", "admitted", "ask", "blame_budget", "out_of_time"]

BASE_DELAY_S = 1.5
"""First wait before a transport retry; doubled each time."""
JITTER = 0.25
"""A wait is spread by this share, up and down; after the provider named a time, upward only."""
LONGEST_DELAY_S = 60.0
"""A wait that the provider did not ask for is never longer."""


@dataclass(frozen=True, slots=True, eq=False)
class RetryInfo:
    """What `on_retry` is told before the wait.

    Attributes:
        kind: ``"transport"`` before a transport retry, ``"re_ask"`` before the model is asked again for a valid pick.
        attempt: Which retry this is, from 1.
        wait_s: Seconds until it, 0 for a re-ask.
        error: The provider's error, or None for a re-ask.
        problem: What was wrong, in words.
    """

    kind: str
    attempt: int
    wait_s: float
    error: LLMError | None
    problem: str


@dataclass(slots=True, eq=False)
class Call:
    """How one call is carried out, and what it has spent so far, re-asks included.

    Attributes:
        provider: Who is asked.
        max_retries: Transport retries per request.
        deadline: Instant after which nothing is started any more, or None.
        on_retry: Told before each retry; what it raises is logged and ignored.
        meters: Asked before and told after each request.
        started: Instant at which the call began.
        cancel: Calls it off.
        requests: Replies so far.
        usage: Their tokens; None while unknown.
        cost: Their price in US dollars; None while unknown, never 0 for unknown.
    """

    provider: Provider
    max_retries: int = 6
    deadline: float | None = None
    on_retry: Callable[[RetryInfo], None] | None = None
    meters: tuple[Meter, ...] = ()
    started: float = 0.0
    cancel: CancelToken | None = None
    requests: int = 0
    usage: Usage | None = None
    cost: float | None = None

    def add(self, reply: Reply) -> None:
        """Count one reply."""
        self.requests += 1
        if reply.usage is not None:
            self.usage = reply.usage if self.usage is None else self.usage + reply.usage
        if reply.cost is not None:
            self.cost = reply.cost if self.cost is None else self.cost + reply.cost

    def notify(self, info: RetryInfo, retries: int | None = None) -> None:
        """Tell the caller about a retry; without anybody to tell, a wait is worth a line in the log.

        Args:
            info: What there is to say.
            retries: How many there may be, where it is not `max_retries`.
        """
        if self.on_retry is None:
            if info.kind == "transport":
                import logging

                logging.getLogger("decidable").warning(
                    "%s; retry %d of %d in %.1f s",
                    info.problem,
                    info.attempt,
                    self.max_retries if retries is None else retries,
                    info.wait_s,
                )
            return
        try:
            self.on_retry(info)
        except Exception:
            import logging

            logging.getLogger("decidable").exception("on_retry raised; the retry goes on")


def ask(call: Call, request: Request, purpose: str = "model_call") -> Flow[Reply]:
    """One reply to `request`.

    Permanent errors are not retried; neither is anything but an `LLMError`, which is a mistake in the program. A wait
    that would cross the deadline is not begun.

    Raises:
        LLMError: The last one, with `attempts` and `elapsed_s`; or of reason ``timeout`` at the deadline.
        BudgetExceeded: A budget has no room for another request.
    """
    patience = call.provider.capabilities.patience
    if patience is not None:
        from decidable.flow.patience import ask_patiently  # only decision providers say how patient to be

        return (yield from ask_patiently(call, patience, request, purpose))
    failures = 0
    while True:
        if call.meters:
            yield from admitted(call, request)
        try:
            reply: Reply = yield Send(call.provider, request, call.deadline, purpose)
        except LLMError as error:
            failures += 1
            now: float = yield Now()
            error.attempts, error.elapsed_s = failures, now - call.started
            if error.reason is LLMErrorReason.TIMEOUT:
                blame_budget(call, now, error)
            if not error.retryable or failures > call.max_retries:
                if failures > 1:
                    error.add_note(f"after {failures} attempts in {error.elapsed_s:.1f} s")
                raise
            chance: float = yield Draw()
            seconds = _delay(failures, error.retry_after_s, chance)
            if call.deadline is not None and now + seconds >= call.deadline:
                blame_budget(call, now + seconds, error)
                raise _timeout(error, seconds) from error
            info = RetryInfo("transport", failures, seconds, error, str(error))
            yield Wait(seconds, partial(call.notify, info))
            continue
        call.add(reply)
        for meter in call.meters:
            meter.book(reply)
        return reply


def admitted(call: Call, request: Request) -> Flow[None]:
    """Ask everything that counts whether a request may be sent."""
    if any(_until(meter) is not None for meter in call.meters):
        blame_budget(call, (yield Now()), None)
    for meter in call.meters:
        meter.admit(request)


def blame_budget(call: Call, instant: float, error: LLMError | None) -> None:
    """Raise if it is a budget of time that is over at this instant: the deadline is only how it is kept."""
    for meter in call.meters:
        until = _until(meter)
        if until is not None and instant >= until:
            raise meter.out_of_time(instant) from error  # type: ignore[attr-defined]  # what has an end of time says so


def out_of_time(call: Call, when: str) -> Flow[LLMError]:
    """The error that says that the deadline passed; a budget of time raises its own."""
    now: float = yield Now()
    blame_budget(call, now, None)
    model = call.provider.model
    late = LLMError(
        f"the time given was over {when}", reason=LLMErrorReason.TIMEOUT, provider=call.provider.name, model=model
    )
    late.elapsed_s = now - call.started
    return late


def _until(meter: Any) -> float | None:
    until: float | None = getattr(meter, "until", None)
    return until


def _delay(failures: int, retry_after: float | None, chance: float) -> float:
    """Seconds before retry number `failures`."""
    plain: float = min(BASE_DELAY_S * 2.0 ** (failures - 1), LONGEST_DELAY_S)
    delay = plain * (1 - JITTER + 2 * JITTER * chance)
    if retry_after is None:
        return delay
    return max(delay, retry_after * (1 + JITTER * chance))


def _timeout(error: LLMError, seconds: float) -> LLMError:
    late = LLMError(
        f"the time given ends before the next attempt, {seconds:.1f} s away (last problem: {error})",
        reason=LLMErrorReason.TIMEOUT,
        provider=error.provider,
        model=error.model,
        http_status=error.http_status,
    )
    late.attempts, late.elapsed_s = error.attempts, error.elapsed_s
    return late
