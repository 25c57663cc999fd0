"""A judge: typed questions in, checked answers out, from one decision provider or several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any

from decidable.ambient import current_scope
from decidable.cancelling import CancelToken
from decidable.content import content_of
from decidable.errors import DecisionProviderError, ProviderErrorCode, QuestionError, did_you_mean
from decidable.flow.ask import Call
from decidable.flow.drivers import drive, drive_async
from decidable.flow.effects import Flow, Now
from decidable.flow.patience import ask_patiently
from decidable.flow.prompts import state_json
from decidable.flow.run import HOST, Host
from decidable.messages import Reply, Usage
from decidable.providers.checking import check_request
from decidable.providers.protocol import Patience, Provider
from decidable.providers.registry import connect
from decidable.questions.checking import in_words, invalid_answers
from decidable.questions.decoding import Sidecar, decode, sidecar_of, with_confidence
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
from decidable.settings import checked_seconds

__all__ = ["Judge", "Judgement", "judge_from_provider", "judge_from_providers"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a decision model answered.

    Attributes:
        answers: Question id to answer, each checked against its question; refused ones are not among them.
        refused: Ids of the questions that the model declined.
        provider: Who answered.
        model: The model that answered, as it names itself; None if unknown.
        confidence_source: Question id to where its confidence comes from.
        evidence: The sources that the provider names.
        usage: Tokens, or None if unknown.
        cost_usd: US dollars; None, never 0, if unknown.
        cost_basis: ``"reported"``, ``"estimate"`` or ``"unknown"``.
        provider_request_id: The provider's own id of the request.
        request_sha256: SHA-256 of the bytes that were sent.
        attempts: Every time that the request was sent.
        latency_ms: From the call to its answer, waits included.
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

    @property
    def values(self) -> dict[str, str | bool | int]:
        """Question id to plain value: the option, yes from one half on, the nearest level. None of what was refused."""
        return {name: decode(answer) for name, answer in self.answers.items()}

    @property
    def sidecar(self) -> Sidecar:
        """The answers, how sure the model is of each, and the weakest."""
        return sidecar_of(self.answers)


class Judge:
    """Asks decision providers; `judge_from_provider` and `judge_from_providers` make it.

    It adds no retry to the providers' own, and is safe to share between threads and tasks.
    """

    def __init__(self, providers: Mapping[str, Provider], default: str, host: Host = HOST) -> None:
        for name, provider in providers.items():
            if not isinstance(provider, Provider) or not provider.capabilities.question_types:
                raise _configuration(f"{name!r} is no provider that answers typed questions: {provider!r}")
        if default not in providers:
            raise _configuration(f"no provider is named {default!r}; {did_you_mean(default, tuple(providers))}")
        self.providers = dict(providers)
        self.default = default
        self._host = host

    def __repr__(self) -> str:
        return f"Judge({', '.join(self.providers)}; default={self.default!r})"

    def ask(
        self,
        state: Any,
        questions: Mapping[str, Question],
        *,
        model: str | None = None,
        provider: str | None = None,
        images: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Judgement:
        """The answers to `questions` about `state`, asked in one request.

        Args:
            state: Text, or a JSON object or list, sent as it is; a pydantic model or dataclass is sent by its fields.
            questions: Question id to `Noul`, `Choice` or `Score`. The ids come back, and mean nothing to the model.
            model: The model to ask; None for the provider's default.
            provider: Name of the provider; None takes one that declares the model, else the default.
            images: Images by the token that stands for each in the state or a question; each a
                ``{"type": "image", "path": ...}``, as in a prompt.
            timeout_s: Seconds for everything; a provider's own limit (30 by default) may end it earlier.
            cancel: Calls it off.

        Raises:
            DecisionProviderError: Its `code` says whether the request was sent, and so may have been paid.
            BudgetExceeded: A budget around the call has no room for it.
        """
        request = _request(state, questions, model, images)
        return drive(self._flow(request, provider, timeout_s, cancel), self._host)

    async def async_ask(
        self,
        state: Any,
        questions: Mapping[str, Question],
        *,
        model: str | None = None,
        provider: str | None = None,
        images: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Judgement:
        """`ask` without blocking the event loop."""
        request = _request(state, questions, model, images)
        return await drive_async(self._flow(request, provider, timeout_s, cancel), self._host)

    def close(self) -> None:
        """Close the providers' connections."""
        for provider in self.providers.values():
            provider.close()

    async def aclose(self) -> None:
        """Close the providers' connections, those of the running event loop included."""
        for provider in self.providers.values():
            await provider.aclose()

    def preflight(self, *requests: QuestionRequest, provider: str | None = None) -> None:
        """Refuse, before a run begins, what could not be asked in it; sends nothing.

        Args:
            requests: What the run may ask.
            provider: As for `ask`.

        Raises:
            DecisionProviderError: Of code ``invalid_request``, with all that is wrong.
        """
        problems = []
        for request in requests:
            try:
                check_request(self._chosen(request, provider), request)
            except DecisionProviderError as error:
                problems.append(str(error))
        if problems:
            raise DecisionProviderError("; ".join(problems), code=ProviderErrorCode.INVALID_REQUEST, sent=False)

    def _chosen(self, request: QuestionRequest, name: str | None) -> Provider:
        if name is not None:
            if name not in self.providers:
                raise _configuration(f"no provider is named {name!r}; {did_you_mean(name, tuple(self.providers))}")
            return self.providers[name]
        default = self.providers[self.default]
        if request.model is not None and request.model not in (default.capabilities.models or ()):
            for provider in self.providers.values():
                if request.model in (provider.capabilities.models or ()):
                    return provider
        return default

    def _flow(
        self, request: QuestionRequest, name: str | None, timeout_s: float | None, cancel: CancelToken | None
    ) -> Flow[Judgement]:
        _refuse_no_questions(request.questions)
        provider = self._chosen(request, name)
        if not provider.capabilities.checks:
            check_request(provider, request)
        scope, begun = current_scope(), self._host.clock()
        deadline = scope.deadline
        if timeout_s is not None:
            ends = begun + (checked_seconds(timeout_s) or 0.0)
            deadline = ends if deadline is None else min(ends, deadline)
        call = Call(provider, _AS_THE_PROVIDER, deadline, None, scope.meters, begun, cancel)
        return _judged(call, request)


