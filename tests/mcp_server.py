"""A server of tools that tests start as a process: ``python mcp_server.py [stdio | http PORT]``."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ContentBlock, ImageContent, TextContent
from pydantic import BaseModel, Field

PIXEL = b"\x89PNG\r\n\x1a\n and so on"

server = MCPServer("shop")


class Weather(BaseModel):
    """What the sky does."""

    city: str
    celsius: float


@server.tool()
def add(a: int, b: Annotated[int, Field(description="What is added.", le=1000)]) -> int:
    """Add two numbers.

    Both are whole.
    """
    return a + b


@server.tool()
def fail(why: str) -> str:
    """Fail."""
    raise ToolError(why)


@server.tool()
def weather(city: str) -> Weather:
    """The weather of a city."""
    return Weather(city=city, celsius=21.5)


@server.tool(structured_output=False)
def picture() -> list[str | Image]:
    """A picture and a word about it."""
    return ["one pixel", Image(data=PIXEL, format="png")]


@server.tool(structured_output=False)
def blocks() -> list[ContentBlock]:
    """Text in two blocks, and an image."""
    return [
        TextContent(type="text", text="first"),
        TextContent(type="text", text="second"),
        ImageContent(type="image", data="not base64!", mime_type="image/png"),
    ]


@server.tool()
async def wait(seconds: float, mark: str = "") -> str:
    """Wait, and say how it ended in the file `mark`."""
    try:
        await anyio.sleep(seconds)
    except BaseException:
        if mark:
            _write(mark, "given up")
        raise
    if mark:
        _write(mark, "done")
    return "waited"


@server.tool()
def pid() -> int:
    """The server's process."""
    return os.getpid()


@server.tool()
def die() -> str:
    """Die without a word."""
    os._exit(3)


@server.tool()
def environment(name: str) -> str:
    """A variable of the server's environment."""
    return os.environ.get(name, "unset")


def _write(mark: str, text: str) -> None:
    Path(mark).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    kind, *rest = sys.argv[1:] or ["stdio"]
    if kind == "silent":
        _write(rest[0], str(os.getpid()))
        time.sleep(60)
    elif kind == "http":
        server.run("streamable-http", port=int(rest[0]))
    else:
        server.run("stdio")
