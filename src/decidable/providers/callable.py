"""`Runtime(call=fn)`: a host function, sync or async, as a provider."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from decidable.content import Content, blocks_of
from decidable.errors import DecidableError, HostFunctionError, LLMError, LLMErrorReason
from decidable.messages import ChatRequest, Reply, Request
from decidable.providers.protocol import Capabilities

__all__ = ["CallableProvider"]

_CAPABILITIES = Capabilities(chat=True, images=True, remote=False)
_OPTIONAL = ("model", "response_format", "system", "effort", "sampling")
_MISTAKES = (
    *(TypeError, NotImplementedError, AssertionError, AttributeError, LookupError, NameError, ValueError),
    *(ArithmeticError, RecursionError, FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError),
)


class CallableProvider:
    """Asks `function`.

    Args:
        function: Called with the content as a list of blocks (``{"type": "text", "text": ...}``), and with those of
            the keywords ``model``, ``response_format``, ``system``, ``effort``, ``sampling`` that it takes. Returns the
            reply's text, or a `Reply`. Anything it raises that is a programming error passes through; anything else is
            a failed request and is retried.
        name: For records and traces.
    """

    def __init__(self, function: Callable[..., Any], *, model: str | None = None, name: str | None = None) -> None:
        self.function = function
        self.model = model
        self.name: str = name or getattr(function, "__name__", None) or type(function).__name__
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - the method itself is wanted
        )
        self.capabilities = _CAPABILITIES
        self._keywords, self._positional = _accepted(function)

    def __repr__(self) -> str:
        return f"CallableProvider({self.name})"

    def send(self, request: Request, deadline: float | None = None) -> Reply:
        """Call the function in this thread."""
        if self.is_async:
            raise HostFunctionError(
                f"the call function {self.name!r} is async; use the async twins (decision.async_make, "
                "runtime.async_exec), or give the runtime a sync function"
            )
        try:
            answer = self._call(request)
        except Exception as error:
            self._raise_for(error)
        if inspect.isawaitable(answer):
            _discard(answer)
            raise HostFunctionError(f"the call function {self.name!r} returned an awaitable in a sync call")
        return self._reply(answer)

    async def asend(self, request: Request, deadline: float | None = None) -> Reply:
        """Await the function, or run it in a worker thread if it is sync."""
        try:
            if self.is_async:
                answer = await self._call(request)
            else:
                import asyncio

                answer = await asyncio.to_thread(self._call_in_thread, request)
                if inspect.isawaitable(answer):
                    answer = await answer
        except Exception as error:
            self._raise_for(error)
        return self._reply(answer)

    def close(self) -> None:
        """A function holds nothing open."""

    async def aclose(self) -> None:
        """A function holds nothing open."""

    def _call(self, request: Request) -> Any:
        if not isinstance(request, ChatRequest):
            raise TypeError(f"{self.name!r} answers chat requests only, not {type(request).__name__}")
        keywords = self._keywords
        if not keywords and not request.system:
            return self.function(_blocks(request))
        values: dict[str, Any] = {}
        content = _blocks(request)
        if "model" in keywords:
            values["model"] = request.model or self.model
        if "response_format" in keywords:
            values["response_format"] = request.output_schema
        if "effort" in keywords:
            values["effort"] = request.effort
        if "sampling" in keywords:
            values["sampling"] = request.sampling
        if "system" in keywords:
            values["system"] = request.system
        elif request.system:
            content.insert(0, {"type": "text", "text": request.system})
        positional = [values.pop(name) for name in self._positional]
        return self.function(content, *positional, **values)

    def _call_in_thread(self, request: Request) -> Any:
        try:
            return self._call(request)
        except StopIteration as error:  # a future cannot hold one
            self._raise_for(error)

    def _reply(self, answer: Any) -> Reply:
        if isinstance(answer, str):
            return Reply(answer)
        if isinstance(answer, Reply):
            return answer
        raise TypeError(f"the call function {self.name!r} must return a str or a Reply, not {type(answer).__name__}")

    def _raise_for(self, error: Exception) -> NoReturn:
        """Raise what the function's exception means; a mistake in it goes on untouched."""
        translated = self._translated(error)
        if translated is error:
            raise error
        raise translated from error

    def _translated(self, error: Exception) -> Exception:
        if isinstance(error, StopIteration):
            return HostFunctionError(f"the call function {self.name!r} raised StopIteration: it has no reply left")
        if isinstance(error, DecidableError):
            return error
        response = getattr(error, "response", None)
        for holder, name in ((error, "status_code"), (response, "status_code"), (error, "code")):
            status = getattr(holder, name, None)
            if isinstance(status, int) and _LOWEST_STATUS <= status <= _HIGHEST_STATUS:
                return self._failed(
                    error, _reason_of_status(status), status, _retry_after(error if response is None else response)
                )
        if isinstance(error, _MISTAKES):
            return error
        return self._failed(error, _reason_of_type(error), None, None)

    def _failed(
        self, error: Exception, reason: LLMErrorReason, status: int | None, retry_after_s: float | None
    ) -> LLMError:
        # The text of a foreign exception may quote a key or a body, so only its type is named; the cause is chained.
        return LLMError(
            f"the call function {self.name!r} failed: {type(error).__name__}",
            reason=reason,
            http_status=status,
            retry_after_s=retry_after_s,
            provider=self.name,
            model=self.model,
        )


