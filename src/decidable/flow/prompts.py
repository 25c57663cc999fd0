"""The words around a menu; every sentence that this library says to a model stands here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

from decidable.attempt import Attempt, FailureKind
from decidable.content import Content, MediaPart, TextPart
from decidable.errors import did_you_mean
from decidable.schema.validate import clipped

__all__ = [
    "CALL_INSTRUCTION",
    "DECISION_FINISH_INSTRUCTION",
    "DECISION_INSTRUCTION",
    "EITHER_INSTRUCTION",
    "INTERRUPTED",
    "LABEL_INSTRUCTION",
    "NOT_NOW",
    "TOO_LONG",
    "WORK_INSTRUCTION",
    "clipped_result",
    "menu_text",
    "no_tool_but_an_option",
    "question_text",
    "questions_text",
    "raised",
    "repeated",
    "schema_text",
    "shown_result",
    "state_json",
    "state_text",
    "try_again",
    "unknown_tool",
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

WORK_INSTRUCTION = (
    "First do the work with the tools: look up what you need. Do not pick yet. When you have what you need, say in a "
    "few words what you found; then you will be asked to pick exactly one option from the menu."
)
"""Follows the menu of a turn whose pick is asked for after the work."""

INTERRUPTED = (
    "this call was interrupted, and whether it took effect is not known; it was not made again. Find out before you "
    "rely on it"
)
"""The result of a call that had begun when the program ended."""

NOT_NOW = "no tool can be called now; answer in text"
"""The result of a call where none was offered."""

TOO_LONG = "your reply was cut off at the token limit, so this call was not made; make it again, shorter"
"""The result of a call in a reply that was cut off."""

_REPLY_SHOWN = 1500
_HEADING = "Menu:"


def menu_text(menu: str, instruction: str) -> str:
    """The menu with its instruction, to stand under a prompt."""
    return f"{_HEADING}\n\n{menu}\n\n{instruction}"


def state_text(state: Any) -> str:
    """What a decision is about, as text: a str as it is, anything else as JSON, models by their fields."""
    return state if isinstance(state, str) else json.dumps(state, ensure_ascii=False, indent=1, default=_plain)


def state_json(state: Any) -> Any:
    """What a decision is about, as JSON, models by their fields; a number or the like as text."""
    if isinstance(state, str):
        return state
    made = json.loads(json.dumps(state, default=_plain))
    return made if isinstance(made, (dict, list)) else state_text(state)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


def question_text(state: Any, instructions: str) -> str:
    """One question about a state, whose options follow as a menu."""
    return f"{state_text(state)}\n\n{instructions}" if instructions else state_text(state)


def questions_text(state: Any, questions: Sequence[tuple[str, str, Mapping[str, str | None]]]) -> str:
    """Questions about a state, each with its key, its words, and the values that answer it and what they mean."""
    lines = [
        f"State:\n\n{state_text(state)}\n\nAnswer each of these questions about the state, and go by nothing else."
    ]
    for key, words, values in questions:
        meanings = [
            f"  {value}: {' '.join(about.split())}" if about else f"  {value}" for value, about in values.items()
        ]
        lines.append("\n".join([f"{key}: {' '.join(words.split())}", *meanings]))
    return "\n\n".join(lines)


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


def no_tool_but_an_option(name: str) -> str:
    """That what was called as a tool is something to pick."""
    return f"{name!r} is no tool: it is an option of the menu. Pick it when you are done, as the menu says"


def unknown_tool(name: str, tools: Sequence[str]) -> str:
    """That there is no such tool, with those that are close."""
    return f"there is no tool {clipped(name)}; {did_you_mean(name, tools, 'the tools are')}"


def repeated(name: str, times: int) -> str:
    """The result of a call that was made too often."""
    return (
        f"you have called {name!r} {times} times with these arguments, and the result was the same each time; it was "
        "not called again. Go on with what you have, or do something else"
    )


def raised(error: BaseException) -> str:
    """What a model is told of an exception in a tool: its type and message."""
    message = str(error)
    return clipped_result(f"{type(error).__name__}: {message}" if message else type(error).__name__, _ERROR_SHOWN)


_ERROR_SHOWN = 2000
_HEAD_SHARE = 0.7


def clipped_result(text: str, most: int) -> str:
    """The head and the tail of a text that is longer than `most` characters, with a note of what was cut."""
    if len(text) <= most:
        return text
    head = int(most * _HEAD_SHARE)
    tail = most - head
    cut = len(text) - most
    return f"{text[:head]}\n[... {cut:,} of {len(text):,} characters cut ...]\n{text[len(text) - tail :]}"


def shown_result(value: Any, most: int) -> Content:
    """What a tool gave back, as a model reads it: a str as it is, content parts too, anything else as JSON.

    What JSON cannot say is shown as Python does: the tool has run, so this is no failure of its.
    """
    if isinstance(value, str):
        return clipped_result(value, most)
    if isinstance(value, (TextPart, MediaPart)):
        value = [value]
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, (TextPart, MediaPart)) for v in value):
        return tuple([TextPart(clipped_result(v.text, most)) if isinstance(v, TextPart) else v for v in value])
    try:
        text = json.dumps(value, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError):  # keys that are no str, or an object that holds itself
        text = repr(value)
    return clipped_result(text, most)


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
