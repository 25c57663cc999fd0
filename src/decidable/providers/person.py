"""`Person`: somebody who decides where models do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from decidable.errors import ArgumentTypeError
from decidable.providers.protocol import Capabilities, SyncProvider

__all__ = ["Person", "PersonQuestion"]


@dataclass(frozen=True, slots=True)
class PersonQuestion:
    """What a person is asked.

    Attributes:
        prompt: What is to be decided.
        state: What it is about, or None.
        options: Option name to description, which may be empty.
    """

    prompt: str
    state: Any
    options: Mapping[str, str]


class Person(SyncProvider):
    """Asks a person, by a function of yours; stands in a chain of providers, mostly last.

    Args:
        ask: Told a `PersonQuestion`; gives the name of an option, or ``(name, {argument: value})`` for one that takes
            arguments, or None if the person will not decide. It may be async, in the async twins.
        name: What the record calls whoever decided.

    Example:
        >>> from decidable import Runtime, decision
        >>> somebody = Person(lambda question: next(iter(question.options)))
        >>> decision.make("Refund it?", ["yes", "no"], runtime=Runtime(somebody))
        'yes'
    """

    model = None
    capabilities = Capabilities(person=True, remote=False)

    def __init__(self, ask: Callable[[PersonQuestion], Any], name: str = "person") -> None:
        if not callable(ask):
            raise ArgumentTypeError(f"Person takes a function of a PersonQuestion, not {ask!r}")
        self.ask = ask
        self.name = name

    def __repr__(self) -> str:
        return f"Person({self.name!r})"
