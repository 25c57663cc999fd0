"""Walk a reply once, left to right: skip what holds no picks, and read every object that may be one.

Linear by construction: the openers are found by one regular expression without backtracking, and the work spent on
objects that turn out to be none is bounded by the length of the reply. What stands inside such an object is skipped
with it: it is somebody's data.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from decidable.messages import StopReason
from decidable.reading.keys import ARGUMENT_KEYS, call_key
from decidable.reading.shapes import Found
from decidable.reading.strict import NotJson, decode_at
from decidable.reading.tolerant import Broken, Open, TolerantParser

__all__ = ["Scan", "outside", "scan"]


@dataclass(slots=True)
class Scan:
    """What a walk found.

    Attributes:
        found: The objects, in order.
        skipped: Where reasoning and code of other languages stand, in order.
        cut: Whether the text ends inside an object.
        problem: Why a pick that is there cannot be read, or None.
    """

    found: list[Found] = field(default_factory=list)
    skipped: list[tuple[int, int]] = field(default_factory=list)
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
_CLOSES = {
    name: re.compile(rf"</{name}\s{{0,8}}>", re.IGNORECASE)  # of the same name: one kind may stand within another
    for name in _REASONING.split("|")
}
_CHANNEL_CLOSES = re.compile(r"<\|end\|>|<\|start\|>")
_THINK_CLOSES = {"[": re.compile(r"\[/THINK\]"), "◁": re.compile("◁/think▷")}
_FENCE_LANGUAGE = re.compile(r"[ \t]*([\w+#.-]*)")
_READ_LANGUAGES = frozenset(
    {"", "json", "jsonc", "json5", "javascript", "js", "python", "py", "text", "txt", "plaintext", "output"}
    | {"tool_call", "tool_code", "tool_use", "xml"}
)
_RECIPIENT = re.compile(r"\bto=(?:functions\.)?([\w.-]{1,200})")
_HEADER = re.compile(r"<\|(?:start|end|call|message|return)\|>")
_HEADER_SIZE = 300  # characters before a harmony message in which its recipient stands
_FREE_WORK = 65_536
_ATTEMPT = 100  # what beginning to read an object costs, in characters
_OBJECT = re.compile(r"\{\s*+[\"'\w]")
_QUOTE = r"[ \t]{0,8}(?:(?:[-*+]|\d{1,3}[.)])[ \t]{1,8})?>[^\n]*+"
_QUOTED = re.compile(_QUOTE)
_QUOTED_LINE = re.compile(f"^{_QUOTE}", re.MULTILINE)
_BRACES = re.compile(r'"(?:[^"\\]++|\\.)*+\\?+(?:"|\Z)|[{}]', re.DOTALL)
_MORE_OF_A_LIST = re.compile(r"[\s,`]*+")


def scan(text: str, stop: StopReason | None) -> Scan:
    """Every object of `text` that stands outside reasoning, quotations and code of other languages.

    Args:
        text: The reply's visible text.
        stop: Why the model stopped; only after ``"stop"`` may closing brackets at the very end be added.
    """
    return _Scanner(text, stop).run()


def outside(text: str, walked: Scan) -> str:
    """`text` with spaces for what holds no picks: reasoning, code of other languages, quoted lines."""
    pieces: list[str] = []
    position = 0
    for start, end in walked.skipped:
        pieces += (text[position:start], " " * (end - start))
        position = end
    visible = "".join(pieces) + text[position:]
    if ">" not in visible:
        return visible
    return _QUOTED_LINE.sub(lambda line: " " * len(line.group()), visible)


class _Scanner:
    def __init__(self, text: str, stop: StopReason | None) -> None:
        self.text = text
        self.stop = stop
        self.result = Scan()
        self.limit = _limit(text)
        self.line = 0
        self.fenced = False
        self.work = 2 * len(text) + _FREE_WORK

    def run(self) -> Scan:
        text, position = self.text, 0
        while position >= 0 and (token := _TOKEN.search(text, position)):
            kind = (token.lastgroup or "").rstrip("23")
            if kind == "object":
                position = self._opener(token.start(), strict=text[token.end() - 1] == '"')
            elif kind == "think":
                position = self._reasoning(token)
            elif kind == "thought":
                position = self._thought(token.end())
            elif kind == "fence":
                position = self._fence(token.start(), token.end())
            elif kind == "message":
                position = self._opener(token.end(), self._recipient(token.start()))
            else:
                position = self._opener(token.end(), token["function"])
        if self.result.found:
            self._check_list()
        return self.result

    def _opener(self, start: int, name: str | None = None, *, strict: bool = True) -> int:
        """Read the object at `start`, unless it stands in a quoted line."""
        self.line = max(self.line, self.text.rfind("\n", self.line, start) + 1)
        if quoted := _QUOTED.match(self.text, self.line):
            return max(quoted.end(), start)
        return self._object(start, name, strict=strict)

    def _recipient(self, end: int) -> str | None:
        """Whom the header of a harmony message, which ends at `end`, addresses."""
        header = self.text[max(0, end - _HEADER_SIZE) : end]
        recipients = _RECIPIENT.findall(_HEADER.split(header)[-1])
        return recipients[-1] if recipients else None

    def _thought(self, end: int) -> int:
        """Forget what came before a closing tag that nothing opened: it was all reasoning."""
        self.result.found.clear()
        self.result.skipped[:] = [(0, end)]
        self.fenced = False
        return end

    def _reasoning(self, token: re.Match[str]) -> int:
        """Skip to where the reasoning ends; if it never does, nothing was concluded."""
        word = re.match(r"<(\w+)", token.group())
        closes = _CLOSES[word[1].lower()] if word else _THINK_CLOSES.get(token.group()[0], _CHANNEL_CLOSES)
        close = closes.search(self.text, token.end())
        if close is None:
            self.result.skipped.append((token.start(), len(self.text)))
            self.result.problem = "the reply ends in reasoning, with no pick after it"
            return -1
        self.result.skipped.append((token.start(), close.end()))
        return close.end()

    def _fence(self, start: int, end: int) -> int:
        """Skip a code block of another language."""
        language = _FENCE_LANGUAGE.match(self.text, end)
        if self.fenced or language is None or language[1].lower() in _READ_LANGUAGES:
            self.fenced = not self.fenced
            return end
        close = self.text.find("```", language.end())
        if close < 0 and _OBJECT.search(self.text, language.end()):
            self.result.problem = f"it ends in an unclosed code block of {language[1][:40]}"
        close = close + 3 if close >= 0 else len(self.text)
        self.result.skipped.append((start, close))
        return close

    def _object(self, start: int, name: str | None, *, strict: bool) -> int:
        """Read the object at `start`; where to go on, or -1 when nothing after it can count."""
        text, limit = self.text, self.limit
        if start >= limit:
            return -1
        if not strict:
            return self._mended(start, name)
        try:
            value, end = decode_at(text, start, limit)
        except NotJson as error:
            self.work -= error.cost
            return self._mended(start, name)
        self.result.found.append(Found(value, start, end, (), name))
        return end

    def _mended(self, start: int, name: str | None) -> int:
        parser = TolerantParser(self.text, start, self.limit)
        try:
            value = parser.parse()
        except Broken as error:
            if name or parser.is_call:
                self.result.problem = f"the JSON object cannot be read: {error} (at character {error.position})"
                return -1
        except Open as error:
            if name or parser.is_call or error.credible:
                return self._unclosed(start, error, name)
        else:
            self.result.found.append(Found(value, start, parser.position, parser.repairs, name))
            return parser.position
        return self._skipped(start, parser.position)

    def _skipped(self, start: int, read_to: int) -> int:
        """Go on after the object at `start`, which cannot be read: what it holds is its data, and no pick."""
        end = _closing_brace(self.text, start, self.limit)
        if end < 0:
            self.result.problem = f"the object at character {start} cannot be read and is never closed"
            return -1
        self.work -= max(read_to, end) - start + _ATTEMPT
        if self.work < 0:
            self.result.problem = "there are too many unfinished brackets in it to read"
            return -1
        return end

    def _unclosed(self, start: int, error: Open, name: str | None) -> int:
        """An object that the end of the text cuts: closed only if the model stopped by itself and no more is lost."""
        if self.stop == "stop" and error.closers and name is None:
            body = self.text[start : self.limit].rstrip() + error.closers
            parser = TolerantParser(body, 0, len(body))
            try:
                value = parser.parse()
            except (Broken, Open):
                pass
            else:
                if _only_brackets_lost(value, len(error.closers)) and "repeated key" not in parser.repairs:
                    repairs = (*parser.repairs, "closing bracket added")
                    self.result.found.append(Found(value, start, self.limit, repairs, name))
                    return -1
        self.result.cut = True
        return -1

    def _check_list(self) -> None:
        """Refuse a pick from a list that is cut or holds more than picks, and a text that ends in a brace."""
        text, found, first = self.text, self.result.found, len(self.result.found) - 1
        rest = _MORE_OF_A_LIST.match(text, found[-1].end)
        after = rest.end() if rest else found[-1].end
        if text.endswith("{", 0, self.limit):
            self.result.cut = True
        if after < len(text) and (text[after] == "]" or "," not in text[found[-1].end : after]):
            return
        while first > 0 and text[found[first - 1].end : found[first].start].strip() == ",":
            first -= 1
        if text[max(0, found[first].start - _ATTEMPT) : found[first].start].rstrip().endswith("["):
            if after < len(text):
                self.result.problem = "the list holds more than the pick"
            else:
                self.result.cut = True


def _only_brackets_lost(value: Any, depth: int) -> bool:
    """Whether the `depth` containers that were left open can have held no more of a pick.

    A call whose arguments are closed is complete. Open arguments may have had more keys, an open list more picks.
    """
    for level in range(depth):
        if isinstance(value, dict) and call_key(value) is not None:
            return level == depth - 1 and any(key in value for key in ARGUMENT_KEYS)
        value = next(reversed(value.values())) if isinstance(value, dict) else value[-1]
    return depth == 1


def _closing_brace(text: str, start: int, limit: int) -> int:
    """Where the braces that open at `start` are all closed, strings aside; -1 if they never are."""
    depth = 0
    for token in _BRACES.finditer(text, start, limit):
        mark = token.group()
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
            if not depth:
                return token.end()
    return -1


def _limit(text: str) -> int:
    """The end of the text without closing fences and spaces, which never belong to an object."""
    return len(text.rstrip(" \t\r\n\f\v\u00a0`"))
