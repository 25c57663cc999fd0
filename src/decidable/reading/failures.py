"""What is said of a reply in which no pick was found."""

from __future__ import annotations

from decidable.attempt import Failure, FailureKind
from decidable.messages import StopReason

__all__ = ["declined", "head", "nothing", "truncated"]


def declined(text: str) -> Failure:
    """The provider says that the model declined."""
    return Failure(FailureKind.REFUSAL, "the model declined to answer" + (f": {head(text)}" if text else ""))


def truncated() -> Failure:
    """The reply was cut off."""
    return Failure(
        FailureKind.TRUNCATED, "the reply was cut off before its JSON was complete; answer with the JSON only"
    )


def nothing(stop: StopReason | None, kind: FailureKind, message: str) -> Failure:
    """Nothing to read; whatever else is wrong, a reply that hit its limit was cut off."""
    return truncated() if stop == "length" else Failure(kind, message)


def head(text: str, limit: int = 200) -> str:
    """The beginning of `text`, on one line."""
    text = " ".join(text[: limit * 2].split())
    return text if len(text) <= limit else text[: limit - 3] + "..."