_AS_THE_PROVIDER = 1000
"""Retries that a judge allows: the provider's own limit is lower."""


def judge_from_provider(provider: Provider | str, *, host: Host = HOST) -> Judge:
    """A judge that asks one decision provider.

    Args:
        provider: E.g. ``"jev"``, or ``connect("parallel", timeout_s=5)``.
        host: Clock, sleep and chance; tests give their own.

    Raises:
        DecisionProviderError: Of code ``configuration``: it answers no typed questions.

    Example:
        >>> from decidable.questions import Noul
        >>> from decidable.testing.systemone import FauxSystemOne
        >>> judge = judge_from_provider(FauxSystemOne().provider())
        >>> found = judge.ask("I was charged twice.", {"refund": Noul("Is a refund asked for?")})
        >>> 0 <= found.answers["refund"].noul <= 1
        True
    """
    asked = _resolved(provider)
    return Judge({getattr(asked, "name", "it"): asked}, getattr(asked, "name", "it"), host)


def judge_from_providers(providers: Mapping[str, Provider | str], default: str, *, host: Host = HOST) -> Judge:
    """A judge that asks one of several decision providers: the one named, or that declares the model, or `default`.

    Args:
        providers: A name of yours to a provider, or to what `decidable.connect` takes.
        default: Which of them is asked when a call says nothing.
        host: Clock, sleep and chance; tests give their own.

    Raises:
        DecisionProviderError: Of code ``configuration``: no provider has the name `default`.
    """
    return Judge({name: _resolved(provider) for name, provider in providers.items()}, default, host)


def _resolved(provider: Any) -> Any:
    return connect(provider) if isinstance(provider, str) else provider


def _judged(call: Call, request: QuestionRequest) -> Flow[Judgement]:
    capabilities = call.provider.capabilities
    reply = yield from ask_patiently(call, capabilities.patience or Patience(), request, "model_call")
    ended: float = yield Now()
    given = reply.answers
    invalid = None if capabilities.checks else invalid_answers(request.questions, given, rounded=True)
    if invalid is not None or given is None:
        raise _unusable(call, reply, invalid or ("answers_shape", None))
    answers: dict[str, Answer] = {name: a for name, a in given.items() if not isinstance(a, Refusal)}
    found = reply.provenance or Provenance(cost_basis="unknown" if reply.cost is None else "reported")
    sources = found.confidence_source
    if not capabilities.checks:
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
    )


def _unusable(call: Call, reply: Reply, invalid: tuple[str, str | None]) -> DecisionProviderError:
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


def _request(
    state: Any, questions: Mapping[str, Question], model: str | None, images: Mapping[str, Any] | None
) -> QuestionRequest:
    if not isinstance(state, (str, list, Mapping)):
        if isinstance(state, tuple):
            state = list(state)
        elif hasattr(state, "model_dump") or is_dataclass(state):
            state = state_json(state)
    held = {token: content_of([image])[0] for token, image in images.items()} if images else {}
    return QuestionRequest(state, questions, model, held)  # type: ignore[arg-type]  # what is no image is refused


_QUESTIONS = frozenset({Noul, Choice, Score})


def _refuse_no_questions(questions: Any) -> None:
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


def _configuration(problem: str) -> DecisionProviderError:
    return DecisionProviderError(problem, code=ProviderErrorCode.CONFIGURATION, sent=False)
