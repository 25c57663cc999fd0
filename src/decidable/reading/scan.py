"""Walk a reply once, left to right: skip what holds no picks, and read every object that may be one.

Linear by construction: the openers are found by one regular expression without backtracking, and the work spent on
objects that turn out to be none is bounded by the length of the reply.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from decidable.messages import StopReason
from decidable.reading.strict import NotJson, decode_at
from decidable.reading.tolerant import Broken, Open, TolerantParser

__all__ = ["Found", "Scan", "scan"]


@dataclass(frozen=True, slots=True)
class Found:
    """An object in the reply; `name` is set where the text around it, not the object, names the pick."""

    value: Any
    start: int
    end: int
    repairs: tuple[str, ...] = ()
    name: str | None = None


@dataclass(slots=True)
class Scan:
    """What a walk found.

    Attributes:
        found: The objects, in order.
        visible: Where the text begins that is not reasoning.
        stop: Where it ends.
        cut: Whether the text ends inside an object.
        problem: Why a pick that is there cannot be read, or None.
    """

    found: list[Found] = field(default_factory=list)
    visible: int = 0
    stop: int = 0
    cut: bool = False
    problem: str | None = None


_REASONING = r"think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad"
_TOKEN = re.compile(  # every branch begins with a literal, so that the search skips prose at C speed
    rf"""
      \{{ (?P<object> [\s\ufeff\u200b]*+(?:["'“”„‘’]|[A-Za-z_$][\w$-]*+[\s]*+:|/[/*]) )
    | < (?P<think> (?i:{_REASONING})(?:\s[^<>]{{0,80}})?> | \|channel\|>analysis<\|message\|> )
    | < (?P<thought> /(?i:{_REASONING})\s{{0,8}}> )
    | < (?P<message> \|message\|>\s*+(?=\{{) )
    | < (?P<tagged> function=(?P<function>[^<>\s]{{1,200}})>\s*+(?=\{{) )
    | \[ (?P<think2> THINK\] )
    | \[ (?P<thought2> /THINK\] )
    | ◁ (?P<think3> think▷ )
    | ◁ (?P<thought3> /think▷ )
    | ` (?P<fence> `` )
    """,
    re.VERBOSE,
)
_THOUGHT = re.compile(rf"</(?:{_REASONING})\s{{0,8}}>|\[/THINK\]|◁/think▷|<\|end\|>|<\|start\|>", re.IGNORECASE)
_FENCE_LANGUAGE = re.compile(r"[ \t]*([\w+#.-]*)")
_READ_LANGUAGES = frozenset(
    {"", "json", "jsonc", "json5", "javascript", "js", "python", "py", "text", "txt", "plaintext", "output"}
    | {"tool_call", "tool_code", "tool_use", "xml"}
)
_RECIPIENT = re.compile(r"\bto=(?:functions\.)?([\w.-]{1,200})")
_HEADER = 300  # characters before a harmony message in which its recipient stands
_FREE_WORK = 65_536
_ATTEMPT = 100  # what beginning to read an object costs, in characters
_QUOTED = re.compile(r"[ \t]{1,8}>")


def scan(text: str, stop: StopReason | None) -> Scan:
    """Every object of `text` that stands outside reasoning, quotations and code of other languages.

    Args:
        text: The reply's visible text.
        stop: Why the model stopped; only after ``"stop"`` may closing brackets at the very end be added.
    """
    return _Scanner(text, stop).run()


class _Scanner:
    def __init__(self, text: str, stop: StopReason | None) -> None:
        self.text = text
        self.stop = stop
        self.result = Scan(stop=len(text))
        self.limit = _limit(text)
        self.line = 0
        self.work = 2 * len(text) + _FREE_WORK

    def run(self) -> Scan:
        text, result, position = self.text, self.result, 0
        while position >= 0 and (token := _TOKEN.search(text, position)):
            kind = (token.lastgroup or "").rstrip("23")
            if kind == "object":
                position = self._opener(token.start(), strict=text[token.end() - 1] == '"')
            elif kind == "think":
                position = self._reasoning(token.start(), token.end())
            elif kind == "thought":
                result.found.clear()
                result.visible = position = token.end()
                result.problem = None
            elif kind == "fence":
                position = self._fence(token.end())
            elif kind == "message":
                recipients = _RECIPIENT.findall(text, max(0, token.start() - _HEADER), token.start())
                position = self._object(token.end(), token.end(), recipients[-1] if recipients else None)
            else:
                position = self._object(token.end(), token.end(), token["function"])
        return result

    def _opener(self, start: int, *, strict: bool) -> int:
        """Read the object at `start`, unless it stands in a quoted line."""
        self.line = max(self.line, self.text.rfind("\n", self.line, start) + 1)
        if self.text.startswith(">", self.line) or _QUOTED.match(self.text, self.line, start):
            end = self.text.find("\n", start)
            return end if end >= 0 else -1
        return self._object(start, start + 1, None, strict=strict)

    def _reasoning(self, start: int, end: int) -> int:
        """Skip to where the reasoning ends; if it never does, the rest is reasoning."""
        close = _THOUGHT.search(self.text, end)
        if close is None:
            self.result.stop = start
            return -1
        if not self.text[self.result.visible : start].strip():
            self.result.visible = close.end()
        return close.end()

    def _fence(self, end: int) -> int:
        """Skip a code block of another language, if it is closed."""
        language = _FENCE_LANGUAGE.match(self.text, end)
        if language is None or language[1].lower() in _READ_LANGUAGES:
            return end
        close = self.text.find("```", language.end())
        return close + 3 if close >= 0 else end

    def _object(self, start: int, on_failure: int, name: str | None, *, strict: bool = True) -> int:
        """Read the object at `start`; where to go on, or -1 when nothing after it can count."""
        text, limit = self.text, self.limit
        if start >= limit:
            return -1
        if not strict:
            return self._mended(start, on_failure, name)
        try:
            value, end = decode_at(text, start, limit)
        except NotJson as error:
            self.work -= error.cost
            return self._mended(start, on_failure, name)
        self.result.found.append(Found(value, start, end, (), name))
        return end

    def _mended(self, start: int, on_failure: int, name: str | None) -> int:
        parser = TolerantParser(self.text, start, self.limit)
        try:
            value = parser.parse()
        except Broken as error:
            self.work -= parser.position - start + _ATTEMPT
            if name or parser.is_call:
                self.result.problem = f"the JSON object cannot be read: {error} (at character {error.position})"
                return -1
            if error.deep:
                on_failure = parser.position  # what it holds nests as deep
        except Open as error:
            self.work -= parser.position - start + _ATTEMPT
            if name or parser.is_call or error.credible:
                return self._unclosed(start, error, name)
        else:
            self.result.found.append(Found(value, start, parser.position, parser.repairs, name))
            return parser.position
        if self.work < 0:
            self.result.problem = "there are too many unfinished brackets in it to read"
            return -1
        return on_failure

    def _unclosed(self, start: int, error: Open, name: str | None) -> int:
        """An object that the end of the text cuts: closed only if the model stopped by itself and no more is lost."""
        if self.stop == "stop" and error.closers:
            body = self.text[start : self.limit].rstrip() + error.closers
            parser = TolerantParser(body, 0, len(body))
            try:
                value = parser.parse()
            except (Broken, Open):
                pass
            else:
                repairs = (*parser.repairs, "closing bracket added")
                self.result.found.append(Found(value, start, self.limit, repairs, name))
                return -1
        self.result.cut = True
        return -1


def _limit(text: str) -> int:
    """The end of the text without closing fences and spaces, which never belong to an object."""
    return len(text.rstrip(" \t\r\n\f\v\u00a0`"))
