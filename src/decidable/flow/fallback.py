"""The next provider, when one does not decide."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from decidable.errors import (
    DecidableError,
    DecisionError,
    LLMError,
    LLMErrorReason,
    RefusedError,
    UnaskableError,
    Unsure,
    UsageError,
)
from decidable.flow.ask import Call
from decidable.flow.decide import Picked
from decidable.flow.effects import Flow
from decidable.flow.record import FallbackOn
from decidable.flow.record_parts import Fallback

__all__ = ["Leg", "first_to_answer", "first_to_decide"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True, eq=False)
class Leg:
    """One provider of a chain.

    Attributes:
        call: How it is asked.
        flow: Asks it.
    """

    call: Call
    flow: Flow[Any]


def first_to_decide(legs: Sequence[Leg], on: Collection[str], skipped: Sequence[Fallback] = ()) -> Flow[Picked]:
    """The choice of the first provider that makes one.

    Args:
        legs: The providers in order.
        on: Outcomes after which the next one is asked.
        skipped: Providers that could not be asked at all.

    Raises:
        DecisionError: The last one asked made no valid pick.
        LLMError: The last one asked failed. Notes on either say what the ones before ended in.
    """
    found: Picked
    found, before = yield from _first(legs, on, skipped)
    asked = len(before) - len(skipped) + 1
    calls = tuple(leg.call for leg in legs[:asked])
    if found.filling is not None:  # by a provider further down, whose call stays the last
        calls = (*calls, found.calls[-1])
    return replace(found, calls=calls, fallbacks=tuple(before))


def first_to_answer(legs: Sequence[Leg], on: Collection[str]) -> Flow[Any]:
    """What the first flow that ends well ends in; raises as `first_to_decide`."""
    return (yield from _first(legs, on, ()))[0]


def _first(legs: Sequence[Leg], on: Collection[str], skipped: Sequence[Fallback]) -> Flow[tuple[Any, list[Fallback]]]:
    failed = list(skipped)
    for leg in legs:
        try:
            return (yield from leg.flow), failed
        except (LLMError, DecisionError, UnaskableError) as error:
            reason = _reason(error)
            if leg is legs[-1] or reason not in (*on, "unaskable") or _too_late(error, leg.call):
                _note(error, failed)
                if isinstance(error, Unsure):
                    error.fallbacks = tuple(failed)
                raise
            failed.append(Fallback(leg.call.provider.name, reason, error))
        except UsageError as error:  # a mistake in the program must not hide what made it show
            _note(error, failed)
            raise
    raise UnaskableError("there is no provider to ask")  # pragma: no cover - a chain has at least one


def _note(error: DecidableError, failed: Sequence[Fallback]) -> None:
    for earlier in failed:
        asked = "could not be asked" if earlier.reason == "unaskable" else "was asked"
        error.add_note(f"before that, {earlier.provider} {asked}: {earlier.error}")


def _reason(error: DecidableError) -> FallbackOn:
    if isinstance(error, Unsure):
        return "unsure"
    if isinstance(error, RefusedError):
        return "refusal"
    if isinstance(error, UnaskableError):
        return "unaskable"
    if isinstance(error, LLMError):
        return "refusal" if error.reason is LLMErrorReason.POLICY else "failure"
    return "exhausted"


def _too_late(error: DecidableError, call: Call) -> bool:
    """Whether no time is left for another provider."""
    return isinstance(error, LLMError) and error.reason is LLMErrorReason.TIMEOUT and call.deadline is not None
