"""From a reply's text to the one pick it makes, or a typed reason why it makes none.

Rules: valid JSON is never mended; a mend loses nothing; nothing is invented; one pick, or none. A reply that is nothing
but its pick is read here; `search` is for all others, and imported when one comes.
"""

from __future__ import annotations

from typing import Any

from decidable.attempt import Failure, FailureKind, Pick, Repair
from decidable.menu import Menu
from decidable.messages import StopReason
from decidable.reading.failures import declined, nothing
from decidable.reading.keys import call_key
from decidable.reading.shapes import Found, picks_of
from decidable.reading.strict import decode_whole

__all__ = ["read", "read_json"]


def read(text: str, menu: Menu, *, stop: StopReason | None = None, repair: Repair = "syntax") -> Pick | Failure:
    """The pick that a reply makes.

    Args:
        text: The reply's text.
        menu: What may be picked; only `lossless` needs the names.
        stop: Why the model stopped, if known.
        repair: ``"none"`` reads strict JSON only; ``"syntax"`` mends what surrounds and delimits values;
            ``"lossless"`` also reads bare names and other call notations.

    Returns:
        A `Pick`, or a `Failure` of kind ``empty``, ``no_action``, ``ambiguous``, ``truncated`` or ``refusal``. Never
        raises on any text. Takes time linear in its length.
    """
    if stop in ("refusal", "content_filter"):
        return declined(text)
    stripped = text.strip()
    if not stripped:
        return nothing(stop, FailureKind.EMPTY, "the reply is empty")
    whole = _whole(stripped, repair)
    if whole is not None and (repair != "none" or call_key(whole) is not None):
        picks = picks_of(Found(whole, 0, len(stripped)), menu.index)
        if len(picks) == 1:
            return picks[0]
        if picks:
            from decidable.reading.search import chosen

            return chosen(picks, stripped, menu)
    if repair == "none":
        return nothing(stop, FailureKind.NO_ACTION, "the reply is not one JSON object with a 'call'")
    from decidable.reading.search import searched  # its patterns cost 8 ms, which many a program never needs

    return searched(stripped, menu, stop, repair, is_json=whole is not None)


def read_json(text: str, *, stop: StopReason | None = None, repair: Repair = "syntax") -> Any:
    """The JSON object or array that a reply ends in, for a reply without a menu; a `Failure` if there is none."""
    if stop in ("refusal", "content_filter"):
        return declined(text)
    stripped = text.strip()
    if not stripped:
        return nothing(stop, FailureKind.EMPTY, "the reply is empty")
    if repair != "none":
        stripped = stripped.removeprefix("\ufeff").lstrip()
    try:
        return decode_whole(stripped)
    except ValueError:
        pass
    if repair == "none":
        return nothing(stop, FailureKind.NO_ACTION, "the reply is not JSON")
    from decidable.reading.search import searched_json

    return searched_json(stripped, stop)


def _whole(text: str, repair: Repair) -> Any:
    """The value of a reply that is nothing but JSON, else None."""
    if text[0] == "\ufeff" and repair != "none":
        text = text[1:]
    if text[:1] not in ("{", "[", '"'):
        return None
    try:
        value = decode_whole(text)
        if isinstance(value, str) and repair == "lossless":
            value = decode_whole(value.strip())
    except ValueError:
        return None
    if repair == "none":
        return value if isinstance(value, dict) else None
    return value if isinstance(value, (dict, list)) else None
