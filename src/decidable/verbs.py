"""The verbs themselves; `decidable.decision` is where users find them.

The overloads say what comes back, for every type checker but mypy, which reads `verbs_mypy.pyi` instead: the two need
different means to the same end. A result that a checker cannot know is `Any`, never a wrong type.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, overload

from decidable.attempt import Repair
from decidable.content import ContentInput
from decidable.default_runtime import chosen_runtime
from decidable.flow.record import Decision
from decidable.menu import Menu
from decidable.messages import Sampling
from decidable.options import Option
from decidable.runtimes import Runtime
from decidable.settings import DecisionSettings, OnRetry, Via, refuse_unknown

if TYPE_CHECKING:
    from typing import Never

    from typing_extensions import TypeVar

    from decidable.ambient import Meter
    from decidable.approval import Approver
    from decidable.budget import Budget
    from decidable.questions.measures import Threshold

    Plain: TypeAlias = (
        str | int | float | complex | bytes | Enum | list[Any] | dict[str, Any] | set[Any] | frozenset[Any] | None
    )
    # Without the bound, a checker may take a function for a plain value. Without the default, an unused one is unknown.
    T = TypeVar("T", default=Never)
    E = TypeVar("E")
    M = TypeVar("M", default=Never)
    P = TypeVar("P", bound=Plain, default=Never)  # a bare value
    Q = TypeVar("Q", bound=Plain, default=Never)  # the value of (value, "description"); sharing P would lose members
    S = TypeVar("S", bound=Plain, default=Never)  # result of a sync function beside async ones: never a coroutine

    _Container: TypeAlias = Mapping[str, E] | Sequence[E]
    _Function: TypeAlias = Option[T] | Callable[..., T] | tuple[Callable[..., T], str]
    _Coroutine: TypeAlias = Callable[..., Coroutine[Any, Any, T]]
    _Async: TypeAlias = Option[T] | _Coroutine[T] | tuple[_Coroutine[T], str]
    _Class: TypeAlias = type[T] | tuple[type[T], str]
    _Value: TypeAlias = P | tuple[Q, str]
    _Schema: TypeAlias = tuple[str, dict[str, Any]] | tuple[str, str, dict[str, Any]]
    _Other: TypeAlias = Mapping[str, Any] | Sequence[Any] | Menu

__all__ = ["async_decide", "async_make", "decide", "make"]


@overload
def make(prompt: ContentInput, options: type[T], **settings: Unpack[DecisionSettings]) -> T: ...
@overload
def make(
    prompt: ContentInput, options: _Container[_Function[T] | _Value[P, Q]], **settings: Unpack[DecisionSettings]
) -> T | P | Q: ...
@overload
def make(
    prompt: ContentInput,
    options: _Container[_Function[T] | _Value[P, Q] | _Schema],
    **settings: Unpack[DecisionSettings],
) -> T | P | Q | dict[str, Any]: ...
@overload
def make(prompt: ContentInput, options: _Other, **settings: Unpack[DecisionSettings]) -> Any: ...
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
    effort: str | None = None,
    via: Via | None = None,
    samples: int = 1,
    shuffle: bool | int = False,
    logprobs: bool = False,
    sampling: Sampling | Mapping[str, Any] | None = None,
    budget: Budget | Meter | None = None,
    approver: Approver | None = None,
    threshold: float | Threshold | None = None,
    margin: float | None = None,
    unsure: Any = None,
    none_of_these: Any = False,
    ask_someone: Any = False,
    orders: int = 1,
) -> Any:
    """Let a model pick one option, and return what it results in.

    A function option runs with the arguments that the model gave, checked, and its return value comes back. A value
    comes back as it is. A payload comes back as an instance of its class, or as ``{"decision": name, **fields}``.

    Args:
        prompt: What is to be decided: a str, or content blocks.
        options: The menu, in any form that `decidable.options.options_of` lists: a dict of name to function, value or
            payload; a list; an Enum class; a model class.
        runtime: Who decides; default the ambient runtime.
        state: What the decision is about, if that is not in the prompt: a str, or anything JSON can show; a model or
            dataclass by its fields, other objects by their `str`.
        context: Values for hidden parameters of function options.
        max_retries: How often the model is asked again after a reply that is no valid pick; 0 disables. Default 1.
        repair: How far a reply may be mended: ``"none"``, ``"syntax"`` or ``"lossless"``; default the runtime's.
        model: Model for this call.
        timeout_s: Seconds for everything, re-asks included.
        on_retry: Told before each retry.
        effort: How much reasoning is wanted, if the provider can tell the model: ``"low"``, ``"medium"``, ``"high"``.
        via: How a chat model sees the options: ``"menu"``, as text in the prompt; ``"tools"``, as tools of which it
            calls one; ``"schema"``, as text, with the reply held to a JSON Schema. Default the runtime's.
        samples: How often a chat model is asked for this decision; the option that most samples pick is taken, and
            the shares are its probabilities. Async calls ask at the same time.
        shuffle: Whether each sample sees the options in another order, so that a bias for a place averages out; an int
            seeds the orders (True is 0).
        logprobs: Whether a chat model is asked for the letter of an option, whose token log-probabilities are the
            options' probabilities. Arguments are then asked for in a second request.
        sampling: How tokens are chosen: a `decidable.Sampling`, or a mapping of its fields; default the runtime's.
        budget: What this may spend, re-asks, samples and the picked function's own calls included: a
            `decidable.Budget`; default the runtime's.
        approver: Asked before an option runs that requires approval (`decidable.tool`): a function of a
            `decidable.ApprovalRequest` that returns True, False or ``Denied("why")``. What is denied is told to the
            model, which picks again.
        threshold: How sure the pick must be: the least probability of the option picked, in [0, 1], or a
            `decidable.Threshold` on another measure. A chat model needs ``samples=`` or ``logprobs=`` for it.
        margin: How far ahead of the second option the one picked must be, in [0, 1].
        unsure: What happens to a pick that is not sure enough, and, unless it is the name of an option, a way out that
            the model may pick by itself. The name of an option of the menu; a function or value; or True, which
            results in `decidable.Exit.UNSURE`. None raises `Unsure`. With several providers, the next is asked first.
        none_of_these: A way out for when no option fits: True results in ``Exit.NONE_OF_THESE``; a function or value
            in itself.
        ask_someone: A way out for what a person must decide: likewise, ``Exit.ASK_SOMEONE``.
        orders: In how many orders of the options a decision model is asked, all in one request; the mean of its
            probabilities counts, and ``Decision.votes`` says how much they differ. A chat model is asked as often.

    Raises:
        DecisionError: The model made no valid pick; `.kind` and `.attempts` say why.
        Unsure: It is not as sure as it must be.
        ThresholdMismatchError: The threshold was made for another model or question.
        ApprovalRequired: The pick needs a person's word, and there is no approver; ``runtime.resume`` goes on.
        BudgetExceeded: The budget is spent.
        LLMError: The provider failed.
        RuntimeMissingError: There is no runtime to ask.
        UsageError: The call is wrong (an empty menu, a duplicate name, ...); nothing was sent.
        Exception: Whatever the picked function raises, untouched; but `ModelRetry` has the model pick again.

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
    asked = chosen_runtime(runtime)
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
        effort=effort,
        via=via,
        samples=samples,
        shuffle=shuffle,
        logprobs=logprobs,
        sampling=sampling,
        budget=budget,
        approver=approver,
        threshold=threshold,
        margin=margin,
        unsure=unsure,
        none_of_these=none_of_these,
        ask_someone=ask_someone,
        orders=orders,
    )
    return asked.run(flow, scope)


