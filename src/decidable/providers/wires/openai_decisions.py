"""OpenAI's Decisions: an input, a list of questions, a list of answers in the same order.

https://platform.openai.com/docs/api-reference/decisions
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from decidable.content import MediaPart
from decidable.errors import DecisionProviderError, ProviderErrorCode
from decidable.providers.decision_endpoint import DecisionEndpoint
from decidable.providers.wires.codec import HttpCall
from decidable.providers.wires.common import data_url
from decidable.providers.wires.decisions import Answered, body_bytes, said
from decidable.questions.checking import answers_of
from decidable.questions.types import Choice, Noul, Question, QuestionRequest, Score

__all__ = ["OpenAIDecisions"]

_DEEPEST, _MOST_VALUES, _LARGEST = 32, 10_000, 256 * 1024
"""What one ``input_json`` part may hold: levels, values, bytes. A larger state goes as text, which loses nothing."""


class OpenAIDecisions:
    """The codec of the OpenAI Decisions wire.

    Args:
        endpoint: Where it is spoken.
        extra: Fields for each body, which have the last word.
    """

    def __init__(self, endpoint: DecisionEndpoint, extra: Mapping[str, Any]) -> None:
        self.endpoint = endpoint
        self.extra = {**endpoint.extra, **extra}

    def rendered(self, name: str, question: Question) -> dict[str, Any]:
        """One question as it is sent. Its name is its place, so that ids mean nothing to the model."""
        if isinstance(question, Choice):
            choices = [
                {"value": value, "description": about} if about else {"value": value}
                for value, about in question.criteria.items()
            ]
            return {"type": "choice", "instructions": question.instructions, "choices": choices}
        if isinstance(question, Score):
            levels = [{"label": label} for label in question.criteria]
            return {"type": "score", "instructions": question.instructions, "levels": levels}
        about = _proposition(question) if isinstance(question, Noul) else question.instructions
        return {"type": "predicate", "instructions": about}

    def encode(self, request: QuestionRequest, model: str | None) -> HttpCall:
        """The request in this wire's form."""
        for name, question in request.questions.items():
            if isinstance(question, Score) and len(set(question.criteria)) != len(question.criteria):
                raise DecisionProviderError(
                    f"{self.endpoint.name}: question {name!r}: two of its levels read the same, and labels are unique",
                    code=ProviderErrorCode.INVALID_REQUEST,
                    detail="invalid_questions",
                    provider=self.endpoint.name,
                    sent=False,
                )
        named = enumerate(request.questions.items())
        body = {
            "model": model,
            "input": self._input(request),
            "questions": [{**self.rendered(name, question), "name": f"q{n}"} for n, (name, question) in named],
            **self.extra,
        }
        return HttpCall(self.endpoint.path, body_bytes(body, self.endpoint.name), {"accept": "application/json"})

    def _input(self, request: QuestionRequest) -> Any:
        state = request.state
        if isinstance(state, str) and not request.images:
            return state
        parts = [_part(state)]
        for token, image in request.images.items():
            parts.append({"type": "input_text", "text": f"{token}:"})
            parts.append({"type": "input_image", "image_url": _url(image)})
        return [{"role": "user", "content": parts}]

    def read(self, body: Mapping[str, Any], request: QuestionRequest, model: str | None) -> Answered | str:
        """What the body of a successful answer says; or the reason why it cannot be used."""
        given = body.get("answers")
        if not isinstance(given, list):
            return "answers_shape"
        if len(given) != len(request.questions) or not _in_order(given):
            return "answer_keys"
        plain = {name: _plain(answer) for name, answer in zip(request.questions, given, strict=True)}
        found = answers_of(request.questions, plain, rounded=True)
        if isinstance(found, tuple):
            return found[0]
        return Answered(found, said(body.get("model")) or model)


def _proposition(question: Noul) -> str:
    """A yes/no question with its criteria, which the wire has no place for."""
    sides = [f"{side}: {text}" for side, text in (("True", question.true), ("False", question.false)) if text]
    return "\n".join([question.instructions, *sides] if question.instructions else sides)


def _part(state: Any) -> dict[str, Any]:
    if isinstance(state, str):
        return {"type": "input_text", "text": state}
    objects = [state] if isinstance(state, Mapping) else list(state)
    if objects and all(isinstance(one, Mapping) for one in objects) and _fits(state):
        return {"type": "input_json", "data": state}
    return {"type": "input_text", "text": _text(state)}


def _text(state: Any) -> str:
    try:
        return json.dumps(state, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return body_bytes({"state": state}, "openai").decode()  # raises what is said of a state that is not JSON


def _fits(state: Any) -> bool:
    """Whether a state is within what one part may hold."""
    left, level, values = [state], 0, 0
    while left:
        level += 1
        values += len(left)
        if level > _DEEPEST or values > _MOST_VALUES:
            return False
        inner: list[Any] = []
        for value in left:
            if isinstance(value, Mapping):
                inner.extend(value.values())
            elif isinstance(value, (list, tuple)):
                inner.extend(value)
        left = inner
    return len(_text(state).encode("utf-8", "surrogatepass")) <= _LARGEST


def _url(image: MediaPart) -> str:
    return data_url(image, "openai-decisions")


def _in_order(given: list[Any]) -> bool:
    """Whether each answer that names its question is in that question's place."""
    return all(
        not isinstance(answer, dict) or answer.get("name") in (None, f"q{place}") for place, answer in enumerate(given)
    )


_KINDS = {"predicate": "noul", "choice": "choice", "score": "score", "refusal": "refusal"}


def _plain(answer: Any) -> Any:
    """An answer in the System One spelling; what is in none stays as it is, to be refused."""
    if not isinstance(answer, dict):
        return answer
    given = answer.get("type")
    kind = _KINDS.get(given) if isinstance(given, str) else None
    if kind == "noul":
        return {"type": kind, "noul": answer.get("probability")}
    made = {**answer, "type": kind}
    shares = answer.get("probabilities")
    if kind in ("choice", "score") and isinstance(shares, list):
        pairs = [(_key(s.get("value"), kind), s.get("probability")) for s in shares if isinstance(s, dict)]
        made["probabilities"] = dict(pairs) if len(dict(pairs)) == len(shares) else shares
    return made


def _key(value: Any, kind: str) -> Any:
    """A choice's value as it was asked, a level's index as text."""
    if kind == "score":
        return str(value) if type(value) is int else None
    return value if isinstance(value, str) else None
