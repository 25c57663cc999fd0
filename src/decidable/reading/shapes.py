"""Which objects are picks: the call key and its aliases, tool-call shapes, one wrapper around them."""

from __future__ import annotations

import json
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from decidable.attempt import Pick
from decidable.menu import Menu
from decidable.reading.keys import ARGUMENT_KEYS, call_key, names_another
from decidable.schema.field import PLACEHOLDERS, placeholder

__all__ = ["Found", "fingerprint", "has_placeholder", "is_copied", "picks_of"]

_ENVELOPE_KEYS = frozenset({"function", "tool_call", "tool_calls", "function_call"})
_ENVELOPES = 3  # {"tool_calls": [{"function": {...}}]}


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """An object in the reply; `name` is set where the text around it, not the object, names the pick."""

    value: Any
    start: int
    end: int
    repairs: tuple[str, ...] = ()
    name: str | None = None


def picks_of(found: Found, names: Container[str]) -> list[Pick]:
    """The picks that one object of a reply holds; a call nested inside another call's arguments is data.

    Args:
        found: The object.
        names: What is on the menu; a call that names two options of it makes two picks.
    """
    if found.name is not None:
        return [Pick(found.name, found.value, found.repairs, found.start, found.end)]
    if type(found.value) is dict and (key := call_key(found.value)) is not None:
        return _picks(found.value, key, found, found.repairs, names)
    repairs = (*found.repairs, "unwrapped")
    return [
        pick
        for value in _calls(found.value, 0, wrapped=False)
        for pick in _picks(value, call_key(value) or "", found, repairs, names)
    ]


def _calls(value: Any, depth: int, *, wrapped: bool) -> list[dict[str, Any]]:
    """Call-shaped objects that are all that a list or a wrapper holds."""
    if isinstance(value, list):
        inner = [_calls(item, depth, wrapped=wrapped) if isinstance(item, dict) else [] for item in value]
        return [call for calls in inner for call in calls] if all(inner) else []
    if call_key(value) is not None:
        return [value]
    result: list[dict[str, Any]] = []
    for key, inner_value in value.items():
        known = key in _ENVELOPE_KEYS and depth < _ENVELOPES
        if (known or (len(value) == 1 and not wrapped and key not in ARGUMENT_KEYS)) and isinstance(
            inner_value, (dict, list)
        ):
            result += _calls(inner_value, depth + 1, wrapped=wrapped or not known)
    return result


def _picks(
    value: dict[str, Any], key: str, found: Found, repairs: tuple[str, ...], names: Container[str]
) -> list[Pick]:
    arguments, beside = {}, None
    for arguments_key in ARGUMENT_KEYS:
        if arguments_key in value:
            arguments = value[arguments_key]
            break
    else:
        beside = {other: inner for other, inner in value.items() if other != key} if len(value) > 1 else None
    pick = Pick(value[key], arguments, repairs, found.start, found.end, beside)
    if len(value) > (2 if beside is None else 1) and (other := names_another(value, key, names)) is not None:
        return [pick, Pick(other, arguments, repairs, found.start, found.end)]
    return [pick]


def fingerprint(pick: Pick) -> tuple[str, str]:
    """Equal for picks that say the same; ``1``, ``1.0`` and ``true`` are different things."""
    return pick.name, json.dumps([pick.arguments or {}, pick.beside], sort_keys=True, default=repr)


def is_copied(pick: Pick, menu: Menu) -> bool:
    """Whether a pick says nothing that the menu does not say: its own example call, or a part of it."""
    if has_placeholder(pick.arguments):
        return True
    option = menu.index.get(pick.name)
    if option is None or not isinstance(pick.arguments or {}, dict):
        return False
    shown = {f.name: placeholder(f) if f.required else f.default for f in option.fields}
    return all(key in shown and repr(shown[key]) == repr(value) for key, value in (pick.arguments or {}).items())


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
