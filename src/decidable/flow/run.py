"""One run of one flow: how each effect is performed. Time, threads, contexts and cancellation are owned here."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from decidable.ambient import Recorder, Scope, current_scope, scope_variable
from decidable.errors import LLMError, LLMErrorReason, RequestForbiddenError
from decidable.flow import running, together
from decidable.flow.effects import (
    Announce,
    Begin,
    Consult,
    Draw,
    Effect,
    End,
    Flow,
    Now,
    RunAll,
    RunOption,
    Save,
    Send,
    Today,
    Wait,
)
from decidable.messages import Reply
from decidable.options import FunctionOption
from decidable.providers.forbid import refuse_if_forbidden
from decidable.providers.protocol import StreamingProvider

if TYPE_CHECKING:
    from decidable.deltas import Delta

__all__ = ["HOST", "Host", "Run", "shortened"]


async def _sleep_async(seconds: float) -> None:
    import asyncio  # costs 50 ms to import; a sync program never needs it

    await asyncio.sleep(seconds)


def _chance() -> float:
    from random import random  # only a retry needs it

    return random()  # noqa: S311 - jitter, no secret


@dataclass(frozen=True, slots=True, eq=False)
class Host:
    """Where a driver gets time and chance from; tests give their own."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    sleep_async: Callable[[float], Awaitable[None]] = _sleep_async
    random: Callable[[], float] = _chance
    today: Callable[[], float] = time.time


HOST = Host()


