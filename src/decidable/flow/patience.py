"""Ask a decision provider: as often as is safe, within its time, and with every attempt on record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from decidable.cancelling import AbortedError
from decidable.errors import DecisionProviderError, LLMError, LLMErrorReason, ProviderErrorCode
from decidable.flow.ask import Call, RetryInfo, admitted, blame_budget
from decidable.flow.effects import Flow, Now, Send, Wait
from decidable.messages import Reply, Request
from decidable.providers.protocol import DecisionProvider, Patience
from decidable.questions.types import ProviderAttempt

__all__ = ["ask_patiently"]


def ask_patiently(call: Call, patience: Patience, request: Request, purpose: str) -> Flow[Reply]:
    """One reply to `request`.

    What may be sent again, the provider's error says. A wait that would cross the deadline is not begun.

    Raises:
        DecisionProviderError: The last one, with every attempt.
        BudgetExceeded: A budget has no room for another request.
    """
    begun: float = yield Now()
    deadline = _ends(call, patience, begun)
    most = min(patience.max_attempts, call.max_retries + 1)
    tries: tuple[ProviderAttempt, ...] = ()
    failures = 0
    while True:
        asked_at = yield from _still_wanted(call, deadline, tries)
        yield from admitted(call, request)
        try:
            reply: Reply = yield Send(call.provider, request, deadline, purpose, call.cancel)
        except (LLMError, AbortedError) as error:
            now: float = yield Now()
            failed = _settled(call, error, now - asked_at)
            tries += _numbered(failed.provider_attempts, len(tries))
            failures += 1
            _told(failed, tries, now - call.started)
            if deadline is not None and now >= deadline:
                blame_budget(call, now, failed)
            if not failed.retryable or failures >= most:
                raise failed from error.__cause__
            seconds = failed.retry_after_s
            if seconds is None:
                seconds = min(patience.longest_delay_s, patience.base_delay_s * 2.0 ** (failures - 1))
            if deadline is not None and now + seconds >= deadline:
                blame_budget(call, now + seconds, failed)
                raise _out_of_time(failed, seconds) from failed
            info = RetryInfo("transport", failures, seconds, failed, str(failed))
            try:
                yield Wait(seconds, partial(call.notify, info, most - 1), call.cancel)
            except AbortedError:
                raise _told(_aborted(call), tries, now - call.started) from None
            continue
        call.add(reply)
        for meter in call.meters:
            meter.book(reply)
        return _with_attempts(reply, tries)


def _ends(call: Call, patience: Patience, begun: float) -> float | None:
    """The instant at which nobody waits any more: the provider's own, or the caller's nearer one."""
    own = None if patience.timeout_s is None else begun + patience.timeout_s
    if own is None or (call.deadline is not None and call.deadline < own):
        return call.deadline
    return own


def _still_wanted(call: Call, deadline: float | None, tries: Sequence[ProviderAttempt]) -> Flow[float]:
    """This instant; raises if nobody waits for an answer any more, so that none is asked for."""
    now: float = yield Now()
    if call.cancel is not None and call.cancel.is_cancelled:
        raise _told(_aborted(call), tries, now - call.started)
    if deadline is not None and now >= deadline:
        blame_budget(call, now, None)
        raise _told(_too_late(call), tries, now - call.started)
    return now


def _aborted(call: Call) -> DecisionProviderError:
    return _unasked(call, "the caller cancelled it", ProviderErrorCode.ABORTED)


def _too_late(call: Call) -> DecisionProviderError:
    return _unasked(call, "the time given was over before", ProviderErrorCode.TIMEOUT)


def _unasked(call: Call, why: str, code: ProviderErrorCode) -> DecisionProviderError:
    provider = call.provider
    return DecisionProviderError(
        f"{provider.name} was not asked: {why}", code=code, provider=provider.name, model=provider.model, sent=False
    )


def _settled(call: Call, error: LLMError | AbortedError, elapsed_s: float) -> DecisionProviderError:
    """The provider's own error for what ended a request, also where the driver ended it."""
    if isinstance(error, DecisionProviderError):
        return error
    provider = call.provider
    late = isinstance(error, LLMError) and error.reason is LLMErrorReason.TIMEOUT
    if isinstance(error, AbortedError) and not error.in_flight:
        return _aborted(call)
    if late and isinstance(error, LLMError) and error.sent is False:
        return _too_late(call)
    if isinstance(provider, DecisionProvider) and (late or isinstance(error, AbortedError)):
        return provider.lost(late, elapsed_s)
    code = ProviderErrorCode.ABORTED if isinstance(error, AbortedError) else ProviderErrorCode.OUTCOME_UNKNOWN
    return DecisionProviderError(f"{provider.name}: {error}", code=code, cost_basis="unknown", provider=provider.name)


def _numbered(attempts: Sequence[ProviderAttempt], before: int) -> tuple[ProviderAttempt, ...]:
    return tuple(replace(attempt, number=before + place) for place, attempt in enumerate(attempts, 1))


def _told(error: DecisionProviderError, tries: Sequence[ProviderAttempt], elapsed: float) -> DecisionProviderError:
    error.provider_attempts, error.attempts, error.elapsed_s = tuple(tries), len(tries), elapsed
    return error


def _out_of_time(error: DecisionProviderError, seconds: float) -> DecisionProviderError:
    late = DecisionProviderError(
        f"the time given ends before the next attempt, {seconds:.1f} s away (last problem: {error})",
        code=ProviderErrorCode.TIMEOUT,
        http_status=error.http_status,
        retry_after_s=error.retry_after_s,
        provider=error.provider,
        model=error.model,
        sent=False,
    )
    return _told(late, error.provider_attempts, error.elapsed_s)


def _with_attempts(reply: Reply, before: Sequence[ProviderAttempt]) -> Reply:
    """`reply`, with the attempts that failed before it."""
    if not before or reply.provenance is None:
        return reply
    attempts: Any = (*before, *_numbered(reply.provenance.attempts, len(before)))
    return replace(reply, provenance=replace(reply.provenance, attempts=attempts))
