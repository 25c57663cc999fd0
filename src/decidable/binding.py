"""A pick against a menu: the option it names and its checked arguments, or why it does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from decidable.attempt import Failure, FailureKind, Origin, Pick, Repair
from decidable.errors import OptionError, did_you_mean
from decidable.menu import Menu
from decidable.options import FunctionOption, Option, SchemaOption
from decidable.reading.keys import ARGUMENT_KEYS
from decidable.reading.strict import decode_whole
from decidable.schema.field import Field
from decidable.schema.validate import Invalid, Unreadable, clipped, dropped, validate, validate_fields

__all__ = ["Choice", "bind", "check_context", "own", "with_injected"]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A pick that held.

    Attributes:
        option: The option picked.
        arguments: What the model filled in, checked and parsed.
        repairs: What was mended in the reply, in order.
        probabilities: Option name to probability, where the reply gives one for each option.
        origin: Where they come from.
    """

    option: Option[Any]
    arguments: Mapping[str, Any]
    repairs: tuple[str, ...] = ()
    probabilities: Mapping[str, float] | None = None
    origin: Origin = "none"


def bind(pick: Pick, menu: Menu, repair: Repair = "syntax") -> Choice | Failure:
    """Check a pick against the menu.

    Returns:
        A `Choice`, or a `Failure` of kind ``unknown_call``, ``bad_args``, ``missing_required``, ``type_mismatch`` or
        ``enum_violation``. Fields that the option does not declare are dropped, which `Choice.repairs` says.
    """
    lossless = repair == "lossless"
    notes: list[str] = []
    option = menu.index.get(pick.name)
    if option is None:
        name = _respelled(pick.name, menu) if lossless else None
        if name is None:
            hint = did_you_mean(pick.name, tuple(menu.index), "the options are")
            return Failure(FailureKind.UNKNOWN_CALL, f"{clipped(pick.name)} is not on the menu; {hint}")
        option = menu.index[name]
        notes.append(f"option {clipped(pick.name)} taken as {name!r}")
    fields = option.fields
    try:
        if not fields:
            if pick.arguments and isinstance(pick.arguments, dict):
                notes.extend(dropped(pick.arguments, ()))
            return Choice(option, _no_arguments(option), (*pick.repairs, *notes))
        arguments = _arguments(pick, fields, lossless, notes)
        checked = _checked(option, arguments, lossless, notes)
        if not lossless and (pick.beside or not checked):
            _refuse_misplaced(pick, arguments, fields)
    except Invalid as error:
        return Failure(error.kind, f"{option.name}: {error}")
    return Choice(option, checked, (*pick.repairs, *notes))


def _no_arguments(option: Option[Any]) -> Mapping[str, Any]:
    if isinstance(option, SchemaOption) and option.parser is not None:
        return {"": option.parser.parse({}, option.name)}
    return {}


def _checked(option: Option[Any], arguments: dict[str, Any], lossless: bool, notes: list[str]) -> dict[str, Any]:
    if isinstance(option, SchemaOption) and option.parser is not None:
        whole = Field("", "dict", fields=option.fields, parser=option.parser)
        notes.extend(dropped(arguments, option.fields))
        return {"": validate(whole, arguments, lossless=lossless, notes=notes, path="")}
    return validate_fields(option.fields, arguments, lossless=lossless, notes=notes)


def _refuse_misplaced(pick: Pick, arguments: dict[str, Any], fields: tuple[Field, ...]) -> None:
    """Refuse to run on defaults when the arguments that were given stand where only `lossless` looks for them."""
    names = {field.name for field in fields}
    beside = sorted(names.intersection(pick.beside or ()))
    if not arguments and beside:
        raise Invalid(
            FailureKind.BAD_ARGS, "args", f"{', '.join(beside)} must stand inside 'args', not beside the name"
        )
    if names.isdisjoint(arguments) and any(key in arguments for key in (*ARGUMENT_KEYS, "properties")):
        raise Invalid(FailureKind.BAD_ARGS, "args", "must hold the arguments themselves, without another object around")


def _respelled(name: str, menu: Menu) -> str | None:
    from decidable.reading.names import match_name  # only a lossless reading needs it

    return match_name(name, menu.index)


def _arguments(pick: Pick, fields: tuple[Field, ...], lossless: bool, notes: list[str]) -> dict[str, Any]:
    """The arguments object, out of the wrappings that models put it in."""
    arguments = pick.arguments
    if arguments is None or arguments == "":
        return {}
    if type(arguments) is dict and not lossless:
        return arguments
    names = {field.name for field in fields}
    if lossless:
        arguments = _unwrapped(arguments, names, notes)
        if not arguments and pick.beside and not names.isdisjoint(pick.beside):
            notes.append("arguments taken from beside the name")
            arguments = dict(pick.beside)
    if isinstance(arguments, Unreadable):
        raise Invalid(arguments.kind, "args", f"{arguments} is not a usable value")
    if not isinstance(arguments, dict):
        shown = (
            "send an object, not a string that holds one" if isinstance(arguments, str) else f"not {clipped(arguments)}"
        )
        raise Invalid(FailureKind.BAD_ARGS, "args", f"must be an object with {', '.join(sorted(names))}; {shown}")
    return arguments


def _unwrapped(arguments: Any, names: set[str], notes: list[str]) -> Any:
    """Strip a JSON string, then one envelope that the option does not declare, then a JSON string in it."""
    arguments = _decoded(arguments, notes)
    if isinstance(arguments, dict) and names.isdisjoint(arguments):
        keys = [key for key in (*ARGUMENT_KEYS, "properties") if key in arguments]
        if len(keys) == 1 and set(arguments) <= {keys[0], "type"}:
            notes.append(f"arguments taken out of {keys[0]!r}")
            arguments = _decoded(arguments[keys[0]], notes)
    return arguments


def _decoded(value: Any, notes: list[str]) -> Any:
    if not isinstance(value, str):
        return value
    try:
        decoded = decode_whole(value.strip())
    except ValueError:
        return value
    if isinstance(decoded, dict):
        notes.append("arguments read from a JSON string")
        return decoded
    return value


def check_context(option: FunctionOption[Any], context: Mapping[str, Any], noun: str = "option") -> None:
    """Refuse, before anything is sent, a function option whose hidden parameter nothing fills.

    Raises:
        OptionError: Naming the option and the parameter.
    """
    for name in option.signature.hidden_required:
        if name not in context:
            raise OptionError(
                f"{noun} {option.name!r} needs its hidden parameter {name!r}: pass context={{{name!r}: ...}}"
            )


def own(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """`arguments`, whose lists and dicts a function may change without changing what is kept of them."""
    if not any(isinstance(value, (list, dict)) for value in arguments.values()):
        return arguments
    from copy import deepcopy  # most arguments are plain

    return {name: deepcopy(value) if isinstance(value, (list, dict)) else value for name, value in arguments.items()}


def with_injected(
    option: FunctionOption[Any], injected: Mapping[str, Any], arguments: Mapping[str, Any]
) -> Mapping[str, Any]:
    """`arguments`, with the values of the parameters that no model fills."""
    names = (*option.signature.injected, *option.signature.hidden)
    return {**arguments, **{name: injected[name] for name in names if name in injected}}
