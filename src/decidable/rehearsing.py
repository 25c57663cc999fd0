"""`dry_run`: everything runs, nothing is sent, and no gate is satisfied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from decidable.ambient import Ledger, current_scope, use_scope
from decidable.flow.ask import Call
from decidable.flow.effects import Flow, Now
from decidable.flow.judged import Judgement, judgement_of
from decidable.flow.receipting import Draft
from decidable.messages import Reply, Usage
from decidable.questions.decoding import synthetic_answers
from decidable.questions.types import Provenance, QuestionRequest

__all__ = ["DryRun", "Rehearsed", "dry_run", "rehearsed"]


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
    """Answer every question of the verbs with a made-up answer within a ``with`` block; nothing is sent or kept.

    A yes/no is 0.5, a choice its first option, a score the middle level, distributions are flat, and confidence is 0:
    no gate is satisfied, and a route takes its unsure branch. A request that a provider would refuse is refused.

    Example:
        >>> from decidable import Runtime, ask, dry_run
        >>> from decidable.testing.systemone import FauxSystemOne
        >>> with dry_run() as would:
        ...     bool(ask("Is a refund asked for?", "Charged twice!", runtime=Runtime(FauxSystemOne().provider())))
        False
        >>> [(one.kind, one.provider) for one in would.requests]
        [('ask', 'faux')]
    """
    would, scope = DryRun(), current_scope()
    with use_scope(replace(scope, ledger=replace(scope.ledger or Ledger(), rehearsal=would))):
        yield would


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
