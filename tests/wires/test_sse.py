"""Server-sent events, however their bytes are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decidable.providers.wires import sse
from decidable.providers.wires.sse import EventTooLongError, SseParser


def parsed(*chunks: bytes) -> list[tuple[str, str]]:
    parser = SseParser()
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return events + parser.end()


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"data: a\n\n", [("message", "a")]),
        (b"data:a\r\n\r\n", [("message", "a")]),
        (b"data:  a\r\r", [("message", " a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("message", "a")]),
        (b"event: x\ndata: a\n\ndata: b\n\n", [("x", "a"), ("message", "b")]),
        (b"data: a\ndata: b\n\n", [("message", "a\nb")]),
        (b": keep-alive\n\ndata: a\nid: 4\nretry: 5\nunknown\n\n", [("message", "a")]),
        (b"event: x\n\n", []),
        (b"data\n\n", [("message", "")]),
        (b"data: a", [("message", "a")]),
        (b"data: a\n", [("message", "a")]),
        ("data: \u20ac\U0001f600\n\n".encode(), [("message", "\u20ac\U0001f600")]),
        (b"data: \xff\n\n", [("message", "\ufffd")]),
        (b"", []),
        (b"\n\n\n", []),
    ],
)
def test_events(data, events):
    assert parsed(data) == events
    assert parsed(*(data[i : i + 1] for i in range(len(data)))) == events
    for cut in range(len(data)):
        assert parsed(data[:cut], data[cut:]) == events


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\r\n\ufeff", exclude_categories=["Cs"]), max_size=6), max_size=4
    ),
    st.sampled_from(["\n", "\r", "\r\n"]),
    st.data(),
)
def test_any_text_comes_through_any_cuts(texts, newline, data):
    stream = "".join(f"data: {text}{newline}{newline}" for text in texts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert parsed(*pieces) == [("message", text) for text in texts]


def test_an_event_without_an_end_is_not_kept_for_ever(monkeypatch):
    monkeypatch.setattr(sse, "_LONGEST", 1000)
    parser = SseParser()
    with pytest.raises(EventTooLongError):
        for _ in range(100):
            parser.feed(b"data: " + b"x" * 50)
    parser = SseParser()
    with pytest.raises(EventTooLongError):
        for _ in range(100):
            parser.feed(b"data: " + b"x" * 50 + b"\n")
    parser = SseParser()
    for _ in range(100):
        assert parser.feed(b"data: " + b"x" * 50 + b"\n\n") == [("message", "x" * 50)]
