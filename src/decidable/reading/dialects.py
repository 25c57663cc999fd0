"""Calls written in other notations than JSON: ``[name(arg="x")]`` and XML parameters. Read only under `lossless`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from decidable.attempt import Pick
from decidable.menu import Menu
from decidable.reading.names import match_name

__all__ = ["dialect_picks"]

_LONGEST = 20_000
_ELEMENT = re.compile(
    r"<(?:function=(?P<f>[^<>\s]{1,200})|invoke\s+name=\"(?P<i>[^\"<>]{1,200})\"\s*)>(?P<body>.{0,20000}?)</(?:function|invoke)>",
    re.DOTALL,
)
_PARAMETER = re.compile(
    r"<parameter(?:=(?P<p>[^<>\s]{1,200})|\s+name=\"(?P<n>[^\"<>]{1,200})\"[^<>]{0,80})>(?P<value>.*?)</parameter>",
    re.DOTALL,
)
_CALL = re.compile(r"\[\s*+(?P<name>[A-Za-z_][\w.-]{0,199})\((?P<body>[^\[\]]{0,20000})\)\s*+\]")


def dialect_picks(text: str, menu: Menu) -> Iterator[Pick]:
    """Calls of known options in `text`, in order; anything else that looks like a call is prose."""
    if "</" in text:
        for element in _ELEMENT.finditer(text):
            name = element["f"] or element["i"]
            if match_name(name, menu.index) is not None:
                arguments = {p["p"] or p["n"]: p["value"].strip("\n") for p in _PARAMETER.finditer(element["body"])}
                yield Pick(name, arguments, ("XML parameters",), element.start(), element.end())
    if ")" in text:
        for call in _CALL.finditer(text):
            if match_name(call["name"], menu.index) is None:
                continue
            keywords = _keywords(f"f({call['body']})")
            if keywords is not None:
                yield Pick(call["name"], keywords, ("Python call",), call.start(), call.end())


def _keywords(source: str) -> dict[str, Any] | None:
    """The keyword arguments of a call whose arguments are all literals, else None."""
    try:
        node = ast.parse(source, mode="eval").body
        if not isinstance(node, ast.Call) or node.args or any(k.arg is None for k in node.keywords):
            return None
        return {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
