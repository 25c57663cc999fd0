"""What a runtime is before it has verbs: who answers, how they are asked, and how a flow is run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Never, Self, TypeVar

from decidable.ambient import Ledger, Meter, Scope, current_scope, scope_variable
from decidable.asking import Manner, chain, picking
from decidable.attempt import Repair
from decidable.binding import check_context
from decidable.content import Content, ContentInput, content_of, text_of
from decidable.errors import ArgumentTypeError, RuntimeClosedError, SettingError, UsageError
from decidable.flow.ask import Call
from decidable.flow.decide import Picked, decide
from decidable.flow.drivers import drive, drive_async
from decidable.flow.effects import Flow, in_node
from decidable.flow.prompts import DECISION_INSTRUCTION
from decidable.flow.record import Decision, FallbackOn
from decidable.flow.run import HOST, Host
from decidable.menu import Menu, menu_of
from decidable.messages import Sampling
from decidable.options import FunctionOption, Option
from decidable.providers.callable import CallableProvider
from decidable.providers.protocol import Provider
from decidable.providers.registry import resolve_provider
from decidable.schema.signature import RUNTIME_NAMES
from decidable.settings import (
    OnRetry,
    Via,
    checked_approver,
    checked_count,
    checked_effort,
    checked_fallback,
    checked_repair,
    checked_samples,
    checked_seconds,
    checked_seed,
    checked_store,
    checked_via,
    sampling_of,
    unknown_setting,
)

if TYPE_CHECKING:
    from decidable.approval import Approver
    from decidable.budget import Budget
    from decidable.cancelling import CancelToken
    from decidable.flow.gates import Gate
    from decidable.questions.measures import Threshold
    from decidable.questions.receipts import ReceiptStore
    from decidable.questions.types import Choice

__all__ = ["RuntimeBase", "injected_for", "recorded"]

R = TypeVar("R")


class RuntimeBase:
    """Providers, settings, life, and flows; `decidable.Runtime` adds the verbs and says what the arguments mean."""

    def __init__(
        self,
        call: Callable[..., Any] | str | Provider | Sequence[Any] | None = None,
        *,
        model: str | None = None,
        max_retries: int = 6,
        repair: Repair = "syntax",
        timeout_s: float | None = None,
        on_retry: OnRetry | None = None,
        budget: Budget | Meter | None = None,
        sampling: Sampling | Mapping[str, Any] | None = None,
        via: Via = "menu",
        fallback: Any = None,
        fallback_on: FallbackOn | Sequence[FallbackOn] = ("failure", "exhausted", "unsure"),
        toolsets: Mapping[str, Iterable[Any]] | None = None,
        receipts: ReceiptStore | None = None,
        host: Host = HOST,
        **unknown: Never,
    ) -> None:
        if unknown:
            raise ArgumentTypeError(unknown_setting(*unknown))
        self.max_retries = checked_count(max_retries)
        self.repair = checked_repair(repair)
        self.timeout_s = checked_seconds(timeout_s)
        self.model = model
        self.on_retry = on_retry
        self.budget = budget
        if budget is not None:
            _metered(budget, 0.0)  # refused now, not in the first call
        self.sampling = sampling_of(sampling)
        self.via = checked_via(via)
        self.fallback_on = checked_fallback(fallback_on)
        self.toolsets = _checked_toolsets(toolsets)
        self.receipts = checked_store(receipts)
        self.gates: Sequence[tuple[Threshold, ...] | None] | None = None
        self.host = host
        self.providers = (*self._listed(call), *(self._listed(fallback) if fallback is not None else ()))
        self.provider = self.providers[0]
        for provider in self.providers[1:]:
            if getattr(provider, "needs_model", False) and provider.model is None:
                raise SettingError(f"{provider.name}, asked as fallback, needs a model: write '{provider.name}:model'")
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
        max_retries: int = 1,
        repair: Repair | None = None,
        model: str | None = None,
        effort: str | None = None,
        sampling: Sampling | Mapping[str, Any] | None = None,
        via: Via | None = None,
        samples: int = 1,
        shuffle: bool | int = False,
        logprobs: bool = False,
        budget: Budget | Meter | None = None,
        approver: Approver | None = None,
        threshold: float | Threshold | None = None,
        margin: float | None = None,
        unsure: Any = None,
        none_of_these: Any = False,
        ask_someone: Any = False,
        orders: int = 1,
        instruction: str = DECISION_INSTRUCTION,
        in_loop: bool = False,
        record: bool = False,
    ) -> tuple[Scope, Flow[Any]]:
        """One decision as a flow, and the scope to run it in; `decision.make` says what the arguments mean.

        The flow ends in the result, or with `record` in the `Decision`. Everything that can be refused is refused
        here, before anything is sent.
        """
        scope = self._scope(timeout_s, budget)
        if approver is not None:
            scope = replace(scope, approver=checked_approver(approver))
        menu, taken = menu_of(options), None
        if unsure is not None or none_of_these is not False or ask_someone is not False:
            menu, taken = _with_exits(menu, none_of_these, unsure, ask_someone)
        injected, is_guarded = injected_for(menu, self, context, in_loop=in_loop)
        content = prompt if type(prompt) is str else content_of(prompt)
        manner = self._manner(
            scope, max_retries, repair, model, effort, sampling, via, samples, shuffle, logprobs, instruction
        )
        calls = self._calls(scope, on_retry)
        if type(orders) is not int or orders != 1:
            manner.orders = checked_samples(orders, "orders")
        scope = self._kept(scope)
        manner.ledger = scope.ledger
        gates = None
        if threshold is not None or margin is not None or self.gates is not None or taken is not None:
            gates = self._gated(manner, menu, content, state, threshold, margin, taken)
        found = self._found(menu, content, state, manner, calls, gates)
        if taken is not None:
            found = _or_unsure(found, taken, calls)
        if is_guarded:
            return scope, self._guarded(scope, found, injected, menu, content, state, manner, context, record)
        if scope.recorder is not None:
            return scope, recorded(decide(found, injected), menu, prompt, bare=not record)
        return scope, decide(found, injected, record=record)

    def _kept(self, scope: Scope) -> Scope:
        """The scope with this runtime's receipts, unless there are some around it."""
        ledger = scope.ledger
        if self.receipts is None or (ledger is not None and ledger.store is not None):
            return scope
        return replace(scope, ledger=replace(ledger or Ledger(), store=self.receipts))

    def _gated(  # noqa: PLR0917 - one call, of what stands above
        self,
        manner: Manner,
        menu: Menu,
        content: Content,
        state: Any,
        threshold: float | Threshold | None,
        margin: float | None,
        taken: Option[Any] | None,
    ) -> Sequence[Gate | None]:
        """How sure each provider must be; the first one's is in the manner."""
        from decidable.flow.gates import Gate, thresholds_of

        def question() -> Choice:
            return pick_question(menu, content, state)

        given = thresholds_of(threshold, margin)
        steps = [given] * len(self.providers)
        if self.gates is not None:
            steps = [given or own if own is not None else () for own in self.gates]
        made = [Gate(one, question) if one else None for one in steps]
        for gate in made:
            if gate is not None:
                gate.refuse_unbound(None)
        manner.gate, manner.unsure = made[0], None if taken is None else taken.name
        return made

    def _found(  # noqa: PLR0917 - as above
        self,
        menu: Menu,
        content: Content,
        state: Any,
        manner: Manner,
        calls: list[Call],
        gates: Sequence[Gate | None] | None,
    ) -> Flow[Picked]:
        """The flow that comes to a choice, by one provider or several; or to the made-up one of a dry run."""
        if manner.ledger is not None and manner.ledger.rehearsal is not None:
            from decidable.rehearsing import rehearsed_pick

            return rehearsed_pick(manner, menu, pick_question(menu, content, state), content, state, calls[0])
        if len(calls) == 1:
            return picking(menu, content, state, manner, calls[0])
        return chain(menu, content, state, manner, calls, on=self.fallback_on, gates=gates)

    def _guarded(  # noqa: PLR0917 - one call, of what stands above
        self,
        scope: Scope,
        found: Flow[Picked],
        injected: Mapping[str, Any],
        menu: Menu,
        content: Content,
        state: Any,
        manner: Manner,
        context: Mapping[str, Any] | None,
        record: bool,
        approvals: Mapping[str, Any] = MappingProxyType({}),
    ) -> Flow[Any]:
        """A decision some of whose options need a person's word."""
        from decidable.flow.desk import Desk
        from decidable.flow.job import Job
        from decidable.flow.work import kept
        from decidable.snapshots import dumped, settings_of

        if scope.approver is None and (manner.samples > 1 or manner.seed is not None or manner.logprobs):
            raise UsageError("an option that requires approval needs approver= where samples= or logprobs= decide")
        job, desk = Job([]), Desk(scope.approver, approvals)
        settings = settings_of(manner, menu=menu, record=record, prompt=content, state=state)
        flow: Flow[Any] = decide(found, injected, desk=desk, job=job, record=True)
        if scope.recorder is not None:
            flow = recorded(flow, menu, content, bare=False)
        live = {"choices": menu, "context": context, "approver": scope.approver}
        flow = kept(flow, job, lambda: dumped(job, settings), live)
        return flow if record else _result(flow)

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
            if type(self)._call is RuntimeBase._call:  # noqa: SLF001 - the subclass's own hook
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
        hint = "; give its .provider" if isinstance(getattr(call, "provider", None), Provider) else ""
        raise UsageError(f"Runtime takes a function, a provider's name or a Provider, not {call!r}{hint}")

    def _scope(self, timeout_s: float | None, budget: Budget | Meter | None = None) -> Scope:
        """The ambient scope with this runtime in it, the deadline nearer of the two, and what counts."""
        if self._closed:
            raise RuntimeClosedError(f"{self!r} was closed; make a new one")
        scope = current_scope()
        seconds = checked_seconds(timeout_s) if timeout_s is not None else self.timeout_s
        limit = self.budget if budget is None else budget
        me: Any = self  # always a Runtime
        if seconds is None and limit is None:
            return scope if scope.runtime is self else scope.asking(me, scope.deadline, scope.meters)
        now, meters = self.host.clock(), scope.meters
        ends = [] if seconds is None else [now + seconds]
        if scope.deadline is not None:
            ends.append(scope.deadline)
        if limit is not None and limit not in meters:  # a meter of the runtime's own counts once, however deep
            meter = _metered(limit, now)
            meters = (*meters, meter)
            if (until := getattr(meter, "until", None)) is not None:
                ends.append(until)
        return scope.asking(me, min(ends, default=None), meters)

    def opened(
        self,
        *,
        timeout_s: float | None = None,
        budget: Budget | Meter | None = None,
        on_retry: OnRetry | None = None,
        cancel: CancelToken | None = None,
    ) -> tuple[Scope, list[Call]]:
        """The scope of a call that asks typed questions, and for each provider how it is asked; begun now."""
        scope = self._kept(self._scope(timeout_s, budget))
        calls = self._calls(scope, on_retry)
        for call in calls:
            call.cancel = cancel
        return scope, calls

    def _calls(self, scope: Scope, on_retry: OnRetry | None) -> list[Call]:
        """One call for each provider, begun now."""
        now, told = self.host.clock(), on_retry or self.on_retry
        calls = []
        for provider in self.providers:
            calls.append(Call(provider, self.max_retries, scope.deadline, told, scope.meters, now))  # noqa: PERF401 - cheaper
        return calls

    def _manner(  # noqa: PLR0917 - on the hot path, where keywords cost
        self,
        scope: Scope,
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
            effort if effort is None else checked_effort(effort),
            self.sampling if sampling is None else sampling_of(sampling),
            instruction,
            self.via if via is None else checked_via(via),
            1 if type(samples) is int and samples == 1 else checked_samples(samples),
            None if shuffle is False else checked_seed(shuffle),
            bool(logprobs),
        )


