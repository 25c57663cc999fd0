"""The keys that make an object a call, and those that hold its arguments."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

__all__ = ["ARGUMENT_KEYS", "CALL_KEYS", "call_key", "names_another"]

CALL_KEYS = ("call", "action", "function", "tool")
ARGUMENT_KEYS = ("args", "arguments", "parameters")


def call_key(value: Mapping[str, Any]) -> str | None:
    """The key that names the option, if this is a call."""
    for key in CALL_KEYS:
        if type(value.get(key)) is str:
            return key
    if type(value.get("name")) is str and any(key in value for key in ARGUMENT_KEYS):
        return "name"
    return None


def names_another(value: Mapping[str, Any], key: str, names: Container[str]) -> str | None:
    """A second option that a call names under another key, or None."""
    for other in (*CALL_KEYS, "name"):
        name = value.get(other)
        if other != key and type(name) is str and name != value[key] and name in names:
            return name
    return None
