"""The one transport: bytes out, bytes in, and what went wrong in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from socket import SHUT_RDWR
from threading import Lock, Timer
from typing import Any, NoReturn

import httpx

from decidable.errors import LLMError, LLMErrorReason, SettingError
from decidable.providers.wires.codec import HttpCall, HttpReply

__all__ = ["Transport", "lowered"]

CONNECT_S = 10.0
"""Most seconds to reach the server."""
READ_S = 600.0
"""Most seconds of silence: a model that reasons says nothing for minutes."""
CONNECTIONS = 100
"""Connections that are kept for the next request; and whole requests under way at once on one event loop."""
LONGEST_BODY = 64 * 1024 * 1024
LONGEST_ERROR = 64 * 1024
"""Bytes of an answer that are read; no wire's reply comes near them."""


class Transport:
    """Sends what a codec made, with the key; knows nothing of any wire.

    One sync client, and one async client per event loop, which is closed when its loop is. All are made when they are
    first needed.

    Args:
        name: The provider's, for errors.
        base_url: What paths are appended to.
        headers: Sent with each request; the key is among them.
        timeout_s: Most seconds of silence; None for the default.
        proxy: URL of a proxy; None takes the environment's.
        client: A sync client to use instead, with httpx's interface. It is not closed here.
        async_client: An async client to use instead. It is not closed here, and serves the event loop it belongs to.
        credentials: Makes the headers that hold the key, when a request is sent; None if they are among `headers`.
        reuse: Whether a connection is kept for the next request. An idle one may be closed by the server just when a
            request goes out, and then nobody knows whether it arrived.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        headers: Mapping[str, str],
        *,
        timeout_s: float | None = None,
        proxy: str | None = None,
        client: Any = None,
        async_client: Any = None,
        credentials: Callable[[], Mapping[str, str]] | None = None,
        reuse: bool = True,
    ) -> None:
        self.name = name
        self._credentials = credentials
        self.base_url = base_url.rstrip("/")
        self.address = _address(name, self.base_url)
        if timeout_s is not None and (not isinstance(timeout_s, (int, float)) or not timeout_s > 0):
            raise SettingError(f"timeout_s of {name!r} is a number of seconds above 0, or None, not {timeout_s!r}")
        self._headers = {"content-type": "application/json", "user-agent": "decidable", **headers}
        self._silence = READ_S if timeout_s is None else timeout_s
        connect = min(CONNECT_S, self._silence)
        self._limits = {"connect": connect, "read": self._silence, "write": self._silence, "pool": None}
        if proxy is not None and (client is not None or async_client is not None):
            raise SettingError(f"proxy= of {name!r} is for clients made here; give your own client its proxy itself")
        self._settings: dict[str, Any] = {
            "proxy": proxy,
            "timeout": httpx.Timeout(**self._limits),
            "limits": httpx.Limits(max_connections=None, max_keepalive_connections=CONNECTIONS if reuse else 0),
            "follow_redirects": False,
        }
        self._given, self._given_async = client, async_client
        self._client: Any = client
        self._clients: dict[asyncio.AbstractEventLoop, _OfLoop] = {}
        self._lock = Lock()
        self._urls: dict[str, httpx.URL] = {}
        self._merged: tuple[list[tuple[bytes, bytes]], Mapping[str, str]] | None = None

    def __repr__(self) -> str:
        return f"Transport({self.name!r}, {self.address!r})"

    # --- whole answers --------------------------------------------------------------------------------------------

    def send(self, call: HttpCall, deadline: float | None = None) -> HttpReply:
        """The answer to `call`, whatever its status.

        Args:
            call: What to send.
            deadline: Instant on `time.monotonic`'s clock after which nobody waits, or None.

        Raises:
            LLMError: There is no answer: reason ``transport``, or ``timeout`` at the deadline.
        """
        with self.opened(call, deadline) as (status, headers, chunks):
            return HttpReply(status, headers, self.gathered(status, chunks))

    async def asend(self, call: HttpCall, deadline: float | None = None) -> HttpReply:
        """`send` without blocking the event loop; who awaits it keeps the deadline."""
        async with await self._gate(), self.aopened(call, deadline) as (status, headers, chunks):
            return HttpReply(status, headers, await self.agathered(status, chunks))

    # --- answers as they arrive -----------------------------------------------------------------------------------

    @contextmanager
    def opened(
        self, call: HttpCall, deadline: float | None = None
    ) -> Iterator[tuple[int, Mapping[str, str], Iterator[bytes]]]:
        """Status, headers and chunks of the answer to `call`; the connection is given back at the end of the block."""
        client = self._sync_client()
        try:
            response = client.send(self._request(client, call, deadline), stream=True, follow_redirects=False)
        except Exception as error:
            self._raise_for(error, deadline)
        watch = None if deadline is None else _cut_off_at(deadline, response)
        try:
            yield response.status_code, lowered(response.headers), self._chunks(response, deadline)
        finally:
            if watch is not None:
                watch.cancel()
            response.close()

    @asynccontextmanager
    async def aopened(
        self, call: HttpCall, deadline: float | None = None
    ) -> AsyncIterator[tuple[int, Mapping[str, str], AsyncIterator[bytes]]]:
        """`opened` without blocking the event loop."""
        client = self._given_async if self._given_async is not None else (await self._of_loop()).client
        try:
            request = self._request(client, call, deadline)
            response = await client.send(request, stream=True, follow_redirects=False)
        except Exception as error:
            self._raise_for(error, deadline)
        try:
            yield response.status_code, lowered(response.headers), self._achunks(response, deadline)
        finally:
            await response.aclose()

    def _request(self, client: Any, call: HttpCall, deadline: float | None) -> Any:
        headers = {**call.headers, **self._headers} if call.headers else self._headers
        if self._credentials is not None:
            headers = {**headers, **self._credentials()}
        limits = self._limits if deadline is None else self._until(deadline)
        content = call.body or None
        if type(client) in _PLAIN and not client.cookies and not client.params:
            # what the client's own method does, without merging the same headers and addresses each time: a third of
            # what a request costs
            return httpx.Request(
                call.method,
                self._url(call.path),
                headers={**self._own(client), **headers},
                content=content,
                extensions={"timeout": limits},
            )
        return client.build_request(
            call.method,
            self.base_url + call.path,
            content=content,
            headers=headers,
            timeout=tuple(limits[one] for one in ("connect", "read", "write", "pool")),  # of any httpx's own making
        )

    def _url(self, path: str) -> httpx.URL:
        url = self._urls.get(path)
        if url is None:
            url = httpx.URL(self.base_url + path)
            if len(self._urls) < _KEPT:
                self._urls[path] = url
        return url

    def _own(self, client: Any) -> Mapping[str, str]:
        """A client's own headers by lower-case name; read again when they change."""
        raw, found = client.headers.raw, self._merged
        if found is None or found[0] != raw:
            made = {name.decode("ascii").lower(): value.decode("latin-1") for name, value in raw}
            found = self._merged = (raw, made)
        return found[1]

    def _until(self, deadline: float) -> dict[str, float | None]:
        left = max(0.001, deadline - time.monotonic())
        silence = min(left, self._silence)
        return {"connect": min(left, CONNECT_S), "read": silence, "write": silence, "pool": left}

    def _chunks(self, response: Any, deadline: float | None) -> Iterator[bytes]:
        try:
            for chunk in response.iter_bytes():
                self._refuse_late(deadline)
                yield chunk
            self._refuse_late(deadline)  # an end that the deadline made is not the answer's
        except Exception as error:
            self._raise_for(error, deadline)

    async def _achunks(self, response: Any, deadline: float | None) -> AsyncIterator[bytes]:
        try:
            async for chunk in response.aiter_bytes():
                yield chunk
        except Exception as error:
            self._raise_for(error, deadline)

    def gathered(self, status: int, chunks: Iterator[bytes]) -> bytes:
        """All chunks of an answer; of an error's, the first 64 KiB.

        Raises:
            LLMError: A reply is longer than any reply is.
        """
        body = bytearray()
        for chunk in chunks:
            body += chunk
            if len(body) > LONGEST_ERROR and self._enough(status, body):
                break
        return bytes(body)

    async def agathered(self, status: int, chunks: AsyncIterator[bytes]) -> bytes:
        """`gathered` from an event loop."""
        body = bytearray()
        async for chunk in chunks:
            body += chunk
            if len(body) > LONGEST_ERROR and self._enough(status, body):
                break
        return bytes(body)

    def _enough(self, status: int, body: bytearray) -> bool:
        """Whether to read no further: an error's body may be cut, a reply may not."""
        if status >= 400:
            del body[LONGEST_ERROR:]
            return True
        if len(body) <= LONGEST_BODY:
            return False
        raise LLMError(
            f"{self.name} answered with more than {LONGEST_BODY // 2**20} MiB",
            reason=LLMErrorReason.PROVIDER,
            provider=self.name,
        )

    # --- clients --------------------------------------------------------------------------------------------------

    def _sync_client(self) -> Any:
        if self._client is None and self._given_async is not None:
            raise SettingError(f"{self.name} was given async_client= alone; give client= too, for sync calls")
        if self._client is None:
            with self._lock:
                if self._client is None:
                    self._client = httpx.Client(**self._settings)
        return self._client

    async def _of_loop(self) -> _OfLoop:
        """What belongs to the running event loop."""
        if self._given is not None:
            raise SettingError(f"{self.name} was given client= alone; give async_client= too, for async calls")
        loop = asyncio.get_running_loop()
        held = self._clients.get(loop)
        if held is None:
            for ended in [other for other in self._clients if other.is_closed()]:  # by hand, without ending generators
                del self._clients[ended]
            client = httpx.AsyncClient(**self._settings)
            keeper = _closing_with_loop(client, lambda: self._clients.pop(loop, None))
            held = self._clients[loop] = _OfLoop(client, keeper, asyncio.Semaphore(CONNECTIONS))
            await anext(keeper)
        return held

    async def _gate(self) -> AbstractAsyncContextManager[Any]:
        """Holds whole requests back before there are too many; a client of the caller's has its own limits.

        Streams pass: who reads one may need another answer to go on.
        """
        return nullcontext() if self._given_async is not None else (await self._of_loop()).gate

    def close(self) -> None:
        """Close the sync client; async ones close with `aclose`, or with their event loop."""
        if self._client is not None and self._client is not self._given:
            self._client.close()
            self._client = None

    async def aclose(self) -> None:
        """Close the sync client and that of the running event loop."""
        self.close()
        held = self._clients.get(asyncio.get_running_loop())
        if held is not None:
            await held.keeper.aclose()

    # --- what went wrong ------------------------------------------------------------------------------------------

    def _raise_for(self, error: Exception, deadline: float | None) -> NoReturn:
        """Raise what a client's exception means; a mistake in the program goes on untouched."""
        if isinstance(error, LLMError):
            raise error
        names = {cls.__name__ for cls in type(error).__mro__}  # by name: a client like httpx need not be httpx
        if not names & {"HTTPError", "TransportError", "InvalidURL", "StreamError"} and not isinstance(error, OSError):
            raise error
        sent = None if type(error).__name__ not in _NEVER_SENT else False
        if deadline is not None and time.monotonic() >= deadline - _SLACK_S:
            raise self._late(sent) from _bare(error)
        what = "did not answer in time" if "TimeoutException" in names else _WHAT.get(type(error).__name__, "failed")
        if type(error).__name__ == "ConnectError":
            what += _why(str(error))
        raise LLMError(
            f"the connection to {self.name} at {self.address} {what} ({type(error).__name__})",
            reason=LLMErrorReason.TRANSPORT,
            provider=self.name,
            sent=sent,
        ) from _bare(error)

    def _refuse_late(self, deadline: float | None) -> None:
        if deadline is not None and time.monotonic() >= deadline:
            raise self._late()

    def _late(self, sent: bool | None = None) -> LLMError:
        return LLMError(
            f"{self.name} did not answer in the time given",
            reason=LLMErrorReason.TIMEOUT,
            provider=self.name,
            sent=sent,
        )


