"""`Judgement`: the answers to typed questions, and everything that is known of where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any

from decidable.attempt import Origin
from decidable.content import content_of
from decidable.errors import DecisionProviderError, ProviderErrorCode, QuestionError, SettingError, did_you_mean
from decidable.flow.ask import Call
from decidable.flow.effects import Flow
from decidable.flow.patience import ask_patiently
from decidable.flow.prompts import state_json
from decidable.messages import Reply, Usage
from decidable.providers.protocol import Patience
from decidable.questions.checking import in_words, invalid_answers
from decidable.questions.decoding import Sidecar, decode, sidecar_of, with_confidence
from decidable.questions.measures import Measure, Threshold, measured
from decidable.questions.types import (
    Answer,
    Choice,
    ConfidenceSource,
    CostBasis,
    Evidence,
    Noul,
    Provenance,
    ProviderAttempt,
    Question,
    QuestionRequest,
    Refusal,
    Score,
)

__all__ = ["Judgement", "answered", "judgement_of", "question_request", "refuse_no_questions"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a model answered.

    Attributes:
        answers: Question id to answer, each checked against its question; refused ones are not among them.
        refused: Ids of the questions that the model declined.
        provider: Who answered.
        model: The model that answered, as it names itself; None if unknown.
        confidence_source: Question id to where its confidence comes from.
        evidence: The sources that the provider names.
        usage: Tokens, or None if unknown.
        cost_usd: US dollars; None, never 0, if unknown. 0 if the answers were read from a receipt.
        cost_basis: ``"reported"``, ``"estimate"`` or ``"unknown"``.
        provider_request_id: The provider's own id of the request.
        request_sha256: SHA-256 of the bytes that were sent.
        attempts: Every time that the request was sent.
        latency_ms: From the call to its answer, waits included.
        origin: Where the probabilities come from: ``"model"``, ``"logprobs"``, ``"votes"``, or ``"none"`` where a model
            that writes was asked for a plain answer.
        receipt_id: Id of the receipt, where one is kept.
        replayed: Whether the answers were read from it, and nobody was asked.
        questions: What was asked.
    """

    answers: Mapping[str, Answer]
    refused: tuple[str, ...]
    provider: str
    model: str | None
    confidence_source: Mapping[str, ConfidenceSource] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    usage: Usage | None = None
    cost_usd: float | None = None
    cost_basis: CostBasis = "unknown"
    provider_request_id: str | None = None
    request_sha256: str | None = None
    attempts: tuple[ProviderAttempt, ...] = ()
    latency_ms: float = 0.0
    origin: Origin = "model"
    receipt_id: str | None = None
    replayed: bool = False
    questions: Mapping[str, Question] = field(default_factory=dict, repr=False)

    @property
    def values(self) -> dict[str, str | bool | int]:
        """Question id to plain value: the option, yes from one half on, the nearest level. None of what was refused."""
        return {name: decode(answer) for name, answer in self.answers.items()}

    @property
    def sidecar(self) -> Sidecar:
        """The answers, how sure the model is of each, and the weakest."""
        return sidecar_of(self.answers)

    def confidence(self, question: str, measure: Measure = "typesafe") -> float | None:
        """How sure one answer is; None where nobody knows.

        Args:
            question: Its id.
            measure: Which number: ``"top"``, ``"margin"``, ``"entropy"``, ``"typesafe"``, or the provider's own,
                ``"reported"``. They are not comparable with one another.
        """
        source = self.confidence_source.get(question, "reported")
        return measured(self._answer(question), measure, source=source)

    def is_sure(self, question: str, threshold: Threshold) -> bool:
        """Whether one answer meets a threshold; False where it has no such number.

        Raises:
            ThresholdMismatchError: The threshold was made for another model or question.
        """
        answer = self._answer(question)
        threshold.check(model=self.model, question=self.questions.get(question))
        source = self.confidence_source.get(question, "reported")
        value = measured(answer, threshold.measure, source=source)
        return value is not None and value >= threshold.at_least

    def _answer(self, question: str) -> Answer:
        if question not in self.answers:
            why = "was refused" if question in self.refused else did_you_mean(question, tuple(self.answers))
            raise SettingError(f"there is no answer to {question!r}; {why}")
        return self.answers[question]


def answered(call: Call, request: QuestionRequest) -> Flow[Reply]:
    """A decision model's reply to typed questions, its answers checked and each with a confidence.

    Raises:
        DecisionProviderError: As of `ask_patiently`; or the answers cannot be used.
    """
    capabilities = call.provider.capabilities
    reply = yield from ask_patiently(call, capabilities.patience or Patience(), request, "model_call")
    if capabilities.checks:
        return reply
    invalid = invalid_answers(request.questions, reply.answers, rounded=True)
    if invalid is not None:
        raise _unusable(call, reply, invalid)
    return reply


def judgement_of(call: Call, request: QuestionRequest, reply: Reply, ended: float) -> Judgement:
    """The judgement that a reply makes."""
    given = reply.answers or {}
    answers: dict[str, Answer] = {name: a for name, a in given.items() if not isinstance(a, Refusal)}
    found = reply.provenance or Provenance(cost_basis="unknown" if reply.cost is None else "reported")
    sources = found.confidence_source
    if not call.provider.capabilities.checks:
        answers, own = with_confidence(answers)
        sources = {**own, **sources}
    return Judgement(
        answers,
        tuple([name for name in given if name not in answers]),
        call.provider.name,
        reply.model,
        sources,
        found.evidence,
        reply.usage,
        reply.cost,
        found.cost_basis,
        reply.request_id,
        found.request_sha256,
        found.attempts,
        (ended - call.started) * 1000,
        found.origin,
        found.receipt_id,
        found.replayed,
        request.questions,
    )


def _unusable(call: Call, reply: Reply, invalid: tuple[Any, str | None]) -> DecisionProviderError:
    name = call.provider.name
    found = reply.provenance or Provenance()
    error = DecisionProviderError(
        f"{name} answered with what is no answer to the questions: {in_words(*invalid)}",
        code=ProviderErrorCode.INVALID_RESPONSE,
        cost_usd=reply.cost,
        cost_basis=found.cost_basis,
        detail=invalid[0],
        provider=name,
        model=reply.model,
    )
    error.provider_attempts = found.attempts
    return error


def question_request(
    state: Any, questions: Mapping[str, Question], model: str | None, images: Mapping[str, Any] | None
) -> QuestionRequest:
    """The request for typed questions about a state, which may be a model or a dataclass."""
    if not isinstance(state, (str, list, Mapping)):
        if isinstance(state, tuple):
            state = list(state)
        elif hasattr(state, "model_dump") or is_dataclass(state):
            state = state_json(state)
    held = {token: content_of([image])[0] for token, image in images.items()} if images else {}
    return QuestionRequest(state, questions, model, held)  # type: ignore[arg-type]  # what is no image is refused


_QUESTIONS = frozenset({Noul, Choice, Score})


def refuse_no_questions(questions: Any) -> None:
    """Raise `QuestionError` unless there are questions under their ids."""
    if not isinstance(questions, Mapping) or not questions:
        given = f", not a {type(questions).__name__}" if questions else ""
        raise QuestionError(
            f"give at least one question, as a mapping from an id of yours to a Noul, Choice or Score{given}"
        )
    for name, question in questions.items():
        if not isinstance(name, str) or not name:
            raise QuestionError(f"a question's id is text, not {name!r}")
        if type(question) not in _QUESTIONS:
            raise QuestionError(f"question {name!r} is a Noul, a Choice or a Score, not {question!r}")
