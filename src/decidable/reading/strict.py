"""JSON as the standard says, at C speed; what has no usable value is marked, not lost."""

from __future__ import annotations

import re
from json import JSONDecodeError, JSONDecoder
from typing import Any

from decidable.attempt import FailureKind
from decidable.schema.validate import Unreadable

__all__ = ["MAX_DEPTH", "NotJson", "decode_at", "decode_whole"]

MAX_DEPTH = 64
"""Brackets within brackets that are still read; a menu needs a handful."""

_WINDOW = 4096
_LOST_BACKSLASH = re.compile(  # "\frac", "\beta": a form feed or backspace before a letter is neither; "\\beta" is fine
    r"(?<!\\)(?:\\\\)*+\\[bf][A-Za-z]"
)


class _Unfit(ValueError):  # noqa: N818 - a signal inside the reader
    """JSON that is valid and still must not be trusted as it stands: a repeated key."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _Unfit
    return result


def _constant(text: str) -> Unreadable:
    return Unreadable(text, FailureKind.TYPE_MISMATCH)


def _integer(text: str) -> Any:
    try:
        return int(text)
    except ValueError:  # CPython limits the digits of an int that it reads
        return Unreadable(f"an integer of {len(text)} digits", FailureKind.BAD_ARGS)


_DECODER = JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
_LONG_INTEGERS = JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer)


def decode_whole(text: str) -> Any:
    """The value of `text`, all of it.

    Raises:
        ValueError: It is not JSON, nests too deep, repeats a key, or holds an escape that is probably none.
    """
    value, end = _decode(text)
    if end != len(text):
        raise _Unfit
    return value


class NotJson(Exception):  # noqa: N818 - a signal inside the reader
    """No JSON at that place; `cost` is how many characters it took to find out."""

    def __init__(self, cost: int) -> None:
        super().__init__(cost)
        self.cost = cost


def decode_at(text: str, start: int, limit: int) -> tuple[Any, int]:
    """The JSON value at `start` and where it ends.

    Works in growing windows: an error costs the decoder a count of the lines before it, which on a whole reply
    would make many failures quadratic.

    Raises:
        NotJson: As `decode_whole` raises `ValueError`.
    """
    size = _WINDOW
    while True:
        window = text[start : min(start + size, limit)]
        try:
            value, end = _decode(window)
        except JSONDecodeError as error:
            cut = start + size < limit and (error.pos >= len(window) - 16 or error.msg.startswith("Unterminated"))
            if not cut:
                raise NotJson(error.pos) from None
            size *= 8
        except _Unfit:
            raise NotJson(len(window)) from None
        else:
            return value, start + end


def _decode(text: str) -> tuple[Any, int]:
    try:
        try:
            value, end = _DECODER.raw_decode(text)
        except (JSONDecodeError, _Unfit):
            raise
        except ValueError:
            value, end = _LONG_INTEGERS.raw_decode(text)
    except RecursionError:
        raise _Unfit from None
    if "\\" in text and _LOST_BACKSLASH.search(text, 0, end):
        raise _Unfit
    if end > 2 * MAX_DEPTH and text.count("{", 0, end) + text.count("[", 0, end) > MAX_DEPTH and _too_deep(value):
        raise _Unfit
    return value, end


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True
