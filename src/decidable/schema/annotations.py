"""Python annotations to `Field`s: plain types by hand, everything else through pydantic."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from inspect import cleandoc
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from decidable.schema.deep import deep_parser
from decidable.schema.field import MISSING, Field, FieldType
from decidable.schema.jsonschema import field_from_schema, fields_from_schema

__all__ = ["EnumParser", "enum_values", "field_of", "fields_of_model"]

_PLAIN: dict[Any, FieldType] = {
    str: "str",
    int: "int",
    float: "float",
    bool: "bool",
    list: "list",
    dict: "dict",
    type(None): "null",
    None: "null",
    Any: "any",
    object: "any",
}


class EnumParser:
    """Turns the JSON value of an Enum member into the member."""

    __slots__ = ("members",)

    checks = False

    def __init__(self, members: Mapping[Any, Enum]) -> None:
        self.members = members

    def parse(self, value: Any, path: str) -> Enum:
        """The member that `value`, already checked against the choices, stands for."""
        return self.members[value]


def field_of(
    name: str, annotation: Any, *, where: str, default: Any = MISSING, required: bool = True, description: str = ""
) -> Field:
    """The `Field` for one annotated thing.

    Args:
        name: Its key; empty for the items of a list.
        annotation: A plain type, a Literal, an Enum, a union with None, a list of these, or anything pydantic takes.
        where: How to name it in an error, e.g. ``"parameter 'team' of 'escalate'"``.
        default: Its default, if it has one worth showing.
        required: Whether the model must give it.
        description: What it means; an annotation's own description is used when this is empty.

    Raises:
        OptionTypeError: No JSON value can stand for the annotation.
    """
    field = _plain(name, annotation, where) or _deep(name, annotation, where)
    return replace(field, default=default, required=required, description=description or field.description)


def fields_of_model(model: type, *, where: str) -> tuple[tuple[Field, ...], Any]:
    """The fields of a pydantic model class, dataclass or TypedDict, and the parser that makes the instance."""
    parser = deep_parser(model, where)
    if parser.fields is None:
        parser.fields = fields_from_schema(parser.schema, parser=parser)
    return parser.fields, parser


def enum_values(enum: type[Enum]) -> tuple[Any, ...]:
    """How the members of `enum` are written in JSON: their values, or their names if some value is no scalar."""
    values = [m.value for m in enum]
    if all(isinstance(v, (str, int)) and not isinstance(v, bool) for v in values):
        return tuple(values)
    return tuple(m.name for m in enum)


def member_doc(member: Enum) -> str:
    """A member's own docstring, if it was given one."""
    doc = member.__dict__.get("__doc__")
    return cleandoc(doc) if isinstance(doc, str) else ""


def _plain(name: str, annotation: Any, where: str) -> Field | None:
    """The field of an annotation that needs no pydantic, else None."""
    try:
        known = _PLAIN.get(annotation)
    except TypeError:
        return None
    if known is not None:
        return Field(name, known)
    if isinstance(annotation, type) and issubclass(annotation, Enum) and len(annotation):
        return _enum(name, annotation)
    origin = get_origin(annotation)
    if origin is None:
        return None
    arguments = get_args(annotation)
    if origin is Literal:
        return _literal(name, arguments)
    if origin in (Union, types.UnionType):
        rest = [a for a in arguments if a is not type(None)]
        inner = _plain(name, rest[0], where) if len(rest) == 1 else None
        return replace(inner, nullable=True) if inner is not None else None
    if origin is list:
        item = _plain("", arguments[0], where)
        return Field(name, "list", items=item) if item is not None else None
    if origin is dict and arguments == (str, Any):
        return Field(name, "dict")
    if origin is Annotated and all(isinstance(extra, str) for extra in arguments[1:]):
        inner = _plain(name, arguments[0], where)
        return replace(inner, description=" ".join(arguments[1:])) if inner is not None else None
    return None


def _literal(name: str, values: tuple[Any, ...]) -> Field | None:
    nullable = None in values
    choices = tuple(v for v in values if v is not None)
    kinds = {type(v) for v in choices}
    if not kinds <= {str, int, bool}:
        return None  # enum members and bytes inside a Literal: pydantic knows how
    kind = _PLAIN[kinds.pop()] if len(kinds) == 1 else "any"
    return Field(name, kind, choices=choices, nullable=nullable)


def _enum(name: str, enum: type[Enum]) -> Field:
    values = enum_values(enum)
    kinds = {type(v) for v in values}
    base: FieldType = "str" if kinds == {str} else "int" if kinds == {int} else "any"
    if any(issubclass(k, str) for k in kinds):
        base = "str" if all(issubclass(k, str) for k in kinds) else "any"
    criteria = {v: doc for v, m in zip(values, enum, strict=True) if (doc := member_doc(m))}
    return Field(
        name,
        base,
        choices=values,
        criteria=criteria or None,
        parser=EnumParser(dict(zip(values, enum, strict=True))),
    )


def _deep(name: str, annotation: Any, where: str) -> Field:
    parser = deep_parser(annotation, where)
    return field_from_schema(name, parser.schema, parser=parser)
