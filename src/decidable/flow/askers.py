"""Ways of putting a menu to a chat model: as text, and with a schema that the reply is held to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from decidable.attempt import Attempt, Failure, FailureKind, Repair
from decidable.binding import Choice, bind
from decidable.content import Content, with_text
from decidable.flow.prompts import (
    DECISION_INSTRUCTION,
    menu_text,
    shown_reply,
    try_again,
)
from decidable.menu import Menu
from decidable.messages import ChatRequest, Message, Reply, Request, Sampling
from decidable.reading import read

__all__ = ["Asker", "ChatAsker", "conversation"]

V_co = TypeVar("V_co", covariant=True)


class Asker(Protocol[V_co]):
    """One way of putting a question to a model, and of reading what comes back."""

    @property
    def wanted(self) -> str:
        """What a reply should be, for the error that says that none was."""

    @property
    def max_retries(self) -> int:
        """How often to ask again."""

    def request(self, attempts: list[Attempt]) -> Request:
        """The request, given what has failed so far."""

    def read(self, reply: Reply) -> V_co | Failure:
        """What the reply says, or why it cannot be used."""


@dataclass(slots=True, eq=False)
class ChatAsker:
    """A menu put to a model that answers in text.

    Attributes:
        menu: The options.
        prompt: What is to be decided.
        max_retries: Re-asks after a reply that does not hold.
        repair: How much a reply may be mended.
        instruction: What follows the menu.
        system: The standing instruction.
        model: The model to ask.
        effort: How much reasoning is wanted.
        schema: JSON Schema of a pick that the provider holds the reply to, or None.
        sampling: How tokens are chosen.
    """

    menu: Menu
    prompt: Content
    max_retries: int = 1
    repair: Repair = "syntax"
    instruction: str = DECISION_INSTRUCTION
    system: str | None = None
    model: str | None = None
    effort: str | None = None
    schema: Mapping[str, Any] | None = None
    sampling: Sampling | None = None
    wanted: ClassVar[str] = "valid pick"

    def request(self, attempts: list[Attempt]) -> ChatRequest:
        """The prompt with the menu; then each earlier reply, what was wrong, and the menu again."""
        menu = self.menu.render()
        prompt = with_text(self.prompt, menu_text(menu, self.instruction))
        if not attempts:
            messages: tuple[Message, ...] = (Message("user", prompt),)
        else:  # by now the work is done: a re-ask wants the pick and nothing else
            messages = conversation(prompt, attempts, menu_text(menu, DECISION_INSTRUCTION))
        return ChatRequest(messages, self.system, self.model, self.schema, self.effort, sampling=self.sampling)

    def read(self, reply: Reply) -> Choice | Failure:
        """The choice that the reply makes."""
        pick = read(reply.text, self.menu, stop=reply.stop, repair=self.repair)
        if type(pick) is Failure:
            return _beside_the_text(pick, reply)
        return bind(pick, self.menu, self.repair)  # type: ignore[arg-type]


def conversation(prompt: Content, attempts: list[Attempt], wish: str) -> tuple[Message, ...]:
    """The prompt, every earlier reply, and at the end all problems with the whole `wish` again."""
    messages = [Message("user", prompt)]
    for attempt in attempts[:-1]:
        messages += (Message("assistant", shown_reply(attempt.reply.text)), Message("user", attempt.message))
    messages.append(Message("assistant", shown_reply(attempts[-1].reply.text)))
    messages.append(Message("user", try_again(attempts, wish)))
    return tuple(messages)


def _beside_the_text(failure: Failure, reply: Reply) -> Failure:
    """What an empty text means when something was said elsewhere."""
    if failure.kind is not FailureKind.EMPTY or not reply.reasoning:
        return failure
    return Failure(
        failure.kind, "the reply is empty: all that was said is in its reasoning; answer in the reply itself"
    )
