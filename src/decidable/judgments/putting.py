"""What the verbs share: one request of typed questions, put to the providers of a runtime, kept on a receipt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict

from decidable.ambient import Ledger, Scope
from decidable.cancelling import CancelToken
from decidable.default_runtime import chosen_runtime
from decidable.errors import ArgumentTypeError, RefusedError, UnaskableError
from decidable.flow.ask import Call
from decidable.flow.effects import Flow, Now, in_node
from decidable.flow.fallback import Leg, first_to_answer
from decidable.flow.judged import Judgement, answered, judgement_of
from decidable.flow.receipting import Draft, settled
from decidable.providers.checking import check_request
from decidable.questions.receipts import Kind
from decidable.questions.types import QuestionRequest
from decidable.runtimes import Runtime
from decidable.settings import OnRetry, checked_samples, refuse_unknown

if TYPE_CHECKING:
    from decidable.ambient import Meter
    from decidable.budget import Budget
    from decidable.messages import Sampling

__all__ = ["JudgmentSettings", "Putting", "opened", "refuse_refusals"]


class JudgmentSettings(TypedDict, total=False):
    """Keywords that the verbs share.

    Attributes:
        runtime: Who answers; default the ambient runtime.
        label: Name of this question in receipts, traces and escalations; default the verb's.
        model: The model to ask.
        images: Images by the token that stands for each in the state.
        timeout_s: Seconds for everything.
        budget: What it may spend.
        on_retry: Told before each retry.
        cancel: Calls it off.
        samples: How often a model that writes is asked; the shares of its answers are the probabilities.
        logprobs: Whether a model that writes is asked for letters, whose log-probabilities are the probabilities.
        effort: How much reasoning is wanted of a model that writes.
        sampling: How a model that writes chooses tokens.
    """

    runtime: Runtime | None
    label: str
    model: str | None
    images: Mapping[str, Any] | None
    timeout_s: float | None
    budget: Budget | Meter | None
    on_retry: OnRetry | None
    cancel: CancelToken | None
    samples: int
    logprobs: bool
    effort: str | None
    sampling: Sampling | Mapping[str, Any] | None


@dataclass(slots=True)
class Putting:
    """How the requests of one call are put.

    Attributes:
        runtime: Who answers.
        scope: What the call runs in.
        calls: For each provider how it is asked; copied for each request.
        kind: The verb.
        label: Its label.
        settings: What the caller said.
        must_measure: Why probabilities are needed; None if a plain answer will do.
    """

    runtime: Runtime
    scope: Scope
    calls: list[Call]
    kind: Kind
    label: str
    settings: Mapping[str, Any]
    must_measure: str | None = None

    @property
    def ledger(self) -> Ledger | None:
        """Where receipts are kept, and where in the program this is."""
        return self.scope.ledger

    def ask(self, request: QuestionRequest, draft: Draft, cancel: CancelToken | None = None) -> Flow[Judgement]:
        """One request, put to the first provider that answers."""
        calls = [replace(call, cancel=cancel or call.cancel) for call in self._ordered(request)]
        if len(calls) == 1:
            return self._leg(calls[0], request, draft)
        legs = []
        for place, call in enumerate(calls):
            own = request if place == 0 else replace(request, model=None)
            legs.append(Leg(call, self._leg(call, own, replace(draft, first=place == 0))))
        return first_to_answer(legs, [why for why in self.runtime.fallback_on if why != "refusal"])

    def noted(self, flow: Flow[Any], shown: Any) -> Flow[Any]:
        """`flow` in a trace node, where one is kept."""
        return flow if self.scope.recorder is None else in_node(flow, self.kind, self.label, shown)

    def _ordered(self, request: QuestionRequest) -> list[Call]:
        """The providers in the order in which they are asked: first one that declares the model that is named."""
        calls = self.calls
        model = request.model
        if model is not None and len(calls) > 1 and model not in (calls[0].provider.capabilities.models or (model,)):
            declaring = [call for call in calls if model in (call.provider.capabilities.models or ())]
            if declaring:
                return [declaring[0], *(call for call in calls if call is not declaring[0])]
        return calls

    def _leg(self, call: Call, request: QuestionRequest, draft: Draft) -> Flow[Judgement]:
        if self.scope.ledger is not None and self.scope.ledger.rehearsal is not None:
            from decidable.rehearsing import rehearsed  # only in a dry run

            return rehearsed(self.scope.ledger.rehearsal, call, request, draft)
        if call.provider.capabilities.person:
            from decidable.flow.people import told  # most chains are of models alone

            asking = told(call, request)
        elif call.provider.capabilities.chat:
            from decidable.judgments.writing import written  # only where a model that writes is asked

            asking = written(call, request, self.runtime, self.scope, self.settings, self.must_measure)
        else:
            if not call.provider.capabilities.checks:
                check_request(call.provider, request)
            asking = answered(call, request)
        return _judged(call, request, draft, self.ledger, asking)


def _judged(
    call: Call, request: QuestionRequest, draft: Draft, ledger: Ledger | None, asking: Flow[Any]
) -> Flow[Judgement]:
    checks = getattr(call.provider, "check", None)
    if checks is not None and ledger is not None and ledger.store is not None:
        checks(request)  # refused before a receipt says that it was asked
    reply = yield from settled(call, request, draft, ledger, asking)
    ended: float = yield Now()
    return judgement_of(call, request, reply, ended)


def opened(
    verb: Kind, settings: Mapping[str, Any], own: tuple[str, ...] = (), *, must_measure: str | None = None
) -> Putting:
    """How a verb's requests are put.

    Raises:
        ArgumentTypeError: A keyword that there is none of.
    """
    refuse_unknown(verb, settings, JudgmentSettings, *own)
    runtime = chosen_runtime(settings.get("runtime"))
    label = settings.get("label", verb)
    if not isinstance(label, str) or not label:
        raise ArgumentTypeError(f"label= is text, not {label!r}")
    checked_samples(settings.get("samples", 1))
    scope, calls = runtime.opened(
        timeout_s=settings.get("timeout_s"),
        budget=settings.get("budget"),
        on_retry=settings.get("on_retry"),
        cancel=settings.get("cancel"),
    )
    return Putting(runtime, scope, calls, verb, label, settings, must_measure)


def refuse_refusals(judgement: Judgement, label: str) -> None:
    """Raise if a question was declined: it has no value, and nobody asks it again.

    Raises:
        RefusedError: Naming the questions.
    """
    if judgement.refused:
        error = RefusedError(
            f"{label}: {judgement.provider} declined {', '.join(map(repr, judgement.refused))}", kind="refusal"
        )
        error.refused, error.receipt_id = judgement.refused, judgement.receipt_id
        raise error


def refuse_unmeasured(why: str | None, settings: Mapping[str, Any], name: str) -> None:
    """Raise if a threshold is to be held against plain answers.

    Raises:
        UnaskableError: Saying how to get probabilities.
    """
    if why is not None and settings.get("samples", 1) == 1 and not settings.get("logprobs"):
        raise UnaskableError(
            f"{why} needs a probability, and {name} gives a plain answer: give samples=5, or logprobs=True where the "
            "provider has them"
        )
