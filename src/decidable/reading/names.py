"""Option names as models spell them: folded to a unique option, never guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from decidable.menu import Menu

__all__ = ["label_in", "match_name"]

_SEPARATORS = re.compile(r"[\s_-]+")
_NAMESPACE = re.compile(r"(?:functions|function|tools|tool|options|option)[.:/]", re.IGNORECASE)
_LABEL = re.compile(
    r"(?:(?:final|my|the)\s+)?(?:answer|decision|choice|pick|selection|option|call|action)\s*(?:is\b|[:=])\s*",
    re.IGNORECASE,
)
_DECORATION = " \t*_`\"'“”‘’#>-•.!()[]"
_LISTED = re.compile(r"[;,/|]|\band\b|\bor\b")
_LONGEST = 300


def match_name(name: str, names: Iterable[str]) -> str | None:
    """The one name of `names` that `name` spells: ignoring case, separators, a namespace and a ``_tool`` ending.

    Exact spelling wins; two fits are none; a prefix or a part of a name is none.
    """
    known = list(names)
    if name in known:
        return name
    bare = _NAMESPACE.sub("", name.strip(), count=1) if _NAMESPACE.match(name.strip()) else name.strip()
    if bare in known:
        return bare
    for form in (fold(bare), _without_suffix(fold(bare))):
        fits = [other for other in known if fold(other) == form]
        if form and len(fits) == 1:
            return fits[0]
        if fits:
            return None
    return None


def fold(name: str) -> str:
    """`name` without case and separators."""
    return _SEPARATORS.sub("", name).casefold()


def _without_suffix(folded: str) -> str:
    return folded[: -len("tool")] if folded.endswith("tool") else ""


def label_in(text: str, menu: Menu) -> list[str]:
    """The option that a reply without any object names: as the whole reply, or alone on its last line.

    Returns:
        One name; several when the whole reply is a list of names; none when no option is named on its own.
    """
    lines = [line for line in text.strip().splitlines() if line.strip()]
    if not lines or len(lines[-1]) > _LONGEST:
        return []
    names = tuple(menu.index)
    last = lines[-1].strip(_DECORATION)
    labelled = _LABEL.match(last)
    name = match_name((last[labelled.end() :] if labelled else last).strip(_DECORATION), names)
    if name is not None:
        return [name]
    if len(lines) > 1 and not labelled:
        return []
    parts = [part.strip(_DECORATION) for part in _LISTED.split(last[labelled.end() :] if labelled else last)]
    matched = [match_name(part, names) for part in parts if part]
    return [found for found in matched if found is not None] if all(matched) else []
