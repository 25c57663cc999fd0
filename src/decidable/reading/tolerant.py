"""JSON as models write it: reads what has one reading only, and says what it mended.

Never guesses: where two readings are possible, or something may be missing, it stops and says where.
"""

from __future__ import annotations

import re
from typing import Any

from decidable.attempt import FailureKind
from decidable.reading.keys import ARGUMENT_KEYS, CALL_KEYS
from decidable.reading.strict import MAX_DEPTH
from decidable.schema.validate import Unreadable

__all__ = ["Broken", "Open", "TolerantParser"]


class Broken(Exception):  # noqa: N818 - a signal inside the reader
    """The text at `position` has no reading, or more than one."""

    def __init__(self, position: int, problem: str) -> None:
        super().__init__(problem)
        self.position = position


class Open(Exception):  # noqa: N818 - a signal inside the reader
    """The text ends inside the object.

    Attributes:
        credible: Whether everything up to the end reads as one object that was cut off.
        closers: The brackets that are missing, if nothing else can be.
    """

    def __init__(self, *, credible: bool, closers: str) -> None:
        super().__init__("the object is not closed")
        self.credible = credible
        self.closers = closers


_SPACE = re.compile(r"[\s\ufeff\u200b\u2060]*+")
_NUMBER = re.compile(r"-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_LEADING_ZERO = re.compile(r"-?0\d")
_WORD = re.compile(r"-?[A-Za-z_$][\w$-]*+")
_AFTER_KEY = re.compile(r"[\s\ufeff\u200b]*+:")
_AFTER_VALUE = re.compile(r"[\s\ufeff\u200b]*+(?:[,}\]]|//|/\*|\Z)")
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_CLOSERS = {'"': '"', "'": "'", "“": '”“"', "”": "”", "„": '“”"', "‘": "’'", "’": "’"}
_CHUNKS = {quote: re.compile(rf"[^\\{re.escape(closers)}]*+") for quote, closers in _CLOSERS.items()}
_QUOTE_REPAIRS = {"'": "single quotes"}
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_ODD_SPACE = re.compile(r"[^\S \t\r\n]|[\ufeff\u200b\u2060]")
_PYTHON_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8})")
_MAX_INNER = 100
_CONTROL = re.compile(r"[\x00-\x1f]")


