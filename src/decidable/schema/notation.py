"""The dict notation for payloads, ``{"steps": [{"action": str}], "why": "A short reason."}``, to `Field`s."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from decidable.errors import OptionError, OptionTypeError
from decidable.schema.annotations import field_of
from decidable.schema.field import MISSING, Field

__all__ = ["apply_metadata", "fields_of_notation"]

_META = frozenset({"type", "description", "options", "fields", "items"})


def fields_of_notation(schema: Mapping[str, Any], *, where: str) -> tuple[Field, ...]:
    """The fields of ``{field name: field type}``.

    Args:
        schema: Field types are a Python type or annotation, a str (a described str field), ``[template]`` (a list),
            a mapping of sub-fields (a nested object), or the meta form: a mapping whose keys are all among
            ``type, description, options, fields, items``.
        where: How to name the schema in an error.

    Raises:
        OptionError: A field name is not a non-empty str.
        OptionTypeError: A field type is none of the above, or a list does not hold exactly one template.
    """
    for name in schema:
        if not isinstance(name, str) or not name:
            raise OptionError(f"{where}: a field name must be a non-empty str, not {name!r}")
    return tuple(_field(name, kind, f"{where}, field {name!r}") for name, kind in schema.items())


def _field(name: str, kind: Any, where: str) -> Field:
    if isinstance(kind, str):
        return Field(name, "str", description=kind)
    if isinstance(kind, (list, tuple)):
        if len(kind) != 1:
            raise OptionTypeError(f"{where}: a list holds exactly one template for its items, e.g. [str]; got {kind!r}")
        return Field(name, "list", items=_field("", kind[0], f"{where}[]"))
    if isinstance(kind, Mapping):
        if kind and set(kind) <= _META:
            return _meta(name, kind, where)
        return Field(name, "dict", fields=fields_of_notation(kind, where=where) if kind else None)
    if kind is not None and not isinstance(kind, type) and not hasattr(kind, "__origin__") and not _is_union(kind):
        raise OptionTypeError(
            f"{where}: {kind!r} is not a field type. Use a type such as str, a description, [template], "
            "{field: type}, or {'type': ..., 'options': [...]}"
        )
    return field_of(name, kind, where=where)


def _is_union(kind: Any) -> bool:
    return type(kind).__name__ == "UnionType" or kind is Any


def _meta(name: str, meta: Mapping[str, Any], where: str) -> Field:
    kind = meta.get("type", list if "items" in meta else dict if "fields" in meta else str)
    if isinstance(kind, str):
        kind = _NAMED.get(kind)
        if kind is None:
            raise OptionTypeError(f"{where}: unknown type {meta['type']!r}; known: {', '.join(sorted(_NAMED))}")
    if "items" in meta:
        field = _field(name, [meta["items"]], where)
    elif "fields" in meta:
        if not isinstance(meta["fields"], Mapping):
            raise OptionTypeError(f"{where}: 'fields' must be a mapping of field types, not {meta['fields']!r}")
        field = Field(name, "dict", fields=fields_of_notation(meta["fields"], where=where))
    else:
        field = _field(name, kind, where)
    return apply_metadata(field, meta, where)


_NAMED: dict[str, type] = {
    "str": str,
    "string": str,
    "int": int,
    "integer": int,
    "float": float,
    "number": float,
    "bool": bool,
    "boolean": bool,
    "list": list,
    "array": list,
    "dict": dict,
    "object": dict,
}


_SCALARS: dict[str, type | tuple[type, ...]] = {"str": str, "int": int, "float": (int, float)}


def apply_metadata(field: Field, meta: Mapping[str, Any], where: str) -> Field:
    """`field` with the ``description`` and ``options`` of `meta`.

    ``options`` is a list of allowed values, or a mapping of allowed value to what it stands for; for a bool,
    ``{True: "...", False: "..."}`` describes its two sides.
    """
    description, options = meta.get("description"), meta.get("options")
    if description is not None:
        if not isinstance(description, str):
            raise OptionTypeError(f"{where}: 'description' must be a str, not {description!r}")
        field = replace(field, description=description)
    if options is None:
        return field
    if isinstance(options, str) or not isinstance(options, Iterable) or not (choices := tuple(options)):
        raise OptionTypeError(f"{where}: 'options' must be a non-empty list of allowed values, not {options!r}")
    criteria = {k: str(v) for k, v in options.items()} if isinstance(options, Mapping) else field.criteria
    field = replace(field, criteria=criteria)
    if field.type == "bool":
        return field
    for choice in choices:
        wanted = _SCALARS.get(field.type)
        if wanted is not None and (not isinstance(choice, wanted) or isinstance(choice, bool)):
            raise OptionTypeError(f"{where}: the option {choice!r} is no {field.type}, so no value could be right")
    if field.default is not MISSING and field.default is not None and field.default not in choices:
        raise OptionError(f"{where}: the default {field.default!r} is not among its options {choices!r}")
    return replace(field, choices=choices)
