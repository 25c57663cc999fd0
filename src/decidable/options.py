"""What may happen next: the kinds of option, and every container form that becomes a list of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast, final

from decidable.errors import ModelRetry, OptionError, OptionTypeError
from decidable.schema.annotations import enum_values, fields_of_model, member_doc
from decidable.schema.deep import is_model_class
from decidable.schema.field import Field, Parser
from decidable.schema.jsonschema import object_schema
from decidable.schema.notation import fields_of_notation
from decidable.schema.signature import FunctionSpec, callable_name, describe, function_spec
from decidable.schema.validate import Invalid, validate_fields

if TYPE_CHECKING:
    from decidable.rules import Rules

__all__ = ["FunctionOption", "Option", "Options", "SchemaOption", "ValueOption", "options_of"]

T_co = TypeVar("T_co", covariant=True)


class Option(Generic[T_co]):
    """Something that may happen next; `T_co` is what picking it results in.

    Use a kind of option directly where a bare value would be read as something else: a callable that is meant as a
    value, a 2-tuple, a class. In a dict the key names it; in a list it needs a `name` of its own (a function has one).
    """

    __slots__ = ()

    name: str
    description: str
    fields: tuple[Field, ...]

    def resolve(self, arguments: Mapping[str, Any]) -> Any:
        """The result of this option with checked `arguments`."""
        raise TypeError(f"{type(self).__name__} does not say what it resolves to")  # pragma: no cover


@final
@dataclass(frozen=True, slots=True, eq=False)
class ValueOption(Option[T_co]):
    """An option that results in `value` itself, the same object."""

    value: T_co
    description: str = ""
    name: str = ""
    fields: tuple[Field, ...] = ()

    def resolve(self, arguments: Mapping[str, Any]) -> T_co:
        """The value."""
        return self.value


@final
@dataclass(frozen=True, slots=True, eq=False)
class SchemaOption(Option[T_co]):
    """An option with a payload that the model fills.

    Attributes:
        schema: A pydantic model class, dataclass or TypedDict, which results in an instance; or the dict notation,
            which results in ``{"decision": name, **fields}``.
    """

    schema: type[T_co] | Mapping[str, Any]
    description: str = ""
    name: str = ""
    fields: tuple[Field, ...] = ()
    parser: Parser | None = None

    def __post_init__(self) -> None:
        """Read the schema once; `object.__setattr__` because the class is frozen."""
        if self.fields or self.parser is not None:
            return
        where = f"schema option {self.name!r}" if self.name else "schema option"
        if isinstance(self.schema, Mapping):
            object.__setattr__(self, "fields", fields_of_notation(self.schema, where=where))
        elif is_model_class(self.schema):
            fields, parser = fields_of_model(self.schema, where=where)
            object.__setattr__(self, "fields", fields)
            object.__setattr__(self, "parser", parser)
        else:
            raise OptionTypeError(
                f"{where}: a schema is a mapping {{field: type}}, a pydantic model class, a dataclass or a TypedDict, "
                f"not {self.schema!r}"
            )

    def resolve(self, arguments: Mapping[str, Any]) -> Any:
        """The instance, or the decision as a dict."""
        return arguments[_INSTANCE] if self.parser is not None else {"decision": self.name, **arguments}


_INSTANCE = ""  # no field can have this name, so a parsed payload travels as one unnamed argument


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FunctionOption(Option[T_co]):
    """An option that runs `function` with the arguments that the model gives, and results in what it returns.

    Attributes:
        function: Any callable with a readable signature.
        description: What the model reads; None takes the first paragraph of the docstring.
        name: None takes the function's ``__name__``.
        hidden: Parameters that the model does not see; they are filled from ``context=``.
        rules: What holds for running it: approval, a time limit; `decidable.tool` makes options with rules.
    """

    function: Callable[..., T_co]
    description: str | None = None  # type: ignore[assignment]  # always a str once built
    name: str = ""
    hidden: tuple[str, ...] = ()
    signature: FunctionSpec = None  # type: ignore[assignment]  # always there once built
    fields: tuple[Field, ...] = ()
    rules: Rules | None = None

    def __post_init__(self) -> None:
        """Read the signature once per function."""
        if self.signature:
            return
        if not callable(self.function):
            raise OptionTypeError(f"FunctionOption takes a callable, not {self.function!r}")
        if isinstance(cast("Any", self.hidden), str):
            raise OptionTypeError(f"FunctionOption(hidden=...) lists names: ({self.hidden!r},), not {self.hidden!r}")
        spec = function_spec(self.function, self.hidden)
        object.__setattr__(self, "signature", spec)
        object.__setattr__(self, "fields", spec.fields)
        if self.description is None:
            object.__setattr__(self, "description", spec.description)
        if not self.name:
            object.__setattr__(self, "name", spec.name)

    def __repr__(self) -> str:
        return f"FunctionOption({callable_name(self.function)}, name={self.name!r})"

    def resolve(self, arguments: Mapping[str, Any]) -> Any:
        """Run the function."""
        return self.signature.call(self.function, arguments)

    @property
    def spec(self) -> dict[str, Any]:
        """``{"name", "description", "parameters"}``, the parameters as JSON Schema, hidden and injected ones left out.

        Raises:
            OptionError: A default that no JSON can stand for.
        """
        own = self.rules.parameters if self.rules is not None else None
        return {
            "name": self.name,
            "description": self.description,
            "parameters": object_schema(self.fields) if own is None else dict(own),
        }

    def execute(self, /, **arguments: Any) -> Any:
        """Run it with the arguments of a tool call, checked as in a run of tools; for a loop of one's own.

        Hidden and injected parameters are passed on as they are; what the function does not take is dropped. No rule is
        applied: neither approval nor a time limit.

        Raises:
            ModelRetry: An argument is missing or does not fit; the text says so to the model.
        """
        passed = {
            name: arguments[name] for name in (*self.signature.hidden, *self.signature.injected) if name in arguments
        }
        try:
            checked = validate_fields(self.fields, arguments, lossless=False, notes=[])
        except Invalid as error:
            raise ModelRetry(f"{error.kind.value}: {self.name}: {error}") from None
        return self.resolve({**self.with_open(arguments, checked), **passed})

    def with_open(self, given: Mapping[str, Any], checked: Mapping[str, Any]) -> Mapping[str, Any]:
        """`checked`, with what else was given where the function's own schema is open."""
        schema = self.rules.parameters if self.rules is not None else None
        if schema is None or not schema.get("additionalProperties", not schema.get("properties")):
            return checked
        return {**given, **checked}


