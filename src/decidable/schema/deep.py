"""Real annotations, validated by pydantic: one cached `TypeAdapter` per type, imported only when one is met."""

from __future__ import annotations

import json
import sys
import types
import typing
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, NotRequired

from decidable.attempt import FailureKind
from decidable.errors import OptionTypeError
from decidable.schema.field import Field
from decidable.schema.validate import Invalid

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["DeepParser", "deep_parser", "is_model_class"]


class DeepParser:
    """Validates a JSON value against an annotation, in pydantic's strict JSON mode.

    Strict JSON mode takes ``"2026-01-31"`` for a `date` and ``[1, 2]`` for a tuple, but not ``"3"`` for an `int`.
    """

    __slots__ = ("_adapter", "fields", "schema")

    checks = True

    def __init__(self, adapter: TypeAdapter[Any]) -> None:
        self._adapter = adapter
        self.schema: dict[str, Any] = adapter.json_schema()
        self.fields: tuple[Field, ...] | None = None  # of an object, once somebody asked for them

    def parse(self, value: Any, path: str) -> Any:
        """The parsed Python object of `value`."""
        from pydantic import ValidationError

        try:
            text = json.dumps(value, allow_nan=False)
        except (ValueError, TypeError, RecursionError):
            raise Invalid(FailureKind.TYPE_MISMATCH, path, "holds a value that is not JSON, such as NaN") from None
        try:
            return self._adapter.validate_json(text, strict=True)
        except ValidationError as error:
            raise _invalid(error, path) from None


_KINDS = {
    "missing": FailureKind.MISSING_REQUIRED,
    "enum": FailureKind.ENUM_VIOLATION,
    "literal_error": FailureKind.ENUM_VIOLATION,
}
_SHOWN = 3


def _invalid(error: Any, path: str) -> Invalid:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    first, lines = problems[0], []
    for problem in problems[:_SHOWN]:
        where = path
        for step in problem["loc"]:
            where += f"[{step}]" if isinstance(step, int) else (f".{step}" if where else str(step))
        lines.append(f"{where}: {problem['msg']}")
    if len(problems) > _SHOWN:
        lines.append(f"and {len(problems) - _SHOWN} more problems")
    return Invalid(_KINDS.get(first["type"], FailureKind.TYPE_MISMATCH), "", "; ".join(lines))


_CACHE: dict[Any, DeepParser] = {}
_CACHE_LIMIT = 1024


def deep_parser(annotation: Any, where: str) -> DeepParser:
    """The parser for `annotation`, built once per type.

    Raises:
        OptionTypeError: pydantic cannot make JSON of the annotation; the message starts with `where`.
    """
    try:
        found = _CACHE.get(annotation)
    except TypeError:  # Annotated with unhashable metadata
        return _build(annotation, where)
    if found is None:
        found = _build(annotation, where)
        if len(_CACHE) < _CACHE_LIMIT:
            _CACHE[annotation] = found
    return found


def _build(annotation: Any, where: str) -> DeepParser:
    from pydantic import PydanticUserError, TypeAdapter

    try:
        return DeepParser(TypeAdapter(_readable(annotation)))
    except (PydanticUserError, NameError, TypeError, ValueError) as error:
        label = getattr(annotation, "__name__", repr(annotation))
        hide = ", or hide it: input={...: {'hidden': True}} and pass it in context=" if "parameter" in where else ""
        raise OptionTypeError(
            f"{where}: a model cannot fill a value of type {label}. Use a type that JSON can carry{hide}. "
            f"({_first_line(error)})"
        ) from error


def _readable(annotation: Any) -> Any:
    """`annotation` as pydantic reads it: before Python 3.12 it refuses a TypedDict made with `typing`'s own."""
    if sys.version_info >= (3, 12):
        return annotation
    if typing.is_typeddict(annotation):  # false for one of typing_extensions, which is in order
        from typing_extensions import TypedDict

        hints = typing.get_type_hints(annotation, include_extras=True)
        required = annotation.__required_keys__
        keys = {k: _readable(v) if k in required else NotRequired[_readable(v)] for k, v in hints.items()}
        again: Any = TypedDict(annotation.__name__, keys)  # type: ignore[misc]  # made from a class, not a display
        again.__doc__ = annotation.__doc__
        return again
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (list, dict, tuple, set) and arguments:
        return origin[tuple(_readable(a) for a in arguments)]
    if origin in (typing.Union, types.UnionType):
        return reduce(or_, [_readable(a) for a in arguments])
    return annotation


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]


def is_model_class(value: object) -> bool:
    """Whether `value` is a pydantic model class, a dataclass or a TypedDict, and so describes a payload."""
    if not isinstance(value, type):
        return False
    return (
        hasattr(value, "__pydantic_fields__")
        or "__dataclass_fields__" in vars(value)
        or (issubclass(value, dict) and hasattr(value, "__total__"))
    )
