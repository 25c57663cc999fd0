"""Several samples of one decision, counted: probabilities for models that give none, order bias averaged out."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from decidable.attempt import Attempt, Origin
from decidable.binding import Choice
from decidable.errors import DecidableError, DecisionError, LLMError
from decidable.flow.ask import Call
from decidable.flow.decide import Picked
from decidable.flow.effects import Flow, RunAll
from decidable.flow.record_parts import Vote, Votes
from decidable.menu import Menu
from decidable.messages import Reply

__all__ = ["Ballot", "orders", "vote"]

AT_ONCE = 16
"""Samples that are asked for at the same time, in async calls."""


@dataclass(frozen=True, slots=True, eq=False)
class Ballot:
    """What one sample says.

    Attributes:
        option: Name of the option that it picks.
        reply: The reply that says so.
        attempts: Replies that did not hold.
        choice: The choice with its arguments; None if they are asked for once the votes are counted.
        probabilities: Option name to probability; None for a plain vote.
    """

    option: str
    reply: Reply
    attempts: tuple[Attempt, ...]
    choice: Choice | None = None
    probabilities: Mapping[str, float] | None = None


def orders(menu: Menu, samples: int, seed: int | None) -> list[Menu]:
    """The menu for each sample: the same one always, or with a seed, its options in a new order each.

    Each run of as many samples as there are options is the rotations of one random order, so that every option stands
    in every place equally often, and a bias for a place weighs on none.
    """
    if seed is None:
        return [menu] * samples
    chance = random.Random(seed)  # noqa: S311 - the same seed gives the same orders; nothing secret hangs on it
    options = list(menu.options)
    menus: list[Menu] = []
    while len(menus) < samples:
        chance.shuffle(options)
        starts = list(range(len(options)))
        chance.shuffle(starts)
        menus += [Menu((*options[start:], *options[:start])) for start in starts]
    return menus[:samples]


def vote(
    call: Call,
    menus: Sequence[Menu],
    ballot: Callable[[Menu, int], Flow[Ballot]],
    complete: Callable[[Ballot], Flow[tuple[Choice, tuple[Attempt, ...]]]],
    *,
    shuffled: bool,
) -> Flow[Picked]:
    """The choice that most samples make; of their arguments, those that most of them give.

    A tie goes to the option that was voted for first. Samples without a valid pick do not count, and are kept on the
    record. Once the provider has failed for one, no other is begun; those that were paid for count.

    Args:
        call: What is spent is counted here.
        menus: The menu of each sample.
        ballot: Makes the flow of one sample, of a menu and the sample's number.
        complete: Makes the flow that asks for the arguments of a ballot without a choice.
        shuffled: Whether the menus differ in order.

    Raises:
        DecisionError: No sample made a valid pick.
        LLMError: The provider failed for every sample.
    """
    failed: list[LLMError] = []
    flows = [_unless_failed(failed, ballot(menu, number)) for number, menu in enumerate(menus)]
    outcomes: list[tuple[Any, Any]] = yield RunAll(flows, AT_ONCE)
    cast: list[Ballot] = []
    votes: list[Vote] = []
    for (found, error), menu in zip(outcomes, menus, strict=True):
        order = tuple(menu.index)
        if error is not None and not isinstance(error, (DecisionError, LLMError)):
            raise error
        if error is None:
            cast.append(found)
            votes.append(Vote(found.option, order, found.probabilities))
        else:
            votes.append(Vote(None, order, None, error))
    if not cast:
        raise _worst([v.error for v in votes if v.error is not None])
    measured = all(b.probabilities is not None for b in cast)  # else the provider gave none, whatever was asked of it
    shares = _shares(cast, menus[0], measured)
    winner = max(shares, key=shares.__getitem__)
    mine = _most_alike([b for b in cast if b.option == winner] or cast[:1])
    attempts = tuple(attempt for b in cast for attempt in b.attempts)
    choice = mine.choice
    if choice is None:
        choice, more = yield from complete(mine if mine.option == winner else replace(mine, option=winner))
        attempts += more
    if measured or len(votes) > 1:  # one vote alone says nothing of how sure the model is
        origin: Origin = "logprobs" if measured else "votes"
        choice = replace(choice, probabilities=shares, origin=origin)
    samples = Votes(tuple(votes), shuffled) if len(votes) > 1 or shuffled else None
    return Picked(choice, mine.reply, attempts, (call,), samples)


def _unless_failed(failed: list[LLMError], ballot: Flow[Ballot]) -> Flow[Ballot]:
    """`ballot`; once the provider has failed for another one, after its retries, none is begun any more."""
    if failed:
        raise failed[0]
    try:
        return (yield from ballot)
    except LLMError as error:
        failed.append(error)
        raise


def _shares(cast: Sequence[Ballot], menu: Menu, measured: bool) -> dict[str, float]:
    """The mean over the ballots, the options in the order in which they were voted for, then in the menu's."""
    names = dict.fromkeys([b.option for b in cast] + list(menu.index))
    total = dict.fromkeys(names, 0.0)
    for b in cast:
        for name, share in (b.probabilities if measured and b.probabilities else {b.option: 1.0}).items():
            total[name] += share
    return {name: share / len(cast) for name, share in total.items()}


def _most_alike(ballots: Sequence[Ballot]) -> Ballot:
    """The first of the ballots whose arguments most of them give."""
    groups: list[list[Ballot]] = []
    for b in ballots:
        for group in groups:
            if _arguments(group[0]) == _arguments(b):
                group.append(b)
                break
        else:
            groups.append([b])
    return max(groups, key=len)[0]


def _arguments(b: Ballot) -> Mapping[str, Any] | None:
    return None if b.choice is None else b.choice.arguments


def _worst(errors: Sequence[DecidableError]) -> DecidableError:
    """What is raised when no sample holds: how the model failed, before how the connection did."""
    error = next((e for e in errors if isinstance(e, DecisionError)), errors[0])
    if len(errors) > 1:
        error.add_note(f"none of {len(errors)} samples made a valid pick")
    return error
