"""From a reply's text to the one pick it makes, or a typed reason why it makes none.

Rules: valid JSON is never mended; a mend loses nothing; nothing is invented; one pick, or none.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from decidable.attempt import Failure, FailureKind, Pick, Repair
from decidable.menu import Menu
from decidable.messages import StopReason
from decidable.reading.dialects import dialect_picks
from decidable.reading.keys import call_key
from decidable.reading.names import label_in
from decidable.reading.scan import Found, Scan, outside, scan
from decidable.reading.shapes import fingerprint, is_copied, picks_of
from decidable.reading.strict import decode_whole

__all__ = ["read", "read_json"]

_AROUND = "text around the JSON"


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
        return Failure(FailureKind.REFUSAL, "the model declined to answer" + (f": {_head(text)}" if text else ""))
    stripped = text.strip()
    if not stripped:
        return _nothing(stop, FailureKind.EMPTY, "the reply is empty")
    whole = _whole(stripped, repair)
    if whole is not None and (repair != "none" or call_key(whole) is not None):
        picks = picks_of(Found(whole, 0, len(stripped)), menu.index)
        if picks:
            return _chosen(picks, stripped, menu)
    if repair == "none":
        return _nothing(stop, FailureKind.NO_ACTION, "the reply is not one JSON object with a 'call'")
    return _searched(stripped, menu, stop, repair, scan(stripped, stop) if whole is None else Scan())


def read_json(text: str, *, stop: StopReason | None = None, repair: Repair = "syntax") -> Any:
    """The JSON object or array that a reply ends in, for a reply without a menu; a `Failure` if there is none."""
    if stop in ("refusal", "content_filter"):
        return Failure(FailureKind.REFUSAL, "the model declined to answer" + (f": {_head(text)}" if text else ""))
    stripped = text.strip()
    if not stripped:
        return _nothing(stop, FailureKind.EMPTY, "the reply is empty")
    try:
        return decode_whole(stripped)
    except ValueError:
        pass
    walked = scan(stripped, stop) if repair != "none" else Scan()
    if walked.cut or (stop == "length" and not walked.found):
        return _truncated()
    if len(walked.found) == 1 or (walked.found and _concludes(walked.found, stripped)):
        return walked.found[-1].value
    if walked.found:
        return Failure(FailureKind.AMBIGUOUS, f"the reply holds {len(walked.found)} JSON objects; send exactly one")
    return Failure(FailureKind.NO_ACTION, walked.problem or "the reply holds no JSON object")


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


def _searched(text: str, menu: Menu, stop: StopReason | None, repair: Repair, walked: Scan) -> Pick | Failure:
    if walked.cut:
        return _truncated()
    if walked.problem is not None:
        return _nothing(stop, FailureKind.NO_ACTION, walked.problem)
    picks = [pick for found in walked.found for pick in picks_of(found, menu.index)]
    if picks:
        return _chosen(picks, text, menu)
    if repair == "lossless":
        visible = outside(text, walked)
        picks = dialect_picks(visible, menu)
        if picks:
            return _chosen(picks, text, menu)
        names = label_in(visible, menu)
        if len(set(names)) > 1:
            return _ambiguous(names)
        if names:
            return _truncated() if stop == "length" else Pick(names[0], {}, ("a bare name",), 0, len(text))
    return _nothing(stop, FailureKind.NO_ACTION, "the reply holds no pick")


def _chosen(picks: list[Pick], text: str, menu: Menu) -> Pick | Failure:
    """The pick that counts: the only one, several that say the same, or the one that ends the reply on its own."""
    pick = picks[-1]
    if len(picks) > 1 and len({fingerprint(p) for p in picks}) > 1 and not _concludes(picks, text):
        own = [p for p in picks if not is_copied(p, menu)]
        if len({fingerprint(p) for p in own}) != 1 or any(a.start == b.start for a, b in pairwise(picks)):
            return _ambiguous([p.name for p in picks])
        pick = own[0]
    if pick.end - pick.start < len(text) and _AROUND not in pick.repairs:
        return Pick(pick.name, pick.arguments, (*pick.repairs, _AROUND), pick.start, pick.end, pick.beside)
    return pick


_NOTHING_AFTER = re.compile(r"(?:[\s`*_.;!)}\]]|</?[\w|:-]{1,40}+>|<\|\w{1,40}+\|>)*+\Z")
_PROSE = re.compile(r"[^\W\d_]{2,}")
_FENCE = re.compile(r"```\w*|</?\w{1,40}>|<\|\w{1,40}\|>")
_LEAD = re.compile(r"[\s`*_>#\-\d.()]*+(?:json|<[\w|=.\s]{1,60}>)?+\s*+(?:[^{}\[\]\n]{0,200}:[\s`*_]*+)?\Z")


def _concludes(items: list[Any], text: str) -> bool:
    """Whether the last of `items` stands on its own at the end, with prose between it and the one before."""
    last, previous = items[-1], items[-2]
    if last.start < previous.end or not _NOTHING_AFTER.match(text, last.end):
        return False
    between = _FENCE.sub(" ", text[previous.end : last.start])
    line = max(text.rfind("\n", 0, last.start) + 1, last.start - 400)
    if line < previous.end or not _PROSE.search(between):
        return False
    return _LEAD.match(text[line : last.start]) is not None


def _ambiguous(names: list[str]) -> Failure:
    named = ", ".join(repr(_head(name, 60)) for name in list(dict.fromkeys(names))[:10])
    return Failure(FailureKind.AMBIGUOUS, f"the reply makes {len(names)} picks ({named}); make exactly one")


def _truncated() -> Failure:
    return Failure(
        FailureKind.TRUNCATED, "the reply was cut off before its pick was complete; answer with the JSON object only"
    )


def _nothing(stop: StopReason | None, kind: FailureKind, message: str) -> Failure:
    return _truncated() if stop == "length" else Failure(kind, message)


def _head(text: str, limit: int = 200) -> str:
    text = " ".join(text[: limit * 2].split())
    return text if len(text) <= limit else text[: limit - 3] + "..."
