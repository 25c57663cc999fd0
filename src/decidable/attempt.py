"""What a reply said (`Pick`), why it did not hold (`Failure`), and the record kept of that (`Attempt`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from decidable.messages import Reply

__all__ = ["Attempt", "Failure", "FailureKind", "Origin", "Pick", "Repair"]

Origin: TypeAlias = Literal["model", "logprobs", "votes", "none"]
"""Where probabilities come from: a decision model, token log-probabilities, votes, or nowhere."""

Repair: TypeAlias = Literal["none", "syntax", "lossless"]
"""How much a reply may be mended: strict JSON only; its syntax; also values, where nothing is lost."""


class FailureKind(StrEnum):
    """Why a reply gave no valid choice."""

    EMPTY = "empty"
    """The reply holds no text."""
    NO_ACTION = "no_action"
    """There is text, but no pick in it."""
    AMBIGUOUS = "ambiguous"
    """Several different picks, and none is the conclusion."""
    TRUNCATED = "truncated"
    """The reply was cut off before its pick was complete."""
    REFUSAL = "refusal"
    """The model declined."""
    UNKNOWN_CALL = "unknown_call"
    """A pick that is not on the menu."""
    BAD_ARGS = "bad_args"
    """Arguments that are not an object, a copied placeholder, or an unreadable value."""
    MISSING_REQUIRED = "missing_required"
    """A required argument was left out."""
    TYPE_MISMATCH = "type_mismatch"
    """An argument of the wrong type."""
    ENUM_VIOLATION = "enum_violation"
    """An argument outside its allowed values."""
    INCONSISTENT_ANSWER = "inconsistent_answer"
    """A decision model's answer that contradicts itself or its question."""
    UNSURE = "unsure"
    """Too close to call."""
    DENIED = "denied"
    """The person who was asked did not allow it."""
    RETRY = "retry"
    """The function that was picked raised `ModelRetry`."""


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """A reply that cannot be acted on, and what to tell the model about it."""

    kind: FailureKind
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Pick:
    """What a reply says, before anything is checked against the menu.

    Attributes:
        name: The option's name as written.
        arguments: The arguments as written; an object when the reply is in order.
        repairs: What was mended to read it, in order.
        start: Where the pick begins in the reply's text, counted without the space around it.
        end: Where it ends.
        beside: Keys that stood next to the name, which `lossless` may read as arguments.
    """

    name: str
    arguments: Any
    repairs: tuple[str, ...] = ()
    start: int = 0
    end: int = 0
    beside: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """One reply that did not hold.

    Attributes:
        reply: The reply as it came.
        kind: The failure kind.
        message: What the model was told about it.
    """

    reply: Reply
    kind: FailureKind
    message: str
