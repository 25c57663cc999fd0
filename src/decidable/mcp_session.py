"""A session with an MCP server: how it is opened, what a call in it gives back, and how it ends.

One task opens it, holds it and closes it: what the SDK enters must be left by the task that entered it, while a block
may be left by another one.
"""

from __future__ import annotations

import math
import os
import sys
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO, cast
from urllib.parse import urlsplit

from decidable.content import MediaPart, TextPart, text_of
from decidable.errors import ArgumentTypeError, DecidableError, UsageError

if TYPE_CHECKING:
    from anyio.abc import TaskStatus
    from mcp import Client, StdioServerParameters
    from mcp.types import CallToolResult, ContentBlock, Tool

__all__ = ["McpServerError", "McpToolError", "Peer", "Session", "peer_of"]

CLOSE_S = 10.0
"""Seconds that a server over HTTP has for its goodbye; a process is stopped in less by the SDK, whatever it does."""


class McpServerError(DecidableError):
    """A server that does not start, cannot be reached, breaks the protocol, or has gone away."""


class McpToolError(DecidableError):
    """A call that failed, in the server's words; in a run of tools the model reads them."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A server: how a client of it is made, for one session, and what it is called without a secret in it."""

    client: Callable[[], Client]
    label: str


class Session:
    """One session with one server."""

    def __init__(self, peer: Peer, start_timeout_s: float, timeout_s: float | None) -> None:
        self._peer = peer
        self._start_timeout_s = start_timeout_s
        self._timeout_s = timeout_s
        self._is_left = self._has_ended = self._has_begun = False
        self._client: Any = None
        self._loop: Any = None
        self._stop: Any = None

    async def hold(self, *, task_status: TaskStatus[Sequence[Tool]]) -> None:
        """Open the session, say which tools there are, and close it once it is left.

        Raises:
            McpServerError: It could not be opened, or broke.
        """
        import asyncio

        import anyio

        self._loop, self._stop = asyncio.get_running_loop(), anyio.Event()
        scope = anyio.CancelScope(deadline=anyio.current_time() + self._start_timeout_s)
        try:
            with scope:
                async with self._peer.client() as self._client:
                    listed = await _listed(self._client, self._peer.label)
                    self._has_begun, scope.deadline = True, math.inf
                    task_status.started(listed)
                    await self._stop.wait()
                    scope.deadline = anyio.current_time() + CLOSE_S
        except Exception as error:
            if not scope.cancel_called:  # else it is a consequence of that
                raise McpServerError(self._broken(error)) from error
        finally:
            self._has_ended = True
        if not self._has_begun:
            raise McpServerError(
                f"{self._peer.label} did not list its tools within {self._start_timeout_s:.3g} s (start_timeout_s=)"
            )

    def leave(self) -> None:
        """Let the session close; called on its event loop."""
        self._is_left = True
        self._stop.set()

    def check(self) -> None:
        """Refuse what comes after the block.

        Raises:
            UsageError: It has been left.
        """
        if self._is_left:
            raise UsageError(f"the session with {self._peer.label} is closed: use its tools inside the with block")

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """What a tool gives back: text, parts of content, or what its structured content holds.

        Raises:
            McpToolError: The tool, or the server, says that it failed.
            McpServerError: The server is gone.
            TimeoutError: The time for one call is over.
            UsageError: The block has been left, or belongs to another event loop.
        """
        import asyncio

        import anyio
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED, REQUEST_TIMEOUT

        self.check()
        if asyncio.get_running_loop() is not self._loop:
            raise UsageError(f"the session with {self._peer.label} was opened on another event loop; open one on this")
        if self._has_ended:
            raise McpServerError(f"{self._peer.label} is gone, so {name!r} was not called")
        try:
            result = await self._client.call_tool(name, arguments, self._timeout_s)
        except MCPError as error:
            if error.code == REQUEST_TIMEOUT and self._timeout_s is not None:
                raise TimeoutError(f"{name!r} did not finish within {self._timeout_s:.3g} s") from error
            if error.code == CONNECTION_CLOSED:
                raise McpServerError(f"{self._peer.label} did not answer {name!r}: {error.message}") from error
            raise McpToolError(error.message) from error
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream) as error:
            raise McpServerError(f"{self._peer.label} did not answer {name!r}: the connection is closed") from error
        return _value(result)

    def _broken(self, error: BaseException) -> str:
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if isinstance(error, McpServerError):
            return str(error)
        if self._has_begun:
            said = "broke off the session"
        elif isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
            return f"{self._peer.label} ended before it had listed its tools; what it wrote to stderr may say why"
        else:
            said = "could not be started" if isinstance(error, OSError) else "did not open a session"
        return f"{self._peer.label} {said}: {type(error).__name__}: {error}"


