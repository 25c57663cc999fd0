"""A function of the user's, run: in place, in a thread, or awaited; with a time limit where it has one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from decidable.errors import HostFunctionError
from decidable.flow.effects import RunOption
from decidable.options import FunctionOption

__all__ = ["called", "called_async", "resolved", "resolved_async"]


def resolved(effect: RunOption) -> Any:
    """The result of an option, in this thread; with a time limit, in one that is waited for no longer than that."""
    if effect.timeout_s is not None:
        return _in_time(effect, effect.timeout_s)
    return _tool_result(effect) if effect.as_tool else effect.option.resolve(effect.arguments)


def _tool_result(effect: RunOption) -> Any:
    result = _without_stop(effect)
    if inspect.iscoroutine(result):  # of a lambda around an async function; nobody would await it
        result.close()
        raise HostFunctionError(f"tool {effect.option.name!r} gave a coroutine; use the async twin of the call")
    return result


def _in_time(effect: RunOption, seconds: float) -> Any:
    from contextvars import copy_context  # only functions with a time limit need them
    from threading import Thread

    outcome: list[tuple[Any, BaseException | None]] = []

    def run() -> None:
        try:
            outcome.append(((_tool_result if effect.as_tool else _without_stop)(effect), None))
        except BaseException as error:  # raised where it is waited for
            outcome.append((None, error))

    thread = Thread(target=copy_context().run, args=(run,), name=f"decidable-{effect.option.name}", daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise TimeoutError(_late(effect, seconds))
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


async def resolved_async(effect: RunOption, left: float | None) -> Any:
    """The result of an option: an async function awaited, a sync one run in a worker thread.

    Args:
        effect: What is run.
        left: Seconds until its deadline, or None.
    """
    option = effect.option
    if not isinstance(option, FunctionOption):
        return option.resolve(effect.arguments)
    limits = [seconds for seconds in (effect.timeout_s, left) if seconds is not None]
    if not limits:
        return await _awaited(option, effect)
    import asyncio

    try:
        async with asyncio.timeout(min(limits)) as limit:
            return await _awaited(option, effect)
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise TimeoutError(_late(effect, min(limits))) from error


async def _awaited(option: FunctionOption[Any], effect: RunOption) -> Any:
    if option.signature.is_async:
        return await option.resolve(effect.arguments)
    import asyncio

    result = await asyncio.to_thread(_without_stop, effect)
    return await result if inspect.iscoroutine(result) else result  # of a lambda around an async function


def _without_stop(effect: RunOption) -> Any:
    try:
        return effect.option.resolve(effect.arguments)
    except StopIteration as error:  # it would never arrive: neither a future nor a flow can hold one
        raise RuntimeError(f"option {effect.option.name!r} raised StopIteration") from error


def _late(effect: RunOption, seconds: float) -> str:
    return f"{effect.option.name!r} did not finish within {seconds:.3g} s"


def called(function: Callable[[Any], Any], value: Any) -> Any:
    """What a function of the caller's says, in a sync call."""
    answer = function(value)
    if inspect.isawaitable(answer):
        close = getattr(answer, "close", None)
        if close is not None:
            close()
        raise HostFunctionError(f"{_name(function)} is async; use the async twin of the call, or a sync function")
    return answer


async def called_async(function: Callable[[Any], Any], value: Any) -> Any:
    """What a function of the caller's says: an async one awaited, a sync one run in a worker thread."""
    if inspect.iscoroutinefunction(function):
        return await function(value)
    import asyncio

    answer = await asyncio.to_thread(function, value)
    return await answer if inspect.isawaitable(answer) else answer


def _name(function: Any) -> str:
    return repr(getattr(function, "__name__", None) or type(function).__name__)
