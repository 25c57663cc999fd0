"""What a call inherits from the code around it: runtime, frame, deadline, trace; one immutable value per context."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from decidable.messages import Reply, Request
    from decidable.runtimes import Runtime

__all__ = [
    "Frame",
    "Ledger",
    "Meter",
    "Recorder",
    "Scope",
    "current_scope",
    "invocation_hook",
    "scope_variable",
    "use_scope",
]


class Recorder(Protocol):
    """Keeps trace nodes."""

    def start(self, kind: str, name: str, value: Any, parent: Any) -> Any:
        """Open a node under `parent` (a node or None), with its input."""

    def end(self, node: Any, *, output: Any = None, error: BaseException | None = None) -> None:
        """Close a node."""


class Meter(Protocol):
    """Limits what is spent: asked before each request, told after each reply. `decidable.Budget` makes one per call."""

    def admit(self, request: Request) -> None:
        """Raise to stop the request from being sent."""

    def book(self, reply: Reply) -> None:
        """Count what a reply cost."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One call of an agentic function.

    Attributes:
        name: The function's name.
        function: What tells this function from others; the same for a method of any instance.
        system: Its standing instruction; holds for the model calls of this frame only.
        depth: How many frames of the same function are on the stack, this one included.
        parent: The frame it was called from.
    """

    name: str
    function: Any
    system: str | None
    depth: int
    parent: Frame | None


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """Where decisions are kept, and where in the program they are made.

    Attributes:
        store: Keeps receipts; None if nothing is kept.
        path: The execution path.
        prefix: Stands before every label, e.g. ``"refunds/"``.
        item: Index of the item of a loop, or None.
        rehearsal: Lists what would be asked in a dry run; None where questions are really asked.
    """

    store: Any = None
    path: str = "/root"
    prefix: str = ""
    item: int | None = None
    rehearsal: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """The ambient state of one context."""

    runtime: Runtime | None = None
    frame: Frame | None = None
    deadline: float | None = None
    recorder: Recorder | None = None
    node: Any = None
    hooks: tuple[Callable[[Frame], None], ...] = ()
    meters: tuple[Meter, ...] = ()
    approver: Any = None
    ledger: Ledger | None = None

    def within(self, node: Any) -> Scope:
        """This scope inside a trace node."""
        return Scope(
            self.runtime,
            self.frame,
            self.deadline,
            self.recorder,
            node,
            self.hooks,
            self.meters,
            self.approver,
            self.ledger,
        )

    def asking(self, runtime: Runtime, deadline: float | None, meters: tuple[Meter, ...]) -> Scope:
        """This scope with another runtime and deadline, and what counts there."""
        return Scope(
            runtime, self.frame, deadline, self.recorder, self.node, self.hooks, meters, self.approver, self.ledger
        )


_NOTHING = Scope()
scope_variable: ContextVar[Scope] = ContextVar("decidable_scope", default=_NOTHING)
current_scope: Callable[[], Scope] = scope_variable.get


@contextmanager
def use_scope(scope: Scope) -> Iterator[Scope]:
    """Make `scope` ambient within a ``with`` block."""
    token = scope_variable.set(scope)
    try:
        yield scope
    finally:
        scope_variable.reset(token)


@contextmanager
def invocation_hook(hook: Callable[[Frame], None]) -> Iterator[None]:
    """Call `hook` with the frame of every agentic function that is entered within a ``with`` block, before its body.

    What the hook raises ends the call. To cancel work that a user's ``except Exception`` must not swallow, raise
    `decidable.CancelledError`.
    """
    scope = current_scope()
    with use_scope(replace(scope, hooks=(*scope.hooks, hook))):
        yield
