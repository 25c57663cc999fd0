"""How the drivers perform a request, or a wait, that a `CancelToken` may call off."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import copy_context
from threading import Event, Thread
from typing import Any, cast

from decidable.cancelling import AbortedError, CancelToken

__all__ = ["answered", "answered_async", "slept", "slept_async"]


def answered(send: Callable[[], Any], token: CancelToken) -> Any:
    """What `send` gives, from a thread of its own: a request that blocks cannot be left otherwise.

    Raises:
        AbortedError: The token called it off; the thread goes on until the request ends, and nobody hears of it.
    """
    if token.is_cancelled:
        raise AbortedError(in_flight=False)
    ended, outcome = Event(), list[Any]()

    def run() -> None:
        try:
            outcome.append((send(), None))
        except BaseException as error:  # handed to who waits
            outcome.append((None, error))
        ended.set()

    Thread(target=copy_context().run, args=(run,), name="decidable-request", daemon=True).start()
    forget = token.tell(ended.set)
    try:
        ended.wait()
    finally:
        forget()
    if not outcome:
        raise AbortedError(in_flight=True)
    value, error = outcome[0]
    if error is not None:
        raise cast("BaseException", error)
    return value


async def answered_async(send: Callable[[], Awaitable[Any]], token: CancelToken) -> Any:
    """What `send` gives.

    Raises:
        AbortedError: The token called it off; the request was cancelled.
    """
    import asyncio

    if token.is_cancelled:
        raise AbortedError(in_flight=False)
    loop = asyncio.get_running_loop()
    called_off = asyncio.Event()
    forget = token.tell(lambda: loop.call_soon_threadsafe(called_off.set))
    request, wish = asyncio.ensure_future(send()), asyncio.ensure_future(called_off.wait())
    try:
        await asyncio.wait({request, wish}, return_when=asyncio.FIRST_COMPLETED)
        if request.done():
            return request.result()
        raise AbortedError(in_flight=True)
    finally:
        forget()
        for task in (request, wish):
            task.cancel()
        await asyncio.gather(request, wish, return_exceptions=True)


def slept(seconds: float, sleep: Callable[[float], None] | None, token: CancelToken) -> None:
    """Sleep, and raise `AbortedError` as soon as the token calls it off; `sleep` is another clock's."""
    if sleep is None:
        token.wait(seconds)
    else:
        sleep(seconds)
    if token.is_cancelled:
        raise AbortedError(in_flight=False)


async def slept_async(seconds: float, sleep: Callable[[float], Awaitable[None]] | None, token: CancelToken) -> None:
    """`slept` without blocking the event loop."""
    import asyncio

    if sleep is None:
        called_off, loop = asyncio.Event(), asyncio.get_running_loop()
        forget = token.tell(lambda: loop.call_soon_threadsafe(called_off.set))
        try:
            await asyncio.wait_for(called_off.wait(), seconds)
        except TimeoutError:
            pass  # the whole wait is over
        finally:
            forget()
    else:
        await sleep(seconds)
    if token.is_cancelled:
        raise AbortedError(in_flight=False)
