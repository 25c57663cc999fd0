"""Driving a flow so that what arrives can be seen while it arrives: the same flow, with its pieces on the way."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import aclosing, closing, contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeAlias, TypeVar

from decidable.ambient import Scope, current_scope, scope_variable
from decidable.deltas import Delta
from decidable.errors import UsageError
from decidable.flow.drivers import drive, drive_async
from decidable.flow.effects import Announce, Flow, RunOption, Send
from decidable.flow.run import Host, Run, shortened
from decidable.messages import Reply
from decidable.tools import ToolCall, ToolResult

__all__ = ["AsyncStream", "Event", "Finished", "Restarted", "Stream"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Restarted:
    """What came so far of the reply does not count; another one begins.

    Attributes:
        reason: ``"failure"`` when the provider broke off; ``"re_ask"`` when the reply was no valid pick.
        provider: Who is asked now.
    """

    reason: str
    provider: str


@dataclass(frozen=True, slots=True, eq=False)
class Finished(Generic[R]):
    """The end: what the call that does not stream would have returned.

    Attributes:
        result: With ``choices=`` the `Decision`, whose `.result` is that of the option picked; with
            ``response_format=`` the parsed value; else the text.
        reply: The last reply as a whole: its stop reason, usage, tool calls.
    """

    result: R
    reply: Reply | None


Event: TypeAlias = Delta | ToolCall | ToolResult | Restarted | Finished[Any]


def stream(flow: Flow[Any], host: Host) -> Generator[Event, None, None]:
    """Run `flow` in this thread; what arrives, and at last what it ended in."""
    run, progress = Run(host, current_scope().recorder, drive), _Progress()
    value: Any = None
    error: BaseException | None = None
    try:
        while True:
            effect = flow.send(value) if error is None else flow.throw(error)
            value = error = None
            try:
                if type(effect) is Send:
                    if (restarted := progress.begin(effect)) is not None:
                        yield restarted
                    with closing(run.pieces(effect)) as pieces:
                        for piece in pieces:
                            if isinstance(piece, Reply):
                                value = progress.reply = piece
                            else:
                                progress.begun = True
                                yield piece
                elif type(effect) is Announce:
                    progress.begun = False  # what came so far stands
                    yield effect.event
                else:
                    value = run.perform(effect)
            except BaseException as raised:  # the flow decides what an error means
                progress.failed = True
                error = shortened(raised) if type(effect) is RunOption else raised
    except StopIteration as stop:
        yield Finished(stop.value, progress.reply)
    finally:
        if run.entered:
            run.restore()


async def stream_async(flow: Flow[Any], host: Host) -> AsyncGenerator[Event, None]:
    """`stream` in this task."""
    run, progress = Run(host, current_scope().recorder, drive_async), _Progress()
    value: Any = None
    error: BaseException | None = None
    try:
        while True:
            effect = flow.send(value) if error is None else flow.throw(error)
            value = error = None
            try:
                if type(effect) is Send:
                    if (restarted := progress.begin(effect)) is not None:
                        yield restarted
                    async with aclosing(run.pieces_async(effect)) as pieces:
                        async for piece in pieces:
                            if isinstance(piece, Reply):
                                value = progress.reply = piece
                            else:
                                progress.begun = True
                                yield piece
                elif type(effect) is Announce:
                    progress.begun = False  # what came so far stands
                    yield effect.event
                else:
                    value = await run.perform_async(effect)
            except BaseException as raised:  # the flow decides what an error means
                progress.failed = True
                error = shortened(raised) if type(effect) is RunOption else raised
    except StopIteration as stop:
        yield Finished(stop.value, progress.reply)
    finally:
        if run.entered:
            run.restore()


class _Progress:
    """How far the current reply has come."""

    __slots__ = ("begun", "failed", "reply")

    def __init__(self) -> None:
        self.begun = self.failed = False
        self.reply: Reply | None = None

    def begin(self, effect: Send) -> Restarted | None:
        """Another request: whether pieces of an earlier reply are out that no longer count."""
        restarted = None
        if self.begun:
            restarted = Restarted("failure" if self.failed else "re_ask", effect.provider.name)
        self.begun = self.failed = False
        return restarted


class _Watched(Generic[R]):
    """What a stream has come to."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._finished: Finished[R] | None = None

    @property
    def result(self) -> R:
        """What the call ended in.

        Raises:
            UsageError: It has not ended; iterate to its end first.
        """
        if self._finished is None:
            raise UsageError("the stream has not ended; iterate over it to its end, then ask for its result")
        return self._finished.result

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """The call's own scope, which is kept from one step to the next; the loop around has another."""
        outside = scope_variable.get()
        scope_variable.set(self._scope)
        try:
            yield
        finally:
            self._scope = scope_variable.get()
            scope_variable.set(outside)

    def _seen(self, event: Event) -> Event:
        if isinstance(event, Finished):
            self._finished = event
        return event


class Stream(_Watched[R]):
    """The events of one call as they happen; iterate over it, best in a ``with`` block, which gives up what is left.

    What is ambient for the call is so only while it goes on, not in the loop around it.
    """

    def __init__(self, flow: Flow[Any], host: Host, scope: Scope) -> None:
        super().__init__(scope)
        self._events = stream(flow, host)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        with self._inside():
            event = next(self._events, None)
        if event is None:
            raise StopIteration
        return self._seen(event)

    def close(self) -> None:
        """Give up what is left; the connection is given back."""
        with self._inside():
            self._events.close()

    def __del__(self) -> None:
        """Let no scope of an abandoned call get into the context around: a generator ends wherever it is dropped."""
        if hasattr(self, "_events"):
            self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class AsyncStream(_Watched[R]):
    """`Stream` for ``async for`` and ``async with``."""

    def __init__(self, flow: Flow[Any], host: Host, scope: Scope) -> None:
        super().__init__(scope)
        self._events = stream_async(flow, host)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        with self._inside():
            event = await anext(self._events, None)
        if event is None:
            raise StopAsyncIteration
        return self._seen(event)

    async def aclose(self) -> None:
        """Give up what is left; the connection is given back."""
        with self._inside():
            await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()
