"""Typed questions about a state, and their answers with probabilities.

from decidable.questions import Choice, Noul, Score

questions = {
    "refund": Noul("Is a refund asked for?"),
    "team": Choice("Which team should answer?", {"billing": "Payments and invoices", "tech": "Bugs"}),
    "anger": Score("How angry is the customer?", ["calm", "upset", "furious"]),
}
"""

from decidable.questions.canonical import canonical_json, question_sha256
from decidable.questions.checking import REASONS, answers_of, invalid_answers
from decidable.questions.compiling import question_of, questions_of
from decidable.questions.decoding import (
    Sidecar,
    confidence_of,
    decode,
    derived_confidence,
    sidecar_of,
    synthetic_answers,
)
from decidable.questions.limits import Limits
from decidable.questions.measures import Measure, Threshold, measured
from decidable.questions.spelling import answer_json, question_json
from decidable.questions.types import (
    Answer,
    Choice,
    ChoiceAnswer,
    ConfidenceSource,
    CostBasis,
    Evidence,
    Noul,
    NoulAnswer,
    Provenance,
    ProviderAttempt,
    Question,
    QuestionRequest,
    Refusal,
    Score,
    ScoreAnswer,
    Stated,
)

__all__ = [
    "REASONS",
    "Answer",
    "Choice",
    "ChoiceAnswer",
    "ConfidenceSource",
    "CostBasis",
    "Evidence",
    "Limits",
    "Measure",
    "Noul",
    "NoulAnswer",
    "Provenance",
    "ProviderAttempt",
    "Question",
    "QuestionRequest",
    "Refusal",
    "Score",
    "ScoreAnswer",
    "Sidecar",
    "Stated",
    "Threshold",
    "answer_json",
    "answers_of",
    "canonical_json",
    "confidence_of",
    "decode",
    "derived_confidence",
    "invalid_answers",
    "measured",
    "question_json",
    "question_of",
    "question_sha256",
    "questions_of",
    "sidecar_of",
    "synthetic_answers",
]
