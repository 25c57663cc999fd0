"""Images beside a state, with the rules of the services that take them."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from decidable.testing.systemone.arriving import Arrived
from decidable.testing.systemone.failing import Failure, Problem, invalid
from decidable.testing.systemone.models import FauxModel

__all__ = ["check_images", "images_in", "pinned"]

_LONGEST_TOKEN = 1024
_FORMATS = ("png", "jpg", "jpeg")
HEADER = "typesafe-danger-zone-images"


def images_in(came: Arrived) -> dict[str, bytes]:
    """The images of a body in the System One spelling, by token.

    Raises:
        Failure: One of them is not of the form that is taken.
    """
    assets = came.body.get("assets") if isinstance(came.body, dict) else None
    if assets is None and not came.parts:
        return {}
    if not isinstance(assets, dict) or not assets:
        raise invalid(Problem(("assets",), "must be an object, and not empty", "dict_type"))
    found = {token: _image(token, asset, came.parts) for token, asset in assets.items()}
    claimed = [asset["part"] for asset in assets.values() if "part" in asset]
    if sorted(claimed) != sorted(came.parts):
        raise Failure(400, "each part must be claimed by exactly one asset")
    return found


def _image(token: str, asset: Any, parts: Mapping[str, bytes]) -> bytes:
    where = ("assets", token)
    if not token.strip() or len(token.encode("utf-8", "surrogatepass")) > _LONGEST_TOKEN:
        raise invalid(Problem(("assets",), f"a token is text of 1 to {_LONGEST_TOKEN} bytes"))
    if not isinstance(asset, dict) or asset.get("type", "image") != "image":
        raise invalid(Problem(where, "must be an object of type 'image'", "dict_type"))
    if "part" in asset:
        name = asset["part"]
        if not isinstance(name, str) or name not in parts:
            raise invalid(Problem((*where, "part"), "must name a part of the body", "missing"))
        return parts[name]
    if asset.get("format") not in _FORMATS:
        raise invalid(Problem((*where, "format"), "must be 'png', 'jpg' or 'jpeg'", "literal_error"))
    try:
        data = b64decode(asset.get("data_base64", ""), validate=True)
    except (binascii.Error, ValueError, TypeError):
        data = b""
    if not data:
        raise invalid(Problem((*where, "data_base64"), "must be plain base64, and not empty", "value_error"))
    return data


def check_images(
    images: Mapping[str, bytes], body: Mapping[str, Any], headers: Mapping[str, str], model: FauxModel
) -> None:
    """Nothing, if the model reads these images where their tokens stand.

    Raises:
        Failure: It does not, with status 400.
    """
    if not images:
        return
    if headers.get(HEADER, "").lower() != "true":
        raise Failure(400, f"images need the header {HEADER}: true")
    if not model.images:
        raise Failure(400, "this model takes no images")
    state, questions = body["state"], list(body["questions"].values())
    texts = [*_texts(state), *_texts(questions)]
    if any(not any(token in text for text in texts) for token in images):
        raise Failure(400, "each asset must be referred to")
    if model.reads_anywhere:
        return
    items = state if isinstance(state, list) else [state]
    rest = [item for item in items if not (isinstance(state, list) and isinstance(item, str) and item in images)]
    if any(token in text for token in images for text in [*_texts(rest), *_texts(questions)]):
        raise Failure(400, "this model reads an image only as an item of an array state, and nowhere else")


def pinned(value: Any, images: Mapping[str, bytes]) -> Any:
    """`value` with the digest of each image for its token, which is whatever a client made up."""
    if not images:
        return value
    if isinstance(value, str):
        for token in sorted(images, key=len, reverse=True):
            value = value.replace(token, f"sha256:{sha256(images[token]).hexdigest()}")
        return value
    if isinstance(value, dict):
        return {key: pinned(inner, images) for key, inner in value.items()}
    return [pinned(inner, images) for inner in value] if isinstance(value, list) else value


def _texts(value: Any) -> Iterator[str]:
    """Every string in a JSON value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
