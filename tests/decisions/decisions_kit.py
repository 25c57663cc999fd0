"""What the tests of every wire share: a fake service, a judge on it, and both ways of asking."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from decidable.judging import Judge
from decidable.providers.wires.codec import HttpReply
from decidable.testing import allow_requests
from decidable.testing.provider_conformance import FakeTransport, FastClock, assert_no_secret

FIXTURES = Path(__file__).parent / "fixtures"


def reply(body, status=200, **headers):
    """An answer: JSON, or the name of a fixture, or bytes."""
    if isinstance(body, str):
        body = (FIXTURES / f"{body}.json").read_bytes()
    elif not isinstance(body, bytes):
        body = json.dumps(body).encode()
    return HttpReply(status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


class Service:
    """A provider on a fake service, asked sync or async."""

    def __init__(self, factory, how, *args, **settings):
        self.transport, self.clock, self.how = FakeTransport(), FastClock(), how
        client, async_client = self.transport.clients()
        self.provider = factory(*args, client=client, async_client=async_client, **settings)
        self.judge = Judge({"it": self.provider}, "it", self.clock.host())

    @property
    def sent(self):
        """The bodies so far."""
        return [one.json() for one in self.transport.sends]

    def ask(self, state, questions, *steps, **more):
        """The judgement, the service answering with `steps`."""
        if steps:
            self.transport.steps = [
                step if isinstance(step, (HttpReply, tuple, Exception)) else reply(step) for step in steps
            ]
        if self.how == "sync":
            return self.judge.ask(state, questions, **more)
        return asyncio.run(self._asked(state, questions, more))

    async def _asked(self, state, questions, more):
        try:
            return await self.judge.async_ask(state, questions, **more)
        finally:
            await self.provider.aclose()

    def fails(self, state, questions, *steps, **more):
        """The error."""
        from decidable import DecisionProviderError

        with pytest.raises(DecisionProviderError) as caught:
            self.ask(state, questions, *steps, **more)
        assert_no_secret(caught.value)
        return caught.value


@pytest.fixture(params=["sync", "async"])
def service(request):
    """Makes a `Service`."""
    with allow_requests():
        yield lambda factory, *args, **settings: Service(factory, request.param, *args, **settings)