class Run:
    """What both drivers share: one run of one flow, its trace and its checks."""

    __slots__ = ("drive", "entered", "host", "recorder")

    def __init__(self, host: Host, recorder: Recorder | None, drive: Callable[..., Any]) -> None:
        self.host = host
        self.recorder = recorder
        self.drive = drive
        self.entered: list[Scope] = []

    def send(self, effect: Send) -> Any:
        """The provider's reply."""
        self._admit(effect)
        if self.recorder is None:
            if effect.cancel is None:
                return effect.provider.send(effect.request, effect.deadline)
            return self._answered(effect)
        with self._recorded(self.recorder, effect.purpose, _asked(effect), effect.request) as keep:
            return keep(self._answered(effect))

    async def send_async(self, effect: Send) -> Any:
        """The provider's reply, without blocking the event loop."""
        self._admit(effect)
        if self.recorder is None:
            return await self._answer(effect)
        with self._recorded(self.recorder, effect.purpose, _asked(effect), effect.request) as keep:
            return keep(await self._answer(effect))

    def _answered(self, effect: Send) -> Any:
        if effect.cancel is None:
            return effect.provider.send(effect.request, effect.deadline)
        from decidable.flow.calling_off import answered  # few requests can be called off

        return answered(lambda: effect.provider.send(effect.request, effect.deadline), effect.cancel)

    async def _answer(self, effect: Send) -> Any:
        if effect.cancel is None:
            return await self._answer_in_time(effect)
        from decidable.flow.calling_off import answered_async  # as above

        return await answered_async(lambda: self._answer_in_time(effect), effect.cancel)

    async def _answer_in_time(self, effect: Send) -> Any:
        if effect.deadline is None:
            return await effect.provider.asend(effect.request, None)
        import asyncio

        try:
            async with asyncio.timeout(effect.deadline - self.host.clock()) as limit:
                return await effect.provider.asend(effect.request, effect.deadline)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise _late(effect, "did not answer in the time given") from error

    def pieces(self, effect: Send) -> Generator[Delta | Reply, None, None]:
        """What arrives, and at last the whole reply; of a provider that does not stream, its text in one piece."""
        provider = effect.provider
        if not provider.capabilities.streaming:
            yield from _in_one(self.send(effect))
            return
        self._admit(effect)
        with self._perhaps_recorded(effect) as keep:
            ended = False
            for piece in cast("StreamingProvider", provider).stream(effect.request, effect.deadline):
                ended = isinstance(piece, Reply)
                yield keep(piece) if ended else piece
            if not ended:
                raise _broken_off(effect)

    async def pieces_async(self, effect: Send) -> AsyncGenerator[Delta | Reply, None]:
        """`pieces` without blocking the event loop."""
        provider = effect.provider
        if not provider.capabilities.streaming:
            for whole in _in_one(await self.send_async(effect)):
                yield whole
            return
        self._admit(effect)
        with self._perhaps_recorded(effect) as keep:
            arriving = cast("StreamingProvider", provider).astream(effect.request, effect.deadline)
            ended = False
            try:
                while (piece := await self._next(effect, arriving)) is not None:
                    ended = isinstance(piece, Reply)
                    yield keep(piece) if ended else piece
            finally:
                close = getattr(arriving, "aclose", None)
                if close is not None:
                    await close()
            if not ended:
                raise _broken_off(effect)

    async def _next(self, effect: Send, arriving: AsyncIterator[Delta | Reply]) -> Delta | Reply | None:
        if effect.deadline is None:
            return await anext(arriving, None)
        import asyncio

        try:
            async with asyncio.timeout(effect.deadline - self.host.clock()) as limit:
                return await anext(arriving, None)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise _late(effect, "did not finish in the time given") from error

    def _perhaps_recorded(self, effect: Send) -> AbstractContextManager[Callable[[Any], Any]]:
        if self.recorder is None:
            return nullcontext(_itself)
        return self._recorded(self.recorder, effect.purpose, _asked(effect), effect.request)

    def perform(self, effect: Effect) -> Any:
        """Do what is no request."""
        if type(effect) is RunOption:
            return self._resolve(effect)
        if type(effect) is Wait:
            self._before_wait(effect)
            return self._sleep(effect)
        if type(effect) is RunAll:
            return together.all_ended(effect, self._drive_inner)
        if type(effect) is Consult:
            return running.called(effect.function, effect.question)
        if type(effect) is Save:
            with effect.lock:
                return running.called(effect.write, effect.make())
        return self._instant(effect)

    async def perform_async(self, effect: Effect) -> Any:
        """Do what is no request, without blocking the event loop."""
        if type(effect) is RunOption:
            return await self._resolve_async(effect)
        if type(effect) is Wait:
            self._before_wait(effect)
            return await self._sleep_async(effect)
        if type(effect) is RunAll:
            return await together.all_ended_async(effect, self._drive_inner)
        if type(effect) is Consult:
            return await running.called_async(effect.function, effect.question)
        if type(effect) is Save:
            async with effect.lock:
                return await running.called_async(effect.write, effect.make())
        return self._instant(effect)

    def _drive_inner(self, flow: Flow[Any]) -> Any:
        """A flow within this one, driven in the same way."""
        return self.drive(flow, self.host)

    def _admit(self, effect: Send) -> None:
        refuse_if_forbidden(effect.provider)
        ledger = current_scope().ledger
        if ledger is not None and ledger.rehearsal is not None:
            raise RequestForbiddenError(
                f"in a dry run nothing is sent to {effect.provider.name!r}, and what it would write is not made up"
            )
        if effect.deadline is not None and self.host.clock() >= effect.deadline:
            raise _late(effect, "was not asked: the time given was over before", sent=False)

    def _resolve(self, effect: RunOption) -> Any:
        if self.recorder is None or not _is_recorded(effect):
            return running.resolved(effect, self._now(effect))
        with self._recorded(self.recorder, "function", effect.option.name, effect.arguments) as keep:
            return keep(running.resolved(effect, self._now(effect)))

    def _now(self, effect: RunOption) -> float:
        """The clock, where an option has a time limit."""
        return 0.0 if effect.timeout_s is None and effect.deadline is None else self.host.clock()

    async def _resolve_async(self, effect: RunOption) -> Any:
        if self.recorder is None or not _is_recorded(effect):
            return await running.resolved_async(effect, self._now(effect))
        with self._recorded(self.recorder, "function", effect.option.name, effect.arguments) as keep:
            return keep(await running.resolved_async(effect, self._now(effect)))

    @contextmanager
    def _recorded(self, recorder: Recorder, kind: str, name: str, value: Any) -> Iterator[Callable[[Any], Any]]:
        """A trace node around a block, which hands its outcome to what the ``with`` gives."""
        node, outcome = recorder.start(kind, name, value, current_scope().node), None

        def keep(result: Any) -> Any:
            nonlocal outcome
            outcome = result
            return result

        try:
            yield keep
        except BaseException as error:
            recorder.end(node, error=error)
            raise
        recorder.end(node, output=outcome)

    def _sleep(self, effect: Wait) -> None:
        if effect.cancel is None:
            return self.host.sleep(effect.seconds)
        from decidable.flow.calling_off import slept  # as above

        return slept(effect.seconds, None if self.host is HOST else self.host.sleep, effect.cancel)

    async def _sleep_async(self, effect: Wait) -> None:
        if effect.cancel is None:
            return await self.host.sleep_async(effect.seconds)
        from decidable.flow.calling_off import slept_async  # as above

        return await slept_async(effect.seconds, None if self.host is HOST else self.host.sleep_async, effect.cancel)

    def _before_wait(self, effect: Wait) -> None:
        if effect.before is not None:
            effect.before()

    def _instant(self, effect: Effect) -> Any:
        if isinstance(effect, Now):
            return self.host.clock()
        if isinstance(effect, Today):
            return self.host.today()
        if isinstance(effect, Draw):
            return self.host.random()
        if isinstance(effect, Begin):
            return self._begin(effect)
        if isinstance(effect, End):
            return self._end(effect)
        if isinstance(effect, Announce):  # nobody watches
            return None
        raise TypeError(f"not an effect: {effect!r}")

    def _begin(self, effect: Begin) -> Any:
        if self.recorder is None:
            return None
        scope = current_scope()
        node = self.recorder.start(effect.kind, effect.name, effect.input, scope.node)
        self.entered.append(scope)
        scope_variable.set(scope.within(node))
        return node

    def _end(self, effect: End) -> None:
        if self.recorder is not None and effect.handle is not None:
            self.recorder.end(effect.handle, output=effect.output, error=effect.error)
            scope_variable.set(self.entered.pop())

    def restore(self) -> None:
        """Leave no node of an abandoned flow behind in the context."""
        scope_variable.set(self.entered[0])


