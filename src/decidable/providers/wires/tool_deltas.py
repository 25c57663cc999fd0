"""Tool calls out of the pieces that a stream sends, however loosely a server labels them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from decidable.deltas import ToolCallDelta

__all__ = ["PartialCall", "ToolCallAssembly"]


@dataclass(slots=True, eq=False)
class PartialCall:
    """A call so far."""

    position: int
    index: int | None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        """The arguments' text so far."""
        return "".join(self.pieces)


class ToolCallAssembly:
    """Gathers pieces by id, then by index, then by whether the call before has ended.

    Some servers repeat the id or the name with each piece, some send whole calls that all have the index 0 or none.
    """

    def __init__(self) -> None:
        self._calls: list[PartialCall] = []

    def add(self, index: int | None, id_: str, name: str, arguments: str) -> ToolCallDelta:
        """One piece; what it adds, with the place of its call in the reply."""
        call = self._owner(index, id_, name, arguments)
        call.id = call.id or id_
        if name and name != call.name:
            call.name += name
        if arguments:
            call.pieces.append(arguments)
        return ToolCallDelta(call.position, arguments, call.id, call.name)

    def calls(self) -> list[PartialCall]:
        """The calls in the order in which they began."""
        return self._calls

    def _owner(self, index: int | None, id_: str, name: str, arguments: str) -> PartialCall:
        if id_:
            for call in reversed(self._calls):
                if call.id == id_ and (call.index == index or index is None or call.index is None):
                    return call
        for call in reversed(self._calls):
            fits = call.index == index if index is not None else call is self._calls[-1]
            if fits:
                more = name != call.name or arguments  # else the end of the call before, with its name again
                other = bool(id_ and call.id) or (bool(name and call.name and more) and _ended(call))
                if not other:
                    return call
                break
        call = PartialCall(len(self._calls), index)
        self._calls.append(call)
        return call


def _ended(call: PartialCall) -> bool:
    """Whether the arguments are a whole JSON object, so that a new name begins a new call."""
    if not call.pieces or not call.pieces[-1].rstrip().endswith("}"):  # spares reading them all again and again
        return False
    try:
        return isinstance(json.loads(call.arguments), dict)
    except (ValueError, RecursionError):
        return False
