"""The dialects of System One as data: who takes what, where the key stands, how an answer and an error look."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from decidable.testing.systemone.failing import Failure

__all__ = [
    "CLOUDFLARE",
    "FIREWORKS",
    "OPENAI",
    "OPENROUTER",
    "PARALLEL",
    "PERPLEXITY",
    "TYPESAFE",
    "Dialect",
    "dialect_at",
    "failure_body",
    "reply_body",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one service speaks.

    Attributes:
        name: The service.
        key_header: Where it reads the key; in ``authorization`` it follows the word Bearer.
        invalid: The status of a request that is not valid.
        request_id: The header by which an answer is named.
        questions: Most questions in a request.
        options: Fewest and most options of a choice.
        levels: Fewest and most levels of a score.
        instructed: Whether each question needs instructions.
        two_sided: Whether criteria of a noul need both sides.
        described: Whether each option needs a description.
        images: Whether it takes images.
        multipart: Whether it takes a body of several parts.
    """

    name: str
    key_header: str = "authorization"
    invalid: int = 422
    request_id: str = ""
    questions: int | None = None
    options: tuple[int, int] = (1, 255)
    levels: tuple[int, int] = (1, 10)
    instructed: bool = False
    two_sided: bool = False
    described: bool = False
    images: bool = False
    multipart: bool = False


TYPESAFE = Dialect(name="TypeSafe", request_id="x-typesafe-request-id", images=True, multipart=True)
OPENROUTER = Dialect(name="OpenRouter", invalid=400, images=True)
FIREWORKS = Dialect(name="Fireworks", options=(1, 208))
PERPLEXITY = Dialect(name="Perplexity", questions=128)
CLOUDFLARE = Dialect(
    name="Cloudflare",
    invalid=400,
    request_id="cf-ray",
    questions=64,
    options=(2, 255),
    levels=(2, 10),
    instructed=True,
)
PARALLEL = Dialect(
    name="Parallel",
    key_header="x-api-key",
    questions=100,
    options=(2, 255),
    levels=(2, 10),
    instructed=True,
    two_sided=True,
    described=True,
)
OPENAI = Dialect(
    name="OpenAI",
    invalid=400,
    request_id="x-request-id",
    questions=400,
    options=(2, 255),
    levels=(2, 10),
    instructed=True,
    images=True,
)

_PATHS = (
    (re.compile(r"/v1/systemone"), TYPESAFE),
    (re.compile(r"/api/v1/systemone|/api/alpha/decisions"), OPENROUTER),
    (re.compile(r"/inference/v1/systemone"), FIREWORKS),
    (re.compile(r"(?:/client/v4)?/accounts/[^/]+/ai/run/@cf/(?P<model>.+)"), CLOUDFLARE),
)


def dialect_at(path: str, headers: Mapping[str, str], body: Any) -> tuple[Dialect, str] | None:
    """Who answers at a path, and the model that the path names; None where nobody does.

    Three services have the same path ``/v1/decisions``: a body with an input is OpenAI's, one with a model besides the
    state Perplexity's, the rest Parallel's.
    """
    for pattern, dialect in _PATHS:
        if found := pattern.fullmatch(path):
            return dialect, found.groupdict().get("model") or ""
    if path != "/v1/decisions":
        return None
    if not isinstance(body, dict):
        return (PARALLEL if "x-api-key" in headers else OPENAI), ""
    if "input" in body or isinstance(body.get("questions"), list):
        return OPENAI, ""
    return (PERPLEXITY if "model" in body else PARALLEL), ""


_CODES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "insufficient_credits",
    403: "permission_error",
    404: "not_found_error",
    405: "method_not_allowed",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def failure_body(dialect: Dialect, failure: Failure, request_id: str) -> dict[str, Any]:
    """A failure as the service words it."""
    status = failure.status or dialect.invalid
    code = failure.code or _CODES.get(status, "api_error")
    message = failure.message
    if dialect is OPENROUTER:
        return {"error": {"code": status, "message": message, "metadata": None}, "user_id": "faux"}
    if dialect is PARALLEL:
        return {"type": "error", "error": {"ref_id": request_id, "message": message, "detail": None}}
    if dialect is CLOUDFLARE:
        return {"result": None, "success": False, "errors": [{"code": status, "message": message}], "messages": []}
    if dialect is OPENAI:
        where = failure.problems[0].where if failure.problems else ()
        param = ".".join(str(step) for step in where) or None
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": param, "code": code}}
    if failure.problems and status == 422:
        return {"detail": [problem.json() for problem in failure.problems]}
    return {"detail": {"error_type": code, "message": message}}


_PRICE = 42e-9
"""US dollars a token, as made up as the answers."""


def reply_body(
    dialect: Dialect, body: Mapping[str, Any], answers: Mapping[str, Any], *, model: str, tokens: int, request_id: str
) -> dict[str, Any]:
    """Answers as the service sends them, without OpenAI, whose form is its own."""
    usage: dict[str, Any] = {"input_tokens": tokens, "output_tokens": 0}
    if dialect is PARALLEL:
        for answer in answers.values():
            answer.pop("confidence", None)
        excerpts = ["Nobody wrote this."] if body.get("include_excerpts", True) else []
        return {
            "decision_id": request_id,
            "mode": body.get("mode", "fast"),
            "answers": answers,
            "citations": [{"url": "https://faux.invalid/source", "title": "A made-up source", "excerpts": excerpts}],
        }
    plain = {"model": model, "answers": answers, "usage": usage}
    if dialect is OPENROUTER:
        usage["cost"] = round(tokens * _PRICE, 12)
        return {"id": request_id, "provider": "Faux", **plain}
    if dialect is CLOUDFLARE:
        return {"result": plain, "success": True, "errors": [], "messages": []}
    return plain
