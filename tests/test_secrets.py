"""A key, and what a server says of it, shows up nowhere: not in errors, logs, reprs or traces."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback

import httpx
import pytest

from decidable import DecidableError, Runtime, connect, decision, trace
from decidable.providers.endpoints import ENDPOINTS
from decidable.testing import allow_requests
from loopback import serving

KEY = "sk-marker-4f9d8c7b6a5e4d3c2b1a"
PROMPT = "prompt-marker-90210"
BODY = "body-marker-5150"
HEADER = "header-marker-1984"


@pytest.fixture(autouse=True)
def everything_is_logged(caplog):
    caplog.set_level(logging.DEBUG)
    with allow_requests():
        yield


def told(error: BaseException) -> str:
    """All that an error says, in every way in which it may be shown."""
    said, seen = [], set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        said += [str(one), repr(one), repr(one.args), repr(getattr(one, "__notes__", "")), repr(vars(one))]
        said += [repr(value) for value in vars(one).values()]
        for name in ("request", "_request", "response"):
            try:
                held = getattr(one, name, None)
            except RuntimeError:  # httpx: no request is set
                continue
            said += [repr(getattr(held, "headers", "")), repr(getattr(held, "content", ""))]
        waiting += [one.__cause__, one.__context__]
    said.append("".join(traceback.format_exception(error)))
    for frame, _ in traceback.walk_tb(error.__traceback__):  # what tools that show local variables would show
        if frame.f_globals["__name__"].startswith("decidable."):
            said += [f"{name} = {value!r}" for name, value in frame.f_locals.items()]
    return "\n".join(said)


def quoting(status: int) -> httpx.Response:
    """A server that quotes everything it was sent."""
    words = f"Incorrect API key provided: {KEY}. You sent: {PROMPT}. {BODY}"
    error = {"message": words, "type": BODY, "code": KEY, "param": PROMPT, "status": KEY, "details": [{"x": words}]}
    return httpx.Response(status, json={"error": error, "message": words}, headers={"x-echo": HEADER + KEY})


@pytest.mark.parametrize("name", sorted(ENDPOINTS))
@pytest.mark.parametrize("status", [200, 307, 400, 401, 429, 500])
def test_failures_quote_nothing(name, status, caplog):
    transport = httpx.MockTransport(lambda request: quoting(status))
    provider = connect(
        f"{name}:tiny",
        api_key=KEY,
        base_url="https://given.example/v1",
        headers={"x-own": HEADER},
        client=httpx.Client(transport=transport),
        async_client=httpx.AsyncClient(transport=transport),
    )
    rt = Runtime(provider, max_retries=0)
    with trace() as nodes:
        with pytest.raises(DecidableError) as caught:
            rt.exec(PROMPT)
        with pytest.raises(DecidableError) as caught_async:
            asyncio.run(rt.async_exec(PROMPT))
        with pytest.raises(DecidableError) as caught_stream:
            list(rt.stream(PROMPT))
    for error in (caught.value, caught_async.value, caught_stream.value):
        said = told(error)
        for marker in (KEY, HEADER):
            assert marker not in said
        assert BODY not in str(error)
        assert PROMPT not in str(error)
        assert BODY not in repr(vars(error))
    for shown in (caplog.text, repr(rt), repr(provider), str(nodes), repr(nodes), repr(provider._transport)):
        assert KEY not in shown
        assert HEADER not in shown
        assert BODY not in shown
    assert KEY not in repr(nodes.nodes)
    assert HEADER not in repr(nodes.nodes)


def test_broken_connections_quote_nothing(caplog):
    def cut(connection):
        connection.cut()

    with serving(cut) as server:
        for url in (server.url, "http://127.0.0.1:9"):
            with Runtime(connect("openai:tiny", api_key=KEY, base_url=url), max_retries=0) as rt:
                for ask in (rt.exec, lambda prompt, rt=rt: asyncio.run(rt.async_exec(prompt))):
                    with pytest.raises(DecidableError) as caught:
                        ask(PROMPT)
                    assert KEY not in told(caught.value)
                    assert PROMPT not in str(caught.value)
    assert KEY not in caplog.text
    assert PROMPT not in caplog.text


def test_replies_that_make_no_sense_quote_nothing():
    transport = httpx.MockTransport(lambda request: httpx.Response(200, text=f"{BODY} {KEY}"))
    client = httpx.Client(transport=transport)
    rt = Runtime(connect("openai:tiny", api_key=KEY, client=client), max_retries=0)
    with pytest.raises(DecidableError) as caught:
        decision.make(PROMPT, ["a", "b"], runtime=rt)
    assert KEY not in told(caught.value)
    assert BODY not in str(caught.value)


def test_no_key_goes_into_a_path_or_a_body():
    sent = []

    def keep(request):
        sent.append(request)
        return httpx.Response(500)

    for name in ENDPOINTS:
        client = httpx.Client(transport=httpx.MockTransport(keep))
        provider = connect(f"{name}:tiny", api_key=KEY, base_url="https://given.example/v1", client=client)
        with pytest.raises(DecidableError):
            Runtime(provider, max_retries=0).exec(PROMPT)
    assert len(sent) == len(ENDPOINTS)
    for request in sent:
        assert KEY not in str(request.url)
        assert KEY not in request.content.decode()
        assert sum(KEY in value for value in request.headers.values()) == 1
        json.loads(request.content)
