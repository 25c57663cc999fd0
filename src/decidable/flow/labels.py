"""A menu of lettered options, so that the log-probabilities of a letter are those of its option."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from string import ascii_uppercase

from decidable.attempt import Attempt, Failure, FailureKind
from decidable.content import Content, with_text
from decidable.errors import UnaskableError
from decidable.flow.ask import Call
from decidable.flow.askers import conversation
from decidable.flow.decide import until_valid
from decidable.flow.effects import Flow
from decidable.flow.prompts import LABEL_INSTRUCTION, menu_text
from decidable.flow.votes import Ballot
from decidable.menu import Menu
from decidable.messages import ChatRequest, Message, Reply, Sampling
from decidable.reading.failures import declined, head
from decidable.tools import Token

__all__ = ["LabelAsker", "label_ballot"]

_ROOM = 16
"""Tokens for an answer of one letter: what some wires allow at least, and enough for a space or a bracket before it."""
_AROUND = " \t\r\n*_`\"'()[].:"
_LETTER = re.compile(r"[\s*_`\"'(\[]{0,8}([A-Z])(?:\s*\Z|[)\].:,;*_`\"'\n-])")
"""A reply that is a letter, alone or as one stands before an option."""
_LEAST = 0.5
"""Share of the probability that must be on letters; below, the model was saying something else."""


class LabelAsker:
    """A menu put as lettered options.

    Args:
        menu: The options.
        prompt: What is to be decided.
        max_retries: Re-asks after a reply that is no letter.
        base: The request to fill.
        top: How many alternatives per token the provider reports.

    Raises:
        UnaskableError: There are more options than the provider can tell apart.
    """

    wanted = "letter of an option"

    def __init__(self, menu: Menu, prompt: Content, *, max_retries: int, base: ChatRequest, top: int) -> None:
        most = min(len(ascii_uppercase), top)
        if len(menu.options) > most:
            raise UnaskableError(
                f"log-probabilities tell at most {most} options apart here, this menu has {len(menu.options)}; use "
                "samples= instead"
            )
        self.names = dict(zip(ascii_uppercase, menu.index, strict=False))
        self.max_retries = max_retries
        self._wish = menu_text("\n".join(_lines(menu)), LABEL_INSTRUCTION)
        self._prompt = with_text(prompt, self._wish)
        sampling = replace(base.sampling or Sampling(), max_tokens=_ROOM, top_logprobs=top)
        self._base = replace(base, sampling=sampling)

    def request(self, attempts: list[Attempt]) -> ChatRequest:
        """The prompt with the menu; then each earlier reply, what was wrong, and the menu again."""
        first = (Message("user", self._prompt),)
        messages = conversation(self._prompt, attempts, self._wish) if attempts else first
        return replace(self._base, messages=messages)

    def read(self, reply: Reply) -> tuple[str, Mapping[str, float] | None] | Failure:
        """The likeliest option, and the probability of each; None for these when the provider gave no tokens."""
        if reply.stop in ("refusal", "content_filter"):
            return declined(reply.text)
        place = next((token for token in reply.tokens or () if token.text.strip(_AROUND)), None)
        said = _LETTER.match(reply.text)
        if place is None or not place.top:  # no distribution was given, and none is made up
            name = self.names.get(said[1]) if said is not None else None
            return (name, None) if name is not None else self._no_letter(reply)
        shares = self._shares(place)
        total = sum(shares.values())
        chosen = place.text.strip(_AROUND)  # "I would say", "A good one": a letter that begins a sentence is a word
        if not total >= _LEAST or (chosen in self.names and (said is None or said[1] != chosen)):
            return self._no_letter(reply)
        probabilities = {name: shares.get(letter, 0.0) / total for letter, name in self.names.items()}
        return max(probabilities, key=probabilities.__getitem__), probabilities

    def _shares(self, place: Token) -> dict[str, float]:
        """The probability of each letter at a place, several spellings of it together."""
        shares: dict[str, float] = {}
        for text, logprob in place.top:
            letter = text.strip(_AROUND)
            if letter in self.names:
                shares[letter] = shares.get(letter, 0.0) + math.exp(min(logprob, 0.0))
        return shares

    def _no_letter(self, reply: Reply) -> Failure:
        kind = FailureKind.NO_ACTION if reply.text.strip() else FailureKind.EMPTY
        return Failure(kind, f"the reply is not the letter of an option, but {head(reply.text, 80)!r}")


def label_ballot(call: Call, asker: LabelAsker) -> Flow[Ballot]:
    """One sample of a decision by letter."""
    (name, probabilities), reply, attempts = yield from until_valid(call, asker)
    return Ballot(name, reply, attempts, None, probabilities)


def _lines(menu: Menu) -> list[str]:
    """One line per option, with no line of a description at the margin where an option could begin."""
    lines = []
    for letter, option in zip(ascii_uppercase, menu.options, strict=False):
        about = " ".join(option.description.split())
        lines.append(f"{letter}) {option.name}{': ' + about if about else ''}")
    return lines