Options: TypeAlias = "Mapping[str, Any] | Iterable[Any] | type[Any]"
"""Every container form; `options_of` says what each means."""


def options_of(container: Options) -> tuple[Option[Any], ...]:
    """The options in a container, in its order.

    Args:
        container: One of

            * a mapping of name to function, ``(function, "description")``, value, ``(value, "description")``,
              ``("description", {schema})``, model class or `Option`;
            * a list or tuple of functions, ``(function, "description")``, ``"name"``, ``("name", "description")``,
              ``("name", "description", {schema})``, model classes or `Option` objects;
            * an Enum class: each member is a value option;
            * one model class: a menu of that one payload.

    Raises:
        OptionError: Empty, a name twice, or a name that cannot be one.
        OptionTypeError: Another container, or an item that is none of the above.
    """
    if isinstance(container, (list, tuple)):
        options = tuple([_listed(item, index) for index, item in enumerate(container)])
    elif isinstance(container, Mapping):
        options = tuple([_named(name, handler) for name, handler in container.items()])
    elif isinstance(container, type) and issubclass(container, Enum):
        options = _members(container)
    elif is_model_class(container):
        model = cast("type[Any]", container)
        options = (_model_option(model.__name__, model),)
    else:
        raise OptionTypeError(
            f"options must be a dict, a list, a tuple, an Enum class or a model class, not {_kind(container)}"
        )
    if not options:
        raise OptionError("options are empty: a model needs at least one option to pick")
    return options


def _named(name: Any, handler: Any) -> Option[Any]:
    """An option of a mapping."""
    if type(name) is not str or name.isspace() or not name:
        if not isinstance(name, str) or not name.strip():
            raise OptionError(f"an option name must be a non-empty str, not {name!r}")
        name = str.__str__(name)  # a member of a str Enum: its value
    kind = type(handler)
    if kind is FunctionType:
        return _function(handler, None, name)
    if kind is tuple and len(handler) == 2:
        first, second = handler
        if type(second) is str:
            return _described(name, first, second)
        if isinstance(first, str) and isinstance(second, Mapping):
            return SchemaOption(second, first, name)
        if isinstance(first, str) and callable(second):
            raise OptionTypeError(
                f"option {name!r} is ('description', {second!r}); write ({getattr(second, '__name__', 'function')}, "
                "'description'), or ValueOption((...)) to offer the tuple itself"
            )
    elif isinstance(handler, Option):
        return _renamed(handler, name)
    elif callable(handler):
        return _model_option(name, handler) if is_model_class(handler) else _function(handler, None, name)
    return ValueOption(handler, "", name)


