"""Several flows at once: threads for a sync driver, tasks for an async one. None is left behind, however it ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextvars import copy_context
from typing import Any, TypeAlias

from decidable.flow.effects import Flow, RunAll

__all__ = ["Outcome", "all_ended", "all_ended_async"]

Outcome: TypeAlias = tuple[Any, Exception | None]


def all_ended(effect: RunAll, drive: Callable[[Flow[Any]], Any]) -> list[Outcome]:
    """What each flow ends in, in order."""
    if not effect.in_threads or len(effect.flows) == 1:
        return [_ended(flow, drive) for flow in effect.flows]
    return _in_threads(effect.flows, effect.limit, drive)


def _ended(flow: Flow[Any], drive: Callable[[Flow[Any]], Any]) -> Outcome:
    try:
        return drive(flow), None
    except Exception as error:
        return None, error


def _in_threads(flows: Sequence[Flow[Any]], limit: int, drive: Callable[[Flow[Any]], Any]) -> list[Outcome]:
    """Each flow in a thread, with this context copied. When one wants to stop, those that run end, and no other begins.

    An interrupt of this thread waits for them too: a thread cannot be stopped from outside.
    """
    from concurrent.futures import (
        FIRST_EXCEPTION,
        ThreadPoolExecutor,
        wait,
    )  # only parallel tools of sync calls need it

    with ThreadPoolExecutor(min(len(flows), limit), thread_name_prefix="decidable-tool") as pool:
        running = [pool.submit(copy_context().run, _ended, flow, drive) for flow in flows]
        try:
            wait(running, return_when=FIRST_EXCEPTION)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    for future in running:
        if not future.cancelled() and (stop := future.exception()) is not None:
            raise stop
    return [future.result() for future in running]


async def all_ended_async(effect: RunAll, drive: Callable[[Flow[Any]], Awaitable[Any]]) -> list[Outcome]:
    """What each flow ends in, in order; each has a task of its own."""
    import asyncio

    gate = asyncio.Semaphore(effect.limit)
    stop: list[BaseException] = []

    async def ended(flow: Flow[Any]) -> Outcome:
        async with gate:
            try:
                return await drive(flow), None
            except asyncio.CancelledError:
                raise
            except Exception as error:
                return None, error
            except BaseException as error:  # a task may not end in it: the loop would be torn down
                stop.append(error)
                for task in tasks:
                    task.cancel()
                return None, None

    tasks = [asyncio.ensure_future(ended(flow)) for flow in effect.flows]
    try:
        outcomes = await asyncio.gather(*tasks)
    except asyncio.CancelledError:
        for task in tasks:  # a flow that was cancelled by itself takes the others with it
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if stop:
            raise stop[0] from None
        raise
    if stop:
        raise stop[0]
    return outcomes
