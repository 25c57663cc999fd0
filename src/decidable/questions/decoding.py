"""From answers to plain values, and how sure a model is of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from decidable.questions.types import (
    Answer,
    Choice,
    ChoiceAnswer,
    ConfidenceSource,
    Noul,
    NoulAnswer,
    Question,
    Refusal,
    Score,
    ScoreAnswer,
    Stated,
)

__all__ = [
    "Sidecar",
    "confidence_of",
    "decode",
    "derived_confidence",
    "sidecar_of",
    "synthetic_answers",
    "with_confidence",
]


def decode(answer: Answer) -> str | bool | int:
    """The plain value of an answer: the option, yes from one half on, or the nearest level with halves going up.

    Raises:
        TypeError: It is a `Refusal`, which means no value.
    """
    if isinstance(answer, NoulAnswer):
        return answer.noul >= 0.5
    if isinstance(answer, ChoiceAnswer):
        return answer.choice
    if isinstance(answer, ScoreAnswer):
        return max(0, math.floor(answer.score + 0.5))  # round() would send 2.5 to 2
    if isinstance(answer, Stated):
        return answer.value
    raise TypeError(f"{type(answer).__name__} has no value: the model declined the question")


def derived_confidence(probabilities: Mapping[str, float] | tuple[float, ...]) -> float:
    """How far the likeliest option stands above chance: 0 if all are equally likely, 1 if one is certain.

    With n options and the highest probability p it is ``(n * p - 1) / (n - 1)``, between 0 and 1; 1 for a single one.
    TypeSafe's models report the same for a choice. The number is this library's where a provider reports none.
    """
    values = tuple(probabilities.values()) if isinstance(probabilities, Mapping) else probabilities
    count = len(values)
    if count <= 1:
        return 1.0
    return min(1.0, max(0.0, (count * max(values) - 1) / (count - 1)))


def with_confidence(answers: Mapping[str, Answer]) -> tuple[dict[str, Answer], dict[str, ConfidenceSource]]:
    """`answers`, with a confidence derived for each choice and score that has none; and where each comes from."""
    made: dict[str, Answer] = {}
    sources: dict[str, ConfidenceSource] = {}
    for name, answer in answers.items():
        made[name] = answer
        if isinstance(answer, NoulAnswer):
            sources[name] = "noul"
        elif isinstance(answer, (ChoiceAnswer, ScoreAnswer)):
            sources[name] = "reported"
            if answer.confidence is None:
                sources[name] = "derived"
                made[name] = _confident(answer)
    return made, sources


def _confident(answer: ChoiceAnswer | ScoreAnswer) -> ChoiceAnswer | ScoreAnswer:
    sure = derived_confidence(answer.probabilities)
    if isinstance(answer, ChoiceAnswer):
        return ChoiceAnswer(answer.choice, answer.probabilities, sure)
    return ScoreAnswer(answer.score, answer.probabilities, sure)


def confidence_of(answer: Answer) -> float:
    """How sure an answer is, in [0, 1]: ``2 * |P(yes) - 0.5|`` for a noul, else its confidence; 0 without one."""
    if isinstance(answer, NoulAnswer):
        return 2 * abs(answer.noul - 0.5)
    if isinstance(answer, (ChoiceAnswer, ScoreAnswer)):
        return 0.0 if answer.confidence is None else float(answer.confidence)
    return 0.0


@dataclass(frozen=True, slots=True)
class Sidecar:
    """The answers to one request, and how sure the model is.

    Attributes:
        answers: Question id to answer; refusals are not among them.
        confidence: Question id to confidence, rounded to 4 places.
        weakest: Id of the least sure answer, the first of several; None without answers.
        min_confidence: Its confidence, or None.
    """

    answers: Mapping[str, Answer]
    confidence: Mapping[str, float]
    weakest: str | None
    min_confidence: float | None


def sidecar_of(answers: Mapping[str, Answer]) -> Sidecar:
    """The sidecar of answers."""
    given = {name: answer for name, answer in answers.items() if not isinstance(answer, Refusal)}
    confidence = {name: round(confidence_of(answer), 4) for name, answer in given.items()}
    weakest = min(confidence, key=confidence.__getitem__, default=None)
    return Sidecar(given, confidence, weakest, None if weakest is None else confidence[weakest])


def synthetic_answers(questions: Mapping[str, Question]) -> dict[str, Answer]:
    """Made-up answers for a dry run, none of which satisfies a gate.

    A choice is its first option, a noul 0.5, a score the middle level; distributions are flat and confidence is 0.
    """
    return {name: _synthetic(question) for name, question in questions.items()}


def _synthetic(question: Any) -> Answer:
    if isinstance(question, Noul):
        return NoulAnswer(0.5)
    if isinstance(question, Choice):
        share = 1 / len(question.criteria)
        return ChoiceAnswer(next(iter(question.criteria)), dict.fromkeys(question.criteria, share), 0.0)
    if isinstance(question, Score):
        count = len(question.criteria)
        return ScoreAnswer((count - 1) / 2, (1 / count,) * count, 0.0)
    raise TypeError(f"a question is a Noul, a Choice or a Score, not {question!r}")
