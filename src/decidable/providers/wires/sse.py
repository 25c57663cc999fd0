"""Server-sent events out of bytes, however they are cut.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import codecs

__all__ = ["EventTooLongError", "SseParser"]

_LONGEST = 32 * 1024 * 1024


class EventTooLongError(ValueError):
    """A single event is longer than any reply."""


class SseParser:
    """Feed it chunks; it gives the events that they complete."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest: list[str] = []
        self._held = 0
        self._data: list[str] = []
        self._event = ""
        self._begun = False
        self._after_return = False

    def feed(self, chunk: bytes) -> list[tuple[str, str]]:
        """The events that end in `chunk`, as pairs of name (``"message"`` if it has none) and data.

        Raises:
            EventTooLongError: One is longer than 32 MiB.
        """
        text = self._decoder.decode(chunk)
        if text and not self._begun:
            self._begun = True
            text = text.removeprefix("\ufeff")
        if self._after_return and text:  # CR and LF that a cut has parted are one line end
            self._after_return = False
            text = text.removeprefix("\n")
        if text.endswith("\r"):
            self._after_return = True
        *lines, last = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        events = []
        for line in lines:
            whole = "".join((*self._rest, line))
            self._rest = []
            if (event := self._line(whole)) is not None:
                events.append(event)
        if last:
            self._rest.append(last)
        self._held = len(last) if lines else self._held + len(last)
        if self._held + sum(map(len, self._data)) > _LONGEST:
            raise EventTooLongError("a server-sent event is longer than 32 MiB")
        return events

    def end(self) -> list[tuple[str, str]]:
        """The event that the end of the stream completes, if one is open; servers leave out the last blank line."""
        events = self.feed(b"\n") if self._rest else []
        if self._data:
            events += self.feed(b"\n\n")
        return events

    def _line(self, line: str) -> tuple[str, str] | None:
        if not line:
            event, data = self._event or "message", self._data
            self._event, self._data = "", []
            return (event, "\n".join(data)) if data else None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        return None
