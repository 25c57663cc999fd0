"""Each wire over a real socket: whole and streamed, cut, slow, limited, sent away; sync and async."""

from __future__ import annotations

import asyncio
import json
import time
from importlib import import_module

import pytest

from decidable import Finished, LLMError, Restarted, Runtime, TextDelta, connect
from decidable.flow.run import Host
from decidable.messages import Reply, Usage
from decidable.providers.endpoints import ENDPOINTS
from decidable.testing import allow_requests
from decidable.testing.fake_endpoint import _event
from loopback import Connection, serving

NAMES = ["openai", "openai-responses", "anthropic", "gemini"]
KEY = "sk-loopback"
PICK = Reply('{"call": "b"}', "stop", usage=Usage(11, 5), model="tiny", request_id="r1")


async def _no_sleep(seconds: float) -> None:
    pass


class Wire:
    """One wire's fake server side, and a runtime that speaks it to an address."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.fake = import_module(f"decidable.testing.fake_wires.{ENDPOINTS[name].wire.replace('-', '_')}")
        self.waits: list[float] = []

    def runtime(self, url: str, **settings) -> Runtime:
        host = Host(sleep=self.waits.append, sleep_async=self._waited)
        provider = connect(f"{self.name}:tiny", api_key=KEY, base_url=url)
        return Runtime(provider, **{"max_retries": 0, "host": host, **settings})

    async def _waited(self, seconds: float) -> None:
        self.waits.append(seconds)

    def whole(self, connection: Connection) -> None:
        connection.reply("200 OK", json.dumps(self.fake.answer(PICK, "tiny")).encode())

    def events(self) -> bytes:
        return "".join(_event(name, data) for name, data in self.fake.events(PICK, "tiny")).encode()

    def streamed(self, connection: Connection) -> None:
        data = self.events()
        connection.chunked([data[i : i + 7] for i in range(0, len(data), 7)])


@pytest.fixture(params=NAMES)
def wire(request) -> Wire:
    return Wire(request.param)


@pytest.fixture(autouse=True)
def real_requests():
    with allow_requests():
        yield


@pytest.fixture(params=["sync", "async"])
def events_of(request):
    def sync(rt: Runtime, *args, **kwargs):
        with rt, rt.stream(*args, **kwargs) as events:
            return list(events)

    def in_loop(rt: Runtime, *args, **kwargs):
        async def main():
            async with rt, rt.async_stream(*args, **kwargs) as events:
                return [event async for event in events]

        return asyncio.run(main())

    return sync if request.param == "sync" else in_loop


def test_a_decision_comes_back(wire, both):
    with serving(wire.whole) as server, wire.runtime(server.url) as rt:
        made = both.decide("Next?", ["a", "b"], runtime=rt)
    assert (made.result, made.provider, made.model, made.usage) == ("b", wire.name, "tiny", Usage(11, 5))


def test_a_stream_in_chunks_comes_back(wire, events_of):
    with serving(wire.streamed) as server:
        events = events_of(wire.runtime(server.url), "Next?", choices=["a", "b"])
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == PICK.text
    assert sum(isinstance(e, TextDelta) for e in events) > 1
    assert isinstance(events[-1], Finished)
    assert (events[-1].result.result, events[-1].result.usage) == ("b", Usage(11, 5))


def test_a_server_that_does_not_stream_after_all(wire, events_of):
    with serving(wire.whole) as server:
        events = events_of(wire.runtime(server.url), "Next?", choices=["a", "b"])
    assert events[-1].result.result == "b"


def test_a_stream_that_is_cut_is_tried_again_and_says_so(wire, events_of):
    def cut(connection: Connection) -> None:
        data = wire.events()
        connection.chunked([data[: len(data) * 2 // 3]], end=False)
        connection.cut()

    with serving(cut, wire.streamed) as server:
        events = events_of(wire.runtime(server.url, max_retries=1), "Next?", choices=["a", "b"])
    assert events[-1].result.result == "b"
    assert [e for e in events if isinstance(e, Restarted)] == [Restarted("failure", wire.name)]
    assert len(wire.waits) == 1


def test_a_stream_that_ends_early_without_a_cut_is_no_reply(wire, events_of):
    def early(connection: Connection) -> None:
        data = wire.events()
        connection.chunked([data[: len(data) // 2]])

    with serving(early) as server, pytest.raises(LLMError, match="broke off its reply") as caught:
        events_of(wire.runtime(server.url), "Next?", choices=["a", "b"])
    assert caught.value.reason == "transport"


def test_a_body_that_is_cut_is_tried_again(wire, both):
    def cut(connection: Connection) -> None:
        body = json.dumps(wire.fake.answer(PICK, "tiny")).encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        connection.send(head.encode() + body[: len(body) // 2])
        connection.cut()

    with serving(cut, wire.whole) as server, wire.runtime(server.url, max_retries=1) as rt:
        assert both.make("Next?", ["a", "b"], runtime=rt) == "b"
    assert len(wire.waits) == 1


def test_a_limit_is_waited_for_as_long_as_it_asks(wire, both):
    def limited(connection: Connection) -> None:
        body = json.dumps(wire.fake.failure(429, "", "slow down")).encode()
        connection.reply("429 Too Many Requests", body, more="retry-after: 3\r\n")

    with serving(limited, wire.whole) as server, wire.runtime(server.url, max_retries=1) as rt:
        assert both.make("Next?", ["a", "b"], runtime=rt) == "b"
    assert 3.0 <= wire.waits[0] <= 3.75


def test_headers_that_do_not_come(wire, both):
    with serving(lambda connection: connection.closed_by_peer(5)) as server, wire.runtime(server.url) as rt:
        began = time.monotonic()
        with pytest.raises(LLMError) as caught:
            both.make("Next?", ["a", "b"], runtime=rt, timeout_s=0.2)
        assert caught.value.reason == "timeout"
        assert time.monotonic() - began < 2


def test_a_redirect_would_take_the_key_along(wire, both):
    def away(connection: Connection) -> None:
        connection.reply("302 Found", b"", more="location: http://127.0.0.1:9/\r\n")

    with serving(away) as server, wire.runtime(server.url) as rt:
        with pytest.raises(LLMError, match="redirects elsewhere") as caught:
            both.make("Next?", ["a", "b"], runtime=rt)
        assert caught.value.http_status == 302
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "reason"), [(400, "invalid"), (401, "auth"), (403, "authz"), (404, "invalid"), (500, "provider")]
)
def test_failures_have_their_reason_also_where_a_stream_was_wanted(wire, events_of, status, reason):
    def fail(connection: Connection) -> None:
        connection.reply(f"{status} Oops", json.dumps(wire.fake.failure(status, "", "no")).encode())

    with serving(fail) as server, pytest.raises(LLMError) as caught:
        events_of(wire.runtime(server.url), "Hello")
    assert (caught.value.reason, caught.value.http_status, caught.value.provider) == (reason, status, wire.name)


def test_a_loop_that_is_left_early_closes_the_connection(wire):
    gone = []

    def endless(connection: Connection) -> None:
        data = wire.events()
        try:
            connection.chunked([data[: len(data) * 2 // 3]], end=False)
            gone.append(connection.closed_by_peer(5))
        except OSError:
            gone.append(True)

    with serving(endless) as server, wire.runtime(server.url) as rt:
        with rt.stream("Hello") as events:
            next(events)
        for _ in range(200):
            if gone:
                break
            time.sleep(0.01)
    assert gone == [True]
