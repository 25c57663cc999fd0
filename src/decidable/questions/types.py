"""Typed questions about a state, and their answers with probabilities; free of any wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from decidable.content import MediaPart
from decidable.errors import QuestionError

if TYPE_CHECKING:
    from decidable.messages import Usage

__all__ = [
    "Answer",
    "Choice",
    "ChoiceAnswer",
    "ConfidenceSource",
    "CostBasis",
    "Evidence",
    "Noul",
    "NoulAnswer",
    "Provenance",
    "ProviderAttempt",
    "Question",
    "QuestionRequest",
    "Refusal",
    "Score",
    "ScoreAnswer",
    "Stated",
]


class Question:
    """A `Noul`, a `Choice` or a `Score`."""

    __slots__ = ()

    instructions: str


@dataclass(frozen=True, slots=True)
class Noul(Question):
    """A yes/no question, answered with P(yes).

    Attributes:
        instructions: The proposition, e.g. ``"Is a refund asked for?"``. May be empty if a side is described.
        true: What yes means, or None.
        false: What no means, or None.

    Raises:
        QuestionError: Neither the question nor a side says anything.
    """

    instructions: str = ""
    true: str | None = None
    false: str | None = None

    def __post_init__(self) -> None:
        parts: tuple[object, ...] = (self.instructions, self.true, self.false)
        for part in parts:
            if part is not None and not isinstance(part, str):
                raise QuestionError(f"a Noul is made of text; {part!r} is none")
        if not (self.instructions or self.true or self.false):
            raise QuestionError("a Noul needs instructions, or a description of one side")


@dataclass(frozen=True, slots=True, init=False)
class Choice(Question):
    """Exactly one of a closed set.

    Args:
        instructions: What is to be chosen; may be empty where the state says it.
        criteria: Each option and its description, or None; or a list of options without descriptions.

    Raises:
        QuestionError: There is no option, or one is no text or stands twice.
    """

    instructions: str
    criteria: Mapping[str, str | None]

    def __init__(self, instructions: str, criteria: Mapping[str, str | None] | Iterable[str]) -> None:
        _refuse_no_text("Choice", instructions)
        given: Mapping[Any, Any] = criteria if isinstance(criteria, Mapping) else _options(criteria)
        if not given:
            raise QuestionError("a Choice needs at least one option")
        for option, about in given.items():
            if not isinstance(option, str) or not (about is None or isinstance(about, str)):
                raise QuestionError(
                    f"criteria of a Choice map an option's name to its description or None; {option!r}: {about!r} "
                    "is something else"
                )
        object.__setattr__(self, "instructions", instructions)
        object.__setattr__(self, "criteria", given)


@dataclass(frozen=True, slots=True, init=False)
class Score(Question):
    """A place on an ordered rubric.

    Args:
        instructions: What is to be rated.
        criteria: The descriptions of the levels, lowest first; the index is the level.

    Raises:
        QuestionError: There is no level, or one is no text.
    """

    instructions: str
    criteria: tuple[str, ...]

    def __init__(self, instructions: str, criteria: Iterable[str]) -> None:
        _refuse_no_text("Score", instructions)
        if isinstance(criteria, (str, Mapping)) or not isinstance(criteria, Iterable):
            raise QuestionError(f"criteria of a Score are a list of levels, lowest first, not {criteria!r}")
        levels: tuple[Any, ...] = tuple(criteria)
        if not levels or not all(isinstance(level, str) for level in levels):
            raise QuestionError(f"a Score needs levels, each described in text; it has {levels!r}")
        object.__setattr__(self, "instructions", instructions)
        object.__setattr__(self, "criteria", levels)


def _refuse_no_text(kind: str, instructions: Any) -> None:
    if not isinstance(instructions, str):
        raise QuestionError(f"the instructions of a {kind} are text, not {instructions!r}")


def _options(given: Any) -> dict[str, None]:
    if isinstance(given, (str, set, frozenset)) or not isinstance(given, Iterable):
        raise QuestionError(
            f"criteria of a Choice map options to descriptions, or list options in order; {given!r} does not"
        )
    names = list(given)
    made: dict[str, None] = dict.fromkeys(names)
    if len(made) != len(names):
        raise QuestionError(f"an option stands twice in {names!r}")
    return made


@dataclass(frozen=True, slots=True)
class QuestionRequest:
    """Typed questions about a state, for a decision model.

    Attributes:
        state: What the questions are about: text, or a JSON object or list. Sent as it is.
        questions: Question id to question; answers come back under the same ids, and the ids mean nothing to a model.
        model: The model to ask; None leaves it to the provider.
        images: Images by token. A token that stands in the state or in a question is where its image belongs.
    """

    state: Any
    questions: Mapping[str, Question]
    model: str | None = None
    images: Mapping[str, MediaPart] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NoulAnswer:
    """P(yes), in [0, 1]."""

    noul: float


@dataclass(frozen=True, slots=True)
class ChoiceAnswer:
    """The chosen option, and the distribution over all of them as reported, never rescaled.

    Attributes:
        choice: The option.
        probabilities: Option to probability, for exactly the options asked.
        confidence: In [0, 1]; the provider's own, or derived from the probabilities (`Provenance.confidence_source`
            says which). What it means differs between models.
    """

    choice: str
    probabilities: Mapping[str, float]
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class ScoreAnswer:
    """The probability-weighted level, and the distribution over the levels.

    Attributes:
        score: From 0 to the number of levels minus 1; may lie between two.
        probabilities: One for each level, lowest first.
        confidence: As of a `ChoiceAnswer`.
    """

    score: float
    probabilities: tuple[float, ...]
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """The model declined this one question. Never decoded to a value."""


@dataclass(frozen=True, slots=True)
class Stated:
    """What a model that writes said, and nothing of how sure it is: no threshold can be held against it.

    Attributes:
        value: The option; True for yes; the level.
    """

    value: str | bool | int


Answer: TypeAlias = NoulAnswer | ChoiceAnswer | ScoreAnswer | Stated | Refusal

ConfidenceSource: TypeAlias = Literal["reported", "derived", "noul"]
"""Whether a confidence was reported by the provider, derived from the probabilities, or is that of a P(yes)."""

CostBasis: TypeAlias = Literal["reported", "estimate", "unknown"]
"""Whether a cost was reported, comes from a list price, or is unknown."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A source that a provider names.

    Attributes:
        scope: ``"call"`` if it stands for the whole request, ``"question"`` if for one answer.
        url: Where it is.
        title: What it is called, or None.
        excerpts: What it says.
        question: Id of the question, with scope ``"question"``.
    """

    scope: Literal["call", "question"]
    url: str
    title: str | None = None
    excerpts: tuple[str, ...] = ()
    question: str | None = None


@dataclass(frozen=True, slots=True)
class ProviderAttempt:
    """One time that a request was sent.

    Attributes:
        id: A UUID, for logs.
        number: From 1.
        status: ``"answered"``; ``"failed"``; or ``"unknown"``, if it may have been answered and nobody knows.
        elapsed_ms: How long it took.
        http_status: The HTTP status, if there was one.
        usage: Tokens, if reported.
        cost_usd: US dollars, or None if unknown.
    """

    id: str
    number: int
    status: Literal["answered", "failed", "unknown"]
    elapsed_ms: float
    http_status: int | None = None
    usage: Usage | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a decision model's answers come from.

    Attributes:
        confidence_source: Question id to where its confidence comes from.
        evidence: The sources that the provider names.
        cost_basis: What the reply's cost rests on.
        request_sha256: SHA-256 of the bytes that were sent; None where none were.
        attempts: Every time the request was sent.
        origin: Where the probabilities come from, as of a `decidable.Decision`.
        receipt_id: Id of the receipt that was kept of it, or None.
        replayed: Whether the answers were read from that receipt, and nobody was asked.
    """

    confidence_source: Mapping[str, ConfidenceSource] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    cost_basis: CostBasis = "unknown"
    request_sha256: str | None = None
    attempts: tuple[ProviderAttempt, ...] = ()
    origin: Literal["model", "logprobs", "votes", "none"] = "model"
    receipt_id: str | None = None
    replayed: bool = False
