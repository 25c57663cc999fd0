"""The two drivers of a flow: they run it to its end, in a thread or in a task. No rule of the library is theirs."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from decidable.ambient import current_scope
from decidable.flow.effects import Flow, RunOption, Send
from decidable.flow.run import HOST, Host, Run, shortened

__all__ = ["drive", "drive_async"]

R = TypeVar("R")


class _Carried(BaseException):
    """Carries a StopIteration through a generator, which would turn it into a RuntimeError."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def drive(flow: Flow[R], host: Host = HOST) -> R:
    """Run `flow` to its end in this thread; never starts an event loop."""
    __tracebackhide__ = True
    run = Run(host, current_scope().recorder, drive)
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
    run = Run(host, current_scope().recorder, drive_async)
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
