"""Answers against their questions: complete, consistent, and never changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from decidable.questions.types import (
    Answer,
    Choice,
    ChoiceAnswer,
    Noul,
    NoulAnswer,
    Question,
    Refusal,
    Score,
    ScoreAnswer,
)

__all__ = ["REASONS", "answers_of", "in_words", "invalid_answers"]

REASONS = (
    "answers_shape",
    "answer_keys",
    "answer_shape",
    "answer_type",
    "noul_probability",
    "confidence",
    "probabilities",
    "probability_keys",
    "probability_mass",
    "score_legend",
    "score_consistency",
    "choice_option",
    "score_range",
)
"""Why answers cannot be used, in the order in which it is looked at. No text of a question or an answer is in them."""

MASS_TOLERANCE = 0.02
"""How far the sum of a distribution may be from 1, at least: services print two decimals."""
SCORE_TOLERANCE = 1e-5
"""How far a score may be from the weighted mean of its levels."""
_SLACK = 1e-9
_EXACT = 1e-7  # float32 prints 0.9 as 0.8999999761581421

_WORDS = {
    "answers_shape": "there are no answers",
    "answer_keys": "the answers are not exactly those to the questions asked",
    "answer_shape": "it is no object",
    "answer_type": "it is of another type than its question",
    "noul_probability": "its probability is not a number from 0 to 1",
    "confidence": "its confidence is not a number from 0 to 1",
    "probabilities": "its probabilities are not numbers from 0 to 1",
    "probability_keys": "its probabilities are not those of exactly the options or levels",
    "probability_mass": "its probabilities do not add up to 1",
    "score_legend": "its legend is not that of the question",
    "score_consistency": "its score is not the probability-weighted level",
    "choice_option": "what it chose is not among the options, or not the likeliest of them",
    "score_range": "its score is not a number within the levels",
}


def in_words(reason: str, question: str | None) -> str:
    """A reason as a sentence; it names the question by its id."""
    said = _WORDS.get(reason, reason)
    return f"answer {question!r}: {said}" if question is not None else said


Invalid: TypeAlias = tuple[str, str | None]
"""A reason, and the id of the question if it is about one."""


def invalid_answers(
    questions: Mapping[str, Question], answers: Mapping[str, Answer] | None, *, rounded: bool = False
) -> Invalid | None:
    """Why `answers` cannot be used for `questions`, or None if they can.

    Args:
        questions: What was asked.
        answers: What came back. Refusals are answers; what they mean is the caller's to say.
        rounded: Whether a score may be as far from the mean of its levels as printing both in few decimals explains.
    """
    if not isinstance(answers, Mapping):
        return REASONS[0], None
    if answers.keys() != questions.keys():
        return REASONS[1], None
    for name, question in questions.items():
        reason = _reason(question, answers[name], rounded)
        if reason is not None:
            return reason, name
    return None


def answers_of(questions: Mapping[str, Question], given: Any, *, rounded: bool = False) -> dict[str, Answer] | Invalid:
    """Answers in the System One spelling, checked and typed; or why they cannot be used.

    A `confidence` or `legend` that is missing is none that contradicts; a distribution that is missing is.

    Args:
        questions: What was asked.
        given: The JSON value: question id to ``{"type": "noul", "noul": 0.9}`` and the like.
        rounded: As for `invalid_answers`.
    """
    if not isinstance(given, Mapping):
        return REASONS[0], None
    if given.keys() != questions.keys():
        return REASONS[1], None
    made: dict[str, Answer] = {}
    for name, question in questions.items():
        answer = given[name]
        if type(answer) is not dict and not isinstance(answer, Mapping):
            return REASONS[2], name
        kind = answer.get("type")
        if kind == "refusal":
            made[name] = _REFUSAL
            continue
        wanted, read, reason_of = _BY_TYPE[type(question)]
        if kind != wanted:
            return REASONS[3], name
        found = read(question, answer)
        reason = found if isinstance(found, str) else reason_of(question, found, rounded)
        if reason is not None:
            return reason, name
        made[name] = found
    return made


_REFUSAL = Refusal()


def _noul_of(_question: Any, given: Mapping[str, Any]) -> NoulAnswer:
    return NoulAnswer(given.get("noul"))  # type: ignore[arg-type]  # checked next


def _choice_of(_question: Any, given: Mapping[str, Any]) -> ChoiceAnswer | str:
    probabilities, confidence = given.get("probabilities"), given.get("confidence")
    if type(probabilities) is not dict and not isinstance(probabilities, Mapping):
        return _instead_of_probabilities(probabilities, confidence)
    return ChoiceAnswer(given.get("choice"), probabilities, confidence)  # type: ignore[arg-type]  # as above


def _score_of(question: Score, given: Mapping[str, Any]) -> ScoreAnswer | str:
    probabilities, confidence = given.get("probabilities"), given.get("confidence")
    if type(probabilities) is not dict and not isinstance(probabilities, Mapping):
        return _instead_of_probabilities(probabilities, confidence)
    if problem := _confidence_problem(confidence) or _probabilities_problem(tuple(probabilities.values())):
        return problem
    levels = [str(index) for index in range(len(question.criteria))]
    if probabilities.keys() != set(levels):
        return "probability_keys"
    values = tuple(probabilities[level] for level in levels)
    if problem := _mass_problem(values):
        return problem
    legend = given.get("legend")
    if legend is not None and legend != dict(zip(levels, question.criteria, strict=True)):
        return "score_legend"
    return ScoreAnswer(given.get("score"), values, confidence)  # type: ignore[arg-type]  # as above


def _instead_of_probabilities(given: Any, confidence: Any) -> str:
    """The reason where a distribution is no mapping: a list has no keys, anything else is none at all."""
    return _confidence_problem(confidence) or ("probability_keys" if isinstance(given, list) else "probabilities")


def _reason(question: Question, answer: Answer, rounded: bool) -> str | None:
    if isinstance(answer, Refusal):
        return None
    if isinstance(question, Noul) and isinstance(answer, NoulAnswer):
        return _noul_reason(question, answer, rounded)
    if isinstance(question, Choice) and isinstance(answer, ChoiceAnswer):
        return _choice_reason(question, answer, rounded)
    if isinstance(question, Score) and isinstance(answer, ScoreAnswer):
        return _score_reason(question, answer, rounded)
    return "answer_type"


def _noul_reason(_question: Noul, answer: NoulAnswer, _rounded: bool) -> str | None:
    return None if _is_probability(answer.noul) else "noul_probability"


def _choice_reason(question: Choice, answer: ChoiceAnswer, _rounded: bool) -> str | None:
    probabilities = answer.probabilities
    values = tuple(probabilities.values())
    if problem := _confidence_problem(answer.confidence) or _probabilities_problem(values):
        return problem
    if probabilities.keys() != question.criteria.keys():
        return "probability_keys"
    if problem := _mass_problem(values):
        return problem
    chosen = probabilities.get(answer.choice) if isinstance(answer.choice, str) else None
    if chosen is None:
        return "choice_option"
    most = max(values)
    # A choice that its own probabilities contradict is none of the options as much as a foreign one.
    if chosen < most - _SLACK and chosen < most - 2 * _half_unit(values) - _SLACK:
        return "choice_option"
    return None


def _score_reason(question: Score, answer: ScoreAnswer, rounded: bool) -> str | None:
    values = answer.probabilities
    if problem := _confidence_problem(answer.confidence) or _probabilities_problem(values):
        return problem
    if len(values) != len(question.criteria):
        return "probability_keys"
    if problem := _mass_problem(values):
        return problem
    if not _is_number(answer.score):
        return "score_range"
    if abs(answer.score) > len(values):  # also what is too large to count with
        return "score_consistency"
    mean = sum([level * p for level, p in enumerate(values)])
    off = abs(mean - answer.score)
    if off > SCORE_TOLERANCE and not (rounded and off <= _rounding(answer.score, values)):
        return "score_consistency"
    return None if 0 <= answer.score <= len(values) - 1 else "score_range"


def _confidence_problem(confidence: Any) -> str | None:
    return None if confidence is None or _is_probability(confidence) else "confidence"


def _probabilities_problem(values: Sequence[Any]) -> str | None:
    for value in values:
        if not (type(value) is float and 0 <= value <= 1) and not _is_probability(value):
            return "probabilities"
    return None


def _mass_problem(values: Sequence[float]) -> str | None:
    """Refuse a sum that no distribution printed so can have."""
    total = sum(values)
    if abs(total - 1) <= MASS_TOLERANCE + _SLACK:
        return None
    half = _half_unit(values)
    above = sum([min(half, value) for value in values])  # a 0 was not rounded up
    return None if total - above - _SLACK <= 1 <= total + half * len(values) + _SLACK else "probability_mass"


def _half_unit(values: Sequence[float]) -> float:
    """Half a unit in the last place that values are printed with, from 2 to 6 places; 0 if they are not rounded.

    Never coarser than two places: certain answers such as 1.0 and 0.0 would seem to have none.
    """
    for places in range(2, 7):
        if all(abs(value - round(value, places)) < _EXACT for value in values):
            return 0.5 * float(10**-places)
    return 0.0


def _rounding(score: float, values: Sequence[float]) -> float:
    """How far a score may be from the mean of its levels if it and their probabilities were rounded.

    With two places it is at least 0.02 for each step from the lowest level to the highest.
    """
    half, steps = _half_unit(values), len(values) - 1
    spread = max(4 * half * steps, half * steps * (steps + 1) / 2)
    return spread + _half_unit((score,)) + SCORE_TOLERANCE


def _is_probability(value: Any) -> bool:
    return (type(value) is float or _is_number(value)) and 0 <= value <= 1


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, int) or math.isfinite(value)


_BY_TYPE: dict[type, tuple[str, Callable[[Any, Mapping[str, Any]], Any], Callable[[Any, Any, bool], str | None]]] = {
    Noul: ("noul", _noul_of, _noul_reason),
    Choice: ("choice", _choice_of, _choice_reason),
    Score: ("score", _score_of, _score_reason),
}
"""A type of question: what its answers are called, how one is read, and why it cannot be used."""
