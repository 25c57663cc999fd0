"""What a flow may ask its driver to do, and what it gets back. Made anew for each step, so not frozen: cheaper."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from decidable.messages import Request
from decidable.options import Option
from decidable.providers.protocol import Provider

if TYPE_CHECKING:
    from decidable.cancelling import CancelToken

__all__ = [
    "Announce",
    "Begin",
    "Consult",
    "Draw",
    "Effect",
    "End",
    "Flow",
    "Now",
    "RunAll",
    "RunOption",
    "Save",
    "Send",
    "Today",
    "Wait",
    "in_node",
]


@dataclass(slots=True)
class Send:
    """Ask a provider. Answered with the `Reply`; the provider's error is thrown in.

    Attributes:
        provider: Who is asked.
        request: What.
        deadline: Instant, on the driver's clock, after which nobody waits; None for never.
        purpose: Kind of the trace node: ``"model_call"`` or ``"re_ask"``.
        cancel: Calls it off: an `AbortedError` is thrown in.
    """

    provider: Provider
    request: Request
    deadline: float | None = None
    purpose: str = "model_call"
    cancel: CancelToken | None = None


@dataclass(slots=True, eq=False)
class RunOption:
    """Resolve an option with bound arguments. Answered with its result; what it raises is thrown in.

    Attributes:
        option: What is run.
        arguments: With what.
        timeout_s: Seconds after which a `TimeoutError` is thrown in, or None.
        deadline: Instant at which an async function is given up in the same way, or None.
        as_tool: Whether it is a tool, whose trace node its flow keeps.
    """

    option: Option[Any]
    arguments: Mapping[str, Any]
    timeout_s: float | None = None
    deadline: float | None = None
    as_tool: bool = False


@dataclass(slots=True, eq=False)
class RunAll:
    """Run flows to their ends, at most `limit` at a time.

    Answered with a pair for each flow, in order: its result and None, or None and the `Exception` that it ended in.
    What is no `Exception`, such as a wish to stop, is thrown in, once none of them runs any more.

    Attributes:
        flows: What is run.
        limit: How many at a time.
        in_threads: Whether a sync driver gives each a thread; else it runs one after the other.
    """

    flows: Sequence[Flow[Any]]
    limit: int
    in_threads: bool = False


@dataclass(slots=True, eq=False)
class Consult:
    """Ask a function of the caller's, sync or async. Answered with what it says."""

    function: Callable[[Any], Any]
    question: Any


@dataclass(slots=True, eq=False)
class Save:
    """Hand the caller what is to be kept; nothing goes on before it is. Answered with None.

    Attributes:
        write: The caller's function, sync or async.
        make: Makes what it is given, at that moment.
        lock: Lets one at a time through, in order: a `threading.Lock` for the sync driver, an `asyncio.Lock` for the
            async one.
    """

    write: Callable[[Any], Any]
    make: Callable[[], Any]
    lock: Any


@dataclass(slots=True, eq=False)
class Announce:
    """Let an event be seen, where somebody watches. Answered with None."""

    event: Any


@dataclass(slots=True, eq=False)
class Wait:
    """Call `before`, then sleep. Answered with None; with an `AbortedError` thrown in if `cancel` calls it off."""

    seconds: float
    before: Callable[[], None] | None = None
    cancel: CancelToken | None = None


@dataclass(slots=True, eq=False)
class Now:
    """Answered with the driver's clock, in seconds."""


@dataclass(slots=True, eq=False)
class Today:
    """Answered with the date and time: seconds since the epoch."""


@dataclass(slots=True, eq=False)
class Draw:
    """Answered with a random float in [0, 1)."""


@dataclass(slots=True, eq=False)
class Begin:
    """Open a trace node and make it the parent of what follows. Answered with a handle for `End`."""

    kind: str
    name: str
    input: Any = None


@dataclass(slots=True, eq=False)
class End:
    """Close the node that was opened last, with its output or its error."""

    handle: Any
    output: Any = None
    error: BaseException | None = None


Effect: TypeAlias = Send | RunOption | RunAll | Consult | Save | Announce | Wait | Now | Today | Draw | Begin | End

R = TypeVar("R")
Flow: TypeAlias = Generator[Effect, Any, R]


def in_node(flow: Flow[R], kind: str, name: str, value: Any) -> Flow[R]:
    """`flow` inside a trace node that is closed however the flow ends."""
    handle = yield Begin(kind, name, value)
    try:
        result = yield from flow
    except BaseException as error:
        yield End(handle, error=error)
        raise
    yield End(handle, output=result)
    return result
