"""A menu that is longer than what a model takes at once, asked in rounds; one result, and the odds of every option."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from decidable.errors import RefusedError
from decidable.flow.decide import Picked
from decidable.flow.effects import Flow
from decidable.menu import PICK, Menu
from decidable.messages import Reply
from decidable.options import Option
from decidable.questions.rules import combined
from decidable.questions.types import Choice, ChoiceAnswer, QuestionRequest

__all__ = ["Round", "chunked", "played"]


@dataclass(frozen=True, slots=True)
class Round:
    """One round: every chunk of the options is a question of one request.

    Attributes:
        chunks: The options of each.
        questions: Question id to question; a chunk of one option is none.
    """

    chunks: tuple[tuple[Option[Any], ...], ...]
    questions: Mapping[str, Choice]


def chunked(options: Sequence[Option[Any]], most: int, instructions: str) -> Round:
    """The options in as few chunks as can be, of as equal a size as can be."""
    count = -(-len(options) // most)
    size, more = divmod(len(options), count)
    chunks, start = [], 0
    for number in range(count):
        end = start + size + (number < more)
        chunks.append(tuple(options[start:end]))
        start = end
    questions = {
        f"{PICK}/{number}": Choice(instructions, {option.name: option.description or None for option in chunk})
        for number, chunk in enumerate(chunks)
        if len(chunk) > 1
    }
    return Round(tuple(chunks), questions)


def rounds(count: int, most: int) -> int:
    """How many requests a menu of so many options takes, the last one included."""
    needed = 1
    while count > most:
        count = -(-count // most)
        needed += 1
    return needed


def played(  # noqa: PLR0917 - called in one place
    menu: Menu,
    most: int,
    instructions: str,
    request: Callable[[Mapping[str, Choice]], QuestionRequest],
    ask: Callable[[QuestionRequest, int], Flow[Reply]],
    final: Callable[[Menu, int, Mapping[str, tuple[str, float]]], Flow[Picked]],
) -> Flow[Picked]:
    """The pick of a tournament.

    Args:
        menu: All options.
        most: How many a question may have.
        instructions: What is to be chosen.
        request: Makes the request of a round.
        ask: Asks it, as the round of that number.
        final: Asks for the winner among the last ones: the options, the number of the round, and what each option
            that is out lost to, with its share of that option's probability.
    """
    options: Sequence[Option[Any]] = menu.options
    beaten: dict[str, tuple[str, float]] = {option.name: (option.name, 1.0) for option in options}
    number = 0
    while len(options) > most:
        now = chunked(options, most, instructions)
        reply = yield from ask(request(now.questions), number)
        winners, lost = _results(now, reply)
        beaten = {name: _passed_on(by, share, lost) for name, (by, share) in beaten.items()}
        options = [option for option in options if option.name in winners]
        number += 1
    found = yield from final(Menu(options), number, beaten)
    probabilities = found.choice.probabilities
    if probabilities is None:
        return found
    return replace(found, choice=replace(found.choice, probabilities=combined(probabilities, beaten)))


def _results(now: Round, reply: Reply) -> tuple[set[str], dict[str, tuple[str, float]]]:
    """The winners of a round; and what each of its options lost to, itself if it won."""
    winners: set[str] = set()
    lost: dict[str, tuple[str, float]] = {}
    answers = reply.answers or {}
    for number, chunk in enumerate(now.chunks):
        if len(chunk) == 1:
            winners.add(chunk[0].name)
            lost[chunk[0].name] = (chunk[0].name, 1.0)
            continue
        answer = answers[f"{PICK}/{number}"]
        if not isinstance(answer, ChoiceAnswer):
            raise RefusedError("refusal: the model declined to pick an option", kind="refusal")
        top = answer.probabilities[answer.choice]
        winners.add(answer.choice)
        lost |= {name: (answer.choice, share / top) for name, share in answer.probabilities.items()}
    return winners, lost


def _passed_on(by: str, share: float, lost: Mapping[str, tuple[str, float]]) -> tuple[str, float]:
    """What an option stands to now that the one that it lost to has lost, or won, its own round."""
    winner, ratio = lost[by]
    return winner, share * ratio
