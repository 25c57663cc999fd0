"""Calls written in other notations than JSON: ``[name(arg="x")]`` and XML parameters. Read only under `lossless`."""

from __future__ import annotations

import ast
import re
from typing import Any

from decidable.attempt import Pick
from decidable.menu import Menu
from decidable.reading.names import match_name
from decidable.reading.strict import MAX_DEPTH

__all__ = ["dialect_picks"]

_ELEMENT = re.compile(
    r"<(?:function=(?P<function>[^<>\s]{1,200})|invoke\s{1,8}name=\"(?P<invoke>[^\"<>]{1,200})\"\s{0,8})>"
)
_PARAMETER = re.compile(r"\s*+<parameter(?:=(?P<p>[^<>\s]{1,200})|\s{1,8}name=\"(?P<n>[^\"<>]{1,200})\"[^<>]{0,80})>")
_PARAMETER_ENDS = "</parameter>"
_CALL = re.compile(r"\[\s*+(?P<name>[A-Za-z_][\w.-]{0,199})\((?P<body>[^\[\]]{0,20000})\)\s*+\]")
_WARNS = re.compile(  # what Python's own parser warns about, on the user's terminal: bad escapes, ``1or 2``
    r"\\[^\\'\"abfnrtvxuUN0-7\n]|\d(?:and|else|for|if|in|is|not|or)\b"
)


def dialect_picks(text: str, menu: Menu) -> list[Pick]:
    """Calls of known options in `text`, in order; anything else that looks like a call is prose.

    None at all if one of them cannot be read: it may be the one that counts.
    """
    picks: list[Pick] = []
    try:
        if "</" in text:
            picks += _elements(text, menu)
        if ")" in text:
            picks += _python_calls(text, menu)
    except _Unclear:
        return []
    return sorted(picks, key=lambda pick: pick.start)


class _Unclear(Exception):  # noqa: N818 - a signal inside this module
    """A call of a known option that cannot be read without loss."""


def _elements(text: str, menu: Menu) -> list[Pick]:
    picks, position = [], 0
    while element := _ELEMENT.search(text, position):
        position = element.end()
        name = element["function"] or element["invoke"]
        if match_name(name, menu.index) is None:
            continue
        ends = "</function>" if element["function"] else "</invoke>"
        close = text.find(ends, position)
        if close < 0:
            raise _Unclear
        arguments = _parameters(text, position, close)
        position = close + len(ends)
        picks.append(Pick(name, arguments, ("XML parameters",), element.start(), position))
    return picks


def _parameters(text: str, position: int, end: int) -> dict[str, str]:
    """The parameters between `position` and `end`, where nothing else may stand."""
    result: dict[str, str] = {}
    while parameter := _PARAMETER.match(text, position, end):
        name = parameter["p"] or parameter["n"]
        close = text.find(_PARAMETER_ENDS, parameter.end(), end)
        if close < 0 or name in result:
            raise _Unclear
        value = text[parameter.end() : close]
        if "<parameter" in value:  # it may be the next one, and this one not closed
            raise _Unclear
        result[name] = value.strip("\n")
        position = close + len(_PARAMETER_ENDS)
    if text[position:end].strip():
        raise _Unclear
    return result


def _python_calls(text: str, menu: Menu) -> list[Pick]:
    picks = []
    for call in _CALL.finditer(text):
        if match_name(call["name"], menu.index) is not None:
            arguments = _keywords(call["body"])
            picks.append(Pick(call["name"], arguments, ("Python call",), call.start(), call.end()))
    return picks


def _keywords(body: str) -> dict[str, Any]:
    """The keyword arguments of a call, each a literal that JSON has too."""
    if _WARNS.search(body):
        raise _Unclear
    try:
        node = ast.parse(f"f({body})", mode="eval").body
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
            raise _Unclear
        result = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords if k.arg is not None}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise _Unclear from None
    if len(result) != len(node.keywords) or not _is_json(result):
        raise _Unclear
    return result


def _is_json(value: Any, depth: int = 0) -> bool:
    if isinstance(value, dict):
        return depth < MAX_DEPTH and all(isinstance(k, str) and _is_json(v, depth + 1) for k, v in value.items())
    if isinstance(value, list):
        return depth < MAX_DEPTH and all(_is_json(v, depth + 1) for v in value)
    return value is None or isinstance(value, (str, int, float, bool))
