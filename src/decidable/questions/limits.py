"""What a decision model takes: types, counts and sizes, checked before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from decidable.errors import did_you_mean
from decidable.questions.types import Choice, Noul, Question, QuestionRequest, Score

__all__ = ["Limits", "problem_of", "type_of"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The most, and the least, that one request may hold; None where it is not known, and the service refuses.

    Attributes:
        max_questions: Questions in one request.
        choice_options: Fewest and most options of a choice.
        score_levels: Fewest and most levels of a score.
        max_question_chars: Characters of one question as it is sent: its name, text, options and the JSON around them.
        max_state_bytes: UTF-8 bytes of the state as compact JSON.
        instructions_required: Whether a question needs instructions.
        sides_required: Whether both sides of a noul must be described: a model that compares meanings has nothing else
            to go by.
    """

    max_questions: int | None = None
    choice_options: tuple[int, int] | None = None
    score_levels: tuple[int, int] | None = None
    max_question_chars: int | None = None
    max_state_bytes: int | None = None
    instructions_required: bool = False
    sides_required: bool = False


NO_LIMITS = Limits()
_NAMES: dict[type, str] = {Noul: "noul", Choice: "choice", Score: "score"}


def type_of(question: Question) -> str:
    """``"noul"``, ``"choice"`` or ``"score"``."""
    return _NAMES.get(type(question), type(question).__name__)


def problem_of(  # noqa: PLR0917 - what is checked, and against what
    request: QuestionRequest,
    types: frozenset[str],
    limits: Limits,
    models: tuple[str, ...] | None,
    images: bool,
    rendered: Callable[[str, Question], Mapping[str, Any]] | None = None,
) -> str | None:
    """Why a provider cannot be asked this, or None if it can be. Names questions by their ids, and quotes none.

    Args:
        request: What is to be asked.
        types: The question types that the provider answers.
        limits: Its limits.
        models: The models that may be named; None for any.
        images: Whether it takes images.
        rendered: How a question is sent, for the limit on its length.
    """
    if not request.questions:
        return "there are no questions"
    if request.model is not None and models is not None and request.model not in models:
        return f"it serves no model {request.model!r}; {did_you_mean(request.model, models)}"
    if request.images and not images:
        return "it takes no images"
    if limits.max_questions is not None and len(request.questions) > limits.max_questions:
        return f"it takes at most {limits.max_questions} questions in one request, not {len(request.questions)}"
    for name, question in request.questions.items():
        if problem := _problem(question, types, limits):
            return f"question {name!r}: {problem}"
        if limits.max_question_chars is not None and rendered is not None:
            length = len(_compact({name: rendered(name, question)}))
            if length > limits.max_question_chars:
                return f"question {name!r}: it takes at most {limits.max_question_chars} characters, this has {length}"
    return _state_problem(request.state, limits)


def _problem(question: Question, types: frozenset[str], limits: Limits) -> str | None:
    kind = type_of(question)
    if kind not in types:
        return f"it answers no {kind} questions, only {', '.join(sorted(types))}"
    if limits.instructions_required and not question.instructions:
        return "it needs instructions"
    if limits.sides_required and isinstance(question, Noul) and not (question.true and question.false):
        return "a bare yes/no is beyond this model; describe both sides"
    if isinstance(question, Choice):
        return _outside(len(question.criteria), limits.choice_options, "options")
    return _outside(len(question.criteria), limits.score_levels, "levels") if isinstance(question, Score) else None


def _outside(count: int, bounds: tuple[int, int] | None, what: str) -> str | None:
    if bounds is None or bounds[0] <= count <= bounds[1]:
        return None
    return f"it takes {bounds[0]} to {bounds[1]} {what}, this has {count}"


def _state_problem(state: Any, limits: Limits) -> str | None:
    if state is None:
        return "there is no state"
    if not isinstance(state, (str, list, Mapping)):
        return f"the state is text, or a JSON object or list, not {type(state).__name__}"
    if limits.max_state_bytes is None:
        return None
    try:
        size = len(_compact(state).encode("utf-8", "surrogatepass"))
    except (TypeError, ValueError, RecursionError):
        return "the state is not JSON"
    if size > limits.max_state_bytes:
        return f"it takes a state of at most {limits.max_state_bytes} bytes, this has {size}"
    return None


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
