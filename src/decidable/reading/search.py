"""A reply with something around its pick: look through it, and say which pick counts."""

from __future__ import annotations

import re
from itertools import islice, pairwise
from typing import Any

from decidable.attempt import Failure, FailureKind, Pick, Repair
from decidable.menu import Menu
from decidable.messages import StopReason
from decidable.reading.dialects import dialect_picks
from decidable.reading.failures import head, nothing, truncated
from decidable.reading.names import label_in
from decidable.reading.scan import Scan, outside, scan
from decidable.reading.shapes import fingerprint, has_placeholder, is_copied, picks_of
from decidable.reading.strict import NotJson, decode_at
from decidable.reading.tolerant import Broken, Open, TolerantParser

__all__ = ["chosen", "searched", "searched_json"]

_AROUND = "text around the JSON"


def searched(text: str, menu: Menu, stop: StopReason | None, repair: Repair, *, is_json: bool) -> Pick | Failure:
    """The pick in `text`, which is stripped and not empty; `is_json` if it is JSON without a pick in it."""
    walked = Scan() if is_json else scan(text, stop)
    if walked.cut:
        return truncated()
    if walked.problem is not None:
        return nothing(stop, FailureKind.NO_ACTION, walked.problem)
    picks = [pick for found in walked.found for pick in picks_of(found, menu.index)]
    if picks:
        return chosen(picks, text, menu)
    if repair == "lossless":
        visible = outside(text, walked)
        picks = dialect_picks(visible, menu)
        if picks:
            return chosen(picks, text, menu)
        names = label_in(visible, menu)
        if len(set(names)) > 1:
            return _ambiguous(names)
        if names:
            return truncated() if stop == "length" else Pick(names[0], {}, ("a bare name",), 0, len(text))
    return nothing(stop, FailureKind.NO_ACTION, "the reply holds no pick")


def searched_json(text: str, stop: StopReason | None) -> Any:
    """The one object or array in `text`, or the one that ends it."""
    walked = scan(text, stop)
    if walked.cut:
        return truncated()
    if walked.problem is not None:
        return nothing(stop, FailureKind.NO_ACTION, walked.problem)
    if (array := _array(text, walked)) is not None:
        return array
    if len(walked.found) == 1 or (walked.found and _concludes(walked.found, text)):
        return walked.found[-1].value
    if walked.found:
        return Failure(FailureKind.AMBIGUOUS, f"the reply holds {len(walked.found)} JSON objects; send exactly one")
    return nothing(stop, FailureKind.NO_ACTION, "the reply holds no JSON value to read")


_ARRAY = re.compile(r"(?:^|```\w{0,20})[ \t]*+(?=\[)", re.MULTILINE)
_ARRAY_ENDS = re.compile(r"\s*+(?:```|\Z)")
_ARRAYS = 8  # places where an array is looked for, so that many brackets cost no more than a few


def _array(text: str, walked: Scan) -> list[Any] | None:
    """The array that is all the JSON of the reply: the scan looks for objects, and finds what an array holds."""
    for place in islice(_ARRAY.finditer(outside(text, walked)), _ARRAYS):
        parser = TolerantParser(text, place.end(), len(text))
        try:
            value, end = decode_at(text, place.end(), len(text))
        except NotJson:
            try:
                value = parser.parse()
            except (Broken, Open):
                continue
            end = parser.position
        if _ARRAY_ENDS.match(text, end) and all(place.end() < f.start and f.end < end for f in walked.found):
            return list(value)
    return None


def chosen(picks: list[Pick], text: str, menu: Menu) -> Pick | Failure:
    """The pick that counts: the only one, several that say the same, or the one that ends the reply on its own."""
    if len(picks) > 1 and not (picks := _without_menu(picks, text, menu)):
        return Failure(FailureKind.AMBIGUOUS, "the reply repeats the menu; make exactly one pick")
    pick = picks[-1]
    if len(picks) > 1 and len({fingerprint(p) for p in picks}) > 1 and not _concludes(picks, text):
        own = [p for p in picks if not has_placeholder(p.arguments)]
        side_by_side = any(a.start == b.start for a, b in pairwise(picks))
        if side_by_side or len({fingerprint(p) for p in own}) != 1 or is_copied(own[0], menu):
            return _ambiguous([p.name for p in picks])
        pick = own[0]
    if pick.end - pick.start < len(text) and _AROUND not in pick.repairs:
        return Pick(pick.name, pick.arguments, (*pick.repairs, _AROUND), pick.start, pick.end, pick.beside)
    return pick


def _without_menu(picks: list[Pick], text: str, menu: Menu) -> list[Pick]:
    """`picks` without the example calls of a menu that the reply repeats: its last line concludes nothing."""
    copied = [p for p in picks if _MENU_LINE.search(text, max(0, p.start - 80), p.start) and is_copied(p, menu)]
    return picks if len(copied) < 2 else [p for p in picks if p not in copied]


_MENU_LINE = re.compile(r"\n[ \t>*-]{0,40}Call:[ \t]*+\Z|\ACall:[ \t]*+\Z")
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
    named = ", ".join(repr(head(name, 60)) for name in list(dict.fromkeys(names))[:10])
    return Failure(FailureKind.AMBIGUOUS, f"the reply makes {len(names)} picks ({named}); make exactly one")
