"""A decision model's answers against the questions: complete, consistent, and never rescaled."""

from __future__ import annotations

from collections.abc import Mapping

from decidable.attempt import Failure, FailureKind
from decidable.typed import (
    Answer,
    ChoiceAnswer,
    ChoiceQuestion,
    NoulAnswer,
    NoulQuestion,
    Question,
    RefusalAnswer,
    ScoreAnswer,
    ScoreQuestion,
)

__all__ = ["check_answers"]

MASS_TOLERANCE = 0.02
"""How far a distribution's sum may be from 1: services print two decimals."""
SCORE_TOLERANCE = 1e-5
_SLACK = 1e-9


def check_answers(questions: Mapping[str, Question], answers: Mapping[str, Answer] | None) -> Failure | None:
    """Why `answers` cannot be used for `questions`, or None if they can.

    Refusals are answers; the caller decides what they mean.
    """
    if answers is None or set(answers) != set(questions):
        return _inconsistent("the answers are not exactly those to the questions asked")
    for name, question in questions.items():
        answer = answers[name]
        if isinstance(answer, RefusalAnswer):
            continue
        problem = _problem(question, answer)
        if problem is not None:
            return _inconsistent(f"answer {name!r}: {problem}")
    return None


def _inconsistent(message: str) -> Failure:
    return Failure(FailureKind.INCONSISTENT_ANSWER, message)


def _problem(question: Question, answer: Answer) -> str | None:
    if isinstance(question, NoulQuestion) and isinstance(answer, NoulAnswer):
        return None if _is_probability(answer.noul) else "its probability is not a number from 0 to 1"
    if isinstance(question, ChoiceQuestion) and isinstance(answer, ChoiceAnswer):
        return _choice_problem(question, answer)
    if isinstance(question, ScoreQuestion) and isinstance(answer, ScoreAnswer):
        return _score_problem(question, answer)
    return "it is of another type than its question"


def _choice_problem(question: ChoiceQuestion, answer: ChoiceAnswer) -> str | None:
    if answer.confidence is not None and not _is_probability(answer.confidence):
        return "its confidence is not a number from 0 to 1"
    if set(answer.probabilities) != set(question.criteria):
        return "its probabilities are not those of exactly the options"
    problem = _mass_problem(tuple(answer.probabilities.values()))
    if problem is None and answer.choice not in question.criteria:
        return "it chose what is not among the options"
    return problem


def _score_problem(question: ScoreQuestion, answer: ScoreAnswer) -> str | None:
    if answer.confidence is not None and not _is_probability(answer.confidence):
        return "its confidence is not a number from 0 to 1"
    if len(answer.probabilities) != len(question.criteria):
        return "its probabilities are not those of exactly the levels"
    problem = _mass_problem(answer.probabilities)
    if problem is not None:
        return problem
    mean = sum(level * p for level, p in enumerate(answer.probabilities))
    if not _is_between(answer.score, len(answer.probabilities)) or abs(mean - answer.score) > SCORE_TOLERANCE:
        return "its score is not the probability-weighted level"
    return None


def _mass_problem(probabilities: tuple[float, ...]) -> str | None:
    if not all(_is_probability(p) for p in probabilities):
        return "a probability is not a number from 0 to 1"
    if abs(sum(probabilities) - 1) > MASS_TOLERANCE + _SLACK:
        return "its probabilities do not add up to 1"
    return None


def _is_probability(value: object) -> bool:
    return _is_between(value, 1)


def _is_between(value: object, most: int) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= most
