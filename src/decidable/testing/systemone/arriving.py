"""What came over the wire, read: decompressed, taken apart where it has several parts, and parsed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Any, NoReturn

from decidable.testing.systemone.checking import levels_of
from decidable.testing.systemone.failing import Failure, Problem, invalid

__all__ = ["Arrived", "arrived"]

_LARGEST = 64 * 1024 * 1024
_DEEPEST = 100
"""Levels of a whole body; what is deeper could not even be written down again."""
_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 47}
"""Names of what zlib undoes, and how it is told to."""


@dataclass(frozen=True, slots=True, eq=False)
class Arrived:
    """A body that was read.

    Attributes:
        body: Its JSON; None if it has none.
        size: Its bytes, decompressed.
        parts: The parts beside the JSON, by name.
        multipart: Whether it came in parts.
        failure: Why it cannot be used, or None.
    """

    body: Any = None
    size: int = 0
    parts: Mapping[str, bytes] = field(default_factory=dict)
    multipart: bool = False
    failure: Failure | None = None


def arrived(headers: Mapping[str, str], raw: bytes) -> Arrived:
    """A request's body, whatever its form; nothing is raised, as who asks is found out before what is wrong."""
    try:
        whole = _decompressed(headers.get("content-encoding", ""), raw)
        kind = _message(headers.get("content-type", ""))
        if kind.get_content_type() != "multipart/form-data":
            return Arrived(_parsed(whole), len(whole))
        parts = _parts(whole, str(kind.get_param("boundary", "")))
        body = _parsed(parts.pop("request"))
    except Failure as failure:
        return Arrived(size=len(raw), failure=failure)
    return Arrived(body, len(whole), parts, multipart=True)


def _decompressed(encoding: str, raw: bytes) -> bytes:
    for name in reversed([step.strip().lower() for step in encoding.split(",") if step.strip()]):
        if name == "identity":
            continue
        if name not in _WINDOWS:
            raise Failure(415, "bodies may be compressed by gzip or deflate alone", "unsupported_content_encoding")
        raw = _inflated(raw, _WINDOWS[name])
    return raw


def _inflated(raw: bytes, window: int) -> bytes:
    undo = zlib.decompressobj(window)
    try:
        whole = undo.decompress(raw, _LARGEST + 1)
    except zlib.error:
        whole = b""
    if len(whole) > _LARGEST:
        raise Failure(413, "the body is larger than is taken")
    if not undo.eof:
        raise Failure(400, "the body cannot be decompressed")
    return whole


def _parsed(whole: bytes) -> Any:
    problem = Problem((), "is not JSON", "json_invalid")
    try:
        body = json.loads(whole.decode("utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        body = problem
    if body is problem:  # raised out here: the error that json raises holds the whole body
        raise invalid(problem)
    if levels_of(body) > _DEEPEST:
        raise invalid(Problem((), f"must be nested at most {_DEEPEST} levels deep", "too_deep"))
    return body


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _message(content_type: str, disposition: str = "") -> Message:
    message = Message()
    message["content-type"] = content_type or "application/json"
    message["content-disposition"] = disposition
    return message


def _parts(whole: bytes, boundary: str) -> dict[str, bytes]:
    """The parts of a form, by name.

    Cut by hand: the parser in `email` reads lines, of which an image has none.
    """
    found: dict[str, bytes] = {}
    pieces = (b"\r\n" + whole).split(b"\r\n--" + boundary.encode("ascii", "replace"))
    if not boundary or len(pieces) < 3 or not pieces[-1].startswith(b"--"):
        raise Failure(400, "the body is no form of several parts")
    for piece in pieces[1:-1]:
        head, _, content = piece.partition(b"\r\n\r\n")
        lines = [line.partition(":") for line in head.decode("latin-1").strip().split("\r\n")]
        fields = {name.strip().lower(): value.strip() for name, _, value in lines}
        kind = _message("", fields.get("content-disposition", ""))
        name = kind.get_param("name", header="content-disposition")
        if not isinstance(name, str) or name in found:
            raise Failure(400, "each part needs a name of its own")
        found[name] = content
    if "request" not in found:
        raise Failure(400, "a body of several parts needs one named 'request'")
    return found
