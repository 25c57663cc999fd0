"""`llm`: one request, its text back. `agent`: the same with tools, as many requests as they take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from decidable.content import ContentInput
from decidable.default_runtime import chosen_runtime
from decidable.errors import ArgumentTypeError
from decidable.runtimes import Runtime
from decidable.settings import ExecSettings, refuse_unknown

__all__ = ["agent", "async_agent", "async_llm", "llm"]


def llm(prompt: ContentInput, *, runtime: Runtime | None = None, model: str | None = None) -> str:
    """One request without tools or menu; the reply's text.

    Args:
        prompt: A str, or content blocks.
        runtime: Who answers; default the ambient runtime.
        model: Model for this call.

    Raises:
        LLMError: The provider failed.
        RuntimeMissingError: There is no runtime to ask.
    """
    return chosen_runtime(runtime).exec(prompt, model=model)


async def async_llm(prompt: ContentInput, *, runtime: Runtime | None = None, model: str | None = None) -> str:
    """`llm` from an event loop."""
    return await chosen_runtime(runtime).async_exec(prompt, model=model)


@overload
def agent(
    prompt: ContentInput,
    tools: Iterable[Any],
    *,
    choices: None = None,
    response_format: None = None,
    runtime: Runtime | None = None,
    **settings: Any,
) -> str: ...
@overload
def agent(prompt: ContentInput, tools: Iterable[Any], *, runtime: Runtime | None = None, **settings: Any) -> Any: ...
def agent(prompt: ContentInput, tools: Iterable[Any], *, runtime: Runtime | None = None, **settings: Any) -> Any:
    """Let a model work with tools until it calls none any more: ``runtime.exec(prompt, tools=tools)``, ambient.

    Args:
        prompt: A str, or content blocks.
        tools: What the model may call, in any form that `decidable.Runtime.exec` takes.
        runtime: Who answers; default the ambient runtime.
        settings: As for `decidable.Runtime.exec`.

    Returns:
        The last reply's text; with ``choices=`` the result of the option picked.

    Raises:
        RuntimeMissingError: There is no runtime to ask.
        Exception: Whatever `decidable.Runtime.exec` raises.

    Example:
        >>> from decidable import agent
        >>> from decidable.testing import call_tool, scripted
        >>> def lookup(order: str) -> dict:
        ...     return {"order": order, "status": "delivered"}
        >>> agent("Where is A-17?", [lookup], runtime=scripted(call_tool("lookup", order="A-17"), "It was delivered."))
        'It was delivered.'
    """
    asked = _with_tools("agent", runtime, tools, settings)
    return asked.exec(prompt, tools=tools, **settings)


@overload
async def async_agent(
    prompt: ContentInput,
    tools: Iterable[Any],
    *,
    choices: None = None,
    response_format: None = None,
    runtime: Runtime | None = None,
    **settings: Any,
) -> str: ...
@overload
async def async_agent(
    prompt: ContentInput, tools: Iterable[Any], *, runtime: Runtime | None = None, **settings: Any
) -> Any: ...
async def async_agent(
    prompt: ContentInput, tools: Iterable[Any], *, runtime: Runtime | None = None, **settings: Any
) -> Any:
    """`agent` from an event loop: async tools are awaited, sync ones run in worker threads."""
    asked = _with_tools("async_agent", runtime, tools, settings)
    return await asked.async_exec(prompt, tools=tools, **settings)


def _with_tools(name: str, runtime: Runtime | None, tools: Any, settings: dict[str, Any]) -> Runtime:
    own = ("choices", "response_format")
    refuse_unknown(name, {k: v for k, v in settings.items() if k not in own}, ExecSettings, *own)
    if tools is None:
        raise ArgumentTypeError(f"{name}() works with tools: give some, or ask with llm()")
    return chosen_runtime(runtime)
