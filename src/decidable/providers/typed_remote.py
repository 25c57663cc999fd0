"""A decision model at an endpoint, as a provider: a codec and a transport, put together."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NoReturn
from uuid import uuid4

from decidable.errors import DecisionProviderError, LLMError, LLMErrorReason, ProviderErrorCode, SettingError
from decidable.messages import Reply, Request, Usage
from decidable.providers.decision_endpoint import DecisionEndpoint, DecisionWire
from decidable.providers.given import checked_extra, is_key, key_headers, merged_headers
from decidable.providers.http import Transport
from decidable.providers.protocol import Capabilities
from decidable.providers.wires.codec import HttpCall, HttpReply
from decidable.providers.wires.decisions import DecisionCodec, failure, object_from, price_of, said, usage_of
from decidable.questions.decoding import with_confidence
from decidable.questions.limits import problem_of
from decidable.questions.types import CostBasis, Provenance, ProviderAttempt, QuestionRequest

if TYPE_CHECKING:
    from decidable.providers.catalogue import Catalogue

__all__ = ["TypedRemoteProvider"]

_CODECS: dict[DecisionWire, tuple[str, str]] = {
    "systemone": ("systemone", "SystemOne"),
    "openai-decisions": ("openai_decisions", "OpenAIDecisions"),
}


@dataclass(slots=True, eq=False)
class _Sent:
    """One request on its way."""

    request: QuestionRequest
    model: str | None
    call: HttpCall
    id: str = field(default_factory=lambda: str(uuid4()))
    begun: float = field(default_factory=time.monotonic)


class TypedRemoteProvider:
    """Asks the decision models of one endpoint; `decidable.connect` makes it.

    Args:
        endpoint: Where, and in which dialect.
        model: The model to ask when a request names none.
        api_key: The key; None takes it from the endpoint's environment variable, each time that a request is made.
        base_url: Replaces the endpoint's.
        timeout_s: Seconds for a request with all its attempts and waits; default 30.
        max_attempts: Times that a request is sent at most, the first included; default 3.
        headers: Sent with each request.
        extra: Fields for each body, which have the last word.
        prices: US dollars per million input and output tokens, for an endpoint that reports no cost.
        replay: ``"never"`` or ``"safe"``, to be more or less careful than the endpoint is: `Capabilities.replay`.
        takes_images: Whether the model takes images; None asks the endpoint's catalogue, where it has one.
        proxy: URL of a proxy; None takes the environment's.
        client: A sync client to use, with httpx's interface.
        async_client: An async client to use, likewise.
    """

    def __init__(
        self,
        endpoint: DecisionEndpoint,
        model: str | None = None,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout_s: float | None = None,
        max_attempts: int | None = None,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
        prices: tuple[float, float] | None = None,
        replay: Literal["never", "safe"] | None = None,
        takes_images: bool | None = None,
        proxy: str | None = None,
        client: Any = None,
        async_client: Any = None,
    ) -> None:
        endpoint = _adjusted(endpoint, timeout_s, max_attempts, prices, replay)
        self.endpoint = endpoint
        self.name = endpoint.name
        self.model = model or _from_environment(endpoint.model_variable) or endpoint.default_model
        self.capabilities = _capabilities(endpoint)
        module, attribute = _CODECS[endpoint.wire]
        wire = import_module(f"decidable.providers.wires.{module}")
        self._codec: DecisionCodec = getattr(wire, attribute)(endpoint, checked_extra(endpoint.name, extra or {}))
        self._key = api_key
        self._takes_images = takes_images
        self._catalogue: Catalogue | None = None
        self._transport = Transport(
            endpoint.name,
            _address(endpoint, base_url),
            merged_headers(endpoint.name, endpoint.headers, headers or {}),
            timeout_s=endpoint.patience.timeout_s,
            proxy=proxy,
            client=client,
            async_client=async_client,
            credentials=self._credentials,
            reuse=endpoint.replay != "never",
        )

    def __repr__(self) -> str:
        return f"<{self.name}{':' + self.model if self.model else ''} at {self._transport.address}>"

    def check(self, request: QuestionRequest) -> None:
        """As `DecisionProvider.check`."""
        model, endpoint = request.model or self.model, self.endpoint
        if model is None and endpoint.needs_model:
            self._refuse(f"name a model: it has no default ('{self.name}:model', or model=)", "model")
        capabilities = self.capabilities
        asked = request if model == request.model else replace(request, model=model)
        problem = problem_of(
            asked,
            capabilities.question_types,
            endpoint.limits,
            endpoint.models,
            endpoint.images != "none",
            self._codec.rendered,
        )
        if problem is not None:
            self._refuse(problem)
        if request.images:
            from decidable.providers.images import image_problem  # few requests have any

            problem = image_problem(request, endpoint, model)
            if problem is not None:
                self._refuse(problem, "images")

    def lost(self, deadline: bool, elapsed_s: float) -> DecisionProviderError:
        """As `DecisionProvider.lost`."""
        what = "did not answer in the time given" if deadline else "was asked, and the caller cancelled it"
        code = ProviderErrorCode.OUTCOME_UNKNOWN if deadline else ProviderErrorCode.ABORTED
        error = self._maybe_billed(f"{self.name} {what}; it may still have answered", code)
        attempt = ProviderAttempt(str(uuid4()), 1, "unknown", elapsed_s * 1000, None, None, error.cost_usd)
        error.provider_attempts = (attempt,)
        return error

    def send(self, request: Request, deadline: float | None = None) -> Reply:
        """As `Provider.send`: once, whatever comes of it.

        Raises:
            DecisionProviderError: It could not answer, or what it said is no answer.
        """
        sent = self._begun(request)
        if sent.request.images and (catalogue := self._asked_first()) is not None:
            self._refuse_unlisted(sent, catalogue.models(deadline))
        try:
            return self._answered(sent, self._transport.send(sent.call, deadline))
        except LLMError as error:
            raise self._failed(sent, error).with_traceback(None) from error.__cause__

    async def asend(self, request: Request, deadline: float | None = None) -> Reply:
        """As `Provider.asend`."""
        sent = self._begun(request)
        if sent.request.images and (catalogue := self._asked_first()) is not None:
            self._refuse_unlisted(sent, await catalogue.amodels(deadline))
        try:
            return self._answered(sent, await self._transport.asend(sent.call, deadline))
        except LLMError as error:
            raise self._failed(sent, error).with_traceback(None) from error.__cause__

    def close(self) -> None:
        """Close the connections of sync calls."""
        self._transport.close()

    async def aclose(self) -> None:
        """Close the connections, those of the running event loop included."""
        await self._transport.aclose()

    # --- before it is sent ----------------------------------------------------------------------------------------

    def _begun(self, request: Request) -> _Sent:
        if not isinstance(request, QuestionRequest):
            self._refuse("it answers typed questions, and writes no text")
        self._credentials()
        self.check(request)
        model = request.model or self.model
        return _Sent(request, model, self._codec.encode(request, model))

    def _asked_first(self) -> Catalogue | None:
        """The catalogue that says whether a model takes images; None where nobody need ask it."""
        if self._takes_images is False:
            self._refuse("takes_images=False says that it takes no images", "images")
        if self.endpoint.images != "listed" or self._takes_images:
            return None
        if self._catalogue is None:
            from decidable.providers.catalogue import Catalogue

            self._catalogue = Catalogue(self.name, self._transport, self.endpoint.catalogue)
        return self._catalogue

    def _refuse_unlisted(self, sent: _Sent, models: frozenset[str]) -> None:
        if sent.model not in models and f"typesafe/{sent.model}" not in models:
            self._refuse(f"its catalogue does not list the model {sent.model!r} with image input", "images")

    def _credentials(self) -> dict[str, str]:
        endpoint = self.endpoint
        key = self._key if self._key is not None else _from_environment(endpoint.key) or ""
        if not key:
            if endpoint.key is None or endpoint.key_optional:
                return {}
            raise DecisionProviderError(
                f"no key for {self.name!r}: set {endpoint.key}, or pass api_key=",
                code=ProviderErrorCode.CONFIGURATION,
                provider=self.name,
                sent=False,
            )
        if not is_key(key):
            key = ""  # a tool that shows a traceback's variables must not show it
            raise DecisionProviderError(
                f"the key for {self.name!r} holds characters that no key has, such as a line break",
                code=ProviderErrorCode.CONFIGURATION,
                provider=self.name,
                sent=False,
            )
        return key_headers(endpoint.key_header, key)

    def _refuse(self, problem: str, detail: str = "limits") -> NoReturn:
        raise DecisionProviderError(
            f"{self.name}: {problem}",
            code=ProviderErrorCode.INVALID_REQUEST,
            detail=detail,
            provider=self.name,
            model=self.model,
            sent=False,
        )

    # --- what came of it ------------------------------------------------------------------------------------------

    def _answered(self, sent: _Sent, reply: HttpReply) -> Reply:
        endpoint = self.endpoint
        if not 200 <= reply.status < 300:
            error = failure(reply, endpoint, sent.model)
            if error.code is ProviderErrorCode.OUTCOME_UNKNOWN:
                error.cost_usd, error.cost_basis = endpoint.list_price, _basis(endpoint.list_price, "estimate")
            raise error
        body = object_from(reply, endpoint)
        if isinstance(body, str):
            raise self._unusable(sent, reply.status, body, {})
        found = self._codec.read(body, sent.request, sent.model)
        if isinstance(found, str):
            raise self._unusable(sent, reply.status, found, body)
        usage = usage_of(body)
        cost, basis = self._cost(body, usage)
        answers, sources = with_confidence(found.answers)
        attempt = self._attempt(sent, "answered", reply.status, usage, cost)
        digest = hashlib.sha256(sent.call.body).hexdigest()
        return Reply(
            stop="stop",
            answers=answers,
            usage=usage,
            cost=cost,
            model=found.model,
            request_id=said(body.get(endpoint.request_id)) or said(reply.headers.get(endpoint.request_id)),
            provenance=Provenance(sources, found.evidence, basis, digest, (attempt,)),
        )

    def _unusable(self, sent: _Sent, status: int, reason: str, body: Mapping[str, Any]) -> DecisionProviderError:
        """The error for an answer that was given, and so is paid, and cannot be used."""
        usage = usage_of(body)
        cost, basis = self._cost(body, usage)
        error = DecisionProviderError(
            f"{self.name} answered with what is no answer to the questions ({reason})",
            code=ProviderErrorCode.INVALID_RESPONSE,
            cost_usd=cost,
            cost_basis=basis,
            detail=reason,
            http_status=status,
            provider=self.name,
            model=sent.model,
        )
        error.provider_attempts = (self._attempt(sent, "answered", status, usage, cost),)
        return error

    def _cost(self, body: Mapping[str, Any], usage: Usage | None) -> tuple[float | None, CostBasis]:
        endpoint = self.endpoint
        cost = price_of(body, endpoint)
        if cost is not None:
            return cost, "reported"
        if endpoint.prices is not None and usage is not None:
            read, written = endpoint.prices
            return (usage.input_tokens * read + usage.output_tokens * written) / 1e6, "estimate"
        return endpoint.list_price, _basis(endpoint.list_price, "estimate")

    def _failed(self, sent: _Sent, error: LLMError) -> DecisionProviderError:
        """What the transport's error means here."""
        failed = error if isinstance(error, DecisionProviderError) else self._translated(error)
        failed.model = failed.model or sent.model
        if not failed.provider_attempts:
            unknown = failed.code in (ProviderErrorCode.OUTCOME_UNKNOWN, ProviderErrorCode.ABORTED)
            status = failed.http_status
            attempt = self._attempt(sent, "unknown" if unknown else "failed", status, None, failed.cost_usd)
            failed.provider_attempts = (attempt,)
        return failed

    def _translated(self, error: LLMError) -> DecisionProviderError:
        late = error.reason is LLMErrorReason.TIMEOUT
        if error.sent is False:
            return DecisionProviderError(
                str(error),
                code=ProviderErrorCode.TIMEOUT if late else ProviderErrorCode.CONNECTION,
                retryable=not late,
                provider=self.name,
                sent=False,
            )
        if error.reason is LLMErrorReason.PROVIDER:  # it answered, with more than any answer is
            return DecisionProviderError(
                str(error), code=ProviderErrorCode.INVALID_RESPONSE, detail="response_shape", provider=self.name
            )
        lost = self._maybe_billed(f"{error}; it may still have answered", ProviderErrorCode.OUTCOME_UNKNOWN)
        lost.retryable = self.endpoint.replay == "safe" and not late
        return lost

    def _maybe_billed(self, message: str, code: ProviderErrorCode) -> DecisionProviderError:
        price = self.endpoint.list_price
        return DecisionProviderError(
            message, code=code, cost_usd=price, cost_basis=_basis(price, "estimate"), provider=self.name
        )

    def _attempt(
        self, sent: _Sent, status: Any, http_status: int | None, usage: Usage | None, cost: float | None
    ) -> ProviderAttempt:
        elapsed = (time.monotonic() - sent.begun) * 1000
        return ProviderAttempt(sent.id, 1, status, elapsed, http_status, usage, cost)