def peer_of(server: Any) -> Peer:
    """How clients of `server` are made.

    Raises:
        ArgumentTypeError: It is nothing that the SDK can open a session with.
    """
    from mcp import Client, StdioServerParameters
    from mcp.server import MCPServer, Server

    if isinstance(server, str):
        address = urlsplit(server)
        if address.scheme not in ("http", "https") or not address.hostname:
            first = server.split()[0] if server.split() else ""
            raise ArgumentTypeError(
                "a str is the URL of a server, such as 'http://localhost:8000/mcp'; a command is a list, such as "
                f"['python', 'server.py']; this one begins with {first!r}"
            )
        port = f":{address.port}" if address.port else ""
        return Peer(
            partial(Client, server), f"the MCP server at {address.scheme}://{address.hostname}{port}{address.path}"
        )
    if isinstance(server, (list, tuple)):
        if not server or not all(isinstance(word, (str, os.PathLike)) for word in server):
            raise ArgumentTypeError("a command is a list of str, the program first: ['python', 'server.py']")
        command, *rest = [os.fspath(word) for word in server]
        return _process(StdioServerParameters(command=command, args=rest))
    if isinstance(server, StdioServerParameters):
        return _process(server)
    if isinstance(server, Client):
        return Peer(lambda: server, "the MCP server of the given client")
    if isinstance(server, (Server, MCPServer)):
        return Peer(partial(Client, server), f"the MCP server {server.name!r}")
    if isinstance(server, AbstractAsyncContextManager):
        return Peer(partial(Client, server), "the MCP server behind the given transport")
    hint = "; write mcp.StdioServerParameters(**it)" if isinstance(server, Mapping) else ""
    raise ArgumentTypeError(
        "a server is a command (['python', 'server.py']), a URL, mcp.StdioServerParameters, a server object, a "
        f"transport or a mcp.Client, not {type(server).__name__}{hint}"
    )


def _process(parameters: StdioServerParameters) -> Peer:
    from mcp import Client, stdio_client

    def client() -> Client:
        return Client(stdio_client(parameters, _stderr()))

    return Peer(client, f"the MCP server {parameters.command!r}")


def _stderr() -> TextIO:
    """Where a server's stderr goes: to ours as it is now, if it is a file; in a notebook it is none."""
    from subprocess import DEVNULL  # any int serves as a file here

    for stream in (sys.stderr, sys.__stderr__):
        try:
            if stream is not None and stream.fileno() >= 0:
                return stream
        except (AttributeError, OSError, ValueError):
            continue
    return cast("TextIO", DEVNULL)


async def _listed(client: Client, label: str) -> Sequence[Tool]:
    """All pages of the list of tools."""
    if client.server_capabilities.tools is None:
        raise McpServerError(f"{label} offers no tools")
    page = await client.list_tools()
    found = list(page.tools)
    while page.next_cursor is not None:
        page = await client.list_tools(cursor=page.next_cursor)
        found.extend(page.tools)
    return found


def _value(result: CallToolResult) -> Any:
    parts = tuple([_part(block) for block in result.content])
    text = text_of(parts)
    if result.is_error:
        raise McpToolError(text or str(result.structured_content or "the tool failed and does not say why"))
    if not parts and result.structured_content is not None:
        return result.structured_content
    return parts if any(isinstance(part, MediaPart) for part in parts) else text


def _part(block: ContentBlock) -> TextPart | MediaPart:
    """A block as a model can be shown it; what no wire takes in a result is named."""
    from mcp import types

    if isinstance(block, types.TextContent):
        return TextPart(block.text)
    if isinstance(block, types.ImageContent):
        return _image(block.data, block.mime_type)
    if isinstance(block, types.AudioContent):
        return TextPart(f"[audio, {block.mime_type}]")
    if isinstance(block, types.ResourceLink):
        about = ", ".join(filter(None, (block.title or block.name, block.mime_type, block.description)))
        return TextPart(f"[resource {block.uri}: {about}]")
    resource = block.resource
    if isinstance(resource, types.TextResourceContents):
        return TextPart(resource.text)
    kind = resource.mime_type or "bytes"
    return _image(resource.blob, kind) if kind.startswith("image/") else TextPart(f"[resource {resource.uri}: {kind}]")


def _image(data: str, mime_type: str) -> MediaPart:
    try:
        return MediaPart("image", b64decode(data), mime_type)
    except ValueError as error:
        raise McpServerError(f"the server sent an image ({mime_type}) that is not base64") from error
