"""`outcome_of`: what a function came to, or what it hands over to a person, as a value."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from decidable.errors import (
    DecidableError,
    DecisionProviderError,
    Escalation,
    ProviderErrorCode,
    RefusedError,
    Unsure,
)

__all__ = ["Complete", "Escalated", "Outcome", "async_outcome_of", "outcome_of"]

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Complete(Generic[R]):
    """A function ended.

    Attributes:
        value: What it gave.
    """

    value: R


@dataclass(frozen=True, slots=True)
class Escalated:
    """A function came to where a person must go on.

    Attributes:
        kind: ``"decision_refused"``, ``"decision_interrupted"``, ``"unsure"``, or what the program gave `Escalation`.
        summary: Why, in words.
        state: What the program gave `Escalation` to be seen.
        details: By kind: ``refused`` and ``receipt_id``; ``receipt_id``, ``cost_usd`` and ``cost_basis``;
            ``option`` and ``probabilities``.
        error: What was raised.
    """

    kind: str
    summary: str
    state: Any = None
    details: Mapping[str, Any] = field(default_factory=dict)
    error: DecidableError | None = None


Outcome: TypeAlias = Complete[R] | Escalated


def outcome_of(function: Callable[..., R], *args: Any, **kwargs: Any) -> Outcome[R]:
    """What ``function(*args, **kwargs)`` comes to.

    A model that declined, a paid question of which nobody knows whether it was answered, a pick that is not sure
    enough, and an `Escalation` that the program raised are outcomes: they come back as `Escalated`. Everything else
    that is raised is an error, and passes through.

    Example:
        >>> from decidable import Escalation, outcome_of
        >>> def handle(amount):
        ...     if amount > 100:
        ...         raise Escalation("large_refund", "A person must look at this.", state={"amount": amount})
        ...     return "refunded"
        >>> outcome_of(handle, 20)
        Complete(value='refunded')
        >>> outcome_of(handle, 900).kind
        'large_refund'
    """
    try:
        return Complete(function(*args, **kwargs))
    except DecidableError as error:
        escalated = _escalated(error)
        if escalated is None:
            raise
        return escalated


async def async_outcome_of(function: Callable[..., Coroutine[Any, Any, R]], *args: Any, **kwargs: Any) -> Outcome[R]:
    """`outcome_of` an async function."""
    try:
        return Complete(await function(*args, **kwargs))
    except DecidableError as error:
        escalated = _escalated(error)
        if escalated is None:
            raise
        return escalated


def _escalated(error: DecidableError) -> Escalated | None:
    if isinstance(error, Escalation):
        return Escalated(error.kind, error.summary, error.state, {}, error)
    if isinstance(error, RefusedError):
        details: dict[str, Any] = {"refused": error.refused, "receipt_id": error.receipt_id}
        return Escalated("decision_refused", str(error), None, details, error)
    if isinstance(error, DecisionProviderError) and error.code is ProviderErrorCode.OUTCOME_UNKNOWN:
        details = {"receipt_id": error.receipt_id, "cost_usd": error.cost_usd, "cost_basis": error.cost_basis}
        return Escalated("decision_interrupted", str(error), None, details, error)
    if isinstance(error, Unsure):
        details = {"option": error.option, "probabilities": error.probabilities}
        return Escalated("unsure", str(error), None, details, error)
    return None
