"""`Runtime`: a provider and how it is asked. Safe to share: what belongs to one call never stands on the instance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from decidable.ambient import Scope
from decidable.asking import answering, chain_of_answers
from decidable.attempt import Repair
from decidable.content import ContentInput, content_of
from decidable.errors import UsageError
from decidable.flow.effects import Flow
from decidable.flow.prompts import DECISION_FINISH_INSTRUCTION
from decidable.flow.record import Decision
from decidable.messages import Sampling
from decidable.runtime_base import RuntimeBase
from decidable.settings import ExecSettings, OnRetry, Via, refuse_tools, refuse_unknown, refuse_without_choices

if TYPE_CHECKING:
    from decidable.flow.streaming import AsyncStream, Stream

__all__ = ["Runtime"]

R = TypeVar("R")


class Runtime(RuntimeBase):
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

    @overload
    def stream(
        self, content: ContentInput, *, response_format: type[R], **settings: Unpack[ExecSettings]
    ) -> Stream[R]: ...
    @overload
    def stream(
        self, content: ContentInput, *, response_format: Mapping[str, Any], **settings: Unpack[ExecSettings]
    ) -> Stream[Any]: ...
    @overload
    def stream(
        self, content: ContentInput, *, choices: Any, **settings: Unpack[ExecSettings]
    ) -> Stream[Decision[Any]]: ...
    @overload
    def stream(self, content: ContentInput, **settings: Unpack[ExecSettings]) -> Stream[str]: ...
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

    @overload
    def async_stream(
        self, content: ContentInput, *, response_format: type[R], **settings: Unpack[ExecSettings]
    ) -> AsyncStream[R]: ...
    @overload
    def async_stream(
        self, content: ContentInput, *, response_format: Mapping[str, Any], **settings: Unpack[ExecSettings]
    ) -> AsyncStream[Any]: ...
    @overload
    def async_stream(
        self, content: ContentInput, *, choices: Any, **settings: Unpack[ExecSettings]
    ) -> AsyncStream[Decision[Any]]: ...
    @overload
    def async_stream(self, content: ContentInput, **settings: Unpack[ExecSettings]) -> AsyncStream[str]: ...
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

    # --- inside ---------------------------------------------------------------------------------------------------

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
            refuse_without_choices(settings)
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
