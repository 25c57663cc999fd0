"""What a wire's failures mean: one reason for every provider, and nothing in it that could be a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from decidable.errors import LLMError, LLMErrorReason

__all__ = ["Trouble", "broken_off", "token_of", "wire_error", "without_reply"]


def broken_off(provider: str, model: str | None) -> LLMError:
    """The error for a stream that ended before the reply did."""
    return LLMError(f"{provider} broke off its reply", reason=LLMErrorReason.TRANSPORT, provider=provider, model=model)


def without_reply(provider: str, model: str | None, what: str) -> LLMError:
    """The error for an answer that lacks `what` a reply stands in."""
    return LLMError(
        f"{provider} answered without {what}", reason=LLMErrorReason.PROVIDER, provider=provider, model=model
    )


@dataclass(frozen=True, slots=True, eq=False)
class Trouble:
    """What a wire's error body says.

    Attributes:
        codes: Its machine-readable codes and types, the most telling first.
        text: Its words. They serve to tell the reason, and are never shown: they may quote the request.
        where: The part of the request that it blames, e.g. ``"messages[0].content"``.
        retry_after_s: Seconds that the body itself asks to wait, or None.
    """

    codes: tuple[str, ...] = ()
    text: str = ""
    where: str = ""
    retry_after_s: float | None = None


_STATUS = {
    400: LLMErrorReason.INVALID,
    401: LLMErrorReason.AUTH,
    402: LLMErrorReason.AUTHZ,  # the account cannot pay: no retry helps
    403: LLMErrorReason.AUTHZ,
    404: LLMErrorReason.INVALID,
    408: LLMErrorReason.TRANSPORT,  # the server's own limit: worth another try
    409: LLMErrorReason.PROVIDER,
    413: LLMErrorReason.CONTEXT,
    425: LLMErrorReason.PROVIDER,
    429: LLMErrorReason.RATE_LIMIT,
}

_CODES = {
    "context_length_exceeded": LLMErrorReason.CONTEXT,
    "model_context_window_exceeded": LLMErrorReason.CONTEXT,
    "exceed_context_size_error": LLMErrorReason.CONTEXT,
    "request_too_large": LLMErrorReason.CONTEXT,
    "string_above_max_length": LLMErrorReason.CONTEXT,
    "content_filter": LLMErrorReason.POLICY,
    "responsibleaipolicyviolation": LLMErrorReason.POLICY,
    "invalid_prompt": LLMErrorReason.POLICY,
    "moderation": LLMErrorReason.POLICY,
    "prohibited_content": LLMErrorReason.POLICY,
    "invalid_api_key": LLMErrorReason.AUTH,
    "authentication_error": LLMErrorReason.AUTH,
    "api_key_invalid": LLMErrorReason.AUTH,
    "unauthenticated": LLMErrorReason.AUTH,
    "permission_error": LLMErrorReason.AUTHZ,
    "permission_denied": LLMErrorReason.AUTHZ,
    "billing_error": LLMErrorReason.AUTHZ,
    "failed_precondition": LLMErrorReason.AUTHZ,  # Google's, with status 400: no billing, or not from there
    "rate_limit_error": LLMErrorReason.RATE_LIMIT,
    "rate_limit_exceeded": LLMErrorReason.RATE_LIMIT,
    "resource_exhausted": LLMErrorReason.RATE_LIMIT,
    "insufficient_quota": LLMErrorReason.RATE_LIMIT,
    "overloaded_error": LLMErrorReason.PROVIDER,
    "api_error": LLMErrorReason.PROVIDER,
    "server_error": LLMErrorReason.PROVIDER,
    "timeout_error": LLMErrorReason.PROVIDER,
    "unavailable": LLMErrorReason.PROVIDER,
    "internal": LLMErrorReason.PROVIDER,
    "invalid_request_error": LLMErrorReason.INVALID,
    "not_found_error": LLMErrorReason.INVALID,
    "invalid_argument": LLMErrorReason.INVALID,
    "data_residency_mismatch": LLMErrorReason.INVALID,
}
_FINAL_CODES = frozenset(
    {
        "insufficient_quota",
        "billing_error",
        "enforced_spend_limit_reached",
        "contract_spend_limit_reached",
        "linked_organization_spend_limit_reached",
    }
)
"""Codes that come with a status which is retried elsewhere, and that no retry mends."""

_CONTEXT = re.compile(
    r"context (?:length|window|size|limit)|maximum context|prompt is too long|input (?:token count|is too long)|"
    r"too many (?:input )?tokens|exceeds? the (?:maximum number of tokens|model'?s? (?:maximum )?context)",
    re.IGNORECASE,
)
_POLICY = re.compile(
    r"content (?:management |filtering )?policy|usage polic|flagged|moderation|safety system", re.IGNORECASE
)


def wire_error(
    provider: str, model: str | None, status: int | None, headers: Mapping[str, str], trouble: Trouble
) -> LLMError:
    """The error for a failure that a wire reports.

    Args:
        provider: Its name.
        model: The model asked.
        status: The HTTP status; None for a failure within a stream or a successful answer.
        headers: By lower-case name; read for how long to wait.
        trouble: What the body says.
    """
    from decidable.providers.wires.retry_after import retry_after  # only a failure needs it

    reason = _reason(status, trouble)
    shown = [token for code in trouble.codes if (token := token_of(code))]
    where = token_of(trouble.where)
    said = f" ({', '.join(dict.fromkeys(shown))})" if shown else ""
    wait = trouble.retry_after_s if trouble.retry_after_s is not None else retry_after(headers)
    what = f"answered with status {status}" if status is not None else "reported a failure"
    return LLMError(
        f"{provider} {what}{said}{f', about {where}' if where else ''}: {_MEANING[reason]}",
        reason=reason,
        retryable=_retryable(headers, trouble),
        http_status=status,
        retry_after_s=wait,
        provider=provider,
        model=model,
    )


_MEANING = {
    LLMErrorReason.TRANSPORT: "the connection or its time limit failed",
    LLMErrorReason.RATE_LIMIT: "too many requests, or the quota is used up",
    LLMErrorReason.PROVIDER: "the provider failed inside",
    LLMErrorReason.AUTH: "the key was not accepted",
    LLMErrorReason.AUTHZ: "this account may not do that",
    LLMErrorReason.INVALID: "the request was refused as invalid",
    LLMErrorReason.CONTEXT: "the request is longer than the model reads",
    LLMErrorReason.POLICY: "the request goes against the provider's content policy",
    LLMErrorReason.TIMEOUT: "the time given was over",
    LLMErrorReason.UNKNOWN: "the reason is unknown",
}


def _reason(status: int | None, trouble: Trouble) -> LLMErrorReason:
    by_code = next((r for code in trouble.codes if (r := _reason_of_code(code.lower())) is not None), None)
    if by_code in (LLMErrorReason.CONTEXT, LLMErrorReason.POLICY):
        return by_code
    refused = status in (400, 403, 413, 422) or (status is None and by_code in (None, LLMErrorReason.INVALID))
    if refused and _CONTEXT.search(trouble.text):
        return LLMErrorReason.CONTEXT
    if refused and _POLICY.search(trouble.text):
        return LLMErrorReason.POLICY
    if status is None or status < 400:
        return by_code or LLMErrorReason.PROVIDER
    if status == 400 and by_code in (LLMErrorReason.AUTH, LLMErrorReason.AUTHZ):
        return by_code
    if status >= 500:
        return LLMErrorReason.PROVIDER
    return _STATUS.get(status) or by_code or LLMErrorReason.INVALID


def _reason_of_code(code: str) -> LLMErrorReason | None:
    if code in _CODES:
        return _CODES[code]
    if code.endswith(("_policy", "_policy_violation")):
        return LLMErrorReason.POLICY
    # OpenAI has a dozen codes for an image that it cannot take, from invalid_image to image_file_too_large
    return LLMErrorReason.INVALID if "image" in code.split("_") else None


def _retryable(headers: Mapping[str, str], trouble: Trouble) -> bool | None:
    if any(code.lower() in _FINAL_CODES for code in trouble.codes):
        return False
    if headers.get("x-should-retry") == "false":  # https://github.com/openai/openai-python: its clients obey it
        return False
    return None


_TOKEN = re.compile(r"(?=.{2,80}\Z)[A-Za-z]{1,32}(?:[_.-][A-Za-z]{1,32}|\[\d{1,4}\]|\.\d{1,4}){0,12}+\Z")
"""Words, and numbers only as the places of a path: no key is of that shape."""


def token_of(text: Any) -> str:
    """`text` if it may be shown, being a code such as ``invalid_api_key`` or a path; else an empty string."""
    return text if isinstance(text, str) and _TOKEN.match(text) else ""
