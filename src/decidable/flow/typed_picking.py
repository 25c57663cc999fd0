"""A pick by typed questions: in several orders, in rounds where the menu is long, sure enough, and on a receipt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from decidable.content import Content
from decidable.errors import DecisionProviderError, UnaskableError
from decidable.flow.ask import Call, ask
from decidable.flow.decide import Picked, picked
from decidable.flow.effects import Flow
from decidable.flow.gates import if_sure
from decidable.flow.judged import answered
from decidable.flow.questions import QuestionAsker, filled
from decidable.flow.receipting import Draft, settled
from decidable.flow.tournament import chunked, played, rounds
from decidable.menu import PICK, Menu
from decidable.messages import Reply
from decidable.options import Option
from decidable.providers.checking import check_request
from decidable.questions.types import Choice, QuestionRequest

if TYPE_CHECKING:
    from decidable.asking import Manner

__all__ = ["picked_by_questions"]

Fill = Callable[[Option[Any]], Flow[Picked]]


def picked_by_questions(  # noqa: PLR0917 - as `decidable.asking.picking`
    menu: Menu, prompt: Content, state: Any, manner: Manner, call: Call, fill: Fill | None
) -> Flow[Picked]:
    """The flow of a decision model's pick; what no question can fill, another model writes once the pick is sure.

    Args:
        menu: The options.
        prompt: What is to be decided.
        state: What it is about, or None.
        manner: How.
        call: Whom.
        fill: Has one option's arguments written; None where nobody can.

    Raises:
        UnaskableError: The provider cannot be asked this menu; nothing was sent.
    """
    limits = call.provider.capabilities.limits
    most = len(menu.options) if limits is None or limits.choice_options is None else limits.choice_options[1]
    if len(menu.options) > most:
        found, unfilled = _in_rounds(menu, prompt, state, manner, call, most, can_fill=fill is not None)
    else:
        asker = _asker(menu, prompt, state, manner, call, can_fill=fill is not None)
        found, unfilled = _asked(asker, manner, call), asker.unfilled
    if manner.gate is not None:
        found = if_sure(found, manner.gate)
    if fill is None or not unfilled:
        return found
    fill(menu.index[next(iter(unfilled))]).close()  # refused now, not once the pick is paid
    return filled(found, unfilled, fill)


def _asker(menu: Menu, prompt: Content, state: Any, manner: Manner, call: Call, *, can_fill: bool) -> QuestionAsker:
    return QuestionAsker(menu, prompt, state, call.provider, manner.model, can_fill=can_fill, orders=manner.orders)


def _asked(  # noqa: PLR0917 - as above
    asker: QuestionAsker,
    manner: Manner,
    call: Call,
    index: int = 0,
    count: int = 1,
    beaten: Mapping[str, tuple[str, float]] | None = None,
) -> Flow[Picked]:
    """One request, and the pick in its answers."""
    ledger = manner.ledger
    if ledger is None or ledger.store is None:
        found = picked(call, asker)
        return found if len(asker.picks) == 1 else _with_votes(found, asker)
    return _kept(asker, manner, call, index, count, beaten)


def _kept(  # noqa: PLR0917 - as above
    asker: QuestionAsker,
    manner: Manner,
    call: Call,
    index: int,
    count: int,
    beaten: Mapping[str, tuple[str, float]] | None,
) -> Flow[Picked]:
    """The same, kept on a receipt."""
    rule = _rule(manner, asker.picks, beaten)
    reply = yield from _settled(call, asker.request([]), manner, Draft("decide", "decide", rule, index, count))
    found = yield from picked(call, asker, (), reply)
    return found if len(asker.picks) == 1 else replace(found, votes=asker.votes(reply))


def _with_votes(picking: Flow[Picked], asker: QuestionAsker) -> Flow[Picked]:
    found = yield from picking
    return replace(found, votes=asker.votes(found.reply))


def _settled(call: Call, request: QuestionRequest, manner: Manner, draft: Draft) -> Flow[Reply]:
    if not manner.first:
        draft = replace(draft, first=False)
    return settled(call, request, draft, manner.ledger, answered(call, request))


def _rule(
    manner: Manner, picks: tuple[str, ...], beaten: Mapping[str, tuple[str, float]] | None, *, chunks: bool = False
) -> dict[str, Any]:
    thresholds = () if manner.gate is None else manner.gate.thresholds
    return {
        "kind": "decide",
        "picks": list(picks),
        "chunks": chunks,
        "beaten": None if beaten is None else {name: list(lost) for name, lost in beaten.items()},
        "thresholds": [{"measure": one.measure, "at_least": one.at_least} for one in thresholds],
        "unsure": manner.unsure,
    }


def _in_rounds(  # noqa: PLR0917 - as above
    menu: Menu, prompt: Content, state: Any, manner: Manner, call: Call, most: int, *, can_fill: bool
) -> tuple[Flow[Picked], Mapping[str, Any]]:
    """A menu that is longer than a question may be."""
    if manner.orders > 1:
        raise UnaskableError(
            f"{call.provider.name} takes at most {most} options in a question, so {len(menu.options)} are asked in "
            "rounds, each option in one place; leave orders= out"
        )
    count = rounds(len(menu.options), most)
    sample = _asker(Menu(menu.options[:most]), prompt, state, manner, call, can_fill=can_fill)  # refused now if ever
    base = sample.request([])
    pick = sample.questions[PICK]
    unfilled: dict[str, Any] = {}
    for start in range(0, len(menu.options), most):
        part = Menu(menu.options[start : start + most])
        unfilled |= _asker(part, prompt, state, manner, call, can_fill=can_fill).unfilled

    def request(questions: Mapping[str, Choice]) -> QuestionRequest:
        return replace(base, questions=questions)

    def ask_round(asked: QuestionRequest, number: int) -> Flow[Reply]:
        if manner.ledger is None or manner.ledger.store is None:
            return answered(call, asked) if not call.provider.capabilities.checks else ask(call, asked)
        rule = _rule(manner, tuple(asked.questions), None, chunks=True)
        return _settled(call, asked, manner, Draft("decide", "decide", rule, number, count))

    def final(last: Menu, number: int, beaten: Mapping[str, tuple[str, float]]) -> Flow[Picked]:
        asker = _asker(last, prompt, state, manner, call, can_fill=can_fill)
        return _asked(asker, manner, call, number, count, beaten)

    first = request(chunked(menu.options, most, pick.instructions).questions)
    try:
        check_request(call.provider, first)
    except DecisionProviderError as error:
        raise UnaskableError(str(error)) from None
    return played(menu, most, pick.instructions, request, ask_round, final), unfilled
