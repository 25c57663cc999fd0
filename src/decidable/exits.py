"""Ways out of a menu: none of these, unsure, ask someone. Each is an outcome of its own, and no guess."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any

from decidable.errors import OptionError, SettingError, did_you_mean
from decidable.flow.gates import refuse_fields
from decidable.menu import Menu
from decidable.options import Option, ValueOption, options_of

__all__ = ["Exit", "with_exits"]


class Exit(Enum):
    """What comes back where a way out was taken that was given as True."""

    NONE_OF_THESE = "none_of_these"
    UNSURE = "unsure"
    ASK_SOMEONE = "ask_someone"


_WORDS = {
    Exit.NONE_OF_THESE: "None of the other options fits.",
    Exit.UNSURE: "What is known does not say which of the options is right.",
    Exit.ASK_SOMEONE: "A person must decide this.",
}


def with_exits(menu: Menu, none_of_these: Any, unsure: Any, ask_someone: Any) -> tuple[Menu, Option[Any] | None]:
    """The menu with its ways out, and the option that is taken when the model is not sure enough.

    Args:
        menu: The options.
        none_of_these: False or None for no such way; True, or what it results in: a function, a value, or either with a
            description, as of any option.
        unsure: Likewise; or the name of an option of the menu.
        ask_someone: As `none_of_these`.

    Raises:
        SettingError: `unsure` names no option.
        OptionError: An option has the name already.
    """
    added: list[Option[Any]] = []
    for exit_, given in ((Exit.NONE_OF_THESE, none_of_these), (Exit.ASK_SOMEONE, ask_someone)):
        if given is not None and given is not False:
            added.append(_option(exit_, given, menu))
    taken = None
    if isinstance(unsure, str):
        if unsure not in menu.index:
            known = did_you_mean(unsure, tuple(menu.index), "the options are")
            raise SettingError(f"unsure= names an option, or is True or a function: {known}")
        taken = menu.index[unsure]
    elif unsure is not None and unsure is not False:
        taken = _option(Exit.UNSURE, unsure, menu)
        added.append(taken)
    if taken is not None:
        refuse_fields(taken, "unsure=")
    return (Menu((*menu.options, *added)) if added else menu), taken


def _option(exit_: Exit, given: Any, menu: Menu) -> Option[Any]:
    name = exit_.value
    if name in menu.index:
        raise OptionError(f"{name}= adds an option of that name, and the menu has one already; leave one of them out")
    if given is True:
        return ValueOption(exit_, _WORDS[exit_], name)
    made: Any = options_of({name: given})[0]
    option: Option[Any] = made if made.description else replace(made, description=_WORDS[exit_])
    return option
