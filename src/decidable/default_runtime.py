"""Which runtime answers when none is given: the ambient one, else the process default, else ``DECIDABLE_MODEL``."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from contextvars import ContextVar, Token
from dataclasses import replace
from typing import Any, TypeVar, cast

from decidable.ambient import Scope, current_scope, scope_variable
from decidable.errors import ArgumentTypeError, RuntimeMissingError
from decidable.providers.protocol import Provider
from decidable.runtimes import Runtime

__all__ = ["chosen_runtime", "current_runtime", "runtime", "set_default_runtime", "use_runtime"]

F = TypeVar("F", bound=Callable[..., Any])

ENVIRONMENT = "DECIDABLE_MODEL"

_default: Runtime | None = None
_from_environment: tuple[str, Runtime] | None = None


def set_default_runtime(runtime: Runtime | None) -> None:
    """Set the runtime of calls that neither are given one nor find one around them; None unsets it."""
    global _default  # noqa: PLW0603 - the process default is global on purpose
    _default = None if runtime is None else chosen_runtime(runtime)


def current_runtime() -> Runtime:
    """The runtime that a call here would use.

    Raises:
        RuntimeMissingError: There is none; the message says how to give one.
    """
    found = current_scope().runtime or _default
    return found if found is not None else _environment_runtime()


def chosen_runtime(runtime: Any) -> Runtime:
    """`runtime` if it is one; the one that a call here would use if it is None or the ambient proxy.

    Raises:
        ArgumentTypeError: It is something else; the message says how to make a runtime of it.
        RuntimeMissingError: As `current_runtime`.
    """
    if isinstance(runtime, Runtime):
        return runtime
    if runtime is None or isinstance(runtime, _Ambient):
        return current_runtime()
    hint = (
        f"; make one of it: Runtime({runtime!r})"
        if isinstance(runtime, (str, Provider)) or (callable(runtime) and not isinstance(runtime, type))
        else ""
    )
    raise ArgumentTypeError(f"runtime= takes a Runtime, not {runtime!r}{hint}")


def _environment_runtime() -> Runtime:
    global _from_environment  # noqa: PLW0603 - as above
    spec = os.environ.get(ENVIRONMENT)
    if not spec:
        raise RuntimeMissingError(
            "no runtime to ask. Call from within an @agentic_function that was given one (f(..., runtime=rt)), or pass "
            f"runtime=rt, or use 'with use_runtime(rt):', set_default_runtime(rt), or {ENVIRONMENT}=provider:model"
        )
    if _from_environment is None or _from_environment[0] != spec:
        _from_environment = (spec, Runtime(spec))
    return _from_environment[1]


_entered: ContextVar[tuple[Token[Scope], ...]] = ContextVar("decidable_entered", default=())
"""Blocks that are open in this context; not on the instance, which tasks and threads may share."""


class use_runtime:  # noqa: N801 - reads as a function: with use_runtime(rt):
    """Make a runtime ambient: ``with use_runtime(rt):``, or as a decorator ``@use_runtime(rt)``, sync or async.

    Args:
        runtime: The runtime that calls within the block, or within the decorated function, find.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = chosen_runtime(runtime)

    def __enter__(self) -> Runtime:
        token = scope_variable.set(replace(current_scope(), runtime=self.runtime))
        _entered.set((*_entered.get(), token))
        return self.runtime

    def __exit__(self, *exc_info: object) -> None:
        *outer, token = _entered.get()
        _entered.set(tuple(outer))
        scope_variable.reset(token)

    def __call__(self, function: F) -> F:
        """`function`, with the runtime ambient during each call."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def wrapper(*args: Any, **kwargs: Any) -> Any:
                with use_runtime(self.runtime):
                    return await function(*args, **kwargs)
        else:

            @functools.wraps(function)
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                with use_runtime(self.runtime):
                    return function(*args, **kwargs)

        return cast("F", wrapper)


class _Ambient:
    """Stands for whichever runtime is ambient where it is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith(
            "__"
        ):  # asked by tools that look at modules, doctest for one; no runtime is needed to say no
            raise AttributeError(name)
        return getattr(current_runtime(), name)

    def __repr__(self) -> str:
        return "<the ambient runtime>"


runtime: Runtime = cast("Runtime", _Ambient())
"""The ambient runtime: ``runtime.exec(...)`` inside an agentic function asks the runtime of that call."""
