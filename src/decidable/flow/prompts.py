"""The words around a menu; every sentence that this library says to a model stands here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

from decidable.attempt import Attempt, FailureKind

__all__ = [
    "CALL_INSTRUCTION",
    "DECISION_FINISH_INSTRUCTION",
    "DECISION_INSTRUCTION",
    "EITHER_INSTRUCTION",
    "LABEL_INSTRUCTION",
    "menu_text",
    "schema_text",
    "state_text",
    "try_again",
]

DECISION_INSTRUCTION = (
    "Pick exactly one option from the menu. Answer with one JSON object and nothing else, in the form of that "
    "option's Call line, with real values in place of the placeholders."
)
"""Follows the menu of a pure decision."""

DECISION_FINISH_INSTRUCTION = (
    "First do the work: reason, and look up what you need. Then finish by picking exactly one option from the menu: "
    "end your final reply with one JSON object in the form of that option's Call line, with real values in place of "
    "the placeholders."
)
"""Follows the menu of a turn that works first and decides last."""

CALL_INSTRUCTION = "Decide by calling exactly one of the tools, with real values as its arguments."
"""Follows the prompt of a decision whose options are tools."""

EITHER_INSTRUCTION = (
    "Pick exactly one option from the menu: call the tool of that name, or answer with one JSON object and nothing "
    "else, in the form of that option's Call line, with real values in place of the placeholders."
)
"""Follows the menu where the options are tools too, but no call can be forced."""

LABEL_INSTRUCTION = "Pick exactly one option from the menu. Answer with its letter and nothing else."
"""Follows a menu of lettered options."""

_REPLY_SHOWN = 1500
_HEADING = "Menu:"


def menu_text(menu: str, instruction: str) -> str:
    """The menu with its instruction, to stand under a prompt."""
    return f"{_HEADING}\n\n{menu}\n\n{instruction}"


def state_text(state: Any) -> str:
    """What a decision is about, as text: a str as it is, anything else as JSON, models by their fields."""
    return state if isinstance(state, str) else json.dumps(state, ensure_ascii=False, indent=1, default=_plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


def schema_text(schema: Mapping[str, Any]) -> str:
    """The wish for a reply that fits a JSON Schema."""
    return (
        "Answer with one JSON value and nothing else. It must fit this JSON Schema:\n"
        f"{json.dumps(schema, ensure_ascii=False)}"
    )


def shown_reply(text: str) -> str:
    """A reply as it goes back to the model: its head and tail, when it is long."""
    if len(text) <= _REPLY_SHOWN:
        return text or "(empty)"
    head, tail = text[: _REPLY_SHOWN * 2 // 3], text[-_REPLY_SHOWN // 3 :]
    return f"{head}\n[... {len(text) - len(head) - len(tail)} characters left out ...]\n{tail}"


def try_again(attempts: Sequence[Attempt], wish: str) -> str:
    """What was wrong with each reply so far, and the whole wish again."""
    if len(attempts) == 1:
        problems = f"Your reply cannot be used: {attempts[0].message}."
    else:
        lines = [f"{number}. {message}" for number, message in enumerate(_distinct(attempts), 1)]
        problems = "Your replies so far cannot be used:\n" + "\n".join(lines)
    shorter = (
        " Leave out any explanation, so that there is room for it."
        if attempts[-1].kind is FailureKind.TRUNCATED
        else ""
    )
    return f"{problems}\nAnswer again.{shorter}\n\n{wish}"


def _distinct(attempts: Sequence[Attempt]) -> list[str]:
    """Messages in order, a repeated one only once: a model copies what it reads often."""
    return list(dict.fromkeys(attempt.message for attempt in attempts))
