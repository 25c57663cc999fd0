"""`dry_run`: everything runs, nothing is sent, and no gate is satisfied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from decidable import binding
from decidable.ambient import Ledger, current_scope, use_scope
from decidable.content import Content, text_of
from decidable.flow.ask import Call
from decidable.flow.decide import Picked
from decidable.flow.effects import Flow, Now
from decidable.flow.gates import if_sure
from decidable.flow.judged import Judgement, judgement_of
from decidable.flow.prompts import state_json
from decidable.flow.receipting import Draft
from decidable.menu import PICK, Menu
from decidable.messages import Reply, Usage
from decidable.options import FunctionOption, ValueOption
from decidable.questions.decoding import synthetic_answers
from decidable.questions.types import Choice, Provenance, QuestionRequest

if TYPE_CHECKING:
    from decidable.asking import Manner

__all__ = ["DryRun", "Rehearsed", "dry_run", "rehearsed", "rehearsed_pick"]


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """A request that would have been sent.

    Attributes:
        node: Its label.
        kind: The verb.
        provider: Who would have been asked.
        request: What.
    """

    node: str
    kind: str
    provider: str
    request: QuestionRequest


@dataclass(slots=True)
class DryRun:
    """What would have been asked within a `dry_run` block.

    Attributes:
        requests: In order.
    """

    requests: list[Rehearsed] = field(default_factory=list)


@contextmanager
def dry_run() -> Iterator[DryRun]:
    """Answer every question with a made-up answer within a ``with`` block; nothing is sent or kept.

    A yes/no is 0.5, a choice its first option, a score the middle level, distributions are flat, and confidence is 0:
    no gate is satisfied, a route takes its unsure branch, and `decision.make` its unsure option. A function that a
    model would have picked does not run: the result is None. Branches of a route, and all other code, do. What a model
    would write has no made-up answer: `Runtime.exec` raises `RequestForbiddenError`.

    Example:
        >>> from decidable import Runtime, ask, dry_run
        >>> from decidable.testing.systemone import FauxSystemOne
        >>> with dry_run() as would:
        ...     bool(ask("Is a refund asked for?", "Charged twice!", runtime=Runtime(FauxSystemOne().provider())))
        False
        >>> [(one.kind, one.provider) for one in would.requests]
        [('ask', 'typesafe')]
    """
    would, scope = DryRun(), current_scope()
    with use_scope(replace(scope, ledger=replace(scope.ledger or Ledger(), rehearsal=would))):
        yield would


def rehearsed_pick(  # noqa: PLR0917 - called in one place
    manner: Manner, menu: Menu, question: Choice, content: Content, state: Any, call: Call
) -> Flow[Picked]:
    """The first option, with a flat distribution, so that no threshold is met; its function does not run.

    Raises:
        Unsure: There is a threshold.
    """
    about = text_of(content) if state is None else state_json(state)
    request = QuestionRequest(about, {PICK: question}, manner.model)
    would = manner.ledger.rehearsal if manner.ledger is not None else DryRun()
    would.requests.append(Rehearsed("decide", "decide", call.provider.name, request))
    yield Now()
    answer = synthetic_answers(request.questions)[PICK]
    reply = Reply(answers={PICK: answer}, usage=Usage(), cost=0.0, provenance=Provenance(origin="none"))
    first = menu.options[0]
    probabilities = {option.name: 1 / len(menu.options) for option in menu.options}
    option = ValueOption(None, first.description or "", first.name) if isinstance(first, FunctionOption) else first
    found = Picked(binding.Choice(option, {}, (), probabilities), reply, (), (call,))
    if manner.gate is None:
        return found
    return (yield from if_sure(_given(found), manner.gate))


def _given(found: Picked) -> Flow[Picked]:
    yield Now()
    return found


def rehearsed(would: DryRun, call: Call, request: QuestionRequest, draft: Draft) -> Flow[Judgement]:
    """The made-up answers to a request, which is noted."""
    check: Any = getattr(call.provider, "check", None)
    if check is not None:
        check(request)
    would.requests.append(Rehearsed(draft.node, draft.kind, call.provider.name, request))
    now: float = yield Now()
    reply = Reply(
        answers=synthetic_answers(request.questions),
        usage=Usage(),
        cost=0.0,
        provenance=Provenance(cost_basis="estimate", origin="none"),
    )
    return judgement_of(call, request, reply, now)
