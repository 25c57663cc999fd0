"""The two drivers of a flow. They own time, threads, contexts and cancellation, and no rule of the library."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from decidable.ambient import Recorder, Scope, current_scope, scope_variable
from decidable.errors import LLMError, LLMErrorReason
from decidable.flow.effects import Begin, Draw, Effect, End, Flow, Now, RunAll, RunOption, Send, Wait
from decidable.messages import Reply
from decidable.options import FunctionOption
from decidable.providers.forbid import refuse_if_forbidden
from decidable.providers.protocol import StreamingProvider

if TYPE_CHECKING:
    from decidable.deltas import Delta

__all__ = ["HOST", "Host", "Run", "drive", "drive_async", "shortened"]

R = TypeVar("R")


async def _sleep_async(seconds: float) -> None:
    import asyncio  # costs 50 ms to import; a sync program never needs it

    await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True, eq=False)
class Host:
    """Where a driver gets time and chance from; tests give their own."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    sleep_async: Callable[[float], Awaitable[None]] = _sleep_async
    random: Callable[[], float] = random.random


HOST = Host()


class _Carried(BaseException):
    """Carries a StopIteration through a generator, which would turn it into a RuntimeError."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def drive(flow: Flow[R], host: Host = HOST) -> R:
    """Run `flow` to its end in this thread; never starts an event loop."""
    __tracebackhide__ = True
    run = Run(host, current_scope().recorder)
    value: Any = None
    error: BaseException | None = None
    try:
        while True:
            effect = flow.send(value) if error is None else flow.throw(error)
            value = error = None
            try:
                value = run.send(effect) if type(effect) is Send else run.perform(effect)
            except StopIteration as stop:
                error = _Carried(stop)
            except BaseException as raised:  # the flow decides what an error means
                error = shortened(raised) if type(effect) is RunOption else raised
    except StopIteration as stop:
        return cast("R", stop.value)
    except _Carried as carried:
        raise carried.error from None
    finally:
        if run.entered:
            run.restore()


async def drive_async(flow: Flow[R], host: Host = HOST) -> R:
    """Run `flow` to its end in this task; sync functions run in worker threads with this context."""
    __tracebackhide__ = True
    run = Run(host, current_scope().recorder)
    value: Any = None
    error: BaseException | None = None
    try:
        while True:
            effect = flow.send(value) if error is None else flow.throw(error)
            value = error = None
            try:
                if type(effect) is Send:
                    value = await run.send_async(effect)
                else:
                    value = await run.perform_async(effect)
            except StopIteration as stop:
                error = _Carried(stop)
            except BaseException as raised:  # the flow decides what an error means
                error = shortened(raised) if type(effect) is RunOption else raised
    except StopIteration as stop:
        return cast("R", stop.value)
    except _Carried as carried:
        raise RuntimeError("StopIteration cannot pass through a coroutine") from carried.error
    finally:
        if run.entered:
            run.restore()


def _ended(flow: Flow[Any], host: Host) -> tuple[Any, Exception | None]:
    try:
        return drive(flow, host), None
    except Exception as error:
        return None, error


async def _all_ended(effect: RunAll, host: Host) -> list[tuple[Any, Exception | None]]:
    """Each flow in a task of its own; no task is left behind, however this ends."""
    import asyncio

    gate = asyncio.Semaphore(effect.limit)
    stop: list[BaseException] = []

    async def ended(flow: Flow[Any]) -> tuple[Any, Exception | None]:
        async with gate:
            try:
                return await drive_async(flow, host), None
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
        await asyncio.gather(*tasks, return_exceptions=True)
        if stop:
            raise stop[0] from None
        raise
    if stop:
        raise stop[0]
    return outcomes


class Run:
    """What both drivers share: one run of one flow, its trace and its checks."""

    __slots__ = ("entered", "host", "recorder")

    def __init__(self, host: Host, recorder: Recorder | None) -> None:
        self.host = host
        self.recorder = recorder
        self.entered: list[Scope] = []

    def send(self, effect: Send) -> Any:
        """The provider's reply."""
        self._admit(effect)
        if self.recorder is None:
            return effect.provider.send(effect.request, effect.deadline)
        with self._recorded(self.recorder, effect.purpose, _asked(effect), effect.request) as keep:
            return keep(effect.provider.send(effect.request, effect.deadline))

    async def send_async(self, effect: Send) -> Any:
        """The provider's reply, without blocking the event loop."""
        self._admit(effect)
        if self.recorder is None:
            return await self._answer(effect)
        with self._recorded(self.recorder, effect.purpose, _asked(effect), effect.request) as keep:
            return keep(await self._answer(effect))

    async def _answer(self, effect: Send) -> Any:
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
            return self.host.sleep(effect.seconds)
        if type(effect) is RunAll:
            return [_ended(flow, self.host) for flow in effect.flows]
        return self._instant(effect)

    async def perform_async(self, effect: Effect) -> Any:
        """Do what is no request, without blocking the event loop."""
        if type(effect) is RunOption:
            return await self._resolve_async(effect)
        if type(effect) is Wait:
            self._before_wait(effect)
            return await self.host.sleep_async(effect.seconds)
        if type(effect) is RunAll:
            return await _all_ended(effect, self.host)
        return self._instant(effect)

    def _admit(self, effect: Send) -> None:
        refuse_if_forbidden(effect.provider)
        if effect.deadline is not None and self.host.clock() >= effect.deadline:
            raise _late(effect, "was not asked: the time given was over before")

    def _resolve(self, effect: RunOption) -> Any:
        option = effect.option
        if self.recorder is None or not isinstance(option, FunctionOption) or _records_itself(option):
            return option.resolve(effect.arguments)
        with self._recorded(self.recorder, "function", option.name, effect.arguments) as keep:
            return keep(option.resolve(effect.arguments))

    async def _resolve_async(self, effect: RunOption) -> Any:
        option = effect.option
        if not isinstance(option, FunctionOption):
            return option.resolve(effect.arguments)
        if self.recorder is None or _records_itself(option):
            return await _awaited(option, effect.arguments)
        with self._recorded(self.recorder, "function", option.name, effect.arguments) as keep:
            return keep(await _awaited(option, effect.arguments))

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

    def _before_wait(self, effect: Wait) -> None:
        if effect.before is not None:
            effect.before()

    def _instant(self, effect: Effect) -> Any:
        if isinstance(effect, Now):
            return self.host.clock()
        if isinstance(effect, Draw):
            return self.host.random()
        if isinstance(effect, Begin):
            return self._begin(effect)
        if isinstance(effect, End):
            return self._end(effect)
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


async def _awaited(option: FunctionOption[Any], arguments: Mapping[str, Any]) -> Any:
    """The result of a function option: an async one awaited, a sync one run in a worker thread."""
    if option.spec.is_async:
        return await option.resolve(arguments)
    import asyncio

    result = await asyncio.to_thread(_without_stop, option, arguments)
    return await result if asyncio.iscoroutine(result) else result  # of a lambda around an async function


def _without_stop(option: FunctionOption[Any], arguments: Mapping[str, Any]) -> Any:
    try:
        return option.resolve(arguments)
    except StopIteration as error:  # it would never arrive: a future cannot hold one
        raise RuntimeError(f"option {option.name!r} raised StopIteration") from error


def _records_itself(option: FunctionOption[Any]) -> bool:
    return hasattr(option.function, "__decidable_input__")


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


def _late(effect: Send, what: str) -> LLMError:
    provider = effect.provider
    model = effect.request.model or provider.model
    return LLMError(f"{provider.name} {what}", reason=LLMErrorReason.TIMEOUT, provider=provider.name, model=model)
