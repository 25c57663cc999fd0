"""Whether a value has the shape of a lowered schema, so that the way back of a union knows which variant it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["fits", "kind_of"]


def fits(value: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> bool:
    """Whether `value` is of the schema's shape; what only narrows a shape, such as a pattern, is not looked at.

    Args:
        value: A JSON value.
        schema: As `decidable.schema.lowering.lower` writes it.
        definitions: What its references stand for, by name.
    """
    if "$ref" in schema:
        return fits(value, definitions.get(schema["$ref"].rsplit("/", 1)[-1], {}), definitions)
    if "anyOf" in schema:
        return any(fits(value, variant, definitions) for variant in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        allowed = [schema["const"]] if "const" in schema else schema["enum"]
        return any(value == one and kind_of(value) == kind_of(one) for one in allowed)
    kind = schema.get("type")
    if isinstance(kind, list):
        return any(fits(value, {**schema, "type": one}, definitions) for one in kind)
    if kind == "object":
        return _fits_object(value, schema, definitions)
    if kind == "array":
        return isinstance(value, list) and all(fits(item, schema["items"], definitions) for item in value)
    return kind_of(value) == kind or (kind == "number" and kind_of(value) == "integer")


def _fits_object(value: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> bool:
    properties, more = schema.get("properties", {}), schema.get("additionalProperties", False)
    if not isinstance(value, Mapping) or not set(schema.get("required", ())) <= value.keys():
        return False
    if isinstance(more, Mapping):
        return all(fits(item, more, definitions) for item in value.values())
    known = value.keys() <= properties.keys()
    return known and all(fits(item, properties[key], definitions) for key, item in value.items())


_KINDS: tuple[tuple[str, Any], ...] = (("string", str), ("integer", int), ("number", float), ("array", list))


def kind_of(value: Any) -> str | None:
    """The JSON Schema type of a JSON value; None for what is none."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, Mapping):
        return "object"
    return next((kind for kind, python in _KINDS if isinstance(value, python)), None)
