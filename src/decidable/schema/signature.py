"""What the model sees of a function: its parameters as `Field`s, read once per function."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from decidable.errors import OptionTypeError
from decidable.schema.annotations import field_of
from decidable.schema.field import MISSING, Field
from decidable.schema.notation import apply_metadata

__all__ = ["RUNTIME_NAMES", "FunctionSpec", "function_spec"]

RUNTIME_NAMES = ("runtime", "exec_runtime", "review_runtime")
"""Parameters of these names are never shown to a model; they receive the ambient runtime."""


@dataclass(frozen=True, slots=True, eq=False)
class FunctionSpec:
    """A function as an option or a tool.

    Attributes:
        name: Its ``__name__``; for a partial, the name of the function inside.
        description: First paragraph of its docstring.
        fields: What the model fills.
        injected: Runtime parameters, filled from the ambient runtime.
        hidden: Parameters filled from ``context=``; those without a default are in `hidden_required`.
        positional: Names of positional-only parameters, in order.
        is_async: Whether calling it gives a coroutine.
    """

    name: str
    description: str
    fields: tuple[Field, ...]
    injected: tuple[str, ...]
    hidden: tuple[str, ...]
    hidden_required: tuple[str, ...]
    positional: tuple[str, ...]
    is_async: bool

    def call(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Call `function` with `arguments`, positional-only ones in their places."""
        if not self.positional:
            return function(**arguments)
        rest, places = dict(arguments), []
        for name in self.positional:
            if name not in rest:
                break  # the remaining ones have defaults
            places.append(rest.pop(name))
        return function(*places, **rest)


_SPECS: WeakKeyDictionary[Any, FunctionSpec] = WeakKeyDictionary()
_METHODS: WeakKeyDictionary[Any, FunctionSpec] = WeakKeyDictionary()  # by the function inside: `self` is not asked for


def function_spec(function: Callable[..., Any], hidden: tuple[str, ...] = ()) -> FunctionSpec:
    """What a model and a caller need to know about `function`; cached for functions and methods.

    Args:
        function: Any callable with a readable signature.
        hidden: Further parameters to fill from ``context=`` instead of by the model.

    Raises:
        OptionTypeError: The signature or an annotation cannot be read, or no JSON can stand for an annotation.
    """
    cache: WeakKeyDictionary[Any, FunctionSpec] = _SPECS
    key: Any = function
    if type(function) is FunctionType and not hidden:
        pass
    elif hidden or not (type(function) is MethodType or hasattr(function, "__decidable_input__")):
        return _read(function, hidden)
    elif (inner := getattr(function, "__func__", None)) is not None:
        cache, key = _METHODS, inner
    spec = cache.get(key)
    if spec is None:
        spec = cache[key] = _read(function, hidden)
    return spec


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def callable_name(function: Callable[..., Any]) -> str:
    """The name of a function, of the function in a partial, or of a callable object's class."""
    while isinstance(function, partial):
        function = function.func
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def _read(function: Callable[..., Any], hidden: tuple[str, ...]) -> FunctionSpec:
    name = callable_name(function)
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError) as error:
        raise OptionTypeError(f"function option {name!r}: its signature cannot be read ({error})") from error
    metadata: Mapping[str, Any] = getattr(_inner(function), "__decidable_input__", {})
    _check_names((*metadata, *hidden), signature, name)
    injected = tuple(key for key in signature.parameters if key in RUNTIME_NAMES)
    concealed = tuple(
        key
        for key in signature.parameters
        if key not in injected and (key in hidden or metadata.get(key, {}).get("hidden"))
    )
    asked = tuple(
        key
        for key, parameter in signature.parameters.items()
        if parameter.kind not in _VARIADIC and key not in injected and key not in concealed
    )
    hints = _hints(function, name, signature, asked)
    parameters = signature.parameters
    return FunctionSpec(
        name=name,
        description=describe(function),
        fields=tuple(_parameter(parameters[k], hints.get(k, str), metadata.get(k, {}), name) for k in asked),
        injected=injected,
        hidden=concealed,
        hidden_required=tuple(k for k in concealed if parameters[k].default is inspect.Parameter.empty),
        positional=tuple(k for k, p in parameters.items() if p.kind is p.POSITIONAL_ONLY),
        is_async=_is_async(function),
    )


def _parameter(parameter: inspect.Parameter, annotation: Any, meta: Mapping[str, Any], function: str) -> Field:
    where = f"parameter {parameter.name!r} of {function!r}"
    optional = parameter.default is not parameter.empty
    field = field_of(
        parameter.name,
        annotation,
        where=where,
        default=parameter.default if optional else MISSING,
        required=not optional,
    )
    return apply_metadata(field, meta, where) if meta else field


def _check_names(names: tuple[str, ...], signature: inspect.Signature, function: str) -> None:
    for key in names:
        if key not in signature.parameters:
            known = ", ".join(signature.parameters) or "none"
            raise OptionTypeError(f"{function!r} has no parameter {key!r} to describe or hide; it has: {known}")


def describe(function: Callable[..., Any]) -> str:
    """First paragraph of the docstring, on one line."""
    target = _inner(function)
    own = getattr(target, "__decidable_description__", None)
    if isinstance(own, str):
        return own
    doc = getattr(inspect.unwrap(target), "__doc__", None)
    return " ".join(inspect.cleandoc(doc).split("\n\n", 1)[0].split()) if doc else ""


def _inner(function: Any) -> Any:
    while isinstance(function, partial):
        function = function.func
    return function


def _body(function: Any) -> Any:
    """The function whose annotations and docstring describe a callable."""
    inner = inspect.unwrap(_inner(function))
    if inspect.isclass(inner):
        return inner.__init__
    return inner if inspect.isroutine(inner) else type(inner).__call__


def _is_async(function: Any) -> bool:
    inner = _inner(function)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004 - the method itself is wanted


def _hints(function: Any, name: str, signature: inspect.Signature, asked: Sequence[str]) -> dict[str, Any]:
    """Annotations with their strings resolved.

    When some name in them is unknown, each parameter that the model fills is resolved alone, so that an import
    under TYPE_CHECKING for the return type or an injected parameter does no harm.
    """
    target = _body(function)
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception:
        return {key: _hint(signature.parameters[key], target, name) for key in asked}


def _hint(parameter: inspect.Parameter, target: Any, function: str) -> Any:
    if parameter.annotation is parameter.empty:
        return str
    probe = _Probe({"probed": parameter.annotation})
    try:
        hints = typing.get_type_hints(probe, globalns=getattr(target, "__globals__", {}), include_extras=True)
    except Exception as error:
        raise OptionTypeError(
            f"function option {function!r}: the annotation {parameter.annotation!r} of parameter {parameter.name!r} "
            f"cannot be resolved ({error}). Import the name where the function is defined, not only under "
            "TYPE_CHECKING."
        ) from error
    return hints["probed"]


class _Probe:
    def __init__(self, annotations: dict[str, Any]) -> None:
        self.__annotations__ = annotations