_KEPT = 64
"""Addresses that are kept parsed: a wire has a handful of paths."""

_PLAIN = (httpx.Client, httpx.AsyncClient)
"""Clients that are no subclass, so that what they do is known."""


def _address(name: str, base_url: str) -> str:
    """The base URL as it may be shown: without a user's name and password.

    Raises:
        SettingError: It is none that paths can be appended to.
    """
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise SettingError(f"the base URL of {name!r} is no URL: {error}") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise SettingError(f"the base URL of {name!r} must begin with http:// or https:// and name a host")
    if url.query or url.fragment:
        raise SettingError(f"the base URL of {name!r} holds a query or fragment; paths are appended to it")
    return str(url.copy_with(userinfo=b""))


def _cut_off_at(deadline: float, response: Any) -> Timer | None:
    """Shut the connection of a sync answer down at the deadline: its own limit is per read, and a server may drip."""
    stream = getattr(response, "extensions", {}).get("network_stream")
    sock = stream.get_extra_info("socket") if stream is not None else None
    if sock is None:  # a transport without sockets
        return None

    def shut() -> None:
        with suppress(OSError):  # it is closed already
            sock.shutdown(SHUT_RDWR)

    watch = Timer(max(0.0, deadline - time.monotonic()), shut)
    watch.daemon = True
    watch.start()
    return watch


