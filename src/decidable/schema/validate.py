"""A JSON value against a `Field`: strict checks written out by hand, and the value-preserving repairs.

Menus are data: no class is built per menu, so a check costs a few comparisons. Real annotations go to their parser.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from decidable.attempt import FailureKind
from decidable.schema.field import PLACEHOLDERS, Field

if TYPE_CHECKING:
    from decimal import Decimal

__all__ = ["Invalid", "Unreadable", "clipped", "dropped", "validate", "validate_fields"]


class Invalid(Exception):  # noqa: N818 - a signal between these two modules, never seen by a user
    """A value that does not fit; becomes a `Failure`."""

    def __init__(self, kind: FailureKind, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.kind = kind


class Unreadable:
    """Stands for a JSON literal that has no usable value: NaN, Infinity, an integer of thousands of digits."""

    __slots__ = ("kind", "text")

    def __init__(self, text: str, kind: FailureKind) -> None:
        self.text = text
        self.kind = kind

    def __repr__(self) -> str:
        return self.text


_PYTHON: dict[str, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "float": (int, float),
    "bool": bool,
    "list": list,
    "dict": dict,
    "null": type(None),
}
_JSON_NAMES = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "list": "an array",
    "dict": "an object",
    "null": "null",
}


def validate_fields(
    fields: Sequence[Field], values: dict[str, Any], *, lossless: bool, notes: list[str], path: str = ""
) -> dict[str, Any]:
    """The declared fields of `values`, checked and parsed; unknown keys are dropped, and `notes` says so.

    Raises:
        Invalid: The first field, in declared order, that does not hold.
    """
    result: dict[str, Any] = {}
    for field in fields:
        where = f"{path}.{field.name}" if path else field.name
        if field.name not in values:
            if field.required:
                raise Invalid(FailureKind.MISSING_REQUIRED, where, "is required and missing")
            continue
        value = values[field.name]
        if value is None and not field.required and not field.nullable and lossless:
            notes.append(f"{where}: null taken as left out")
            continue
        result[field.name] = validate(field, value, lossless=lossless, notes=notes, path=where)
    if len(result) < len(values):
        notes.extend(dropped(values, fields, path))
    return result


def dropped(values: dict[str, Any], fields: Sequence[Field], path: str = "") -> list[str]:
    """What to say of the keys that no field declares."""
    names = {field.name for field in fields}
    return [f"{path}.{clipped(k)}: dropped" if path else f"{clipped(k)}: dropped" for k in values if k not in names]


def validate(field: Field, value: Any, *, lossless: bool, notes: list[str], path: str) -> Any:
    """The Python value of `value` for `field`.

    Args:
        field: What is wanted.
        value: A JSON value.
        lossless: Whether value-preserving repairs are allowed; each one made is appended to `notes`.
        notes: Receives the repairs.
        path: Where the value stands, for messages.

    Raises:
        Invalid: It does not fit.
    """
    if type(value) is Unreadable:
        _refuse_unreadable(value, path)
    if value is None and field.nullable:
        return None
    parser = field.parser
    if lossless:
        texts = parser is None or not parser.checks or '"format"' not in json.dumps(getattr(parser, "schema", None))
        value = _mended(field, value, notes, path, texts=texts)
    if parser is not None and parser.checks:
        _refuse_placeholders(value, path)
        return parser.parse(value, path)
    value = _checked(field, value, lossless=lossless, notes=notes, path=path)
    return value if parser is None else parser.parse(value, path)


def _checked(field: Field, value: Any, *, lossless: bool, notes: list[str], path: str) -> Any:
    kind = field.type
    if kind != "any" and not (kind == "str" and type(value) is str):
        if not isinstance(value, _PYTHON[kind]) or (isinstance(value, bool) and kind != "bool"):
            raise Invalid(FailureKind.TYPE_MISMATCH, path, _mismatch(field, value))
        if kind == "float" and not _is_finite(value):
            raise Invalid(FailureKind.TYPE_MISMATCH, path, "must be a finite number")
    if field.choices and not _is_choice(value, field.choices):
        raise Invalid(FailureKind.ENUM_VIOLATION, path, f"{_shown(value)} is not one of {_listed(field.choices)}")
    if type(value) is str:
        if value in PLACEHOLDERS:
            _refuse_placeholders(value, path)
    elif isinstance(value, (dict, list)):
        return _inside(field, value, lossless=lossless, notes=notes, path=path)
    elif kind == "any" and isinstance(value, float) and not math.isfinite(value):
        raise Invalid(FailureKind.TYPE_MISMATCH, path, "must be a finite number")
    return value


def _inside(field: Field, value: Any, *, lossless: bool, notes: list[str], path: str) -> Any:
    """A dict or list with what the field says about its contents."""
    if isinstance(value, dict) and field.fields is not None:
        return validate_fields(field.fields, value, lossless=lossless, notes=notes, path=path)
    if isinstance(value, list) and (item := field.items) is not None:
        return [validate(item, v, lossless=lossless, notes=notes, path=f"{path}[{i}]") for i, v in enumerate(value)]
    _refuse_inner(value, path)
    return value


def _is_finite(value: Any) -> bool:
    """Whether `value`, which may be an int of any size, is a number to floating-point arithmetic."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is_choice(value: Any, choices: Sequence[Any]) -> bool:
    return any(value == c and isinstance(value, bool) == isinstance(c, bool) for c in choices)


