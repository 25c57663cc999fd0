"""From a reply's tool calls to the one pick that they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from decidable.attempt import Failure, FailureKind, Pick, Repair
from decidable.messages import Reply
from decidable.reading.failures import declined, head, truncated
from decidable.reading.shapes import fingerprint
from decidable.tools import ToolCall

__all__ = ["pick_of", "read_calls"]


def read_calls(reply: Reply, names: Mapping[str, str], *, repair: Repair, text_counts: bool) -> Pick | Failure | None:
    """The pick that the tool calls of a reply make.

    Args:
        reply: The reply.
        names: Which option each tool stands for.
        repair: How far arguments that are no JSON may be mended; valid ones never are.
        text_counts: Whether a reply without a call may pick in its text.

    Returns:
        A `Pick`; a `Failure`; or None where there is no call and the text counts.
    """
    if reply.stop in ("refusal", "content_filter"):
        return declined(reply.text)
    if not reply.tool_calls:
        if text_counts:
            return None
        if reply.stop == "length":
            return truncated()
        said = f" but said: {head(reply.text)}" if reply.text.strip() else ""
        return Failure(FailureKind.NO_ACTION if said else FailureKind.EMPTY, f"the reply called no tool{said}")
    if reply.stop == "length":  # what the wire gives as an object may be half of one
        return truncated()
    picks = [pick_of(call, names, repair) for call in reply.tool_calls]
    if len(picks) > 1 and len({fingerprint(pick) for pick in picks}) > 1:
        named = ", ".join(repr(head(call.name, 60)) for call in reply.tool_calls[:10])
        return Failure(
            FailureKind.AMBIGUOUS, f"the reply makes {len(picks)} different calls ({named}); make exactly one"
        )
    return picks[0]


def pick_of(call: ToolCall, names: Mapping[str, str], repair: Repair) -> Pick:
    """What one call says; arguments that are no JSON are mended as far as `repair` allows."""
    name = names.get(call.name, call.name)
    if not isinstance(call.arguments, str):
        return Pick(name, dict(call.arguments))
    arguments = _mended(call.arguments) if repair != "none" else None
    if arguments is None:
        return Pick(name, call.arguments)
    return Pick(name, arguments, ("mended the arguments' JSON",))


def _mended(text: str) -> Any:
    from decidable.reading import read_json  # only arguments that are not JSON need it

    value = read_json(text)
    return value if isinstance(value, dict) else None
