"""The verbs: `make` returns the result of the next step, as a model picked it; `decide` the whole record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from decidable.attempt import Failure, Repair
from decidable.binding import Choice, bind
from decidable.content import ContentInput
from decidable.default_runtime import current_runtime
from decidable.errors import DecisionError
from decidable.flow.prompts import DECISION_FINISH_INSTRUCTION
from decidable.menu import menu_of
from decidable.options import Options
from decidable.reading import read
from decidable.runtime import OnRetry, Runtime

__all__ = [
    "DECISION_FINISH_INSTRUCTION",
    "async_decide",
    "async_make",
    "decide",
    "make",
    "parse_args",
    "render_options",
]


def make(
    prompt: ContentInput,
    options: Any,
    *,
    runtime: Runtime | None = None,
    state: Any = None,
    context: Mapping[str, Any] | None = None,
    max_retries: int = 1,
    repair: Repair | None = None,
    model: str | None = None,
    timeout_s: float | None = None,
    on_retry: OnRetry | None = None,
) -> Any:
    """Let a model pick one option, and return what it results in.

    A function option runs with the arguments that the model gave, checked, and its return value comes back. A value
    comes back as it is. A payload comes back as an instance of its class, or as ``{"decision": name, **fields}``.

    Args:
        prompt: What is to be decided: a str, or content blocks.
        options: The menu, in any form that `decidable.options.options_of` lists: a dict of name to function, value or
            payload; a list; an Enum class; a model class.
        runtime: Who decides; default the ambient runtime.
        state: What the decision is about, if that is not in the prompt: a str, or anything JSON can show.
        context: Values for hidden parameters of function options.
        max_retries: How often the model is asked again after a reply that is no valid pick; 0 disables. Default 1.
        repair: How far a reply may be mended: ``"none"``, ``"syntax"`` or ``"lossless"``; default the runtime's.
        model: Model for this call.
        timeout_s: Seconds for everything, re-asks included.
        on_retry: Told before each retry.

    Raises:
        DecisionError: The model made no valid pick; `.kind` and `.attempts` say why.
        LLMError: The provider failed.
        RuntimeMissingError: There is no runtime to ask.
        UsageError: The call is wrong (an empty menu, a duplicate name, ...); nothing was sent.
        Exception: Whatever the picked function raises, untouched.

    Example:
        >>> from decidable import decision
        >>> from decidable.testing import pick, scripted
        >>> def refund(order: str) -> str:
        ...     return f"refunded {order}"
        >>> options = {"refund": refund, "close": "nothing to do"}
        >>> decision.make("The mug from order A-17 broke.", options, runtime=scripted(pick("refund", order="A-17")))
        'refunded A-17'
    """
    __tracebackhide__ = True
    asked = runtime if runtime is not None else current_runtime()
    scope, flow = asked.decision(
        prompt,
        options,
        state=state,
        context=context,
        max_retries=max_retries,
        repair=repair,
        model=model,
        timeout_s=timeout_s,
        on_retry=on_retry,
    )
    return asked.run(flow, scope).result


async def async_make(
    prompt: ContentInput,
    options: Any,
    *,
    runtime: Runtime | None = None,
    state: Any = None,
    context: Mapping[str, Any] | None = None,
    max_retries: int = 1,
    repair: Repair | None = None,
    model: str | None = None,
    timeout_s: float | None = None,
    on_retry: OnRetry | None = None,
) -> Any:
    """`make` from an event loop: async options are awaited, sync ones run in a worker thread."""
    __tracebackhide__ = True
    asked = runtime if runtime is not None else current_runtime()
    scope, flow = asked.decision(
        prompt,
        options,
        state=state,
        context=context,
        max_retries=max_retries,
        repair=repair,
        model=model,
        timeout_s=timeout_s,
        on_retry=on_retry,
        in_loop=True,
    )
    return (await asked.run_async(flow, scope)).result


def decide(
    prompt: ContentInput,
    options: Any,
    *,
    runtime: Runtime | None = None,
    state: Any = None,
    context: Mapping[str, Any] | None = None,
    max_retries: int = 1,
    repair: Repair | None = None,
    model: str | None = None,
    timeout_s: float | None = None,
    on_retry: OnRetry | None = None,
) -> Any:
    """`make`, but the whole record comes back: option, arguments, result, attempts, repairs, cost, probabilities."""
    __tracebackhide__ = True
    asked = runtime if runtime is not None else current_runtime()
    scope, flow = asked.decision(
        prompt,
        options,
        state=state,
        context=context,
        max_retries=max_retries,
        repair=repair,
        model=model,
        timeout_s=timeout_s,
        on_retry=on_retry,
    )
    return asked.run(flow, scope)


async def async_decide(
    prompt: ContentInput,
    options: Any,
    *,
    runtime: Runtime | None = None,
    state: Any = None,
    context: Mapping[str, Any] | None = None,
    max_retries: int = 1,
    repair: Repair | None = None,
    model: str | None = None,
    timeout_s: float | None = None,
    on_retry: OnRetry | None = None,
) -> Any:
    """`decide` from an event loop."""
    __tracebackhide__ = True
    asked = runtime if runtime is not None else current_runtime()
    scope, flow = asked.decision(
        prompt,
        options,
        state=state,
        context=context,
        max_retries=max_retries,
        repair=repair,
        model=model,
        timeout_s=timeout_s,
        on_retry=on_retry,
        in_loop=True,
    )
    return await asked.run_async(flow, scope)


def render_options(options: Options) -> str:
    """The menu as a model reads it, for a program with a loop of its own."""
    return menu_of(options).render()


def parse_args(reply: str, options: Options, *, repair: Repair = "syntax") -> Choice:
    """Read a reply to a rendered menu, for a program with a loop of its own.

    Args:
        reply: The model's text.
        options: The same options that were rendered.
        repair: How far the reply may be mended.

    Returns:
        The choice: `.option`, `.arguments`, `.repairs`; ``choice.option.resolve(choice.arguments)`` carries it out.

    Raises:
        DecisionError: The reply is no valid pick; `.kind` says why.
    """
    menu = menu_of(options)
    pick = read(reply, menu, repair=repair)
    choice = pick if isinstance(pick, Failure) else bind(pick, menu, repair)
    if isinstance(choice, Failure):
        raise DecisionError(f"{choice.kind.value}: {choice.message}", kind=choice.kind.value)
    return choice