_SLACK_S = 0.005
"""A client's own clock may strike a moment before the deadline that it was set by."""

_NEVER_SENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol", "InvalidURL"})
"""What is raised before a byte of the request is on its way."""

_WHAT = {
    "ConnectError": "could not be made",
    "ReadError": "broke",
    "WriteError": "broke",
    "RemoteProtocolError": "broke off, or what came over it is not HTTP",
    "DecodingError": "brought bytes that cannot be decompressed",
    "ProxyError": "was refused by the proxy",
    "UnsupportedProtocol": "needs http:// or https://",
}


def _why(words: str) -> str:
    """Why a connection could not be made, from the words of the system, which name no secret but are not shown."""
    for sign, meaning in (
        ("SSL", "TLS"),
        ("refused", "refused"),
        ("ame or service", "no such host"),
        ("getaddr", "no such host"),
    ):
        if sign in words:
            return f": {meaning}"
    return ""


def _bare(error: Exception) -> Exception:
    """`error` without the request that it holds, whose headers carry the key."""
    if hasattr(error, "_request"):
        error._request = None  # noqa: SLF001 - its public name raises when there is none
    error.__context__ = error.__cause__ = None
    return error.with_traceback(None)


def lowered(headers: Any) -> Mapping[str, str]:
    """Headers by lower-case name."""
    return {name.lower(): value for name, value in headers.items()}


@dataclass(frozen=True, slots=True, eq=False)
class _OfLoop:
    """What belongs to one event loop.

    Attributes:
        client: Its client.
        keeper: Closes the client when the loop ends.
        gate: Lets in so many requests at a time. The pool could let the others wait too, but looks at all of them
            whenever one ends.
    """

    client: httpx.AsyncClient
    keeper: AsyncGenerator[None, None]
    gate: asyncio.Semaphore


async def _closing_with_loop(client: Any, forget: Callable[[], Any]) -> AsyncGenerator[None, None]:
    """Closes `client` when its event loop shuts down: that is when a loop ends the generators begun on it."""
    try:
        yield
    finally:
        forget()
        await client.aclose()