class TolerantParser:
    """One object of a text; `value`, `end` and `repairs` after `parse`.

    Attributes:
        position: How far it read, also after an exception: the work it cost.
        keys: Keys of the outermost object met so far.
        repairs: What was mended, each once, in order.
    """

    def __init__(self, text: str, start: int, limit: int) -> None:
        self.text = text
        self.position = start
        self.limit = limit
        self.keys: set[str] = set()
        self._repairs: dict[str, None] = {}
        self._closers: list[str] = []
        self._text_in_doubt = False

    @property
    def repairs(self) -> tuple[str, ...]:
        """What was mended, each once, in order."""
        return tuple(self._repairs)

    @property
    def is_call(self) -> bool:
        """Whether the outermost object has shown itself to be a pick."""
        keys = self.keys
        return not keys.isdisjoint(CALL_KEYS) or ("name" in keys and not keys.isdisjoint(ARGUMENT_KEYS))

    def parse(self) -> Any:
        """The object at the start.

        Raises:
            Broken: It cannot be read.
            Open: The text ends inside it.
        """
        start = self.position
        value = self._value()
        if not self._repairs and _ODD_SPACE.search(self.text, start, self.position):
            self._note("unusual space")
        return value

    def _value(self) -> Any:
        mark = self._next()
        if mark == "{":
            return self._object()
        if mark == "[":
            return self._array()
        if mark in _CLOSERS:
            return self._string(mark, _AFTER_VALUE)
        return self._scalar()

    def _object(self) -> dict[str, Any]:
        self._enter("}")
        result: dict[str, Any] = {}
        outermost = len(self._closers) == 1
        comma = False
        while (mark := self._next()) != "}":
            key = self._key(mark)
            if outermost:
                self.keys.add(key)
            if self._next() != ":":
                raise Broken(self.position, f"expected ':' after the key {_clipped(key)}")
            self.position += 1
            value = self._value()
            if key in result:
                if repr(result[key]) != repr(value):  # 1 == True, but they are not the same
                    raise Broken(self.position, f"the key {_clipped(key)} stands twice with different values")
                self._note("repeated key")
            result[key] = value
            comma = self._separator("}")
        if comma:
            self._note("trailing comma")
        self._leave()
        return result

    def _array(self) -> list[Any]:
        self._enter("]")
        result: list[Any] = []
        comma = False
        while self._next() != "]":
            result.append(self._value())
            comma = self._separator("]")
        if comma:
            self._note("trailing comma")
        self._leave()
        return result

    def _separator(self, closer: str) -> bool:
        mark = self._next()
        if mark == ",":
            self.position += 1
            return True
        if mark != closer:
            raise Broken(self.position, f"expected ',' or {closer!r}")
        return False

    def _enter(self, closer: str) -> None:
        if len(self._closers) >= MAX_DEPTH:
            raise Broken(self.position, f"nested more than {MAX_DEPTH} deep")
        self._closers.append(closer)
        self.position += 1

    def _leave(self) -> None:
        self._closers.pop()
        self.position += 1

    def _next(self) -> str:
        """The next character that is neither space nor comment."""
        text, limit = self.text, self.limit
        while True:
            found = _SPACE.match(text, self.position, limit)
            self.position = position = found.end() if found else self.position
            if position >= limit:
                raise self._cut()
            mark = text[position]
            if mark != "/":
                return mark
            if text.startswith("//", position):
                end = text.find("\n", position, limit)
            elif text.startswith("/*", position):
                end = text.find("*/", position + 2, limit)
                end = end + 2 if end >= 0 else end
            else:
                return mark
            if end < 0:
                raise self._cut()
            self._note("comment")
            self.position = end

    def _cut(self) -> Open:
        self.position = self.limit
        last = self.text[: self.limit].rstrip()[-1:]
        closers = "".join(reversed(self._closers)) if last in ("}", "]") else ""
        return Open(credible=not self._text_in_doubt, closers=closers)

    def _key(self, mark: str) -> str:
        if mark in _CLOSERS:
            return self._string(mark, _AFTER_KEY)
        word = _WORD.match(self.text, self.position, self.limit)
        if word is None:
            raise Broken(self.position, f"expected a key, found {mark!r}")
        self.position = word.end()
        self._note("unquoted key")
        return word.group()

    def _string(self, quote: str, after: re.Pattern[str]) -> str:  # noqa: C901, PLR0912 - one loop over one string
        """A string: a quote inside it that nothing of JSON follows is part of the text."""
        if quote != '"':
            self._note(_QUOTE_REPAIRS.get(quote, "typographic quotes"))
        text, limit, chunks, pieces = self.text, self.limit, _CHUNKS[quote], []
        position, start, inner = self.position + 1, self.position, 0
        literal = escapes = False
        while True:
            if chunk := chunks.match(text, position, limit):
                pieces.append(chunk.group())
                position = chunk.end()
            if position >= limit:
                self._text_in_doubt = inner > 0
                raise self._cut()
            if text[position] == "\\":
                piece, position, kind = self._escape(position)
                pieces.append(piece)
                literal |= kind == "literal"
                escapes |= kind == "letter"
            elif after.match(text, position + 1, limit):
                break
            else:
                inner += 1
                if inner > _MAX_INNER:
                    self.position = position
                    raise Broken(start, "a string with too many quotes inside")
                self._note("unescaped quote")
                pieces.append(text[position])
                position += 1
        value = "".join(pieces)
        self.position = position + 1
        if inner and after is _AFTER_KEY:
            raise Broken(start, "a key with a quote inside")
        if literal and escapes:
            raise Broken(start, "backslashes that may or may not start an escape; write each as \\\\")
        if quote == '"' and inner and not _paired(value, inner):
            raise Broken(start, "a quote inside a string that may or may not end it")
        if literal:
            self._note("unescaped backslash")
        if _CONTROL.search(text, start, position):
            self._note("raw control character in a string")
        return value

    def _escape(self, position: int) -> tuple[str, int, str]:
        """The text of an escape, where it ends, and whether it was one: ``letter``, ``plain`` or ``literal``."""
        text = self.text
        mark = text[position + 1 : position + 2]
        if position + 1 >= self.limit:
            self.position = self.limit
            raise self._cut()
        following = text[position + 2 : position + 3]
        if mark in ("b", "f") and following.isalpha():
            return "\\" + mark, position + 2, "literal"
        if mark in _ESCAPES:
            return _ESCAPES[mark], position + 2, "letter" if mark.isalpha() and following.isalpha() else "plain"
        if mark == "u" and (code := _HEX.match(text, position + 2, self.limit)):
            return self._unicode(int(code.group(), 16), position + 6)
        if mark in _CLOSERS:
            self._note("escape that JSON does not have")
            return mark, position + 2, "plain"
        if _PYTHON_ESCAPE.match(text, position, self.limit):
            raise Broken(position, "a Python escape that JSON does not have")
        return "\\", position + 1, "literal"

    def _unicode(self, code: int, position: int) -> tuple[str, int, str]:
        if 0xD800 <= code < 0xDC00 and self.text.startswith("\\u", position):
            low = _HEX.match(self.text, position + 2, self.limit)
            if low and 0xDC00 <= int(low.group(), 16) < 0xE000:
                return chr(0x10000 + ((code - 0xD800) << 10) + int(low.group(), 16) - 0xDC00), position + 6, "plain"
        return chr(code), position, "plain"

    def _scalar(self) -> Any:
        text, start = self.text, self.position
        found = _NUMBER.match(text, start, self.limit) or _WORD.match(text, start, self.limit)
        if found is None:
            raise Broken(start, f"expected a value, found {text[start]!r}")
        word, self.position = found.group(), found.end()
        if self.position >= self.limit:
            raise self._cut()  # the rest of the number or word may be missing
        if not _AFTER_VALUE.match(text, self.position, self.limit):
            raise Broken(self.position, "a value without quotes")
        if word in _WORDS:
            if word[0].isupper():
                self._note("Python literal")
            return _WORDS[word]
        if word in _NOT_FINITE:
            return Unreadable(word, FailureKind.TYPE_MISMATCH)
        if word[0] != "-" and not word[0].isdigit():
            raise Broken(start, f"{_clipped(word)} stands without quotes")
        return _number(word, start)

    def _note(self, repair: str) -> None:
        self._repairs[repair] = None


def _paired(value: str, quotes: int) -> bool:
    """Whether the plain quotes inside a text come in pairs, a typographic opening one counting as half of one."""
    lone_openers = value.count("„") + (value.count("“") > value.count("”"))
    return (quotes + lone_openers) % 2 == 0


def _clipped(text: str, limit: int = 60) -> str:
    return repr(text if len(text) <= limit else text[:limit] + "...")


def _number(word: str, start: int) -> Any:
    if _LEADING_ZERO.match(word):
        raise Broken(start, f"{_clipped(word)} begins with a zero; a number does not, and text needs quotes")
    try:
        return float(word) if any(c in word for c in ".eE") else int(word)
    except ValueError:
        if word.lstrip("-").isdigit():
            return Unreadable(f"an integer of {len(word)} digits", FailureKind.BAD_ARGS)
        raise Broken(start, f"{_clipped(word)} stands without quotes") from None
