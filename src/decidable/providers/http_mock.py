"""Clients that ask a function instead of a network."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import httpx

from decidable.providers.http import lowered
from decidable.providers.wires.codec import HttpReply

__all__ = ["mock_clients"]

Mocked: TypeAlias = "HttpReply | tuple[HttpReply, float]"
"""What stands in for a server: an answer, or an answer and the seconds it takes to come."""


def mock_clients(answer: Callable[[str, str, Mapping[str, str], bytes], Mocked]) -> tuple[Any, Any]:
    """A sync and an async client that ask a function instead of a network.

    Args:
        answer: Called with the request's method, its path and query, its headers by lower-case name, and its body. A
            `ConnectionRefusedError` that it raises is a connection that could not be made; any other
            `ConnectionError` is one that broke after the request was sent.
    """

    def asked(request: httpx.Request) -> tuple[httpx.Response, float]:
        path = request.url.raw_path.decode()
        try:
            found = answer(request.method, path, lowered(request.headers), request.content)
        except ConnectionRefusedError as error:
            raise httpx.ConnectError(str(error), request=request) from error
        except ConnectionError as error:
            raise httpx.ReadError(str(error), request=request) from error
        reply, seconds = found if isinstance(found, tuple) else (found, 0.0)
        return httpx.Response(reply.status, headers=reply.headers, content=reply.body), seconds

    def handler(request: httpx.Request) -> httpx.Response:
        response, seconds = asked(request)
        if seconds:
            patience = request.extensions["timeout"]["read"]
            time.sleep(seconds if patience is None else min(seconds, patience))
            if patience is not None and patience < seconds:
                raise httpx.ReadTimeout("no answer yet", request=request)
        return response

    async def handler_async(request: httpx.Request) -> httpx.Response:
        response, seconds = asked(request)
        if seconds:
            patience = request.extensions["timeout"]["read"]
            await asyncio.sleep(seconds if patience is None else min(seconds, patience))
            if patience is not None and patience < seconds:
                raise httpx.ReadTimeout("no answer yet", request=request)
        return response

    return (
        httpx.Client(transport=httpx.MockTransport(handler)),
        httpx.AsyncClient(transport=httpx.MockTransport(handler_async)),
    )
