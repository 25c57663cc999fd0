"""OpenAI's Decisions: an input and a list of questions, answered by a list in the same order."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from decidable.testing.systemone.answers import (
    choice_confidence,
    distribution,
    mean,
    probability,
    score_confidence,
    seed_of,
)
from decidable.testing.systemone.checking import levels_of
from decidable.testing.systemone.dialects import OPENAI
from decidable.testing.systemone.failing import Problem, invalid

__all__ = ["answer", "check", "images_in", "takes_images"]

_PARTS = {
    "user": ("input_text", "input_image", "input_json"),
    "developer": ("input_text",),
    "system": ("input_text",),
    "assistant": ("output_text", "refusal"),
}
_CALLS = ("function_call", "custom_tool_call")
_DEEPEST, _MOST_VALUES, _LARGEST = 32, 10_000, 256 * 1024
"""What one ``input_json`` part may hold: levels, values, bytes."""


def answer(body: Mapping[str, Any], model: str, tokens: int) -> dict[str, Any]:
    """What is answered to a body that `check` let pass."""
    return {
        "model": model,
        "answers": [_answer(question, body["input"], model) for question in body["questions"]],
        "usage": {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens,
        },
    }


def _answer(question: Mapping[str, Any], shown: Any, model: str) -> dict[str, Any]:
    kind, name = question["type"], question.get("name")
    listed = question.get("choices" if kind == "choice" else "levels") or []
    seed = seed_of(model, kind, question["instructions"], listed, shown)
    if kind == "predicate":
        return {"type": kind, "name": name, "probability": probability(seed)}
    shares = distribution(seed, len(listed))
    if kind == "choice":
        values = [one["value"] for one in listed]
        return {
            "type": kind,
            "name": name,
            "choice": values[shares.index(max(shares))],
            "confidence": choice_confidence(shares),
            "probabilities": [{"value": v, "probability": p} for v, p in zip(values, shares, strict=True)],
        }
    levels = enumerate(zip(listed, shares, strict=True))
    return {
        "type": kind,
        "name": name,
        "score": mean(shares),
        "confidence": score_confidence(shares),
        "probabilities": [{"value": n, "label": one["label"], "probability": p} for n, (one, p) in levels],
    }


# --- images -----------------------------------------------------------------------------------------------------------


def images_in(body: Any) -> dict[str, bytes]:
    """The images that stand in a body as data URLs, numbered from ``"0"``."""
    found: dict[str, bytes] = {}
    for part in _image_parts(body):
        head, _, data = str(part.get("image_url", "")).partition(";base64,")
        if head.startswith("data:"):
            try:
                found[str(len(found))] = b64decode(data, validate=True)
            except ValueError:
                found[str(len(found))] = b""
    return found


def takes_images(body: Any) -> bool:
    """Whether a body shows an image, be it by its address."""
    return bool(_image_parts(body))


def _image_parts(body: Any) -> list[dict[str, Any]]:
    items = body.get("input") if isinstance(body, dict) else None
    contents = [item.get("content") for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return [part for part in parts if isinstance(part, dict) and part.get("type") == "input_image"]


# --- what is accepted -------------------------------------------------------------------------------------------------


def check(body: Any) -> dict[str, Any]:
    """`body`, if it is sound.

    Raises:
        Failure: With everything that is wrong.
    """
    if not isinstance(body, dict):
        raise invalid(Problem((), "must be an object", "dict_type"))
    problems = [*_model(body), *_input(body.get("input")), *_questions(body.get("questions"))]
    if problems:
        raise invalid(*problems)
    return body


def _model(body: Mapping[str, Any]) -> Iterator[Problem]:
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield Problem(("model",), "must be a string, and not empty", "missing")


def _input(shown: Any) -> Iterator[Problem]:
    if isinstance(shown, str):
        return
    if not isinstance(shown, list) or not shown:
        yield Problem(("input",), "must be a string or an array of items", "missing")
        return
    calls: set[str] = set()
    for place, item in enumerate(shown):
        for problem in _item(item, calls):
            yield Problem(("input", place, *problem.where), problem.message, problem.kind)


def _item(item: Any, calls: set[str]) -> Iterator[Problem]:
    """What is wrong with one item; `calls` holds the ids of the calls before it."""
    if not isinstance(item, dict):
        yield Problem((), "must be an object", "dict_type")
        return
    kind, call_id = item.get("type", "message"), item.get("call_id")
    if kind in _CALLS and isinstance(call_id, str):
        calls.add(call_id)
    elif kind in [f"{call}_output" for call in _CALLS]:
        if not isinstance(call_id, str) or call_id not in calls:
            yield Problem(("call_id",), "must be that of a call before it")
    elif kind == "message":
        yield from _message(item)
    else:
        yield Problem(("type",), "must be a message, a call or a call's output", "literal_error")


def _message(item: Mapping[str, Any]) -> Iterator[Problem]:
    content = item.get("content")
    if item.get("role") not in [*_PARTS]:
        yield Problem(("role",), "must be 'user', 'developer', 'system' or 'assistant'", "literal_error")
    elif isinstance(content, list):
        for place, part in enumerate(content):
            if message := _part(part, _PARTS[item["role"]]):
                yield Problem(("content", place), message)
    elif not isinstance(content, str):
        yield Problem(("content",), "must be a string or an array of parts", "missing")


def _part(part: Any, kinds: Sequence[str]) -> str | None:
    """What is wrong with one part, or None."""
    if not isinstance(part, dict) or part.get("type") not in kinds:
        return f"must be of type {' or '.join(kinds)}"
    if part["type"] in ("input_text", "output_text") and not isinstance(part.get("text"), str):
        return "needs a text"
    if part["type"] == "input_image" and not isinstance(part.get("image_url"), str):
        return "needs the URL of an image"
    return _data(part.get("data")) if part["type"] == "input_json" else None


def _data(data: Any) -> str | None:
    listed = isinstance(data, list) and data and all(isinstance(one, dict) for one in data)
    if not isinstance(data, dict) and not listed:
        return "data must be an object or a list of objects"
    if levels_of(data) > _DEEPEST or _values(data) > _MOST_VALUES or len(json.dumps(data).encode()) > _LARGEST:
        return f"data may hold {_DEEPEST} levels, {_MOST_VALUES} values and {_LARGEST} bytes"
    return None


def _values(data: Any) -> int:
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return 1 + sum(_values(one) for one in inner)


def _questions(questions: Any) -> Iterator[Problem]:
    most = OPENAI.questions or 0
    if not isinstance(questions, list) or not 1 <= len(questions) <= most:
        yield Problem(("questions",), f"must be an array of 1 to {most} questions", "missing")
        return
    for place, question in enumerate(questions):
        if found := _question(question):
            yield Problem(("questions", place), found)


def _question(question: Any) -> str | None:
    """What is wrong with one question, or None."""
    if not isinstance(question, dict) or question.get("type") not in ("predicate", "choice", "score"):
        return "must be an object of type predicate, choice or score"
    if not isinstance(question.get("instructions"), str) or not question["instructions"]:
        return "needs instructions"
    if not isinstance(question.get("name"), (str, type(None))):
        return "its name must be a string or null"
    if question["type"] == "choice":
        return _listed(question.get("choices"), "value", (str, bool), OPENAI.options)
    if question["type"] == "score":
        return _listed(question.get("levels"), "label", (str,), OPENAI.levels)
    return None


def _listed(listed: Any, key: str, types: tuple[type, ...], bounds: tuple[int, int]) -> str | None:
    """What is wrong with the choices or levels of a question, or None."""
    fewest, most = bounds
    if not isinstance(listed, list) or not fewest <= len(listed) <= most:
        return f"needs an array of {fewest} to {most} that each have a {key}"
    for one in listed:
        if not isinstance(one, dict) or not isinstance(one.get(key), types):
            return f"each {key} must be a {' or '.join(kind.__name__ for kind in types)}"
        if not isinstance(one.get("description"), (str, type(None))):
            return "a description must be a string or null"
    # a string and a boolean of the same text differ
    if len({(type(one[key]), one[key]) for one in listed}) < len(listed):
        return f"no two may have the same {key}"
    return None
