"""`Runtime`: a provider and how it is asked. Safe to share: what belongs to one call never stands on the instance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, overload

from decidable.ambient import Scope, current_scope, scope_variable
from decidable.asking import Manner, answering, chain, chain_of_answers, picking
from decidable.attempt import Repair
from decidable.binding import check_context
from decidable.content import ContentInput, content_of
from decidable.errors import ArgumentTypeError, RuntimeClosedError, UsageError
from decidable.flow.ask import Budget, Call
from decidable.flow.decide import decide
from decidable.flow.drivers import HOST, Host, drive, drive_async
from decidable.flow.effects import Flow, in_node
from decidable.flow.prompts import DECISION_FINISH_INSTRUCTION, DECISION_INSTRUCTION
from decidable.flow.record import Decision, FallbackOn
from decidable.menu import Menu, menu_of
from decidable.messages import Sampling
from decidable.options import FunctionOption
from decidable.providers.callable import CallableProvider
from decidable.providers.protocol import Provider
from decidable.providers.registry import resolve_provider
from decidable.schema.signature import RUNTIME_NAMES
from decidable.settings import (
    ExecSettings,
    OnRetry,
    Via,
    checked_count,
    checked_fallback,
    checked_repair,
    checked_samples,
    checked_seconds,
    checked_seed,
    checked_via,
    refuse_tools,
    refuse_unknown,
    sampling_of,
)

if TYPE_CHECKING:
    from decidable.flow.streaming import AsyncStream, Stream

__all__ = ["Runtime"]

R = TypeVar("R")


class Runtime:
    """A provider and how it is asked; share one between threads and tasks.

    Args:
        call: Who answers: a host function ``(content, model=..., response_format=...) -> str``, sync or async; a name
            such as ``"local"`` or ``"openai:gpt-5.2"``; a `Provider`, such as `decidable.connect` makes; or a list of
            these, of which each is asked when the one before does not answer. A subclass may define ``_call`` instead.
        model: The model to ask when a call names none; of a list, it holds for the first.
        max_retries: Transport retries per request (base wait 1.5 s, doubled, +-25 %). Default 6.
        repair: How far replies may be mended, if a call does not say: ``"none"``, ``"syntax"`` (default) or
            ``"lossless"``.
        timeout_s: Seconds for each whole call, if it does not say; None for no limit.
        on_retry: Told before each retry, if a call does not say.
        budget: Asked before each request, told after each reply.
        sampling: How tokens are chosen, if a call does not say: a `decidable.Sampling`, or a mapping of its fields.
        via: How a menu is put to a chat model, if a call does not say: ``"menu"`` (default), ``"tools"`` or
            ``"schema"``.
        fallback: Who is asked next, in any form that `call` takes.
        fallback_on: When: some of ``"failure"`` (the provider failed, after its retries), ``"exhausted"`` (no valid
            pick, after its re-asks), ``"unsure"``, and ``"refusal"``. Default all but the last. A provider that cannot
            be asked at all is always passed over. At the deadline nobody else is asked.
        host: Clock, sleep and chance; for tests.

    Raises:
        UsageError: Nothing that could answer was given.
        UnknownProviderError: No provider has that name.
        MissingExtraError: The provider needs an extra that is not installed.
        SettingError: A number out of range, or an unknown repair level.

    Example:
        >>> from decidable import Runtime
        >>> def model(content):
        ...     return "A reply to: " + content[0]["text"]
        >>> with Runtime(model) as rt:
        ...     rt.exec("Hello")
        'A reply to: Hello'
    """

    def __init__(
        self,
        call: Callable[..., Any] | str | Provider | Sequence[Any] | None = None,
        *,
        model: str | None = None,
        max_retries: int = 6,
        repair: Repair = "syntax",
        timeout_s: float | None = None,
        on_retry: OnRetry | None = None,
        budget: Budget | None = None,
        sampling: Sampling | Mapping[str, Any] | None = None,
        via: Via = "menu",
        fallback: Any = None,
        fallback_on: FallbackOn | Sequence[FallbackOn] = ("failure", "exhausted", "unsure"),
        host: Host = HOST,
    ) -> None:
        self.max_retries = checked_count(max_retries)
        self.repair = checked_repair(repair)
        self.timeout_s = checked_seconds(timeout_s)
        self.model = model
        self.on_retry = on_retry
        self.budget = budget
        self.sampling = sampling_of(sampling)
        self.via = checked_via(via)
        self.fallback_on = checked_fallback(fallback_on)
        self.host = host
        self.providers = (*self._listed(call), *(self._listed(fallback) if fallback is not None else ()))
        self.provider = self.providers[0]
        self._closed = False

    def __repr__(self) -> str:
        others = "".join(f", then {provider.name!r}" for provider in self.providers[1:])
        return f"Runtime({self.provider.name!r}, model={self.model or self.provider.model!r}{others})"

    # --- life -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Release what the provider holds open; every later call raises `RuntimeClosedError`. May be repeated."""
        if not self._closed:
            self._closed = True
            for provider in self.providers:
                provider.close()

    async def aclose(self) -> None:
        """`close` from an event loop."""
        if not self._closed:
            self._closed = True
            for provider in self.providers:
                await provider.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    # --- exec -----------------------------------------------------------------------------------------------------

    @overload
    def exec(self, content: ContentInput, *, response_format: type[R], **settings: Unpack[ExecSettings]) -> R: ...
    @overload
    def exec(
        self, content: ContentInput, *, response_format: Mapping[str, Any], **settings: Unpack[ExecSettings]
    ) -> Any: ...
    @overload
    def exec(self, content: ContentInput, *, choices: Any, **settings: Unpack[ExecSettings]) -> Any: ...
    @overload
    def exec(self, content: ContentInput, **settings: Unpack[ExecSettings]) -> str: ...
    def exec(
        self,
        content: ContentInput,
        *,
        choices: Any = None,
        response_format: Any = None,
        context: Mapping[str, Any] | None = None,
        model: str | None = None,
        tools: Iterable[Any] | None = None,
        toolset: str | None = None,
        max_retries: int = 1,
        repair: Repair | None = None,
        timeout_s: float | None = None,
        on_retry: OnRetry | None = None,
        effort: str | None = None,
        via: Via | None = None,
        samples: int = 1,
        shuffle: bool | int = False,
        logprobs: bool = False,
        sampling: Sampling | Mapping[str, Any] | None = None,
    ) -> Any:
        """Run one turn: the model works on `content`; with `choices`, it ends by picking one of them.

        Args:
            content: The prompt: a str, or blocks such as ``{"type": "image", "path": "a.png"}``.
            choices: Options, in any form that `decision.make` takes. The final reply must pick one.
            response_format: A type that pydantic takes, or a JSON Schema, that the reply must fit. Not with `choices`.
            context: Values for hidden parameters of function options.
            model: Model for this call.
            tools: Tools to offer; this version offers none, and refuses a non-empty list.
            toolset: A named group of tools; ``"default"`` exists and is empty.
            max_retries: How often the model is asked again for a reply that can be used; 0 disables. Default 1.
            repair: How far a reply may be mended; default the runtime's.
            timeout_s: Seconds for everything, waits and re-asks included; default the runtime's. Calls made by the
                option that is picked get what is left.
            on_retry: Told before each retry.
            effort: How much reasoning is wanted, if the provider can tell the model.
            via: How the choices are put to the model, as in `decidable.decision.make`.
            samples: How often it is asked for the decision, likewise.
            shuffle: Whether each sample sees the choices in another order, likewise.
            logprobs: Whether token log-probabilities are wanted for the choices, likewise.
            sampling: How tokens are chosen; default the runtime's.

        Returns:
            With `choices`, the result of the option picked; with `response_format`, the parsed value; else the
            reply's text.

        Raises:
            DecisionError: No reply could be used.
            LLMError: The provider failed.
            UsageError: The call is wrong; nothing was sent.
        """
        scope, flow = self._turn(
            content,
            choices,
            response_format,
            in_loop=False,
            context=context,
            model=model,
            tools=tools,
            toolset=toolset,
            max_retries=max_retries,
            repair=repair,
            timeout_s=timeout_s,
            on_retry=on_retry,
            effort=effort,
            via=via,
            samples=samples,
            shuffle=shuffle,
            logprobs=logprobs,
            sampling=sampling,
        )
        return self.run(flow, scope)

    @overload
    async def async_exec(
        self, content: ContentInput, *, response_format: type[R], **settings: Unpack[ExecSettings]
    ) -> R: ...
    @overload
    async def async_exec(
        self, content: ContentInput, *, response_format: Mapping[str, Any], **settings: Unpack[ExecSettings]
    ) -> Any: ...
    @overload
    async def async_exec(self, content: ContentInput, *, choices: Any, **settings: Unpack[ExecSettings]) -> Any: ...
    @overload
    async def async_exec(self, content: ContentInput, **settings: Unpack[ExecSettings]) -> str: ...
    async def async_exec(
        self,
        content: ContentInput,
        *,
        choices: Any = None,
        response_format: Any = None,
        **settings: Unpack[ExecSettings],
    ) -> Any:
        """`exec` from an event loop: async options are awaited, sync ones run in a worker thread."""
        refuse_unknown("async_exec", settings, ExecSettings, "choices", "response_format")
        scope, flow = self._turn(content, choices, response_format, in_loop=True, **settings)
        return await self.run_async(flow, scope)

    # --- streaming ------------------------------------------------------------------------------------------------

    def stream(
        self,
        content: ContentInput,
        *,
        choices: Any = None,
        response_format: Any = None,
        **settings: Unpack[ExecSettings],
    ) -> Stream[Any]:
        """`exec`, with what happens on the way: iterate over the result for its events.

        Args:
            content: As `exec`.
            choices: As `exec`.
            response_format: As `exec`.
            settings: As `exec`.

        Returns:
            An iterator, best used in a ``with`` block, of `TextDelta`, `ReasoningDelta`, `ToolCallDelta`, `Restarted`
            (what came so far does not count: a retry or re-ask begins), and at last one `Finished`. With `choices` its
            ``result`` is the whole `Decision`; a function option has run by then. Several samples are not streamed.
            Iterating raises what `exec` raises.

        Raises:
            UsageError: The call is wrong; nothing was sent.

        Example:
            >>> from decidable import Finished, TextDelta
            >>> from decidable.testing import scripted
            >>> with scripted("It rains.", chunks=3) as rt, rt.stream("Weather?") as events:
            ...     [event.text for event in events if isinstance(event, TextDelta)]
            ['It ', 'rai', 'ns.']
        """
        from decidable.flow.streaming import Stream  # most programs wait for the whole reply

        refuse_unknown("stream", settings, ExecSettings, "choices", "response_format")
        scope, flow = self._turn(content, choices, response_format, in_loop=False, record=True, **settings)
        return Stream(flow, self.host, scope)

    def async_stream(
        self,
        content: ContentInput,
        *,
        choices: Any = None,
        response_format: Any = None,
        **settings: Unpack[ExecSettings],
    ) -> AsyncStream[Any]:
        """`stream` for ``async for``, best used in an ``async with`` block."""
        from decidable.flow.streaming import AsyncStream  # as above

        refuse_unknown("async_stream", settings, ExecSettings, "choices", "response_format")
        scope, flow = self._turn(content, choices, response_format, in_loop=True, record=True, **settings)
        return AsyncStream(flow, self.host, scope)

    # --- what decisions are made of -------------------------------------------------------------------------------

    def decision(
        self,
        prompt: ContentInput,
        options: Any,
        *,
        state: Any = None,
        context: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
        on_retry: OnRetry | None = None,
        in_loop: bool = False,
        record: bool = False,
        **settings: Any,
    ) -> tuple[Scope, Flow[Any]]:
        """One decision as a flow, and the scope to run it in; `decision.make` says what the arguments mean.

        The flow ends in the result, or with `record` in the `Decision`. Everything that can be refused is refused
        here, before anything is sent.
        """
        scope = self._scope(timeout_s)
        menu = menu_of(options)
        if context is not None and not isinstance(context, Mapping):
            raise ArgumentTypeError(f"context= maps parameter names to values; it is {context!r}")
        injected = _injected(menu, self, context or {}, in_loop=in_loop)
        content = prompt if type(prompt) is str else content_of(prompt)
        manner = self._manner(scope, **settings)
        calls = self._calls(scope, on_retry)
        if len(calls) == 1:
            found = picking(menu, content, state, manner, calls[0])
        else:
            found = chain(menu, content, state, manner, calls, on=self.fallback_on)
        if scope.recorder is not None:
            traced = in_node(decide(found, injected), "decision", " | ".join(menu.index), prompt)
            return scope, traced if record else _result(traced)
        return scope, decide(found, injected, record=record)

    def run(self, flow: Flow[R], scope: Scope) -> R:
        """Drive `flow` in `scope`, in this thread."""
        __tracebackhide__ = True
        token = scope_variable.set(scope)
        try:
            return drive(flow, self.host)
        finally:
            scope_variable.reset(token)

    async def run_async(self, flow: Flow[R], scope: Scope) -> R:
        """Drive `flow` in `scope`, in this task."""
        __tracebackhide__ = True
        token = scope_variable.set(scope)
        try:
            return await drive_async(flow, self.host)
        finally:
            scope_variable.reset(token)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _call(self, content: list[dict[str, Any]], model: str | None, response_format: Any) -> Any:
        """For subclasses: answer `content` (a list of blocks) with text."""
        raise UsageError("this runtime has nobody to ask")  # pragma: no cover - replaced, or never reached

    def _listed(self, call: Any) -> tuple[Provider, ...]:
        if isinstance(call, (list, tuple)):
            if not call:
                raise UsageError("Runtime needs someone to ask; the list of providers is empty")
            return tuple(self._provider(one) for one in call)
        return (self._provider(call),)

    def _provider(self, call: Any) -> Provider:
        if call is None:
            if type(self)._call is Runtime._call:  # noqa: SLF001 - the subclass's own hook
                raise UsageError(
                    "Runtime needs someone to ask: a function, a name such as 'local', or a Provider; "
                    "or define _call in a subclass"
                )
            return CallableProvider(self._call, model=self.model, name=type(self).__name__)
        if isinstance(call, str):
            return resolve_provider(call)
        if isinstance(call, type):
            raise UsageError(f"Runtime takes an instance or a function, not the class {call.__name__}")
        if isinstance(call, Provider):
            return call
        if callable(call):
            return CallableProvider(call, model=self.model)
        raise UsageError(f"Runtime takes a function, a provider's name or a Provider, not {call!r}")

    def _scope(self, timeout_s: float | None) -> Scope:
        """The ambient scope with this runtime in it, and the deadline nearer of the two."""
        if self._closed:
            raise RuntimeClosedError(f"{self!r} was closed; make a new one")
        scope = current_scope()
        seconds = checked_seconds(timeout_s) if timeout_s is not None else self.timeout_s
        if seconds is None:
            return scope if scope.runtime is self else scope.asking(self, scope.deadline)
        deadline = self.host.clock() + seconds
        if scope.deadline is not None:
            deadline = min(deadline, scope.deadline)
        return scope.asking(self, deadline)

    def _calls(self, scope: Scope, on_retry: OnRetry | None) -> list[Call]:
        """One call for each provider, begun now."""
        now, told = self.host.clock(), on_retry or self.on_retry
        calls = []
        for provider in self.providers:
            calls.append(Call(provider, self.max_retries, scope.deadline, told, self.budget, now))  # noqa: PERF401 - cheaper
        return calls

    def _manner(
        self,
        scope: Scope,
        *,
        max_retries: int = 1,
        repair: Repair | None = None,
        model: str | None = None,
        effort: str | None = None,
        sampling: Sampling | Mapping[str, Any] | None = None,
        via: Via | None = None,
        samples: int = 1,
        shuffle: bool | int = False,
        logprobs: bool = False,
        instruction: str = DECISION_INSTRUCTION,
    ) -> Manner:
        """The settings of one call, checked, with the runtime's own where it does not say."""
        return Manner(
            max_retries if type(max_retries) is int and max_retries >= 0 else checked_count(max_retries),
            self.repair if repair is None else checked_repair(repair),
            scope.frame.system if scope.frame is not None else None,
            model or self.model,
            effort,
            self.sampling if sampling is None else sampling_of(sampling),
            instruction,
            self.via if via is None else checked_via(via),
            1 if type(samples) is int and samples == 1 else checked_samples(samples),
            None if shuffle is False else checked_seed(shuffle),
            bool(logprobs),
        )

    def _turn(
        self,
        content: ContentInput,
        choices: Any,
        response_format: Any,
        *,
        in_loop: bool,
        record: bool = False,
        tools: Iterable[Any] | None = None,
        toolset: str | None = None,
        **settings: Any,
    ) -> tuple[Scope, Flow[Any]]:
        """One turn as a flow: a decision, a typed reply, or plain text."""
        refuse_tools(tools, toolset)
        if choices is None:
            return self._reply(content, response_format, **settings)
        if response_format is not None:
            raise UsageError("give choices= or response_format=, not both; a choice can carry a payload schema")
        return self.decision(
            content, choices, instruction=DECISION_FINISH_INSTRUCTION, in_loop=in_loop, record=record, **settings
        )

    def _reply(
        self,
        content: ContentInput,
        response_format: Any,
        *,
        context: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
        on_retry: OnRetry | None = None,
        **settings: Any,
    ) -> tuple[Scope, Flow[Any]]:
        """A reply without a menu as a flow: typed, or plain text."""
        scope = self._scope(timeout_s)
        manner = self._manner(scope, **settings)
        prompt, calls = content_of(content), self._calls(scope, on_retry)
        if len(calls) == 1:
            return scope, answering(prompt, response_format, manner, calls[0], must=False)
        return scope, chain_of_answers(prompt, response_format, manner, calls, self.fallback_on)


def _result(flow: Flow[Decision[Any]]) -> Flow[Any]:
    return (yield from flow).result


def _injected(menu: Menu, runtime: Runtime, context: Mapping[str, Any], *, in_loop: bool) -> Mapping[str, Any]:
    """Values for the parameters that no model fills; refuses what could not run once it was picked."""
    wanted = False
    for option in menu.options:
        if type(option) is not FunctionOption:
            continue
        spec = option.spec
        if spec.is_async and not in_loop:
            raise UsageError(
                f"option {option.name!r} is an async function; use the async twin (async_make, async_exec) to have it "
                "awaited"
            )
        if spec.hidden_required:
            check_context(option, context)
        wanted = wanted or bool(spec.injected or spec.hidden)
    return {**dict.fromkeys(RUNTIME_NAMES, runtime), **context} if wanted else context
