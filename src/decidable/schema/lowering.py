"""A JSON Schema in the dialect of one wire, and the way back for the values that then arrive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from decidable.errors import UnaskableError
from decidable.schema.shape import fits, kind_of

__all__ = ["Dialect", "Lowered", "Restore", "lower"]

Restore: TypeAlias = "Callable[[Any], Any] | None"
"""Turns a value of the lowered schema into one of the original; None where they are the same."""


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """What one wire understands of JSON Schema. Whatever else a schema says is dropped, and checked on the reply.

    Attributes:
        name: For error messages.
        all_required: Every key must be required; an optional one is lowered to one that may be null.
        closed: Objects must list all their keys, and say so.
        recursion: A definition may refer to itself.
        const: ``const`` is understood; else it becomes an enum of one.
        free_keys: Objects may have keys of the model's choice.
        object_root: The whole must be an object; anything else is wrapped in one.
        keywords: Constraints that may stay.
        formats: Values of ``format`` that may stay.
    """

    name: str
    all_required: bool = False
    closed: bool = False
    recursion: bool = True
    const: bool = True
    free_keys: bool = False
    object_root: bool = False
    keywords: frozenset[str] = frozenset()
    formats: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """A schema in a wire's dialect.

    Attributes:
        schema: What is sent.
        restore: What is done with each value that comes back.
    """

    schema: dict[str, Any]
    restore: Restore


WRAPPER = "value"
"""The key under which something that is no object travels where the root must be one."""


def lower(schema: Mapping[str, Any], dialect: Dialect, where: str = "schema") -> Lowered:
    """`schema` in `dialect`.

    Args:
        schema: A JSON Schema, such as pydantic writes.
        dialect: What the wire understands.
        where: What the schema belongs to, for the message.

    Raises:
        UnaskableError: The dialect cannot express it; the message holds the path.
    """
    lowering = _Lowering(schema, dialect, where)
    lowered, restore = lowering.node(schema, "$", ())
    if dialect.object_root and lowered.get("type") != "object":
        lowered, restore = _wrapped(lowered, restore)
    if lowering.definitions:
        lowered = {**lowered, "$defs": lowering.definitions}
    return Lowered(lowered, restore)


def _wrapped(schema: dict[str, Any], restore: Restore) -> tuple[dict[str, Any], Restore]:
    outer = {"type": "object", "properties": {WRAPPER: schema}, "required": [WRAPPER], "additionalProperties": False}

    def unwrap(value: Any) -> Any:
        if not isinstance(value, Mapping) or WRAPPER not in value:
            return value
        inner = value[WRAPPER]
        return inner if restore is None else restore(inner)

    return outer, unwrap


_SHAPES = ("$ref", "allOf", "anyOf", "oneOf", "properties", "required", "items", "enum", "const")
_STRUCTURE = ("not", "if", "then", "else", "patternProperties", "prefixItems", "dependentSchemas", "contains")


@dataclass(slots=True, eq=False)
class _Lowering:
    """One schema on its way; `definitions` gathers what must be kept by name."""

    root: Mapping[str, Any]
    dialect: Dialect
    where: str
    definitions: dict[str, Any] = field(default_factory=dict)
    restores: dict[str, Restore] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def node(self, schema: Any, path: str, above: tuple[str, ...]) -> tuple[dict[str, Any], Restore]:
        """One schema, at `path`; `above` are the references that it stands within."""
        if not isinstance(schema, Mapping):
            raise self._refused(path, "any value at all" if schema is True else f"{schema!r}")
        if "$ref" in schema:
            return self._reference(schema, path, above)
        if "allOf" in schema:
            return self._all_of(schema, path, above)
        if "anyOf" in schema or "oneOf" in schema:
            return self._any_of(schema, path, above)
        for key in _STRUCTURE:
            if key in schema:
                raise self._refused(path, f"{key!r}")
        if isinstance(schema.get("type"), list):
            variants = [{**_without(schema, "description"), "type": kind} for kind in schema["type"]]
            return self._any_of({"anyOf": variants, **_described(schema)}, path, above)
        if "enum" in schema or "const" in schema:
            return self._enum(schema, path)
        return self._typed(schema, path, above)

    def _typed(self, schema: Mapping[str, Any], path: str, above: tuple[str, ...]) -> tuple[dict[str, Any], Restore]:
        kind = schema.get("type") or ("object" if "properties" in schema else "array" if "items" in schema else None)
        if kind not in ("string", "integer", "number", "boolean", "null", "array", "object"):
            raise self._refused(path, "a value without a type")
        result: dict[str, Any] = {"type": kind, **_described(schema)}
        for key in self.dialect.keywords:
            if key in schema:
                result[key] = schema[key]
        if schema.get("format") in self.dialect.formats:
            result["format"] = schema["format"]
        if kind == "array":
            return self._array(schema, result, path, above)
        if kind == "object":
            return self._object(schema, result, path, above)
        return result, None

    def _array(
        self, schema: Mapping[str, Any], result: dict[str, Any], path: str, above: tuple[str, ...]
    ) -> tuple[dict[str, Any], Restore]:
        if "items" not in schema:
            raise self._refused(path, "a list that does not say what its items are")
        result["items"], restore = self.node(schema["items"], f"{path}[]", above)
        if restore is None:
            return result, None
        return result, lambda value: [restore(item) for item in value] if isinstance(value, list) else value

    def _object(
        self, schema: Mapping[str, Any], result: dict[str, Any], path: str, above: tuple[str, ...]
    ) -> tuple[dict[str, Any], Restore]:
        dialect = self.dialect
        free = schema.get("additionalProperties", "properties" not in schema)
        if dialect.closed and free is not False and (isinstance(free, Mapping) or "properties" not in schema):
            if not dialect.free_keys or "properties" in schema:
                raise self._refused(path, "an object with keys of the model's choice")
            return self._free(free, result, path, above)
        required = set(schema.get("required", ()))
        properties: dict[str, Any] = {}
        restores: dict[str, Restore] = {}
        emptied: set[str] = set()
        given = schema.get("properties", {})
        if not isinstance(given, Mapping):
            raise self._refused(path, f"{given!r} as properties")
        for name, sub in given.items():
            lowered, restores[name] = self.node(sub, f"{path}.{name}", above)
            fixed = "const" in lowered or len(lowered.get("enum", ())) == 1  # what tells the variants of a union apart
            if dialect.all_required and name not in required and not fixed and not _takes_null(lowered):
                emptied.add(name)
                lowered = _with_null(lowered)
            properties[name] = lowered
        result["properties"] = properties
        names = list(properties) if dialect.all_required else [name for name in properties if name in required]
        if names or dialect.all_required:
            result["required"] = names
        if dialect.closed:
            result["additionalProperties"] = False
        return result, _object_restore({k: r for k, r in restores.items() if r is not None}, emptied)

    def _free(
        self, items: Any, result: dict[str, Any], path: str, above: tuple[str, ...]
    ) -> tuple[dict[str, Any], Restore]:
        """An object whose keys the model chooses."""
        if not isinstance(items, Mapping):
            return result, None
        result["additionalProperties"], restore = self.node(items, f"{path}.*", above)
        if restore is None:
            return result, None
        return result, lambda value: {k: restore(v) for k, v in value.items()} if isinstance(value, Mapping) else value

    def _enum(self, schema: Mapping[str, Any], path: str) -> tuple[dict[str, Any], Restore]:
        dialect = self.dialect
        if "const" in schema and dialect.const:
            kind = kind_of(schema["const"])
            kinds = {"type": kind} if kind is not None else {}
            return {**kinds, **_described(schema), "const": schema["const"]}, None
        values = [schema["const"]] if "const" in schema else list(schema["enum"])
        rest = [value for value in values if value is not None]
        kinds_of = {kind_of(value) for value in rest}
        if not kinds_of <= {"string", "integer", "number", "boolean"} or not rest:
            raise self._refused(path, "an enumeration of objects or lists, or of nothing but null")
        if kinds_of == {"integer", "number"}:
            kinds_of = {"number"}
        result: dict[str, Any] = {**_described(schema), "enum": rest}
        if len(kinds_of) == 1:
            result = {"type": kinds_of.pop(), **result}
        return (_with_null(result) if len(rest) < len(values) else result), None

    def _any_of(self, schema: Mapping[str, Any], path: str, above: tuple[str, ...]) -> tuple[dict[str, Any], Restore]:
        variants = schema.get("anyOf") or schema.get("oneOf") or ()
        self._refuse_beside(schema, path, "anyOf" if "anyOf" in schema else "oneOf")
        if not isinstance(variants, list):
            raise self._refused(path, f"{variants!r} as a list of variants")
        given = [v for v in variants if not (isinstance(v, Mapping) and v.get("type") == "null")]
        nullable = len(given) < len(variants)
        if not given:
            return {"type": "null", **_described(schema)}, None
        pairs = [self.node(v, f"{path}|{i}" if len(given) > 1 else path, above) for i, v in enumerate(given)]
        if len(pairs) == 1:
            lowered, restore = pairs[0]
            lowered = {**lowered, **_described(schema)}
            return (_with_null(lowered) if nullable else lowered), restore
        restore = self._one_of(pairs) if any(restore is not None for _, restore in pairs) else None
        result: dict[str, Any] = {**_described(schema), "anyOf": [lowered for lowered, _ in pairs]}
        return (_with_null(result) if nullable else result), restore

    def _one_of(self, variants: list[tuple[dict[str, Any], Restore]]) -> Restore:
        """The way back of whichever variant a value is of."""

        def restore(value: Any) -> Any:
            for lowered, inner in variants:
                if fits(value, lowered, self.definitions):
                    return value if inner is None else inner(value)
            return value

        return restore

    def _all_of(self, schema: Mapping[str, Any], path: str, above: tuple[str, ...]) -> tuple[dict[str, Any], Restore]:
        parts = schema["allOf"]
        if not isinstance(parts, list) or len(parts) != 1 or not isinstance(parts[0], Mapping):
            raise self._refused(path, "'allOf' of several schemas")
        self._refuse_beside(schema, path, "allOf")
        return self.node({**_without(schema, "allOf"), **parts[0], **_described(schema)}, path, above)

    def _reference(
        self, schema: Mapping[str, Any], path: str, above: tuple[str, ...]
    ) -> tuple[dict[str, Any], Restore]:
        ref = schema["$ref"]
        target = self._target(ref, path)
        self._refuse_beside(schema, path, "$ref")
        name = self._name(ref)
        if ref in above or ref == "#":
            if not self.dialect.recursion or ref == "#":
                raise self._refused(path, "a schema that contains itself")
            return {"$ref": f"#/$defs/{name}"}, self._later(name)
        if not self._contains_itself(ref, target):  # put in place: what stands beside a reference is lost on some wires
            return self.node({**target, **_without(schema, "$ref")}, path, (*above, ref))
        if not self.dialect.recursion:
            raise self._refused(path, "a schema that contains itself")
        if name not in self.definitions:
            self.definitions[name] = {}
            self.definitions[name], self.restores[name] = self.node(target, path, (*above, ref))
        return {"$ref": f"#/$defs/{name}"}, self._later(name)

    def _name(self, ref: str) -> str:
        """The name under which a definition is kept; two places may hold definitions of one name."""
        if ref not in self.names:
            name = ref.rsplit("/", 1)[-1]
            taken = set(self.names.values())
            self.names[ref] = name if name not in taken else f"{name}_{len(taken)}"
        return self.names[ref]

    def _refuse_beside(self, schema: Mapping[str, Any], path: str, key: str) -> None:
        """Refuse what would be lost beside `key`: a part of the value's shape."""
        for other in _SHAPES:
            if other in schema and other != key:
                raise self._refused(path, f"{other!r} beside {key!r}")

    def _later(self, name: str) -> Restore:
        """The way back of a definition that is still being lowered."""

        def restore(value: Any) -> Any:
            known = self.restores.get(name)
            return value if known is None else known(value)

        return restore

    def _target(self, ref: str, path: str) -> Mapping[str, Any]:
        if not isinstance(ref, str):
            raise self._refused(path, f"{ref!r} as a reference")
        target: Any = self.root
        for step in ref.removeprefix("#").strip("/").split("/"):
            if step:
                key = step.replace("~1", "/").replace("~0", "~")
                target = target.get(key) if isinstance(target, Mapping) else None
        if not ref.startswith("#") or not isinstance(target, Mapping):
            raise self._refused(path, f"a reference to {ref!r}, which the schema does not hold")
        return target

    def _contains_itself(self, ref: str, target: Any) -> bool:
        seen: set[str] = set()
        waiting = [target]
        while waiting:
            value = waiting.pop()
            if isinstance(value, Mapping):
                inner = value.get("$ref")
                if inner == ref:
                    return True
                if isinstance(inner, str) and inner not in seen:
                    seen.add(inner)
                    waiting.append(self._target(inner, "$"))
                waiting.extend(value.values())
            elif isinstance(value, list):
                waiting.extend(value)
        return False

    def _refused(self, path: str, what: str) -> UnaskableError:
        return UnaskableError(f"{self.where}: at {path}, {self.dialect.name} cannot express {what}")


def _takes_null(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return True
    return any(_takes_null(variant) for variant in schema.get("anyOf", ()))


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    if _takes_null(schema):
        return schema
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    kind = schema.get("type")
    if not isinstance(kind, str) or "enum" in schema or "const" in schema or kind == "object":
        return {"anyOf": [_without(schema, "description"), {"type": "null"}], **_described(schema)}
    return {**schema, "type": [kind, "null"]}


def _object_restore(restores: Mapping[str, Callable[[Any], Any]], emptied: set[str]) -> Restore:
    if not restores and not emptied:
        return None

    def restore(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {
            key: restores[key](item) if key in restores else item
            for key, item in value.items()
            if item is not None or key not in emptied
        }

    return restore


def _described(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": schema["description"]} if schema.get("description") else {}


def _without(schema: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {k: v for k, v in schema.items() if k != key}