_OURS = ("decidable.", "asyncio.", "concurrent.")


def shortened(error: BaseException) -> BaseException:
    """`error` of a user's function, its traceback beginning in the user's own code."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith(_OURS):
        trace = trace.tb_next
    return error if trace is None else error.with_traceback(trace)


def _is_recorded(effect: RunOption) -> bool:
    """Whether it is a plain function of a decision: a tool's flow keeps its node, an agentic function keeps its own."""
    option = effect.option
    return (
        not effect.as_tool
        and isinstance(option, FunctionOption)
        and not hasattr(option.function, "__decidable_input__")
    )


def _itself(value: Any) -> Any:
    return value


def _in_one(reply: Reply) -> Iterator[Delta | Reply]:
    if reply.text:
        from decidable.deltas import TextDelta  # most programs never stream

        yield TextDelta(reply.text)
    yield reply


def _broken_off(effect: Send) -> LLMError:
    name = effect.provider.name
    return LLMError(f"{name} broke off its reply", reason=LLMErrorReason.TRANSPORT, provider=name)


def _asked(effect: Send) -> str:
    model = effect.request.model or effect.provider.model
    return f"{effect.provider.name}:{model}" if model else effect.provider.name


def _late(effect: Send, what: str, sent: bool | None = None) -> LLMError:
    provider = effect.provider
    model = effect.request.model or provider.model
    return LLMError(
        f"{provider.name} {what}", reason=LLMErrorReason.TIMEOUT, provider=provider.name, model=model, sent=sent
    )