_LOWEST_STATUS, _HIGHEST_STATUS = 400, 599


def _retry_after(holder: Any) -> float | None:
    """Seconds that a response's Retry-After asks for; a date is left to the provider adapters."""
    headers: Any = getattr(holder, "headers", None)
    value = headers.get("retry-after") if headers is not None and hasattr(headers, "get") else None
    return float(value) if isinstance(value, str) and value.strip().isdigit() else None


def _reason_of_type(error: Exception) -> LLMErrorReason:
    """By the names that HTTP clients share, so that none of them need be imported."""
    names = {cls.__name__ for cls in type(error).__mro__}
    if isinstance(error, TimeoutError) or any("Timeout" in name for name in names):
        return LLMErrorReason.TRANSPORT  # the client's own limit, not the caller's: worth another try
    transport = isinstance(error, OSError) or names & {"TransportError", "APIConnectionError", "ClientConnectionError"}
    return LLMErrorReason.TRANSPORT if transport else LLMErrorReason.UNKNOWN


def _accepted(function: Callable[..., Any]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Which optional keywords `function` takes, and which of them only by position."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return frozenset(), ()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return frozenset(_OPTIONAL), ()
    names = [p.name for p in parameters[1:] if p.name in _OPTIONAL]
    positional = tuple(p.name for p in parameters[1:] if p.kind is p.POSITIONAL_ONLY and p.name in _OPTIONAL)
    return frozenset(names), positional


_TURN = {"user": "", "assistant": "Your earlier reply:\n"}


def _blocks(request: ChatRequest) -> list[dict[str, Any]]:
    """The conversation as one list of blocks; a single turn stays just as it is."""
    messages = request.messages
    if len(messages) == 1:
        return blocks_of(messages[0].content)
    blocks: list[dict[str, Any]] = []
    for message in messages:
        blocks += blocks_of(_labelled(_TURN[message.role], message.content))
    return blocks


def _labelled(label: str, content: Content) -> Content:
    return label + content if label and isinstance(content, str) else content


def _reason_of_status(status: int) -> LLMErrorReason:
    named = {
        401: LLMErrorReason.AUTH,
        403: LLMErrorReason.AUTHZ,
        408: LLMErrorReason.TRANSPORT,  # the server's own limit: worth another try, as the client's is
        413: LLMErrorReason.CONTEXT,
        429: LLMErrorReason.RATE_LIMIT,
    }
    if status in named:
        return named[status]
    return LLMErrorReason.PROVIDER if status >= 500 else LLMErrorReason.INVALID


def _discard(awaitable: Any) -> None:
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()
