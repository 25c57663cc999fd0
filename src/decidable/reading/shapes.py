"""Which objects are picks: the call key and its aliases, tool-call shapes, one wrapper around them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from decidable.attempt import Pick
from decidable.reading.scan import Found
from decidable.reading.tolerant import ARGUMENT_KEYS, CALL_KEYS
from decidable.schema.field import PLACEHOLDERS

__all__ = ["fingerprint", "has_placeholder", "picks_of"]

_ENVELOPE_KEYS = frozenset({"function", "tool_call", "tool_calls", "function_call"})
_WRAPPERS = 2


def picks_of(found: Found) -> list[Pick]:
    """The picks that one object of a reply holds; a call nested inside another call's arguments is data."""
    if found.name is not None:
        return [Pick(found.name, found.value, found.repairs, found.start, found.end)]
    if type(found.value) is dict and (key := _name(found.value)) is not None:
        return [_pick(found.value, key, found.repairs, found.start, found.end)]
    return [
        _pick(value, _name(value) or "", (*found.repairs, "unwrapped"), found.start, found.end)
        for value in _calls(found.value, 0)
    ]


def _calls(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    """Call-shaped objects inside a list or a wrapper."""
    if isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                yield from _calls(item, depth + 1)
    elif isinstance(value, dict):
        if _name(value) is not None:
            yield value
        elif depth < _WRAPPERS:
            for key, inner in value.items():
                if (len(value) == 1 or key in _ENVELOPE_KEYS) and isinstance(inner, (dict, list)):
                    yield from _calls(inner, depth + 1)


def _name(value: dict[str, Any]) -> str | None:
    """The key that names the option, if this is a call."""
    for key in CALL_KEYS:
        if type(value.get(key)) is str:
            return key
    if type(value.get("name")) is str and any(key in value for key in ARGUMENT_KEYS):
        return "name"
    return None


def _pick(value: dict[str, Any], key: str, repairs: tuple[str, ...], start: int, end: int) -> Pick:
    for arguments_key in ARGUMENT_KEYS:
        if arguments_key in value:
            return Pick(value[key], value[arguments_key], repairs, start, end)
    beside = {other: inner for other, inner in value.items() if other != key} if len(value) > 1 else None
    return Pick(value[key], {}, repairs, start, end, beside)


def fingerprint(pick: Pick) -> tuple[str, str]:
    """Equal for picks that say the same; ``1``, ``1.0`` and ``true`` are different things."""
    return pick.name, json.dumps([pick.arguments or {}, pick.beside], sort_keys=True, default=repr)


def has_placeholder(value: Any) -> bool:
    """Whether a menu's own placeholder stands somewhere in `value`."""
    todo = [value]
    while todo:
        current = todo.pop()
        if isinstance(current, dict):
            todo.extend(current.values())
        elif isinstance(current, list):
            todo.extend(current)
        elif isinstance(current, str) and current in PLACEHOLDERS:
            return True
    return False
