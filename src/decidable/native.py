"""A menu in a model's own terms: one tool per option, or one JSON Schema for all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from decidable.menu import Menu
from decidable.options import FunctionOption, Option
from decidable.schema.field import Field
from decidable.schema.jsonschema import hoisted, object_schema
from decidable.tools import ToolSpec

__all__ = ["menu_schema", "menu_tools"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")
"""A tool's name that every wire takes."""
_LONGEST = 64


def menu_tools(menu: Menu) -> tuple[tuple[ToolSpec, ...], Mapping[str, str]]:
    """One tool per option, in the menu's order; and which option each tool's name stands for.

    A name that some wire would refuse is respelled; the map leads back.
    """
    tools: list[ToolSpec] = []
    names: dict[str, str] = {}
    for option in menu.options:
        name = _tool_name(option.name, names, menu)
        names[name] = option.name
        tools.append(ToolSpec(name, _described(option.name, name, option.description), _schema(option)))
    return tuple(tools), names


def menu_schema(menu: Menu) -> dict[str, Any]:
    """The JSON Schema of a pick: the name of one option as ``call``, and its arguments as ``args``."""
    definitions: dict[str, Any] = {}
    variants = []
    for option in menu.options:
        call: dict[str, Any] = {"type": "string", "const": option.name}
        variant: dict[str, Any] = {"type": "object", "properties": {"call": call}, "required": ["call"]}
        if option.fields:
            variant["properties"]["args"] = hoisted(_schema(option), definitions)
            variant["required"].append("args")
        variant["additionalProperties"] = False
        variants.append(variant)
    schema = variants[0] if len(variants) == 1 else {"anyOf": variants}
    return {**schema, "$defs": definitions} if definitions else schema


def _schema(option: Option[Any]) -> Mapping[str, Any]:
    rules = option.rules if isinstance(option, FunctionOption) else None
    return _parameters(option.fields) if rules is None or rules.parameters is None else rules.parameters


@lru_cache(maxsize=2048)
def _parameters(fields: tuple[Field, ...]) -> dict[str, Any]:
    """Kept, since a function's fields are the same objects every time; never changed by who receives it."""
    return object_schema(fields)


def _described(option: str, tool: str, description: str) -> str:
    return description if option == tool else f"{option}: {description}" if description else option


def _tool_name(name: str, taken: Mapping[str, str], menu: Menu) -> str:
    if _NAME.match(name) and name not in taken:
        return name
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_-")[: _LONGEST - 4]
    plain = plain if _NAME.match(plain) else f"option_{plain}"[: _LONGEST - 4]
    candidate, number = plain, 1
    while candidate in taken or (candidate in menu.index and candidate != name):
        number += 1
        candidate = f"{plain}_{number}"
    return candidate