def _basis(cost: float | None, known: CostBasis) -> CostBasis:
    return "unknown" if cost is None else known


def _from_environment(variable: str | None) -> str | None:
    return os.environ.get(variable) or None if variable else None


def _capabilities(endpoint: DecisionEndpoint) -> Capabilities:
    return Capabilities(
        question_types=endpoint.question_types,
        limits=endpoint.limits,
        models=endpoint.models,
        replay=endpoint.replay,
        patience=endpoint.patience,
        checks=True,
        experimental_inputs=frozenset() if endpoint.images == "none" else frozenset({"image"}),
    )


_PLACE = re.compile(r"\{([A-Z0-9_]+)\}")


def _address(endpoint: DecisionEndpoint, base_url: str | None) -> str:
    url = base_url if base_url is not None else _from_environment(endpoint.url_variable) or endpoint.base_url
    if not url:
        raise SettingError(
            f"{endpoint.name!r} has no address of its own: pass base_url=, or set {endpoint.url_variable}"
        )
    for variable in _PLACE.findall(url):
        value = _from_environment(variable)
        if value is None:
            raise SettingError(f"the address of {endpoint.name!r} needs {variable}: set it, or pass base_url=")
        url = url.replace(f"{{{variable}}}", value)
    return url


def _adjusted(
    endpoint: DecisionEndpoint,
    timeout_s: float | None,
    max_attempts: int | None,
    prices: tuple[float, float] | None,
    replay: Literal["never", "safe"] | None,
) -> DecisionEndpoint:
    """`endpoint` with what the caller changes."""
    patience = endpoint.patience
    if timeout_s is not None:
        if isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)) or not 0 < timeout_s <= _LONGEST_S:
            raise SettingError(f"timeout_s of {endpoint.name!r} is seconds above 0, up to {_LONGEST_S}: {timeout_s!r}")
        patience = replace(patience, timeout_s=timeout_s)
    if max_attempts is not None:
        if type(max_attempts) is not int or not 1 <= max_attempts <= _MOST_ATTEMPTS:
            raise SettingError(f"max_attempts of {endpoint.name!r} is 1 to {_MOST_ATTEMPTS}, not {max_attempts!r}")
        patience = replace(patience, max_attempts=max_attempts)
    if prices is not None and not _are_prices(prices):
        raise SettingError(
            f"prices of {endpoint.name!r} are US dollars per million input and output tokens, such as (0.04, 0), "
            f"not {prices!r}"
        )
    if replay not in (None, "never", "safe"):
        raise SettingError(f"replay of {endpoint.name!r} is 'never' or 'safe', not {replay!r}")
    prices = prices if prices is not None else endpoint.prices
    return replace(endpoint, patience=patience, prices=prices, replay=replay or endpoint.replay)


_LONGEST_S = 2_147_483
_MOST_ATTEMPTS = 10


def _are_prices(prices: Any) -> bool:
    if not isinstance(prices, (tuple, list)) or len(prices) != 2:
        return False
    return all(type(price) in (int, float) and 0 <= price < float("inf") for price in prices)
