"""What happened, in memory: every function, model call, re-ask and decision, as one flat list of nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from decidable.ambient import current_scope, use_scope
from decidable.messages import Reply, Usage
from decidable.trace.tree import render_tree

__all__ = ["Node", "Status", "Trace", "trace"]

Status: TypeAlias = Literal["running", "done", "error", "cancelled"]


@dataclass(slots=True, eq=False)
class Node:
    """One thing that happened; complete once its status is not ``"running"``.

    Attributes:
        id: Unique within the trace, from 1, in the order of starting.
        kind: ``"function"``, ``"decision"``, ``"model_call"`` or ``"re_ask"``.
        name: Of the function, of the menu, or of the provider and model.
        caller: Id of the node it happened in, or None.
        status: How far it is.
        input: What went in.
        output: What came out, or None.
        error: The exception that ended it, or None.
        started: Seconds since the epoch.
        duration_s: Seconds it took, or None while it runs.
        model: The model that answered, for a model call.
        usage: Its tokens, if known.
        cost: Its price in US dollars, if known.
    """

    id: int
    kind: str
    name: str
    caller: int | None
    status: Status
    input: Any
    started: float
    output: Any = None
    error: BaseException | None = None
    duration_s: float | None = None
    model: str | None = None
    usage: Usage | None = None
    cost: float | None = None


class Trace:
    """The nodes of everything that ran within ``with trace() as t:``; ``print(t)`` shows them as a tree."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter, wall: Callable[[], float] = time.time) -> None:
        from threading import Lock  # most programs keep no trace

        self.nodes: list[Node] = []
        self._clock = clock
        self._wall = wall
        self._begun: dict[int, float] = {}
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"Trace({len(self.nodes)} nodes)"

    def __str__(self) -> str:
        return render_tree(self.nodes)

    def start(self, kind: str, name: str, value: Any, parent: Any) -> Node:
        """Open a node."""
        with self._lock:
            node = Node(
                len(self.nodes) + 1,
                kind,
                name,
                parent.id if parent is not None else None,
                "running",
                value,
                self._wall(),
            )
            self.nodes.append(node)
            self._begun[node.id] = self._clock()
        return node

    def end(self, node: Any, *, output: Any = None, error: BaseException | None = None) -> None:
        """Close a node, with what came out or what went wrong."""
        begun = self._begun.pop(node.id, None)
        node.duration_s = self._clock() - begun if begun is not None else None
        if isinstance(output, Reply):
            node.model, node.usage, node.cost = output.model, output.usage, output.cost
        node.output, node.error = output, error
        if error is None:
            node.status = "done"
        else:
            node.status = "error" if isinstance(error, Exception) else "cancelled"


@contextmanager
def trace() -> Iterator[Trace]:
    """Record what happens within a ``with`` block.

    Holds for this context: the calls made here, in their tasks and through `asyncio.to_thread` too, and nothing of
    anyone else. A thread started by hand has a context of its own.

    Example:
        >>> from decidable import decision, trace
        >>> from decidable.testing import pick, scripted
        >>> with trace() as t:
        ...     decision.make("Go on?", {"go": 1, "stop": 0}, runtime=scripted(pick("go")))
        1
        >>> [node.kind for node in t.nodes]
        ['decision', 'model_call']
    """
    recorded = Trace()
    with use_scope(replace(current_scope(), recorder=recorded, node=None)):
        yield recorded
