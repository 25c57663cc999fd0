"""Images beside a state: where a token may stand, how large an image may be, and the form that each model reads.

Experimental, as it is with the services themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from decidable.content import MediaPart
from decidable.providers.decision_endpoint import DecisionEndpoint
from decidable.questions.spelling import question_json
from decidable.questions.types import QuestionRequest

__all__ = ["image_problem", "is_jev", "size_of", "state_with_images"]

_FORMATS = ("image/png", "image/jpg", "image/jpeg")
_LONGEST_TOKEN = 1024
_FIELDS = "image_fields"


def is_jev(model: str | None) -> bool:
    """Whether a model is one of the Jev family, which reads a token wherever it stands."""
    return (model or "").removeprefix("~").startswith(("typesafe/", "jev-"))


def image_problem(request: QuestionRequest, endpoint: DecisionEndpoint, model: str | None) -> str | None:
    """Why the images of a request cannot be sent, or None if they can."""
    for token, image in request.images.items():
        if not token.strip() or len(token.encode("utf-8", "surrogatepass")) > _LONGEST_TOKEN:
            return f"an image's token is text of 1 to {_LONGEST_TOKEN} bytes, not {token[:40]!r}"
        if not isinstance(image, MediaPart) or image.mime_type not in _FORMATS:
            return f"image {token!r} must be a PNG or JPEG"
    if endpoint.images == "parts":
        return None
    everywhere = endpoint.images == "assets" or is_jev(model)
    return _unused(request) or _too_large(request, endpoint) if everywhere else _misplaced(request)


def _unused(request: QuestionRequest) -> str | None:
    texts = [*_texts(request.state), *(t for q in request.questions.values() for t in _texts(question_json(q)))]
    for token in request.images:
        if not any(token in text for text in texts):
            return f"image {token!r} stands nowhere in the state or a question"
    return None


def _too_large(request: QuestionRequest, endpoint: DecisionEndpoint) -> str | None:
    most = endpoint.max_image_side
    for token, image in request.images.items():
        size = size_of(image.data)
        if size is None:
            return f"image {token!r} is no PNG or JPEG that can be read"
        if most is not None and max(size) > most:
            return f"image {token!r} is {size[0]} x {size[1]} pixels, and at most {most} on a side are taken"
    return None


def _misplaced(request: QuestionRequest) -> str | None:
    """Why a model that reads images as items of a list cannot be shown these."""
    state, tokens = request.state, request.images
    if isinstance(state, Mapping) and _FIELDS in state:
        return f"the state has a field {_FIELDS!r}, by which it would be told where its images stood"
    top = _top_level(state)
    for token in tokens:
        if token not in top:
            return f"image {token!r} must be a whole top-level value of the state for this model"
    rest = list(state.values()) if isinstance(state, Mapping) else state if isinstance(state, list) else []
    inner = [item for item in rest if not (isinstance(item, str) and item in tokens)]
    elsewhere = [*_texts(inner), *(text for q in request.questions.values() for text in _texts(question_json(q)))]
    if isinstance(state, Mapping):
        elsewhere += [str(key) for key in state]
    for token in tokens:
        if any(token in text for text in elsewhere):
            return f"image {token!r} also stands deeper in the state, within a text or in a question, unread there"
    return None


def _top_level(state: Any) -> list[str]:
    values = state.values() if isinstance(state, Mapping) else state if isinstance(state, list) else [state]
    return [value for value in values if isinstance(value, str)]


def state_with_images(request: QuestionRequest) -> Any:
    """The state as a model reads it that takes images as items of a list only; `image_problem` says whether it can."""
    state, tokens = request.state, request.images
    if isinstance(state, str):
        return [state]
    if not isinstance(state, Mapping):
        return state
    held = {name: value for name, value in state.items() if isinstance(value, str) and value in tokens}
    rest = {name: value for name, value in state.items() if name not in held}
    return [{**rest, _FIELDS: list(held)}, *held.values()]


def _texts(value: Any) -> Iterator[str]:
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            left.extend(item.keys())
            left.extend(item.values())
        elif isinstance(item, (list, tuple)):
            left.extend(item)


def listed_models(body: bytes) -> frozenset[str]:
    """The models of a catalogue that take images.

    Raises:
        ValueError: It is no catalogue.
    """
    found = json.loads(body)
    models = found.get("data") if isinstance(found, dict) else None
    if not isinstance(models, list):
        raise ValueError("no list of models")  # noqa: TRY004 - the value of what was read, not an argument
    return frozenset(
        model["id"]
        for model in models
        if isinstance(model, dict)
        and isinstance(model.get("id"), str)
        and isinstance(model.get("architecture"), dict)
        and "image" in (model["architecture"].get("input_modalities") or ())
    )


def size_of(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG (from its IHDR) or a JPEG (from its SOF); None of anything else."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR" and len(data) >= 24:
        return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    return _jpeg_size(data) if data[:2] == b"\xff\xd8" else None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        if marker == 0xFF:  # padding
            place += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:  # markers that stand alone
            place += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # start of a frame
            return int.from_bytes(data[place + 7 : place + 9]), int.from_bytes(data[place + 5 : place + 7])
        else:
            place += 2 + int.from_bytes(data[place + 2 : place + 4])
    return None