def pick_question(menu: Menu, content: Content, state: Any) -> Choice:
    """The question that the pick answers: what a threshold is bound to, and what a decision model is asked."""
    return menu.pick_question(text_of(content) if state is not None else "")


def _with_exits(menu: Menu, none_of_these: Any, unsure: Any, ask_someone: Any) -> tuple[Menu, Option[Any] | None]:
    from decidable.exits import with_exits  # most menus have no ways out

    return with_exits(menu, none_of_these, unsure, ask_someone)


def _or_unsure(found: Flow[Picked], taken: Option[Any], calls: list[Call]) -> Flow[Picked]:
    from decidable.flow.gates import or_unsure  # few menus say what to do when it is unsure

    return or_unsure(found, taken, calls)


def recorded(flow: Flow[Decision[Any]], menu: Menu, prompt: Any, *, bare: bool) -> Flow[Any]:
    """A decision in a trace node of its own; `bare` for its result alone."""
    traced = in_node(flow, "decision", " | ".join(menu.index), prompt)
    return _result(traced) if bare else traced


def _result(flow: Flow[Decision[Any]]) -> Flow[Any]:
    return (yield from flow).result


def injected_for(
    menu: Menu, runtime: RuntimeBase, context: Mapping[str, Any] | None, *, in_loop: bool, noun: str = "option"
) -> tuple[Mapping[str, Any], bool]:
    """Values for the parameters that no model fills, and whether a function may need a person's word.

    Raises:
        UsageError: Something could not run once it was picked.
    """
    if context is not None and not isinstance(context, Mapping):
        raise ArgumentTypeError(f"context= maps parameter names to values; it is {context!r}")
    values = context or {}
    wanted = is_guarded = False
    for option in menu.options:
        if type(option) is not FunctionOption:
            continue
        spec = option.signature
        if spec.is_async and not in_loop:
            raise UsageError(
                f"{noun} {option.name!r} is an async function; use the async twin (async_make, async_exec, "
                "async_stream) to have it awaited"
            )
        if spec.hidden_required:
            check_context(option, values, noun)
        wanted = wanted or bool(spec.injected or spec.hidden)
        is_guarded = is_guarded or (option.rules is not None and option.rules.requires_approval is not False)
    return ({**dict.fromkeys(RUNTIME_NAMES, runtime), **values} if wanted else values), is_guarded


def _checked_toolsets(toolsets: Any) -> Mapping[str, Any]:
    if toolsets is None:
        return {"default": ()}
    from decidable.toolkit import checked_toolsets  # most programs have none

    return checked_toolsets(toolsets)


def _metered(budget: Budget | Meter, now: float) -> Meter:
    from decidable.budget import meter_of  # most programs have none

    return meter_of(budget, now)
