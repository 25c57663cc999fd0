"""A function of the user's, run: in place, in a thread, or awaited; with a time limit where it has one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from decidable.ambient import current_scope, scope_variable
from decidable.errors import HostFunctionError
from decidable.flow.effects import RunOption
from decidable.options import FunctionOption

if TYPE_CHECKING:
    from threading import Thread

__all__ = ["called", "called_async", "resolved", "resolved_async"]


def resolved(effect: RunOption, now: float) -> Any:
    """The result of an option, in this thread; with a time limit, in one that is waited for no longer than that."""
    if effect.timeout_s is None:
        return _result(effect) if effect.as_tool else effect.option.resolve(effect.arguments)
    outcome: list[tuple[Any, BaseException | None]] = []
    seconds = _limit(effect, now)
    thread = _thread(effect, now + seconds, lambda result, error: outcome.append((result, error)))
    thread.join(seconds)
    if not outcome:
        raise TimeoutError(_late(effect, seconds))
    result, error = outcome[0]
    if error is not None:
        raise error
    if effect.as_tool and inspect.iscoroutine(result):
        raise _unawaited(effect, result)
    return result


async def resolved_async(effect: RunOption, now: float) -> Any:
    """The result of an option: an async function awaited, a sync one run in a worker thread."""
    option = effect.option
    if not isinstance(option, FunctionOption):
        return option.resolve(effect.arguments)
    if effect.timeout_s is None and effect.deadline is None:
        return await _awaited(option, effect, now)
    import asyncio

    seconds = _limit(effect, now)
    try:
        async with asyncio.timeout(seconds) as limit:
            return await _awaited(option, effect, now + seconds)
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise TimeoutError(_late(effect, seconds)) from error


async def _awaited(option: FunctionOption[Any], effect: RunOption, until: float) -> Any:
    if option.signature.is_async:
        return await option.resolve(effect.arguments)
    import asyncio

    if effect.timeout_s is None:
        result = await asyncio.to_thread(_without_stop, effect)
    else:  # a thread of the pool would be missing there, and be waited for at the end of the program
        result = await _in_own_thread(effect, until)
    return await result if inspect.iscoroutine(result) else result  # of a lambda around an async function


async def _in_own_thread(effect: RunOption, until: float) -> Any:
    import asyncio

    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def deliver(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def ended(result: Any, error: BaseException | None) -> None:
        with suppress(RuntimeError):  # the loop is closed, so nobody waits any more
            loop.call_soon_threadsafe(deliver, result, error)

    _thread(effect, until, ended)
    return await future


def _thread(effect: RunOption, until: float, ended: Callable[[Any, BaseException | None], object]) -> Thread:
    """Run an option in a thread that nobody has to wait for; what it asks of models ends at the instant `until`."""
    from contextvars import copy_context  # only functions with a time limit need them
    from threading import Thread

    def run() -> None:
        scope = current_scope()
        scope_variable.set(replace(scope, deadline=until if scope.deadline is None else min(until, scope.deadline)))
        try:
            result = _without_stop(effect)
        except BaseException as error:  # raised where it is waited for
            ended(None, error)
        else:
            ended(result, None)

    thread = Thread(target=copy_context().run, args=(run,), name=f"decidable-{effect.option.name}", daemon=True)
    thread.start()
    return thread


def _limit(effect: RunOption, now: float) -> float:
    """Seconds that it may take.

    Raises:
        TimeoutError: There are none left.
    """
    left = [] if effect.deadline is None else [effect.deadline - now]
    seconds = min([*left, effect.timeout_s] if effect.timeout_s is not None else left)
    if seconds <= 0:
        raise TimeoutError(f"{effect.option.name!r} was not begun: the time given was over before")
    return seconds


def _result(effect: RunOption) -> Any:
    result = _without_stop(effect)
    if inspect.iscoroutine(result):
        raise _unawaited(effect, result)
    return result


def _unawaited(effect: RunOption, coroutine: Coroutine[Any, Any, Any]) -> HostFunctionError:
    coroutine.close()  # of a lambda around an async function; nobody would await it
    return HostFunctionError(f"{effect.option.name!r} gave a coroutine; use the async twin of the call")


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
