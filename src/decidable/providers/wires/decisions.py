"""What the wires of typed questions share: what is sent, what an answer says, and what a failure means."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic_core import from_json

from decidable.errors import DecisionProviderError, ProviderErrorCode
from decidable.messages import Usage
from decidable.providers.decision_endpoint import DecisionEndpoint
from decidable.providers.wires.codec import HttpCall, HttpReply
from decidable.providers.wires.failures import token_of
from decidable.providers.wires.retry_after import retry_after
from decidable.questions.types import Answer, Evidence, Question, QuestionRequest

__all__ = ["Answered", "DecisionCodec", "body_bytes", "failure", "object_from", "price_of", "said", "usage_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """What a successful answer says, checked against the questions.

    Attributes:
        answers: Question id to answer.
        model: What answered, or None.
        evidence: The sources that it names.
    """

    answers: Mapping[str, Answer]
    model: str | None
    evidence: tuple[Evidence, ...] = ()


class DecisionCodec(Protocol):
    """One wire of typed questions: pure functions from requests to bytes and back."""

    def encode(self, request: QuestionRequest, model: str | None) -> HttpCall:
        """The request in this wire's form.

        Raises:
            DecisionProviderError: Of code ``invalid_request``: the wire cannot say it.
        """

    def rendered(self, name: str, question: Question) -> Mapping[str, Any]:
        """One question as it is sent."""

    def read(self, body: Mapping[str, Any], request: QuestionRequest, model: str | None) -> Answered | str:
        """What the body of a successful answer says; or the reason why it cannot be used."""


_ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
"""All ASCII, so that a lone surrogate in a state harms nobody."""


def body_bytes(fields: Mapping[str, Any], provider: str) -> bytes:
    """The bytes of a body.

    Raises:
        DecisionProviderError: It holds what is not JSON.
    """
    try:
        return _ENCODE(fields).encode()
    except (TypeError, ValueError, RecursionError) as error:
        what = str(error) if isinstance(error, TypeError) else "it holds itself, NaN or an infinity, or is too deep"
    raise DecisionProviderError(
        f"{provider} is asked in JSON, and the state or a question is none: {what}",
        code=ProviderErrorCode.INVALID_REQUEST,
        detail="invalid_state",
        provider=provider,
        sent=False,
    )


def object_from(reply: HttpReply, endpoint: DecisionEndpoint) -> dict[str, Any] | str:
    """The JSON object that an answer is, out of its envelope; or the reason why it is none."""
    try:
        body = from_json(reply.body)  # three times as fast as json's
    except ValueError:
        return "not_json"
    if not isinstance(body, dict):
        return "response_shape"
    if endpoint.envelope and endpoint.envelope in body and "answers" not in body:
        body = body[endpoint.envelope]
    return body if isinstance(body, dict) else "response_shape"


def usage_of(body: Mapping[str, Any]) -> Usage | None:
    """The tokens that an answer reports; None where it reports none that can be read."""
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return None
    read, written = _whole(usage.get("input_tokens")), _whole(usage.get("output_tokens", 0))
    if read is None or written is None:
        return None
    details = usage.get("input_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else usage.get("cached_input_tokens")
    details = usage.get("output_tokens_details")
    reasoning = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return Usage(read, written, _whole(cached) or 0, _whole(reasoning) or 0)


def _whole(value: Any) -> int | None:
    """A count, also of a service that prints it as 12.0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0 or value != value // 1:
        return None
    return int(value) if value < 2**53 else None


def price_of(body: Mapping[str, Any], endpoint: DecisionEndpoint) -> float | None:
    """The cost that an answer reports, in US dollars; None, never 0, where it reports none."""
    value: Any = body if endpoint.cost else None
    for step in endpoint.cost:
        value = value.get(step) if isinstance(value, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value < _TOO_DEAR else None


_TOO_DEAR = 1e9


def said(value: Any) -> str | None:
    """`value` if it is text with something in it."""
    return value if isinstance(value, str) and value else None


_LONGEST_REF = 200


def failure(reply: HttpReply, endpoint: DecisionEndpoint, model: str | None) -> DecisionProviderError:
    """The error for an answer that is no success; of its body it keeps codes and a reference, never words."""
    status = reply.status
    try:
        body = json.loads(reply.body)
    except (ValueError, RecursionError):
        body = None
    codes, ref = _codes(body)
    code, meaning = _meaning(status)
    wait = retry_after(reply.headers)
    shown = ", ".join(dict.fromkeys(codes))
    return DecisionProviderError(
        f"{endpoint.name} answered with status {status}{f' ({shown})' if shown else ''}: {meaning}",
        code=code,
        ref_id=ref,
        detail=codes[0] if codes else "",
        retryable=_retryable(status, endpoint, wait),
        http_status=status,
        retry_after_s=wait,
        provider=endpoint.name,
        model=model,
    )


def _meaning(status: int) -> tuple[ProviderErrorCode, str]:
    if status in (401, 402, 403):
        return ProviderErrorCode.AUTH, "the key was not accepted, or its account may not do that"
    if status == 429:
        return ProviderErrorCode.RATE_LIMITED, "too many requests, or the quota is used up"
    if status == 408 or status >= 500:
        return ProviderErrorCode.OUTCOME_UNKNOWN, "it may or may not have answered the questions"
    if status >= 400:
        return ProviderErrorCode.INVALID_REQUEST, "the request was refused as invalid"
    return (
        ProviderErrorCode.INVALID_RESPONSE,
        "that is no answer; redirects are not followed, as the key would go along",
    )


def _retryable(status: int, endpoint: DecisionEndpoint, wait: float | None) -> bool:
    """Whether the same request may be sent again: 429 where told when; the rest where nothing is paid twice."""
    if status == 429:
        return wait is not None or endpoint.replay == "safe"
    return endpoint.replay == "safe" and (status == 408 or status >= 500)


def _codes(body: Any) -> tuple[tuple[str, ...], str | None]:
    """The machine-readable codes in an error body of any dialect, and its reference."""
    holders = [body] if isinstance(body, dict) else []
    for name in ("error", "detail", "errors"):
        inner = body.get(name) if isinstance(body, dict) else None
        holders += (
            [inner]
            if isinstance(inner, dict)
            else [i for i in inner if isinstance(i, dict)]
            if isinstance(inner, list)
            else []
        )
    found, ref = [], None
    for holder in holders:
        found += [token for name in ("error_type", "code", "type", "status") if (token := token_of(holder.get(name)))]
        ref = ref or said(holder.get("ref_id"))
    return tuple(code for code in found if code != "error"), ref[:_LONGEST_REF] if ref else None
