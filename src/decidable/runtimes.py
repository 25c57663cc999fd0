"""`Runtime`: a provider and how it is asked. Safe to share: what belongs to one call never stands on the instance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from decidable.attempt import Repair
from decidable.content import ContentInput
from decidable.errors import RunStopped
from decidable.flow.record import Decision
from decidable.messages import Sampling
from decidable.settings import Checkpoint, ExecSettings, OnRetry, ResumeSettings, Via, refuse_unknown
from decidable.turns import Turns

if TYPE_CHECKING:
    from decidable.ambient import Meter
    from decidable.approval import Approver, Verdict
    from decidable.budget import Budget
    from decidable.flow.streaming import AsyncStream, Stream

__all__ = ["Runtime"]

R = TypeVar("R")


class Runtime(Turns):
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
        budget: What each call may spend, if it does not say: a `decidable.Budget`. Or an object with ``admit(request)``
            and ``book(reply)``, asked before each request of any call, and told after each reply.
        sampling: How tokens are chosen, if a call does not say: a `decidable.Sampling`, or a mapping of its fields.
        toolsets: Name to tools, for ``toolset=``.
        via: How a menu is put to a chat model, if a call does not say: ``"menu"`` (default), ``"tools"`` or
            ``"schema"``.
        fallback: Who is asked next, in any form that `call` takes.
        fallback_on: When: some of ``"failure"`` (the provider failed, after its retries), ``"exhausted"`` (no valid
            pick, after its re-asks), ``"unsure"``, and ``"refusal"``. Default all but the last. A provider that cannot
            be asked at all is always passed over. At the deadline nobody else is asked.
        receipts: Keeps a receipt of every typed question, of which none that is paid for is asked twice: a store of
            `decidable.receipts`. One around the call (`decidable.use_receipts`) goes first.
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
    def exec(self, content: ContentInput, *, response_format: None = None, **settings: Unpack[ExecSettings]) -> str: ...
    def exec(
        self,
        content: ContentInput,
        *,
        choices: Any = None,
        response_format: Any = None,
        context: Mapping[str, Any] | None = None,
        model: str | None = None,
        tools: Iterable[Any] | None = None,
        toolset: str | Sequence[str] | None = None,
        tools_allow: Iterable[str] | None = None,
        tools_deny: Iterable[str] | None = None,
        tool_choice: str = "auto",
        parallel_tool_calls: bool | None = None,
        max_iterations: int = 20,
        max_repeats: int | None = 5,
        approver: Approver | None = None,
        checkpoint: Checkpoint | None = None,
        budget: Budget | Meter | None = None,
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
            tools: What the model may call while it works, in any form that `decidable.toolkit.tools_of` takes:
                functions, agentic functions, `decidable.tool(...)`, ``{"spec", "execute"}``. Off unless given.
            toolset: Names of groups of tools, of ``Runtime(toolsets=...)``; ``"default"`` is empty unless it is there.
            tools_allow: Names of the only tools to offer, of those given.
            tools_deny: Names of tools not to offer.
            tool_choice: ``"auto"`` (default); ``"required"``, or the name of a tool, which hold until the first tool
                has run; ``"none"``.
            parallel_tool_calls: Whether several calls in one reply are wanted; None leaves it to the provider. Several
                run at the same time, unless it is False.
            max_iterations: Most replies while it works, from 1 to 50; tools that the last of them calls are not run.
                Default 20.
            max_repeats: How often the same call may give the same result while nothing new is tried. The next one is
                not run, and the model is told; after that it is an error. None for as often as it likes. Default 5.
            approver: Asked before a call runs that requires approval, of a tool or an option: a function, sync or
                async, of a `decidable.ApprovalRequest`, that returns True, False or ``Denied("why")``. Asked for the
                calls that tools and options make themselves, too. The time it takes counts, and is not cut short.
            checkpoint: Given a snapshot, as JSON, before each tool runs and after each result, and before a function
                that was picked runs, for `resume`; a function, sync or async. Nothing goes on before it returns.
            budget: What the call may spend, nested calls included: a `decidable.Budget`; default the runtime's.
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
            reply's text. A tool's failure is told to the model, and is no error of this call.

        Raises:
            DecisionError: No reply could be used.
            RunStopped: A limit is reached, or a person's word is needed; what was done is kept, for `resume`.
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
            tools_allow=tools_allow,
            tools_deny=tools_deny,
            tool_choice=tool_choice,
            parallel_tool_calls=parallel_tool_calls,
            max_iterations=max_iterations,
            max_repeats=max_repeats,
            approver=approver,
            checkpoint=checkpoint,
            budget=budget,
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
    async def async_exec(
        self, content: ContentInput, *, response_format: None = None, **settings: Unpack[ExecSettings]
    ) -> str: ...
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
    def stream(
        self, content: ContentInput, *, response_format: None = None, **settings: Unpack[ExecSettings]
    ) -> Stream[str]: ...
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
            (what came so far does not count: a retry or re-ask begins), with tools a `ToolCall` for each that will run
            and a `ToolResult` for each that has, and at last one `Finished`. With `choices` its
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
        scope, flow = self._turn(
            content, choices, response_format, in_loop=False, record=True, is_watched=True, **settings
        )
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
    def async_stream(
        self, content: ContentInput, *, response_format: None = None, **settings: Unpack[ExecSettings]
    ) -> AsyncStream[str]: ...
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
        scope, flow = self._turn(
            content, choices, response_format, in_loop=True, record=True, is_watched=True, **settings
        )
        return AsyncStream(flow, self.host, scope)

    # --- going on -------------------------------------------------------------------------------------------------

    def resume(
        self,
        stopped: RunStopped | Mapping[str, Any] | str,
        approvals: Mapping[str, Verdict] | None = None,
        **settings: Unpack[ResumeSettings],
    ) -> Any:
        """Go on with a run that was stopped, or with its last checkpoint; what was done is not done again.

        Args:
            stopped: The error that stopped it (`ApprovalRequired`, `MaxIterationsError`, ...); or its ``.snapshot``, or
                one that ``checkpoint=`` was given, as JSON values or text.
            approvals: What a person says of the calls that wait, by id, ``"pick"`` for an option: True, False or
                ``Denied("why")``. A call that had begun when the program ended is only made again if it stands here
                with True; else the model is told that its outcome is unknown, and a pick that had begun is an
                `ApprovalRequired`.
            settings: ``tools``, ``toolset``, ``tools_allow``, ``tools_deny``, ``choices``, ``response_format``,
                ``context`` and ``approver`` as they were: given again with a snapshot, taken from an error where they
                are left out. ``max_iterations``, ``max_repeats``, ``budget``, ``timeout_s``, ``on_retry``,
                ``checkpoint`` as for `exec`. Iterations count from the beginning of the run; time and budget from here.
                A run that is resumed twice from one place does twice what comes after it.

        Returns:
            What the stopped call would have returned.

        Raises:
            SettingError: It is no snapshot, or `choices` are others than it had.
            UsageError: A tool is missing, or an approval is about no call that waits.
            Exception: Whatever `exec` raises.

        Example:
            >>> from decidable import ApprovalRequired, tool
            >>> from decidable.testing import pick, scripted
            >>> rt = scripted(pick("refund", order="A-17"))
            >>> def refund(order: str) -> str:
            ...     return f"refunded {order}"
            >>> try:
            ...     rt.exec("A-17 broke.", choices=[tool(refund, requires_approval=True), "close"])
            ... except ApprovalRequired as stopped:
            ...     rt.resume(stopped, {"pick": True})
            'refunded A-17'
        """
        refuse_unknown("resume", settings, ResumeSettings, "approvals")
        scope, flow = self._resumed(stopped, approvals, settings, in_loop=False)
        return self.run(flow, scope)

    async def async_resume(
        self,
        stopped: RunStopped | Mapping[str, Any] | str,
        approvals: Mapping[str, Verdict] | None = None,
        **settings: Unpack[ResumeSettings],
    ) -> Any:
        """`resume` from an event loop."""
        refuse_unknown("async_resume", settings, ResumeSettings, "approvals")
        scope, flow = self._resumed(stopped, approvals, settings, in_loop=True)
        return await self.run_async(flow, scope)