def _mismatch(field: Field, value: Any) -> str:
    wanted = _JSON_NAMES[field.type]
    got = "null" if value is None else f"{_kind_of(value)} {_shown(value)}"
    hint = ""
    if isinstance(value, str) and field.type in ("list", "dict"):
        hint = f"; send {wanted}, not a string that holds one"
    return f"must be {wanted}, got {got}{hint}"


def _kind_of(value: Any) -> str:
    for kind, python in _PYTHON.items():
        if isinstance(value, python) and (kind == "bool" or not isinstance(value, bool)):
            return _JSON_NAMES[kind].split(" ", 1)[-1] if kind != "bool" else "the boolean"
    return "the value"


def clipped(value: Any, limit: int = 80) -> str:
    """`value` as Python shows it, short enough for a message that goes back to the model."""
    text = repr(value[:limit] if isinstance(value, (str, list)) else value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _shown(value: Any, limit: int = 80) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    text = text if len(text) <= limit else text[: limit - 3] + "..."
    return text.encode("utf-8", "backslashreplace").decode()  # a lone surrogate could not be sent back to the model


def _listed(choices: Sequence[Any]) -> str:
    return ", ".join(_shown(c) for c in choices[:30]) + (f" and {len(choices) - 30} more" if len(choices) > 30 else "")


def _refuse_unreadable(value: Any, path: str) -> None:
    if isinstance(value, Unreadable):
        raise Invalid(value.kind, path, f"{value.text} is not a usable value")


def _refuse_placeholders(value: Any, path: str) -> None:
    if isinstance(value, str):
        if value in PLACEHOLDERS:
            raise Invalid(FailureKind.BAD_ARGS, path, f"{value!r} is the menu's placeholder; put a real value there")
    elif isinstance(value, (dict, list)):
        _refuse_inner(value, path)


def _refuse_inner(value: dict[str, Any] | list[Any], path: str) -> None:
    """Refuse what must not hide in free-form data; walks with a list, so depth costs no recursion."""
    todo: list[tuple[Any, str]] = [(value, path)]
    while todo:
        current, where = todo.pop()
        if isinstance(current, dict):
            todo.extend((v, f"{where}.{k}") for k, v in current.items())
        elif isinstance(current, list):
            todo.extend((v, f"{where}[{i}]") for i, v in enumerate(current))
        elif isinstance(current, str):
            if current in PLACEHOLDERS:
                _refuse_placeholders(current, where)
        elif isinstance(current, float):
            if not math.isfinite(current):
                raise Invalid(FailureKind.TYPE_MISMATCH, where, "must be a finite number")
        elif isinstance(current, Unreadable):
            _refuse_unreadable(current, where)


_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?")
_FLOAT_DIGITS = 15  # what a float surely holds
_WHOLE_DIGITS = 60
_MAX_DEPTH = 64


def _mended(field: Field, value: Any, notes: list[str], path: str, *, texts: bool) -> Any:
    """`value`, or what it says in the declared type, when that loses nothing.

    `texts` says whether a number may become a text: not where a text is a date, which reads "1" as a second of 1970.
    """
    mended = value
    if field.type in _MENDERS and (texts or field.type != "str"):
        mended = _MENDERS[field.type](value)
    if field.choices:
        mended = _mended_choice(field.choices, mended)
    if mended is not value and not (mended == value and type(mended) is type(value)):
        notes.append(f"{path}: {_shown(value, 40)} taken as {_shown(mended, 40)}")
    if field.parser is not None and field.parser.checks:
        return _mended_inside(field, mended, notes, path, texts=texts)
    return mended


def _mended_inside(field: Field, value: Any, notes: list[str], path: str, *, texts: bool) -> Any:
    """A parser validates the whole at once, so the parts are mended before it sees them."""

    def part(sub: Field, inner: Any, where: str) -> Any:
        return _mended_inside(sub, _mended(sub, inner, notes, where, texts=texts), notes, where, texts=texts)

    if isinstance(value, dict) and field.fields is not None:
        known = {f.name: f for f in field.fields}
        result: dict[str, Any] = {}
        for key, inner in value.items():
            sub = known.get(key)
            if sub is None:
                result[key] = inner
            elif inner is None and not sub.required and not sub.nullable:
                notes.append(f"{path}.{key}: null taken as left out")
            elif inner is None and sub.nullable:
                result[key] = None
            else:
                result[key] = part(sub, inner, f"{path}.{key}")
        return result
    if isinstance(value, list) and field.items is not None:
        return [part(field.items, v, f"{path}[{i}]") for i, v in enumerate(value)]
    return value


def _decimal(text: str) -> Decimal:
    from decimal import Decimal  # only a mend needs it

    return Decimal(text)


def _to_int(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:  # beyond, a float has lost digits
        return int(value)
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        number = _decimal(value.strip())  # a float would round 1.0000000000000000001 to 1
        if number.adjusted() < _WHOLE_DIGITS and number == number.to_integral_value():
            return int(number)
    return value


def _to_float(value: Any) -> Any:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        number = _decimal(value.strip())
        result = float(number)
        if (
            math.isfinite(result)
            and (result or not number)
            and len(number.normalize().as_tuple().digits) <= _FLOAT_DIGITS
        ):
            return result
    return value


def _to_bool(value: Any) -> Any:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower(), value)
    return value


def _to_str(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _to_container(kind: type) -> Any:
    def convert(value: Any) -> Any:
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
            return value
        try:
            decoded = json.loads(value, object_pairs_hook=_object, parse_constant=_constant)
        except (ValueError, RecursionError):
            return value
        return decoded if isinstance(decoded, kind) and not _too_deep(decoded) else value

    return convert


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a repeated key")
    return result


def _constant(text: str) -> Unreadable:
    return Unreadable(text, FailureKind.TYPE_MISMATCH)


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [v for outer in level for v in (outer.values() if isinstance(outer, dict) else outer)]
        level = [v for v in level if isinstance(v, (dict, list))]
        if not level:
            return False
    return True


_MENDERS: dict[str, Any] = {
    "int": _to_int,
    "float": _to_float,
    "bool": _to_bool,
    "str": _to_str,
    "list": _to_container(list),
    "dict": _to_container(dict),
}


def _mended_choice(choices: Sequence[Any], value: Any) -> Any:
    if _is_choice(value, choices) or not isinstance(value, (str, int)) or isinstance(value, bool):
        return value
    text = str(value).strip().casefold()
    fits = [c for c in choices if isinstance(c, (str, int)) and not isinstance(c, bool) and str(c).casefold() == text]
    return fits[0] if len(fits) == 1 else value
