"""How sure a pick must be, and what happens to one that is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decidable.attempt import Attempt, FailureKind
from decidable.binding import Choice
from decidable.errors import SettingError, Unsure
from decidable.flow.ask import Call
from decidable.flow.decide import Picked
from decidable.flow.effects import Flow
from decidable.flow.record import margin_of
from decidable.menu import PICK
from decidable.messages import Reply
from decidable.options import Option
from decidable.questions.measures import Measure, Threshold, measured
from decidable.questions.types import ChoiceAnswer, Question

__all__ = ["Gate", "if_sure", "or_unsure", "reported_in", "thresholds_of"]


@dataclass(frozen=True, slots=True)
class Gate:
    """What a pick is held against.

    Attributes:
        thresholds: Each must be met.
        question: Makes the question that the pick answers, for a threshold that is bound to one.
    """

    thresholds: tuple[Threshold, ...]
    question: Callable[[], Question]

    def refuse_unbound(self, asked: str | None) -> None:
        """Refuse, before anything is sent, thresholds that were made for another question or model.

        Args:
            asked: The model that will be asked, where one is pinned.
        """
        for threshold in self.thresholds:
            if threshold.question is not None:
                threshold.check(question=self.question())
            if asked is not None:
                threshold.check(model=asked)

    def shortfall(self, found: Picked) -> tuple[Threshold, float | None] | None:
        """The first threshold that a pick misses, and by what number; None if it is sure enough."""
        model = found.reply.model or found.calls[-1].provider.model
        for threshold in self.thresholds:
            threshold.check(model=model)
            value = _value(found, threshold.measure)
            if value is None or value < threshold.at_least:
                return threshold, value
        return None


def thresholds_of(threshold: float | Threshold | None, margin: float | None) -> tuple[Threshold, ...]:
    """``threshold=`` and ``margin=`` as thresholds: a bare number is the probability of the option picked.

    Raises:
        SettingError: A number that is none from 0 to 1.
    """
    made: tuple[Threshold, ...] = ()
    if threshold is not None:
        made += (threshold if isinstance(threshold, Threshold) else Threshold(threshold),)
    return made if margin is None else (*made, Threshold(margin, "margin"))


def _value(found: Picked, measure: Measure) -> float | None:
    if measure == "reported":
        return reported_in(found.reply)
    probabilities = found.choice.probabilities
    return None if probabilities is None else measured(probabilities, measure)


def reported_in(reply: Reply) -> float | None:
    """A provider's own confidence in its pick; None where there is none."""
    answer = None if reply.answers is None else reply.answers.get(PICK)
    source = "reported" if reply.provenance is None else reply.provenance.confidence_source.get(PICK, "reported")
    return answer.confidence if isinstance(answer, ChoiceAnswer) and source == "reported" else None


def refuse_unmeasured(gate: Gate | None, call: Call, manner: Any) -> None:
    """Refuse to hold a threshold against a model that gives no probability.

    Raises:
        SettingError: Saying how to have them.
    """
    if gate is None or not gate.thresholds:
        return
    if call.provider.capabilities.chat and manner.samples == 1 and not manner.logprobs:
        raise SettingError(
            f"{call.provider.name} gives no probability, so no threshold can be held against it: give samples=5, or "
            "logprobs=True where it has them, or put it last in a cascade, where it need not be sure"
        )


def if_sure(picking: Flow[Picked], gate: Gate) -> Flow[Picked]:
    """The pick, if it is sure enough.

    Raises:
        Unsure: It is not.
        ThresholdMismatchError: The threshold was made for another model.
    """
    found = yield from picking
    missed = gate.shortfall(found)
    if missed is None:
        return found
    threshold, value = missed
    option, probabilities = found.choice.option.name, found.choice.probabilities or {}
    shown = "no such number" if value is None else f"{value:.2f}"
    said = f"{option!r} is the likeliest, its {threshold.measure} is {shown}, and {threshold.at_least:g} was asked for"
    attempt = Attempt(found.reply, FailureKind.UNSURE, said)
    margin = margin_of(probabilities) if probabilities else 0.0
    error = Unsure(f"unsure: {said}", probabilities=probabilities, margin=margin, attempts=[*found.attempts, attempt])
    error.option, error.measure, error.at_least = option, threshold.measure, threshold.at_least
    error.value, error.origin = value or 0.0, found.choice.origin
    raise error


def or_unsure(picking: Flow[Picked], option: Option[Any], calls: Sequence[Call]) -> Flow[Picked]:
    """The pick; or the option that is taken when it is not sure enough."""
    try:
        return (yield from picking)
    except Unsure as error:
        probabilities: Mapping[str, float] | None = error.probabilities or None
        choice = Choice(option, {}, (), probabilities, error.origin)
        asked = tuple(call for call in calls if call.requests) or (calls[-1],)
        reply = error.attempts[-1].reply
        return Picked(choice, reply, error.attempts, asked, None, error.fallbacks, unsure_of=error.option or None)


def refuse_fields(option: Option[Any], why: str) -> None:
    """Raise if an option needs arguments that nobody gives.

    Raises:
        SettingError: Naming the option.
    """
    required = [field.name for field in option.fields if field.required]
    if required:
        raise SettingError(f"{why} takes an option without arguments; {option.name!r} needs {', '.join(required)}")
