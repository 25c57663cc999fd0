"""One spelling for each JSON value, so that equal requests have equal hashes in any run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from decidable.errors import QuestionError
from decidable.questions.spelling import question_json
from decidable.questions.types import Question

__all__ = ["canonical_json", "question_sha256", "sha256_of"]


def canonical_json(value: Any) -> str:
    """`value` as JSON: keys sorted at every depth, no space, no escapes beyond the necessary, ``2.0`` as ``2``.

    Raises:
        QuestionError: It is no JSON value: a NaN, an object of a program, a circle.
    """
    try:
        return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise QuestionError(f"this is no JSON value, so it has no canonical form: {error}") from None


def sha256_of(value: Any) -> str:
    """SHA-256, in hex, of a JSON value in canonical form."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def question_sha256(question: Question) -> str:
    """SHA-256 of a question: its type, its words, and its options or levels."""
    return sha256_of(question_json(question))


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {_key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key of an object is text, not {key!r}")
    return key
