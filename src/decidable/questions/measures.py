"""How sure an answer is, by several measures of one distribution; and thresholds that know which of them they mean."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from decidable.errors import SettingError, ThresholdMismatchError
from decidable.questions.canonical import question_sha256
from decidable.questions.decoding import derived_confidence
from decidable.questions.types import Answer, ChoiceAnswer, ConfidenceSource, NoulAnswer, Question, ScoreAnswer

__all__ = ["Distribution", "Measure", "Threshold", "ThresholdMismatchWarning", "distribution_of", "measured"]

Measure: TypeAlias = Literal["top", "margin", "entropy", "typesafe", "reported"]
"""How sure: the likeliest option's probability; its lead over the second; 1 - H(p)/ln n, which is 0 for a flat
distribution; (n * top - 1) / (n - 1), TypeSafe's formula; or the provider's own number, whatever it means by it."""

Distribution: TypeAlias = Mapping[str, float] | Sequence[float]


def distribution_of(answer: Answer) -> tuple[float, ...] | None:
    """The probabilities of an answer, ``(no, yes)`` of a noul; None where it has none."""
    if isinstance(answer, NoulAnswer):
        return (1 - answer.noul, answer.noul)
    if isinstance(answer, ChoiceAnswer):
        return tuple(answer.probabilities.values())
    return answer.probabilities if isinstance(answer, ScoreAnswer) else None


def measured(
    answer: Answer | Distribution, measure: Measure = "top", *, source: ConfidenceSource = "reported"
) -> float | None:
    """How sure an answer, or a distribution, is: in [0, 1], higher is surer.

    Args:
        answer: An answer, or the probabilities of all options or levels.
        measure: Which number. They are not comparable with one another: at 0.9, one measure takes twice as many answers
            as another.
        source: Where the answer's confidence comes from. One that was derived here is not the provider's own.

    Returns:
        The number; None where there is none: of an answer without probabilities, or, for ``"reported"``, without a
        number of the provider's own.

    Example:
        >>> p = {"billing": 0.5, "tech": 0.3, "sales": 0.2}
        >>> {name: round(measured(p, name), 2) for name in ("top", "margin", "entropy", "typesafe")}
        {'top': 0.5, 'margin': 0.2, 'entropy': 0.06, 'typesafe': 0.25}
    """
    checked_measure(measure)
    if measure == "reported":
        own = answer.confidence if isinstance(answer, (ChoiceAnswer, ScoreAnswer)) else None
        return own if source == "reported" else None
    given: Any = answer
    values = tuple(given.values()) if isinstance(answer, Mapping) else None
    if values is None:
        values = tuple(given) if isinstance(answer, Sequence) else distribution_of(given)
    return None if values is None else _MEASURES[measure](values)


def _margin(values: tuple[float, ...]) -> float:
    ranked = sorted(values, reverse=True)
    return ranked[0] - ranked[1] if len(ranked) > 1 else 1.0


def _certainty(values: tuple[float, ...]) -> float:
    if len(values) <= 1:
        return 1.0
    total = math.fsum(values) or 1.0  # printed in two places, it may be off by a few hundredths
    entropy = -math.fsum(p / total * math.log(p / total) for p in values if p > 0)
    return min(1.0, max(0.0, 1 - entropy / math.log(len(values))))


_MEASURES: Mapping[str, Callable[[tuple[float, ...]], float]] = {
    "top": max,
    "margin": _margin,
    "entropy": _certainty,
    "typesafe": derived_confidence,
}


def checked_measure(measure: Any) -> Measure:
    """`measure`, if it is one."""
    if measure not in get_args(Measure):
        raise SettingError(f"a measure is one of {', '.join(map(repr, get_args(Measure)))}, not {measure!r}")
    found: Measure = measure
    return found


class ThresholdMismatchWarning(UserWarning):
    """A threshold was used with a measure, a model or a question that it was not made for, as it allows."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """How sure an answer must be, and what that number was chosen for.

    A threshold that was tuned on one measure, one model and one question means something else on another, so that it
    refuses to be used there. What is None is not bound.

    Attributes:
        at_least: From here on an answer is sure; in [0, 1].
        measure: Which number is compared.
        model: The model that it was tuned on, as the model names itself in its answers, e.g. ``"jev-1.14.0"``.
        question: The question that it was tuned on, or its `question_sha256`.
        on_mismatch: ``"refuse"``, or ``"warn"`` and go on.

    Raises:
        SettingError: A number outside [0, 1], or no such measure.

    Example:
        >>> Threshold(0.8, measure="margin").is_met(0.8, measure="margin")
        True
    """

    at_least: float
    measure: Measure = "top"
    model: str | None = None
    question: Question | str | None = None
    on_mismatch: Literal["refuse", "warn"] = "refuse"

    def __post_init__(self) -> None:
        """Check the number and the names, and keep a question as its hash."""
        checked_gate(self.at_least, "a threshold's at_least", 0.0)
        checked_measure(self.measure)
        if self.on_mismatch not in ("refuse", "warn"):
            raise SettingError(f"on_mismatch is 'refuse' or 'warn', not {self.on_mismatch!r}")
        if isinstance(self.question, Question):
            object.__setattr__(self, "question", question_sha256(self.question))

    def is_met(
        self,
        value: float,
        *,
        measure: Measure | None = None,
        model: str | None = None,
        question: Question | str | None = None,
    ) -> bool:
        """Whether a number is high enough; exactly the threshold is.

        Args:
            value: How sure.
            measure: What `value` measures; None if it is known to be this threshold's measure.
            model: Who answered, where that is known.
            question: What was asked, where that is known.

        Raises:
            ThresholdMismatchError: It is bound to another measure, model or question.
        """
        self.check(measure=measure, model=model, question=question)
        return value >= self.at_least

    def check(
        self, *, measure: Measure | None = None, model: str | None = None, question: Question | str | None = None
    ) -> None:
        """Refuse, or warn of, a use that the threshold is not bound to; what is None is not looked at.

        Raises:
            ThresholdMismatchError: It is bound to another measure, model or question.
        """
        asked = question_sha256(question) if isinstance(question, Question) else question
        problems = [
            f"{what} {own!r}, not {other!r}"
            for what, own, other in (
                ("measure", self.measure, measure),
                ("model", self.model, model),
                ("question", self.question, asked),
            )
            if own is not None and other is not None and own != other
        ]
        if not problems:
            return
        said = f"this threshold of {self.at_least:g} was made for {'; for '.join(problems)}"
        if self.on_mismatch == "refuse":
            raise ThresholdMismatchError(
                f"{said}. Tune one for this use, or give on_mismatch='warn' to use it all the same"
            )
        warnings.warn(said, ThresholdMismatchWarning, stacklevel=3)


def checked_gate(value: Any, name: str, above: float, *, inclusive: bool = True) -> float:
    """`value` as a number from `above` to 1, without `above` itself unless `inclusive`."""
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not fits or value > 1 or value < above or (value == above and not inclusive):
        span = f"from {above:g} to 1" if inclusive else f"above {above:g}, at most 1"
        raise SettingError(f"{name} is a number {span}, not {value!r}")
    return float(value)
