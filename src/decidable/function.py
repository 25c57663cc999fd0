"""`@agentic_function`: a function in which decisions find their runtime, and which is itself an option and a tool."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from decidable.ambient import Frame, Scope, current_scope, scope_variable
from decidable.default_runtime import chosen_runtime, current_runtime
from decidable.errors import ArgumentTypeError, OptionTypeError, UsageError, did_you_mean
from decidable.options import FunctionOption
from decidable.schema.signature import RUNTIME_NAMES

if TYPE_CHECKING:
    from decidable.runtimes import Runtime

__all__ = ["AgenticFunction", "agentic_function"]

P = ParamSpec("P")
Q = ParamSpec("Q")
S = TypeVar("S")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

MAX_DEPTH = 5
"""Frames of the same function on one stack; more is taken for a loop of the model's making."""


class AgenticFunction(Generic[P, R_co]):
    """What `agentic_function` returns: the function, ready to decide, with its description for models."""

    def __init__(
        self,
        function: Callable[P, R_co],
        *,
        input: Mapping[str, Mapping[str, Any]] | None = None,  # noqa: A002 - the field's name for it
        system: str | None = None,
        name: str | None = None,
        description: str | None = None,
    ) -> None:
        functools.update_wrapper(cast("Any", self), function)
        if name is not None:
            self.__name__ = name
        made = cast("Any", function)
        # What makes inspect take it for a function, and so see that an async one is async.
        self.__code__, self.__defaults__, self.__kwdefaults__ = made.__code__, made.__defaults__, made.__kwdefaults__
        self.__decidable_input__ = dict(input or {})
        if description is not None:
            self.__decidable_description__ = description
        self._settings = {"input": input, "system": system, "name": name, "description": description}
        self._body = function
        self._entry = _Entry(function, self.__name__, system)
        self._call = _run_async if inspect.iscoroutinefunction(function) else _run

    __name__: str
    __qualname__: str

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, *args: Any, runtime: Runtime, **kwargs: Any) -> R_co: ...
    def __call__(self, *args: Any, **kwargs: Any) -> R_co:
        """Run the function with its scope around it; for an async one, the coroutine that will."""
        __tracebackhide__ = True
        return cast("R_co", self._call(self._entry, self._body, args, kwargs))

    def __repr__(self) -> str:
        return f"<agentic function {self.__qualname__}>"

    @property
    def spec(self) -> dict[str, Any]:
        """``{"name", "description", "parameters"}``, the parameters as JSON Schema.

        Injected and hidden parameters are left out.

        Raises:
            OptionTypeError: An annotation cannot be resolved, or no JSON can stand for it.
        """
        return FunctionOption(self).spec

    def execute(self, /, **arguments: Any) -> Any:
        """Run it with the arguments of a tool call, checked; what the function does not take is dropped.

        Raises:
            ModelRetry: An argument is missing or does not fit; the text says so to the model.
        """
        return FunctionOption(self).execute(**arguments)

    @overload
    def __get__(self, instance: None, owner: Any = None, /) -> AgenticFunction[P, R_co]: ...

    @overload
    def __get__(
        self: AgenticFunction[Concatenate[S, Q], R_co], instance: S, owner: Any = None, /
    ) -> AgenticFunction[Q, R_co]: ...

    @overload
    def __get__(self, instance: Any, owner: Any = None, /) -> AgenticFunction[..., R_co]: ...

    def __get__(self, instance: Any, owner: Any = None, /) -> Any:
        if instance is None:
            return self
        bound = AgenticFunction(MethodType(self._body, instance), **cast("Any", self._settings))
        bound.__func__ = self  # type: ignore[attr-defined]  # as a bound method has it
        return bound


