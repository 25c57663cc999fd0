"""What goes into a prompt: plain text, or blocks of text and media, in one immutable form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from decidable.errors import ContentError

__all__ = ["Content", "ContentInput", "MediaPart", "TextPart", "blocks_of", "content_of", "text_of"]


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of text."""

    text: str


@dataclass(frozen=True, slots=True)
class MediaPart:
    """A piece of media, already in memory.

    Attributes:
        kind: ``"image"``, ``"audio"``, ``"video"`` or ``"file"``.
        data: The bytes as they are, not base64.
        mime_type: E.g. ``"image/png"``.
    """

    kind: str
    data: bytes
    mime_type: str

    def __repr__(self) -> str:
        return f"MediaPart({self.kind!r}, {len(self.data)} bytes, {self.mime_type!r})"


Content: TypeAlias = "str | tuple[TextPart | MediaPart, ...]"
"""A plain string stays one: it is the common case, and costs nothing."""

ContentInput: TypeAlias = "str | Iterable[str | TextPart | MediaPart | Mapping[str, Any]]"

_MEDIA = ("image", "audio", "video", "file")


def content_of(value: ContentInput) -> Content:
    """Make `Content` of what a caller wrote.

    Args:
        value: A string, or blocks: strings, parts, or mappings such as ``{"type": "text", "text": "..."}`` and
            ``{"type": "image", "path": "a.png"}`` or ``{"type": "image", "data": b"...", "mime_type": "image/png"}``.
            ``data`` may be bytes or a base64 string.

    Raises:
        ContentError: A block of unknown type, or one that lacks what its type needs.
        OSError: The file of a ``path`` block cannot be read.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, Mapping)) or not isinstance(value, Iterable):
        raise ContentError(f"content must be a str or a list of blocks, not {type(value).__name__}")
    return tuple(_part(block, i) for i, block in enumerate(value))


def text_of(content: Content) -> str:
    """The text in `content`, parts joined by blank lines; media is left out."""
    if isinstance(content, str):
        return content
    return "\n\n".join(part.text for part in content if isinstance(part, TextPart))


def blocks_of(content: Content) -> list[dict[str, Any]]:
    """`content` as a list of mappings, the form that host functions receive."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [
        {"type": "text", "text": part.text}
        if isinstance(part, TextPart)
        else {"type": part.kind, "data": part.data, "mime_type": part.mime_type}
        for part in content
    ]


def with_text(content: Content, tail: str) -> Content:
    """`content` followed by a blank line and `tail`."""
    if isinstance(content, str):
        return f"{content}\n\n{tail}" if content else tail
    return (*content, TextPart(tail))


def _part(block: Any, index: int) -> TextPart | MediaPart:
    if isinstance(block, (TextPart, MediaPart)):
        return block
    if isinstance(block, str):
        return TextPart(block)
    if not isinstance(block, Mapping):
        raise ContentError(f"content block {index} must be a str or a mapping with a 'type', not {block!r}")
    kind = block.get("type")
    if kind == "text":
        text = block.get("text")
        if not isinstance(text, str):
            raise ContentError(f"content block {index} is of type 'text' and needs a str 'text', not {text!r}")
        return TextPart(text)
    if kind in _MEDIA:
        return _media(str(kind), block, index)
    if kind == "image_url":
        raise ContentError(
            f"content block {index}: write an image as {{'type': 'image', 'path': ...}}, or with 'data' and 'mime_type'"
        )
    known = ", ".join(repr(k) for k in ("text", *_MEDIA))
    raise ContentError(f"content block {index} has the unknown type {kind!r}; known types: {known}")


def _media(kind: str, block: Mapping[str, Any], index: int) -> MediaPart:
    mime_type, data, path = block.get("mime_type"), block.get("data"), block.get("path")
    if path is not None:
        import mimetypes  # costs 10 ms; only media needs it
        from pathlib import Path

        mime_type = mime_type or mimetypes.guess_type(str(path))[0]
        data = Path(path).read_bytes()
    elif isinstance(data, str):
        import base64
        import binascii

        try:
            data = base64.b64decode(data, validate=True)
        except binascii.Error as error:
            raise ContentError(f"content block {index}: 'data' is a str but not base64 ({error})") from None
    if not isinstance(data, bytes) or not isinstance(mime_type, str):
        raise ContentError(f"content block {index} of type {kind!r} needs a 'path', or 'data' and 'mime_type'")
    if kind != "file" and not mime_type.startswith(f"{kind}/"):
        raise ContentError(f"content block {index} is of type {kind!r}, but its MIME type is {mime_type!r}")
    return MediaPart(kind, data, mime_type)
