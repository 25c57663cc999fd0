"""Typed questions for a decision model, and its answers; imported only where a model is asked that way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from decidable.content import Content

__all__ = [
    "Answer",
    "ChoiceAnswer",
    "ChoiceQuestion",
    "NoulAnswer",
    "NoulQuestion",
    "Question",
    "QuestionRequest",
    "RefusalAnswer",
    "ScoreAnswer",
    "ScoreQuestion",
]


@dataclass(frozen=True, slots=True)
class NoulQuestion:
    """A yes/no question, answered with P(yes). `true` and `false` describe the two sides."""

    instructions: str
    true: str | None = None
    false: str | None = None


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """Exactly one of a closed set. `criteria` maps each option to its description or None."""

    instructions: str
    criteria: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class ScoreQuestion:
    """A place on an ordered rubric; `criteria` describes the levels, lowest first."""

    instructions: str
    criteria: tuple[str, ...]


Question: TypeAlias = NoulQuestion | ChoiceQuestion | ScoreQuestion


@dataclass(frozen=True, slots=True)
class QuestionRequest:
    """Typed questions about a state, for a decision model.

    Attributes:
        state: What the questions are about.
        questions: Question id to question; answers come back under the same ids.
        model: The model to ask; None leaves it to the provider.
    """

    state: Content
    questions: Mapping[str, Question]
    model: str | None = None


@dataclass(frozen=True, slots=True)
class NoulAnswer:
    """P(yes), in [0, 1]."""

    noul: float


@dataclass(frozen=True, slots=True)
class ChoiceAnswer:
    """The chosen option and the distribution over all of them, as reported (never rescaled)."""

    choice: str
    probabilities: Mapping[str, float]
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class ScoreAnswer:
    """The probability-weighted level, and the distribution over levels by index."""

    score: float
    probabilities: tuple[float, ...]
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class RefusalAnswer:
    """The model declined this one question."""


Answer: TypeAlias = NoulAnswer | ChoiceAnswer | ScoreAnswer | RefusalAnswer