class _Decorator(Protocol):
    @overload
    def __call__(self, function: Callable[Concatenate[Runtime, P], R], /) -> AgenticFunction[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> AgenticFunction[P, R]: ...


@overload
def agentic_function(function: Callable[Concatenate[Runtime, P], R], /) -> AgenticFunction[P, R]: ...
@overload
def agentic_function(function: Callable[P, R], /) -> AgenticFunction[P, R]: ...
@overload
def agentic_function(
    *,
    input: Mapping[str, Mapping[str, Any]] | None = None,
    system: str | None = None,
    name: str | None = None,
    description: str | None = None,
) -> _Decorator: ...
def agentic_function(
    function: Any = None,
    /,
    *,
    input: Mapping[str, Mapping[str, Any]] | None = None,  # noqa: A002 - the field's name for it
    system: str | None = None,
    name: str | None = None,
    description: str | None = None,
) -> Any:
    """Let a function make decisions without being handed a runtime, and be an option or a tool itself.

    Bare or with arguments; for sync and async functions, methods, class methods and static methods (put it below
    ``@classmethod`` and ``@staticmethod``).

    Parameters named ``runtime``, ``exec_runtime`` or ``review_runtime`` that are left out or None receive the ambient
    runtime. A runtime passed explicitly, as ``f(..., runtime=rt)``, is ambient during the call, whether or not the
    function declares the parameter.

    Args:
        function: The function, when used bare.
        input: Per parameter: ``description`` (str), ``options`` (allowed values, or allowed value to meaning), and
            ``hidden`` (true: never shown to a model, filled from ``context=``).
        system: Standing instruction for the model calls made in this function's own frame.
        name: Its name for models; default ``__name__``.
        description: Its description for models; default the first paragraph of the docstring.

    Returns:
        The function, with `spec` and `execute`.

    Raises:
        UsageError: It is a generator function.
        RuntimeMissingError: When called: it declares a runtime parameter, and there is none.
        RecursionError: When called: more than 5 frames of it are on the stack.
    """
    if function is None:
        return functools.partial(_decorated, input=input, system=system, name=name, description=description)
    return _decorated(function, input=input, system=system, name=name, description=description)


def _decorated(
    function: Any,
    *,
    input: Mapping[str, Mapping[str, Any]] | None,  # noqa: A002 - as above
    system: str | None,
    name: str | None,
    description: str | None,
) -> Any:
    if inspect.isclass(function) or not (callable(function) or isinstance(function, (classmethod, staticmethod))):
        raise ArgumentTypeError(f"@agentic_function decorates a function, not {function!r}; its settings are keywords")
    if isinstance(function, (classmethod, staticmethod)):
        raise UsageError("put @agentic_function below @classmethod or @staticmethod, not above")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(f"{function.__name__!r} is a generator; an agentic function returns its result")
    _check_input(input or {}, function)
    return AgenticFunction(function, input=input, system=system, name=name, description=description)


_INPUT_KEYS = ("description", "options", "hidden")


def _check_input(described: Mapping[str, Mapping[str, Any]], function: Callable[..., Any]) -> None:
    parameters = inspect.signature(function).parameters
    for name, about in described.items():
        where = f"@agentic_function(input=...) of {function.__name__!r}"
        if name not in parameters:
            raise OptionTypeError(f"{where}: no parameter {name!r}; {did_you_mean(name, tuple(parameters), 'it has')}")
        if not isinstance(about, Mapping):
            raise OptionTypeError(f"{where}, {name!r}: must be a mapping such as {{'description': ...}}, not {about!r}")
        for key in about:
            if key not in _INPUT_KEYS:
                hint = did_you_mean(key, _INPUT_KEYS)
                raise OptionTypeError(f"{where}, {name!r}: unknown key {key!r}; {hint}")


def _run(entry: _Entry, body: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    __tracebackhide__ = True
    scope, token = entry.enter(args, kwargs)
    try:
        return entry.left(scope, body(*args, **kwargs))
    except BaseException as error:
        entry.failed(scope, error)
        raise
    finally:
        scope_variable.reset(token)


async def _run_async(entry: _Entry, body: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    __tracebackhide__ = True
    scope, token = entry.enter(args, kwargs)
    try:
        return entry.left(scope, await body(*args, **kwargs))
    except BaseException as error:
        entry.failed(scope, error)
        raise
    finally:
        scope_variable.reset(token)


class _Entry:
    """What happens around one agentic function's body, the same for sync and async."""

    __slots__ = ("accepts", "identity", "name", "required", "signature", "system")

    def __init__(self, function: Callable[..., Any], name: str, system: str | None) -> None:
        self.identity = getattr(function, "__func__", function)  # the same for every instance a method is bound to
        self.system = system
        self.name = name
        self.signature = inspect.signature(function)
        parameters = self.signature.parameters
        self.accepts = tuple(name for name in RUNTIME_NAMES if name in parameters)
        self.required = any(parameters[name].default is inspect.Parameter.empty for name in self.accepts)

    def enter(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Scope, Any]:
        """Make this call's scope ambient, and fill in the runtime parameters in `kwargs`."""
        outer = current_scope()
        runtime = self._runtime(outer, args, kwargs)
        frame = Frame(self.name, self.identity, self.system, self._depth(outer.frame), outer.frame)
        for hook in outer.hooks:
            hook(frame)
        node = outer.node
        if outer.recorder is not None:
            node = outer.recorder.start("function", self.name, {"args": args, "kwargs": dict(kwargs)}, outer.node)
        scope = Scope(
            runtime,
            frame,
            outer.deadline,
            outer.recorder,
            node,
            outer.hooks,
            outer.meters,
            outer.approver,
            outer.ledger,
        )
        return scope, scope_variable.set(scope)

    def _runtime(self, outer: Scope, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Runtime | None:
        explicit = kwargs.get("runtime")
        if "runtime" in kwargs and "runtime" not in self.accepts:
            del kwargs["runtime"]
        if not self.accepts:
            return chosen_runtime(explicit) if explicit is not None else outer.runtime
        bound = self.signature.bind_partial(*args, **kwargs).arguments
        explicit = explicit or next((bound[n] for n in self.accepts if bound.get(n) is not None), None)
        if explicit is not None:
            found: Runtime | None = chosen_runtime(explicit)
        else:
            found = outer.runtime or (current_runtime() if self.required else None)
        for name in self.accepts:
            if bound.get(name) is None:
                kwargs[name] = found
        return found

    def _depth(self, frame: Frame | None) -> int:
        while frame is not None and frame.function is not self.identity:
            frame = frame.parent
        depth = 1 if frame is None else frame.depth + 1
        if depth > MAX_DEPTH:
            raise RecursionError(f"{self.name!r} called itself more than {MAX_DEPTH} deep")
        return depth

    def left(self, scope: Scope, result: Any) -> Any:
        """Close the trace node of a call that returned."""
        if scope.recorder is not None:
            scope.recorder.end(scope.node, output=result)
        return result

    def failed(self, scope: Scope, error: BaseException) -> None:
        """Close the trace node of a call that raised."""
        if scope.recorder is not None:
            scope.recorder.end(scope.node, error=error)