@overload
async def async_make(prompt: ContentInput, options: type[T], **settings: Unpack[DecisionSettings]) -> T: ...
@overload
async def async_make(
    prompt: ContentInput,
    options: _Container[_Async[T] | _Class[M] | _Function[S] | _Value[P, Q]],
    **settings: Unpack[DecisionSettings],
) -> T | M | S | P | Q: ...
@overload
async def async_make(
    prompt: ContentInput, options: _Container[_Function[T] | _Value[P, Q]], **settings: Unpack[DecisionSettings]
) -> T | P | Q: ...
@overload
async def async_make(
    prompt: ContentInput,
    options: _Container[_Async[T] | _Class[M] | _Function[S] | _Value[P, Q] | _Schema],
    **settings: Unpack[DecisionSettings],
) -> T | M | S | P | Q | dict[str, Any]: ...
@overload
async def async_make(
    prompt: ContentInput,
    options: _Container[_Function[T] | _Value[P, Q] | _Schema],
    **settings: Unpack[DecisionSettings],
) -> T | P | Q | dict[str, Any]: ...
@overload
async def async_make(prompt: ContentInput, options: _Other, **settings: Unpack[DecisionSettings]) -> Any: ...
async def async_make(prompt: ContentInput, options: Any, *, runtime: Runtime | None = None, **settings: Any) -> Any:
    """`make` from an event loop: async options are awaited, sync ones run in a worker thread."""
    __tracebackhide__ = True
    refuse_unknown("async_make", settings, DecisionSettings)
    asked = chosen_runtime(runtime)
    scope, flow = asked.decision(prompt, options, in_loop=True, **settings)
    return await asked.run_async(flow, scope)


