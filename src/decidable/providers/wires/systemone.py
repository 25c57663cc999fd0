"""System One: a state, a map of questions, a map of answers. https://docs.typesafe.ai, and everybody who speaks it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from unicodedata import normalize

from decidable.content import MediaPart
from decidable.providers.decision_endpoint import DecisionEndpoint
from decidable.providers.wires.codec import HttpCall
from decidable.providers.wires.decisions import Answered, body_bytes, said, usage_of
from decidable.questions.checking import answers_of
from decidable.questions.spelling import question_json
from decidable.questions.types import Choice, Evidence, Question, QuestionRequest, Score

__all__ = ["SystemOne"]


class SystemOne:
    """The codec of the System One wire.

    Args:
        endpoint: Where it is spoken, and in which dialect.
        extra: Fields for each body, which have the last word.
    """

    def __init__(self, endpoint: DecisionEndpoint, extra: Mapping[str, Any]) -> None:
        self.endpoint = endpoint
        self.extra = {**endpoint.extra, **extra}

    def rendered(self, name: str, question: Question) -> dict[str, Any]:
        """One question as it is sent."""
        endpoint = self.endpoint
        return question_json(question, both_sides=endpoint.both_sides, named_options=endpoint.named_options)

    def encode(self, request: QuestionRequest, model: str | None) -> HttpCall:
        """The request in this wire's form."""
        endpoint = self.endpoint
        body: dict[str, Any] = {}
        named = model.removeprefix(endpoint.model_prefix) if model is not None else None
        if named is not None and "{model}" not in endpoint.path:
            body[endpoint.model_field] = named
        body[endpoint.state_field] = _state(request, endpoint, model) if request.images else request.state
        body["questions"] = {name: self.rendered(name, question) for name, question in request.questions.items()}
        headers = dict(_JSON)
        if request.images:
            body["assets"] = {token: asset(image) for token, image in request.images.items()}
            headers[endpoint.image_header] = "true"
        body.update(self.extra)
        path = endpoint.path.replace("{model}", named or "")
        return HttpCall(path, body_bytes(body, endpoint.name), headers)

    def read(self, body: Mapping[str, Any], request: QuestionRequest, model: str | None) -> Answered | str:
        """What the body of a successful answer says; or the reason why it cannot be used."""
        endpoint = self.endpoint
        given = body.get("answers")
        found = answers_of(request.questions, given, rounded=True)
        if isinstance(found, tuple) and isinstance(given, dict):
            mended = {name: _mended(answer, request.questions.get(name)) for name, answer in given.items()}
            found = answers_of(request.questions, mended, rounded=True)
        if isinstance(found, tuple):
            return found[0]
        if endpoint.strict and (problem := _envelope_problem(body)):
            return problem
        answered_by = said(body.get(endpoint.model_field))
        return Answered(found, endpoint.model_prefix + answered_by if answered_by else None, _evidence(body))


def _envelope_problem(body: Mapping[str, Any]) -> str | None:
    """What contradicts the wire beside the answers."""
    model = body.get("model")
    if model is not None and said(model) is None:
        return "model_identifier"
    usage = body.get("usage")
    return "token_usage" if usage is not None and usage_of(body) is None else None


_JSON = {"accept": "application/json"}


def _state(request: QuestionRequest, endpoint: DecisionEndpoint, model: str | None) -> Any:
    from decidable.providers.images import is_jev, state_with_images  # few requests have any

    return state_with_images(request) if endpoint.images == "listed" and not is_jev(model) else request.state


def asset(image: MediaPart) -> dict[str, str]:
    """An image as the wire carries it in JSON."""
    kind = image.mime_type.partition("/")[2]
    return {"type": "image", "format": kind, "data_base64": base64.b64encode(image.data).decode()}


def _mended(answer: Any, question: Question | None) -> Any:
    """An answer whose form differs where nothing need be guessed: a legend in a list, names in another Unicode form."""
    if isinstance(question, Score) and isinstance(answer, dict) and isinstance(answer.get("legend"), list):
        return {**answer, "legend": {str(level): text for level, text in enumerate(answer["legend"])}}
    if isinstance(question, Choice) and isinstance(answer, dict):
        shares = answer.get("probabilities")
        if isinstance(shares, dict) and shares.keys() != question.criteria.keys():
            return _renamed(answer, shares, question)
    return answer


def _renamed(answer: dict[str, Any], shares: dict[str, Any], question: Choice) -> dict[str, Any]:
    """`answer` with its names as they were asked, if they are the same text to Unicode, each the same as one only."""
    asked = {normalize("NFC", name): name for name in question.criteria}
    given = {normalize("NFC", name): share for name, share in shares.items()}
    if asked.keys() != given.keys() or len(asked) != len(question.criteria) or len(given) != len(shares):
        return answer
    chosen = answer.get("choice")
    chosen = asked.get(normalize("NFC", chosen), chosen) if isinstance(chosen, str) else chosen
    return {**answer, "choice": chosen, "probabilities": {asked[name]: share for name, share in given.items()}}


def _evidence(body: Mapping[str, Any]) -> tuple[Evidence, ...]:
    """The citations of a reply, which stand for the whole call."""
    found = []
    citations = body.get("citations")
    for citation in citations if isinstance(citations, list) else ():
        url = said(citation.get("url")) if isinstance(citation, dict) else None
        if url is not None:
            excerpts = citation.get("excerpts")
            texts = tuple(text for text in excerpts if isinstance(text, str)) if isinstance(excerpts, list) else ()
            found.append(Evidence("call", url, said(citation.get("title")), texts))
    return tuple(found)
