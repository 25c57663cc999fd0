"""Tools of MCP servers, in the form that calls take, while a block lasts. Extra: ``decidable[mcp]``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from inspect import cleandoc
from types import TracebackType
from typing import TYPE_CHECKING, Any, Never, cast, final

from decidable.errors import ArgumentTypeError, MissingExtraError, SettingError, UsageError
from decidable.mcp_session import McpServerError, McpToolError, Peer, Session, peer_of
from decidable.options import FunctionOption
from decidable.rules import MAX_CHARS, Rules
from decidable.toolkit import tool, tools_of

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

    from anyio.from_thread import BlockingPortal
    from mcp.types import Tool

__all__ = ["McpServerError", "McpToolError", "McpTools", "mcp_tools"]


def mcp_tools(
    server: Any,
    *,
    prefix: str = "",
    requires_approval: bool | Callable[[dict[str, Any]], bool] = False,
    timeout_s: float | None = None,
    max_chars: int = MAX_CHARS,
    start_timeout_s: float = 30.0,
) -> McpTools:
    """The tools of an MCP server, for ``tools=``, while a ``with`` or ``async with`` block lasts.

    In a ``with`` block they are sync functions, which any thread may call; the session runs on a thread of its own. In
    an ``async with`` block they are async functions of that event loop.

    Args:
        server: A command as a list (``["python", "server.py"]``), the URL of a server that speaks streamable HTTP, a
            ``mcp.StdioServerParameters``, a server object of this process, a transport, or a ``mcp.Client`` of yours
            that is not open yet.
        prefix: Stands before each tool's name; with it two servers may have tools of one name.
        requires_approval: As of `decidable.tool`, for each of the tools.
        timeout_s: Seconds for one call; after them the server is told to give it up.
        max_chars: As of `decidable.tool`.
        start_timeout_s: Seconds for the server to start and to list its tools.

    Returns:
        A block, which gives a tuple of tools: those that the server has when it begins.

    Raises:
        ArgumentTypeError: `server` is none of these.
        SettingError: A number out of range.
        MissingExtraError: The package ``mcp`` is not installed.
        McpServerError: When the block begins: the server does not start, or does not answer in time.

    Example:
        >>> from decidable.mcp import mcp_tools
        >>> from mcp.server import MCPServer
        >>> server = MCPServer("sums")
        >>> @server.tool()
        ... def add(a: int, b: int) -> int:
        ...     return a + b
        >>> with mcp_tools(server) as tools:
        ...     tools[0].name, tools[0].function(a=1, b=2)
        ('add', '3')
    """
    try:
        from mcp import Client  # noqa: F401 - version 1 has none
    except ImportError as error:
        raise MissingExtraError(
            f"MCP tools need the package {error.name!r} (mcp 2): pip install 'decidable[mcp]'", name=error.name
        ) from error
    if not isinstance(prefix, str):
        raise ArgumentTypeError(f"prefix= is a str that stands before each tool's name, not {prefix!r}")
    is_number = isinstance(start_timeout_s, (int, float)) and not isinstance(start_timeout_s, bool)
    if not is_number or not start_timeout_s > 0:
        raise SettingError(f"start_timeout_s is a number of seconds above 0, not {start_timeout_s!r}")
    # What holds for running a tool is checked where every tool's is.
    checked = tool(_nothing, requires_approval=requires_approval, timeout_s=timeout_s, max_chars=max_chars)
    return McpTools(peer_of(server), prefix, cast("Rules", checked.rules), start_timeout_s)


def _nothing() -> None:
    """Lends its rules to the tools of a server."""


@final
class McpTools:
    """A block in which the tools of a server can be called; `mcp_tools` makes it."""

    def __init__(self, peer: Peer, prefix: str, rules: Rules, start_timeout_s: float) -> None:
        self._peer = peer
        self._prefix = prefix
        self._rules = rules
        self._start_timeout_s = start_timeout_s
        self._session: Session | None = None
        self._task: asyncio.Task[None] | None = None
        self._stack: ExitStack | None = None

    def __enter__(self) -> tuple[FunctionOption[Any], ...]:
        from anyio.from_thread import start_blocking_portal

        session = self._begun()
        try:
            with ExitStack() as stack:
                portal = stack.enter_context(start_blocking_portal("asyncio", name="decidable-mcp"))
                ended, listed = portal.start_task(session.hold)
                stack.push(_leaving(session, portal, ended))
                tools = self._tools(session, listed, _blocking(session, portal))
                self._stack = stack.pop_all()
        except BaseException:
            self._session = None
            raise
        return tools

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        stack, self._stack, self._session = self._stack, None, None
        if stack is not None:
            stack.__exit__(kind, error, traceback)

    async def __aenter__(self) -> tuple[FunctionOption[Any], ...]:
        import asyncio

        session = self._begun()
        ready = _Ready(asyncio.get_running_loop().create_future())
        task = self._task = asyncio.create_task(session.hold(task_status=ready), name="decidable-mcp")
        try:
            waited: set[asyncio.Future[Any]] = {task, ready.listed}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if not ready.listed.done():
                task.result()  # raises why it ended
            return self._tools(session, ready.listed.result(), _awaiting(session))
        except BaseException:
            task.cancel()  # once only: a second one would break off the closing of the server
            self._task = self._session = None
            await _ended(task)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        session, task, self._session, self._task = self._session, self._task, None, None
        if session is None or task is None:
            return
        session.leave()
        await _ended(task)
        failure = None if task.cancelled() else task.exception()
        if failure is not None and kind is None:
            raise failure

    def __iter__(self) -> Never:
        raise UsageError("mcp_tools(...) gives tools inside its block: with mcp_tools(...) as tools: ...")

    def _begun(self) -> Session:
        if self._session is not None:
            raise UsageError("this mcp_tools(...) block is open already; make another one for a second session")
        self._session = Session(self._peer, self._start_timeout_s, self._rules.timeout_s)
        return self._session

    def _tools(
        self, session: Session, listed: Sequence[Tool], calling: Callable[[str], Any]
    ) -> tuple[FunctionOption[Any], ...]:
        given = [
            {
                "spec": {
                    "name": f"{self._prefix}{one.name}",
                    "description": cleandoc(one.description or one.title or ""),
                    "parameters": one.input_schema,
                },
                "execute": calling(one.name),
            }
            for one in listed
        ]
        made = tools_of(given, where=f"the tools of {self._peer.label}")
        return tuple(
            replace(option, rules=replace(self._rules, parameters=one.input_schema, check=session.check))
            for option, one in zip(made, listed, strict=True)
        )


@dataclass(frozen=True, slots=True)
class _Ready:
    """Keeps what a task reports when it has begun."""

    listed: asyncio.Future[Sequence[Tool]]

    def started(self, value: Any = None) -> None:
        if not self.listed.done():
            self.listed.set_result(value)


async def _ended(task: asyncio.Task[None]) -> None:
    """Wait for the end of `task`, whose closing is bounded, even if this one is cancelled; that is raised after."""
    import asyncio

    cancelled: BaseException | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


def _leaving(session: Session, portal: BlockingPortal, ended: Future[None]) -> Callable[..., None]:
    def leave(error: type[BaseException] | None, *_: object) -> None:
        portal.call(session.leave)
        failure = ended.exception()
        if failure is not None and error is None:
            raise failure

    return leave


def _blocking(session: Session, portal: BlockingPortal) -> Callable[[str], Callable[..., Any]]:
    def calling(name: str) -> Callable[..., Any]:
        def execute(**arguments: Any) -> Any:
            session.check()
            try:
                future = portal.start_task_soon(session.call, name, arguments)
            except RuntimeError:  # the block was left just now
                session.check()
                raise
            try:
                return future.result()
            except BaseException:  # of whoever waits: then the server need not go on either
                future.cancel()
                raise

        return execute

    return calling


def _awaiting(session: Session) -> Callable[[str], Callable[..., Awaitable[Any]]]:
    def calling(name: str) -> Callable[..., Awaitable[Any]]:
        async def execute(**arguments: Any) -> Any:
            return await session.call(name, arguments)

        return execute

    return calling
