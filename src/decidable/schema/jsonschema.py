"""`Field` to JSON Schema and back; not a validator of JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from decidable.errors import OptionError
from decidable.schema.field import MISSING, Field, FieldType, Parser

__all__ = ["field_from_schema", "fields_from_schema", "hoisted", "object_schema", "schema_of"]

_TYPES: dict[str, FieldType] = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "null",
}
_NAMES = {python: json for json, python in _TYPES.items()}
_MAX_DEPTH = 12  # a recursive model has no bottom; deeper levels are shown as "any" and still validated by their parser


def schema_of(field: Field) -> dict[str, Any]:
    """The JSON Schema of one field."""
    if field.schema is not None:
        schema = dict(field.schema)
    else:
        schema = {"type": _NAMES[field.type]} if field.type != "any" else {}
        if field.nullable and "type" in schema:
            schema["type"] = [schema["type"], "null"]
        if field.choices:
            schema["enum"] = [*field.choices, None] if field.nullable else list(field.choices)
        if field.type == "dict" and field.fields is not None:
            schema.update(object_schema(field.fields), type=schema["type"])
        if field.type == "list" and field.items is not None:
            schema["items"] = schema_of(field.items)
    if field.description:
        schema["description"] = field.description
    if not field.required and _is_json(field.default):
        schema["default"] = field.default
    return schema


def object_schema(fields: Sequence[Field]) -> dict[str, Any]:
    """The JSON Schema of an object with `fields`, definitions gathered at its top."""
    definitions: dict[str, Any] = {}
    properties = {field.name: hoisted(schema_of(field), definitions) for field in fields}
    result: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": [f.name for f in fields if f.required],
        "additionalProperties": False,
    }
    if definitions:
        result["$defs"] = definitions
    return result


def hoisted(schema: Mapping[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """`schema` without its definitions, which are added to `definitions`; one whose name is taken gets another."""
    own = schema.get("$defs", {})
    rest = {key: value for key, value in schema.items() if key != "$defs"}
    renamed = {}
    for name, definition in own.items():
        free, number = name, 1
        while free in definitions and definitions[free] != definition:
            number += 1
            free = f"{name}_{number}"
        if free != name:
            renamed[f"#/$defs/{name}"] = f"#/$defs/{free}"
        definitions[free] = definition
    if not renamed:
        return rest
    for name in own:
        free = renamed.get(f"#/$defs/{name}", f"#/$defs/{name}").rsplit("/", 1)[-1]
        definitions[free] = _repointed(definitions[free], renamed)
    return dict(_repointed(rest, renamed))


def _repointed(schema: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(schema, Mapping):
        return {
            key: renamed.get(value, value) if key == "$ref" and isinstance(value, str) else _repointed(value, renamed)
            for key, value in schema.items()
        }
    return [_repointed(item, renamed) for item in schema] if isinstance(schema, list) else schema


def fields_from_schema(schema: Mapping[str, Any], *, parser: Parser | None = None) -> tuple[Field, ...]:
    """The fields of an object schema.

    Args:
        schema: A JSON Schema of ``"type": "object"``.
        parser: What validates the whole; with one, the fields serve to show and to mend values, not to check them.

    Raises:
        OptionError: The schema is not an object's, or says something that the fields cannot hold.
    """
    root = _resolve(schema, schema)
    if root.get("type", "object") != "object":
        raise OptionError(f"a payload schema must be an object, not {root.get('type')!r}")
    return _properties(root, schema, checked=parser is not None, path="", depth=0)


def field_from_schema(name: str, schema: Mapping[str, Any], *, parser: Parser | None = None) -> Field:
    """One field from its JSON Schema; `parser`, if any, validates it."""
    field = _field(name, schema, schema, checked=parser is not None, path=name, depth=0)
    return replace(field, parser=parser, schema=schema) if parser is not None else field


def _properties(
    schema: Mapping[str, Any], root: Mapping[str, Any], *, checked: bool, path: str, depth: int
) -> tuple[Field, ...]:
    required = schema.get("required", ())
    return tuple(
        replace(
            _field(name, sub, root, checked=checked, path=f"{path}.{name}" if path else name, depth=depth),
            required=name in required,
        )
        for name, sub in schema.get("properties", {}).items()
    )


_UNCHECKED = [
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "prefixItems",
    "oneOf",
    "allOf",
    "not",
    "if",
    "patternProperties",
    "propertyNames",
    "dependentRequired",
    "minProperties",
    "maxProperties",
    "contains",
    "format",
]


def _field(name: str, schema: Any, root: Mapping[str, Any], *, checked: bool, path: str, depth: int) -> Field:
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return Field(name, "any")
    outer, schema = schema, _resolve(schema, root)
    schema, nullable = _without_null(schema, root)
    if not checked and (unknown := [key for key in _UNCHECKED if key in schema]):
        raise OptionError(f"schema of {path!r}: {unknown[0]!r} is not supported here; use a pydantic type for it")
    kind = schema.get("type")
    choices = tuple(schema["enum"]) if "enum" in schema else ((schema["const"],) if "const" in schema else ())
    if not isinstance(kind, str):
        kind = _common_type(choices)
    type_ = _TYPES.get(kind or "", "any")
    items = fields = None
    if type_ == "list" and "items" in schema:
        items = _field("", schema["items"], root, checked=checked, path=f"{path}[]", depth=depth + 1)
    if type_ == "dict" and "properties" in schema:
        fields = _properties(schema, root, checked=checked, path=path, depth=depth + 1)
    return Field(
        name,
        type_,
        description=str(outer.get("description") or schema.get("description") or ""),
        choices=choices,
        criteria=schema.get("criteria"),
        default=outer.get("default", schema.get("default", MISSING)),
        nullable=nullable,
        fields=fields,
        items=items,
        schema=None,
    )


def _resolve(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    for _ in range(_MAX_DEPTH):
        ref = schema.get("$ref")
        if not isinstance(ref, str) or not ref.startswith("#/"):
            return schema
        target: Any = root
        for key in ref[2:].split("/"):
            target = target.get(key.replace("~1", "/").replace("~0", "~"), {}) if isinstance(target, Mapping) else {}
        schema = target if isinstance(target, Mapping) else {}
    return {}


def _without_null(schema: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    kind, variants = schema.get("type"), schema.get("anyOf")
    if isinstance(kind, list):
        rest = [k for k in kind if k != "null"]
        return {**schema, "type": rest[0] if len(rest) == 1 else None}, len(rest) < len(kind)
    if isinstance(variants, list):
        resolved = [_resolve(v, root) for v in variants if isinstance(v, Mapping)]
        rest = [v for v in resolved if v.get("type") != "null"]
        if len(rest) == 1:
            return {**schema, **rest[0]}, len(rest) < len(resolved)
        return schema, len(rest) < len(resolved)
    return schema, False


def _common_type(choices: Sequence[Any]) -> str | None:
    kinds = {type(c) for c in choices}
    names: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
    return names.get(kinds.pop()) if len(kinds) == 1 else None


def _is_json(value: Any) -> bool:
    if value is None or isinstance(value, (str, int, float, bool)):
        return True
    if isinstance(value, (list, tuple)):
        return all(_is_json(v) for v in value)
    if isinstance(value, dict):
        return all(isinstance(k, str) and _is_json(v) for k, v in value.items())
    return False