@overload
def decide(prompt: ContentInput, options: type[T], **settings: Unpack[DecisionSettings]) -> Decision[T]: ...
@overload
def decide(
    prompt: ContentInput, options: _Container[_Function[T] | _Value[P, Q]], **settings: Unpack[DecisionSettings]
) -> Decision[T | P | Q]: ...
@overload
def decide(
    prompt: ContentInput,
    options: _Container[_Function[T] | _Value[P, Q] | _Schema],
    **settings: Unpack[DecisionSettings],
) -> Decision[T | P | Q | dict[str, Any]]: ...
@overload
def decide(prompt: ContentInput, options: _Other, **settings: Unpack[DecisionSettings]) -> Decision[Any]: ...
def decide(prompt: ContentInput, options: Any, *, runtime: Runtime | None = None, **settings: Any) -> Any:
    """`make`, but the whole record comes back: option, arguments, result, attempts, repairs, cost, probabilities."""
    __tracebackhide__ = True
    refuse_unknown("decide", settings, DecisionSettings)
    asked = chosen_runtime(runtime)
    scope, flow = asked.decision(prompt, options, record=True, **settings)
    return asked.run(flow, scope)


@overload
async def async_decide(prompt: ContentInput, options: type[T], **settings: Unpack[DecisionSettings]) -> Decision[T]: ...
@overload
async def async_decide(
    prompt: ContentInput,
    options: _Container[_Async[T] | _Class[M] | _Function[S] | _Value[P, Q]],
    **settings: Unpack[DecisionSettings],
) -> Decision[T | M | S | P | Q]: ...
@overload
async def async_decide(
    prompt: ContentInput, options: _Container[_Function[T] | _Value[P, Q]], **settings: Unpack[DecisionSettings]
) -> Decision[T | P | Q]: ...
@overload
async def async_decide(
    prompt: ContentInput,
    options: _Container[_Async[T] | _Class[M] | _Function[S] | _Value[P, Q] | _Schema],
    **settings: Unpack[DecisionSettings],
) -> Decision[T | M | S | P | Q | dict[str, Any]]: ...
@overload
async def async_decide(
    prompt: ContentInput,
    options: _Container[_Function[T] | _Value[P, Q] | _Schema],
    **settings: Unpack[DecisionSettings],
) -> Decision[T | P | Q | dict[str, Any]]: ...
@overload
async def async_decide(
    prompt: ContentInput, options: _Other, **settings: Unpack[DecisionSettings]
) -> Decision[Any]: ...
async def async_decide(prompt: ContentInput, options: Any, *, runtime: Runtime | None = None, **settings: Any) -> Any:
    """`decide` from an event loop."""
    __tracebackhide__ = True
    refuse_unknown("async_decide", settings, DecisionSettings)
    asked = chosen_runtime(runtime)
    scope, flow = asked.decision(prompt, options, in_loop=True, record=True, **settings)
    return await asked.run_async(flow, scope)
