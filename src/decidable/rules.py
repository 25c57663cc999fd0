"""What holds for running a function, beyond its arguments. Imported where a function has rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["MAX_CHARS", "Rules"]

MAX_CHARS = 30_000
"""Characters of a tool's result that go back to the model, if the tool does not say."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What `decidable.tool` says of a function; each means what it says there."""

    requires_approval: bool | Callable[[dict[str, Any]], bool] = False
    timeout_s: float | None = None
    available: Callable[[], bool] | None = None
    max_chars: int = MAX_CHARS
    parameters: Mapping[str, Any] | None = None
    """JSON Schema of the arguments as somebody else wrote it; None where the fields say all."""
    check: Callable[[], None] | None = None
    """Raises where the function cannot be called any more, before it is offered."""
