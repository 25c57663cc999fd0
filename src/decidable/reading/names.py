"""Option names as models spell them: folded to a unique option, never guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from decidable.menu import Menu

__all__ = ["label_in", "match_name"]

_SEPARATORS = re.compile(r"[\s_-]+")
_TOOL = re.compile(r"[\s_-](?i:tool)|[a-z0-9]Tool")
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
    return _Names(names).match(name)


class _Names:
    """The names of a menu, folded once."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        self.folded: dict[str, str | None] = {}
        for name in self.names:
            form = _fold(name)
            self.folded[form] = None if form in self.folded else name

    def match(self, name: str) -> str | None:
        if name in self.names:
            return name
        bare = name.strip()
        if namespace := _NAMESPACE.match(bare):
            bare = bare[namespace.end() :]
        if bare in self.names:
            return bare
        form = _fold(bare)
        if form in self.folded:
            return self.folded[form] if form else None
        ending = _TOOL.fullmatch(bare[-5:])  # a separator or a capital sets it off: "stool" is no "s"
        return self.folded.get(form[: -len("tool")]) if ending and len(form) > len("tool") else None


def _fold(name: str) -> str:
    """`name` without case and separators."""
    return _SEPARATORS.sub("", name).casefold()


def label_in(text: str, menu: Menu) -> list[str]:
    """The option that a reply without any object names: as the whole reply, or alone on its last line.

    Returns:
        One name; several when the whole reply is a list of names, on one line or on several; none when no option is
        named on its own.
    """
    lines = [line for line in text.strip().splitlines() if line.strip()]
    if not lines or len(lines[-1]) > _LONGEST:
        return []
    names = _Names(menu.index)
    last = lines[-1].strip(_DECORATION)
    labelled = _LABEL.match(last)
    last = (last[labelled.end() :] if labelled else last).strip(_DECORATION)
    name = names.match(last)
    if name is not None:
        others = [] if labelled else [_alone(line, names) for line in lines[:-1]]
        return [*(other for other in others if other is not None), name]
    if len(lines) > 1 and not labelled:
        return []
    parts = [part.strip(_DECORATION) for part in _LISTED.split(last)]
    matched = [names.match(part) for part in parts if part]
    return [found for found in matched if found is not None] if all(matched) else []


def _alone(line: str, names: _Names) -> str | None:
    """The option that stands alone on `line`."""
    return names.match(line.strip(_DECORATION)) if len(line) <= _LONGEST else None
