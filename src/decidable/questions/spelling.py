"""Questions and answers in the System One spelling, which most services share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from decidable.questions.types import (
    Answer,
    Choice,
    ChoiceAnswer,
    Noul,
    NoulAnswer,
    Question,
    Score,
    ScoreAnswer,
    Stated,
)

__all__ = ["answer_json", "question_json"]


def question_json(question: Question, *, both_sides: bool = False, named_options: bool = False) -> dict[str, Any]:
    """A question as JSON.

    Args:
        question: The question.
        both_sides: Whether a noul with one side described gets the other as its plain complement.
        named_options: Whether an option without a description is described by its own name.
    """
    if isinstance(question, Choice):
        criteria = dict(question.criteria)
        if named_options:
            criteria = {name: about or name for name, about in criteria.items()}
        return {"type": "choice", "instructions": question.instructions, "criteria": criteria}
    if isinstance(question, Score):
        return {"type": "score", "instructions": question.instructions, "criteria": list(question.criteria)}
    made: dict[str, Any] = {"type": "noul"}
    if question.instructions:
        made["instructions"] = question.instructions
    if isinstance(question, Noul) and (sides := _sides(question, both_sides)):
        made["criteria"] = sides
    return made


def _sides(question: Noul, both: bool) -> dict[str, str]:
    sides = {side: text for side, text in (("true", question.true), ("false", question.false)) if text}
    if both and len(sides) == 1:
        (text,), other = sides.values(), "false" if "true" in sides else "true"
        sides[other] = f"Not the case: {text}"
    return dict(sorted(sides.items(), reverse=True))


def answer_json(answer: Answer, question: Question) -> dict[str, Any]:
    """An answer as JSON."""
    if isinstance(answer, NoulAnswer):
        return {"type": "noul", "noul": answer.noul}
    if isinstance(answer, Stated):
        return {"type": "stated", "value": answer.value}
    if isinstance(answer, ChoiceAnswer):
        made: dict[str, Any] = {
            "type": "choice",
            "choice": answer.choice,
            "probabilities": dict(answer.probabilities),
        }
    elif isinstance(answer, ScoreAnswer) and isinstance(question, Score):
        made = {
            "type": "score",
            "score": answer.score,
            "legend": _by_level(question.criteria),
            "probabilities": _by_level(answer.probabilities),
        }
    else:
        return {"type": "refusal"}
    if answer.confidence is not None:
        made["confidence"] = answer.confidence
    return made


def _by_level(values: tuple[Any, ...]) -> Mapping[str, Any]:
    return {str(level): value for level, value in enumerate(values)}
