"""Which models take images: read once for all requests, and not cut short with any of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock, Thread

from decidable.errors import DecisionProviderError, LLMError, ProviderErrorCode
from decidable.providers.http import Transport
from decidable.providers.images import listed_models
from decidable.providers.wires.codec import HttpCall

__all__ = ["Catalogue"]

_READ_S = 10.0
"""Seconds that reading it may take, whatever the requests that wait for it are given."""


class Catalogue:
    """The models that a public catalogue lists with image input.

    Args:
        provider: The provider's name, for errors.
        transport: Reads it.
        path: Where it is.
        clock: The clock that deadlines are on.
    """

    def __init__(
        self, provider: str, transport: Transport, path: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._provider = provider
        self._transport = transport
        self._call = HttpCall(path, b"", {"accept": "application/json"}, "GET")
        self._clock = clock
        self._lock = Lock()
        self._reading: Future[frozenset[str]] | None = None

    def models(self, deadline: float | None) -> frozenset[str]:
        """The models, waited for until `deadline`.

        Raises:
            DecisionProviderError: It could not be read (``connection``), or not in time (``timeout``). Nothing that
                costs was sent.
        """
        left = None if deadline is None else max(0.0, deadline - self._clock())
        try:
            return self._begun().result(left)
        except TimeoutError:
            raise self._late() from None
        except _UnreadError as error:
            raise self._unread() from error.__cause__

    async def amodels(self, deadline: float | None) -> frozenset[str]:
        """`models` without blocking the event loop."""
        # a moment less than the driver waits, which could not tell that nothing was sent
        left = None if deadline is None else max(0.0, deadline - self._clock() - 0.01)
        try:
            # shielded: a request that is cancelled does not cancel what others wait for
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._begun())), left)
        except TimeoutError:
            raise self._late() from None
        except _UnreadError as error:
            raise self._unread() from error.__cause__

    def _begun(self) -> Future[frozenset[str]]:
        """The one read; a new one if the last failed."""
        with self._lock:
            reading = self._reading
            if reading is None or (reading.done() and reading.exception() is not None):
                reading = self._reading = Future()
                Thread(target=self._read, args=(reading,), name="decidable-catalogue", daemon=True).start()
            return reading

    def _read(self, reading: Future[frozenset[str]]) -> None:
        try:
            reply = self._transport.send(self._call, self._clock() + _READ_S)
            models = listed_models(reply.body) if reply.status == 200 else None
        except Exception as error:  # whatever it was, whoever waits must be told
            unread = _UnreadError()
            unread.__cause__ = error if isinstance(error, LLMError) else None
            reading.set_exception(unread)
            return
        if models is None:
            reading.set_exception(_UnreadError())
        else:
            reading.set_result(models)

    def _late(self) -> DecisionProviderError:
        return DecisionProviderError(
            f"the time given was over before {self._provider}'s catalogue said which models take images",
            code=ProviderErrorCode.TIMEOUT,
            provider=self._provider,
            sent=False,
        )

    def _unread(self) -> DecisionProviderError:
        return DecisionProviderError(
            f"{self._provider}'s catalogue, which says what models take images, could not be read; "
            "takes_images= says it instead",
            code=ProviderErrorCode.CONNECTION,
            provider=self._provider,
            sent=False,
        )


class _UnreadError(Exception):
    """The catalogue could not be read."""
