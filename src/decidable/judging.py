"""A judge: typed questions in, checked answers out, from one decision provider or several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from decidable.ambient import current_scope
from decidable.cancelling import CancelToken
from decidable.errors import DecisionProviderError, ProviderErrorCode, did_you_mean
from decidable.flow.ask import Call
from decidable.flow.drivers import drive, drive_async
from decidable.flow.effects import Flow, Now
from decidable.flow.judged import Judgement, answered, judgement_of, question_request, refuse_no_questions
from decidable.flow.run import HOST, Host
from decidable.providers.checking import check_request
from decidable.providers.protocol import Provider
from decidable.providers.registry import connect
from decidable.questions.types import Question, QuestionRequest
from decidable.settings import checked_seconds

__all__ = ["Judge", "Judgement", "judge_from_provider", "judge_from_providers"]


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
        request = question_request(state, questions, model, images)
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
        request = question_request(state, questions, model, images)
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
        refuse_no_questions(request.questions)
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
    reply = yield from answered(call, request)
    ended: float = yield Now()
    return judgement_of(call, request, reply, ended)


def _configuration(problem: str) -> DecisionProviderError:
    return DecisionProviderError(problem, code=ProviderErrorCode.CONFIGURATION, sent=False)
