"""What a caller gives for a connection, checked; no error shows a value that may be a secret."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from decidable.errors import SettingError

__all__ = ["checked_extra", "is_key", "key_headers", "merged_headers"]


def merged_headers(name: str, *groups: Mapping[str, str]) -> dict[str, str]:
    """Headers by lower-case name, the last to name one having the last word.

    Raises:
        SettingError: One is no header. Its value is not shown, as it may be a secret.
    """
    headers: dict[str, str] = {}
    for group in groups:
        for header, value in group.items():
            plain = isinstance(header, str) and isinstance(value, str) and header.isascii() and value.isascii()
            if not plain or not value.isprintable():
                raise SettingError(
                    f"header {header!r} of {name!r}: its name and its value must be printable ASCII text"
                )
            headers[header.lower()] = value
    return headers


def checked_extra(name: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Fields for each body.

    Raises:
        SettingError: They are not JSON.
    """
    try:
        json.dumps(extra)
    except (TypeError, ValueError) as error:
        raise SettingError(f"extra of {name!r} must be JSON: {error}") from None
    return dict(extra)


def is_key(key: str) -> bool:
    """Whether a text can be a key: a line break in it would be a header of its own."""
    return key.isascii() and key.isprintable() and key == key.strip()


def key_headers(header: str, key: str) -> dict[str, str]:
    """The header that carries a key; in ``authorization`` it follows the word Bearer."""
    return {header: f"Bearer {key}" if header == "authorization" else key}