def _described(name: str, handler: Any, description: str) -> Option[Any]:
    """An option of a mapping that comes with its description."""
    if callable(handler):
        if is_model_class(handler):
            return _model_option(name, handler, description)
        return _function(handler, description, name)
    return ValueOption(handler, description, name)


def _function(function: Any, description: str | None, name: str) -> FunctionOption[Any]:
    spec = function_spec(function)
    return FunctionOption(
        function, spec.description if description is None else description, name or spec.name, (), spec, spec.fields
    )


def _listed(item: Any, index: int) -> Option[Any]:
    """An option of a list."""
    kind = type(item)
    if kind is tuple and item and type(item[0]) is str:
        name = item[0]
        if not name or name.isspace():
            _usable(name, index)
        if len(item) == 2 and type(item[1]) is str:
            return ValueOption(name, item[1], name)
        if len(item) == 3 and isinstance(item[1], str) and isinstance(item[2], Mapping):
            return SchemaOption(item[2], item[1], name)
    elif isinstance(item, str):
        return ValueOption(item, "", _usable(str.__str__(item), index))
    elif isinstance(item, Option):
        if not item.name:
            raise OptionError(f"option {index} of the list has no name: pass name=, or use a dict")
        return _unconditional(item)
    elif kind is tuple and len(item) == 2 and callable(item[0]) and isinstance(item[1], str):
        return _callable(item[0], item[1])
    elif callable(item):
        return _callable(item, None)
    raise OptionTypeError(
        f"option {index} of the list is {_kind(item)}; a list holds functions, (function, 'description'), 'name', "
        "('name', 'description'), ('name', 'description', {schema}), model classes or Option objects. "
        "To offer another value, use a dict: {'name': value}"
    )


def _callable(function: Any, description: str | None) -> Option[Any]:
    if is_model_class(function):
        return _model_option(function.__name__, function, description)
    if callable_name(function) == "<lambda>":
        raise OptionError("a lambda in a list has no name to offer; use a dict: {'name': lambda: ...}")
    return _function(function, description, "")


def _model_option(name: str, model: Any, description: str | None = None) -> SchemaOption[Any]:
    return SchemaOption(model, _model_doc(model) if description is None else description, name)


def _model_doc(model: type) -> str:
    doc = describe(model)
    generated = doc.startswith(f"{model.__name__}(")  # what @dataclass writes when there is no docstring
    inherited = any(base is not object and base.__doc__ == model.__doc__ for base in model.__mro__[1:])
    return "" if generated or inherited else doc


def _members(enum: type[Enum]) -> tuple[Option[Any], ...]:
    texts = enum_values(enum)
    return tuple(
        ValueOption(member, member_doc(member) or ("" if text == member.name else str(text)), member.name)
        for member, text in zip(enum, texts, strict=True)
    )


def _unconditional(option: Option[Any]) -> Option[Any]:
    if isinstance(option, FunctionOption) and option.rules is not None and option.rules.available is not None:
        raise OptionError(
            f"option {option.name!r} has available=, which is for tools: leave it out of the menu instead"
        )
    return option


def _renamed(option: Option[Any], name: str) -> Option[Any]:
    _unconditional(option)
    if option.name == name:
        return option
    own = option.name and not (isinstance(option, FunctionOption) and option.name == option.signature.name)
    if own:
        raise OptionError(f"the option under {name!r} says that its name is {option.name!r}; drop one of the two")
    renamed: Option[Any] = replace(cast("Any", option), name=name)
    return renamed


def _usable(name: str, index: int) -> str:
    if not name or name.isspace():
        raise OptionError(f"option {index} of the list has the unusable name {name!r}: a name is a non-empty str")
    return name


def _kind(value: Any) -> str:
    if inspect.isclass(value):
        return f"the class {value.__name__}"
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"
