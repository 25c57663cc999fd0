"""`Field`: one thing that the model fills, the single truth for text, JSON Schema, questions and validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

__all__ = ["MISSING", "PLACEHOLDERS", "Field", "FieldType", "Parser", "placeholder", "type_label"]

FieldType: TypeAlias = Literal["str", "int", "float", "bool", "list", "dict", "null", "any"]


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()
"""No default: the field is required."""


class Parser(Protocol):
    """Makes the Python value of a JSON value.

    Attributes:
        checks: Whether it also validates, so that no other check is needed.
    """

    checks: bool

    def parse(self, value: Any, path: str) -> Any:
        """The Python value of `value`; raises `decidable.schema.validate.Invalid` with `path`."""


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One thing the model fills. Compared by identity, so that renderings can be cached per field.

    Attributes:
        name: The key in the arguments object; empty for the items of a list.
        type: Its JSON type, by its Python name.
        description: What it means, for the model.
        choices: The allowed JSON values in order; empty when any value goes.
        criteria: Allowed value (True/False for a bool) to what it stands for.
        default: What an optional field is when left out; `MISSING` when it is required.
        required: Whether it must be given. A field may be optional without a default worth showing.
        nullable: Whether null is a value.
        fields: The fields of a dict; None when its keys are free.
        items: The template of a list's items; None when they are free.
        parser: Makes the Python value; None when the JSON value is the value.
        schema: The JSON Schema it came from, when it came from one.
    """

    name: str
    type: FieldType = "str"
    description: str = ""
    choices: tuple[Any, ...] = ()
    criteria: Mapping[Any, str] | None = None
    default: Any = MISSING
    required: bool = True
    nullable: bool = False
    fields: tuple[Field, ...] | None = None
    items: Field | None = None
    parser: Parser | None = None
    schema: Mapping[str, Any] | None = None


_PLACEHOLDER: dict[FieldType, Any] = {
    "str": "<str>",
    "int": 0,
    "float": 0.0,
    "bool": False,
    "list": [],
    "dict": {},
    "null": None,
    "any": "<any>",
}

PLACEHOLDERS = frozenset({"<str>", "<any>"})
"""Texts that stand for a value in a menu; a reply that copies one has not filled it in."""


def placeholder(field: Field) -> Any:
    """A JSON-native value that shows the shape of `field`, nested where it nests."""
    if field.type == "dict" and field.fields:
        return {sub.name: placeholder(sub) for sub in field.fields}
    if field.type == "list" and field.items is not None:
        return [placeholder(field.items)]
    return _PLACEHOLDER[field.type]


def type_label(field: Field) -> str:
    """The type as a signature shows it, e.g. ``list[str]`` or ``int | None``."""
    label: str = field.type
    if field.type == "list" and field.items is not None:
        label = f"list[{type_label(field.items)}]"
    return f"{label} | None" if field.nullable else label
