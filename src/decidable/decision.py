"""Hand "what next?" to a model: `make` returns the result of the next step, `decide` the whole record.

`async_make` and `async_decide` are their twins for event loops; `render_options` and `parse_args` are the two halves of
it for a program with a loop of its own.
"""

from __future__ import annotations

from decidable.attempt import Failure, Repair
from decidable.binding import Choice, bind
from decidable.errors import ArgumentTypeError, DecisionError
from decidable.flow.prompts import DECISION_FINISH_INSTRUCTION
from decidable.menu import menu_of
from decidable.options import Options
from decidable.reading import read
from decidable.settings import checked_repair

MYPY = False  # mypy takes this name as true, everyone else as it stands
if MYPY:
    from decidable.verbs_mypy import (  # pyright: ignore[reportMissingModuleSource]  # a stub for mypy alone
        async_decide,
        async_make,
        decide,
        make,
    )
else:
    from decidable.verbs import async_decide, async_make, decide, make

__all__ = [
    "DECISION_FINISH_INSTRUCTION",
    "async_decide",
    "async_make",
    "decide",
    "make",
    "parse_args",
    "render_options",
]


def render_options(options: Options) -> str:
    """The menu as a model reads it, for a program with a loop of its own."""
    return menu_of(options).render()


def parse_args(reply: str, options: Options, *, repair: Repair = "syntax") -> Choice:
    """Read a reply to a rendered menu, for a program with a loop of its own.

    Args:
        reply: The model's text.
        options: The same options that were rendered.
        repair: How far the reply may be mended.

    Returns:
        The choice: `.option`, `.arguments`, `.repairs`; ``choice.option.resolve(choice.arguments)`` carries it out.

    Raises:
        DecisionError: The reply is no valid pick; `.kind` says why.
    """
    if not isinstance(reply, str):
        raise ArgumentTypeError(f"parse_args reads a reply's text, a str, not {type(reply).__name__}")
    menu, repair = menu_of(options), checked_repair(repair)
    pick = read(reply, menu, repair=repair)
    choice = pick if isinstance(pick, Failure) else bind(pick, menu, repair)
    if isinstance(choice, Failure):
        raise DecisionError(f"{choice.kind.value}: {choice.message}", kind=choice.kind.value)
    return choice
