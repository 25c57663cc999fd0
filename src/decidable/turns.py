"""One turn of `exec` as a flow: a decision, a typed reply, or text; with tools or without; begun, or gone on with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import iscoroutinefunction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from decidable.ambient import Scope
from decidable.asking import answering, chain_of_answers
from decidable.content import ContentInput, content_of
from decidable.errors import SettingError, UsageError, did_you_mean
from decidable.flow.effects import Flow
from decidable.flow.prompts import DECISION_FINISH_INSTRUCTION
from decidable.menu import Menu, menu_of
from decidable.messages import ToolChoice
from decidable.options import FunctionOption
from decidable.runtime_base import RuntimeBase, injected_for, recorded
from decidable.settings import (
    Checkpoint,
    OnRetry,
    checked_approver,
    checked_iterations,
    checked_repeats,
    refuse_without_choices,
)

if TYPE_CHECKING:
    from decidable.ambient import Meter
    from decidable.approval import Approver
    from decidable.budget import Budget
    from decidable.flow.tool_calls import Tooling
    from decidable.resuming import Resumed
    from decidable.working import Work

__all__ = ["Turns"]


class Turns(RuntimeBase):
    """Makes the flow of each turn; `decidable.Runtime` says what the arguments mean."""

    def _turn(
        self,
        content: ContentInput,
        choices: Any,
        response_format: Any,
        *,
        in_loop: bool,
        record: bool = False,
        is_watched: bool = False,
        tools: Iterable[Any] | None = None,
        toolset: str | Sequence[str] | None = None,
        tools_allow: Iterable[str] | None = None,
        tools_deny: Iterable[str] | None = None,
        tool_choice: str = "auto",
        parallel_tool_calls: bool | None = None,
        max_iterations: int = 20,
        max_repeats: int | None = 5,
        checkpoint: Checkpoint | None = None,
        **settings: Any,
    ) -> tuple[Scope, Flow[Any]]:
        """One turn as a flow."""
        if choices is not None and response_format is not None:
            raise UsageError("give choices= or response_format=, not both; a choice can carry a payload schema")
        if choices is None:
            refuse_without_choices(settings)
        offered: tuple[FunctionOption[Any], ...] = ()
        if tools is not None or toolset is not None or tools_allow is not None or tools_deny is not None:
            from decidable.toolkit import selected_tools  # most calls have none

            offered = selected_tools(self.toolsets, tools, toolset, tools_allow, tools_deny)
        if parallel_tool_calls is not None and not isinstance(parallel_tool_calls, bool):
            raise SettingError(f"parallel_tool_calls is True, False or None, not {parallel_tool_calls!r}")
        choice, most = _tool_choice(tool_choice, offered), checked_iterations(max_iterations)
        repeats = checked_repeats(max_repeats)
        if offered:
            limits = {"choice": choice, "parallel": parallel_tool_calls, "max_iterations": most, "max_repeats": repeats}
            live = {"tools": offered, "choices": choices, "response_format": response_format}
            return self._working(
                content,
                live,
                limits,
                in_loop=in_loop,
                record=record,
                is_watched=is_watched,
                checkpoint=checkpoint,
                **settings,
            )
        if choices is None:
            return self._reply(content, response_format, **settings)
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
        budget: Budget | Meter | None = None,
        approver: Approver | None = None,
        **settings: Any,
    ) -> tuple[Scope, Flow[Any]]:
        """A reply without tools or menu as a flow: typed, or plain text."""
        scope = self._scope(timeout_s, budget)
        manner = self._manner(scope, **settings)
        prompt, calls = content_of(content), self._calls(scope, on_retry)
        if len(calls) == 1:
            return scope, answering(prompt, response_format, manner, calls[0], must=False)
        return scope, chain_of_answers(prompt, response_format, manner, calls, self.fallback_on)

    def _working(
        self,
        content: ContentInput,
        live: Mapping[str, Any],
        limits: Mapping[str, Any],
        *,
        in_loop: bool,
        record: bool,
        is_watched: bool,
        checkpoint: Checkpoint | None,
        timeout_s: float | None = None,
        on_retry: OnRetry | None = None,
        budget: Budget | Meter | None = None,
        context: Mapping[str, Any] | None = None,
        approver: Approver | None = None,
        **settings: Any,
    ) -> tuple[Scope, Flow[Any]]:
        """A turn with tools, from its beginning."""
        from decidable.working import Ending, Work, opened

        scope = _approving(self._scope(timeout_s, budget), approver)
        manner = self._manner(scope, **settings, instruction=DECISION_FINISH_INSTRUCTION)
        menu = None if live["choices"] is None else menu_of(live["choices"])
        ending = Ending(menu, live["response_format"], content_of(content))
        job = opened(ending, manner, self.provider)
        live = {**live, "context": context, "approver": scope.approver}
        tooling = self._tooling(live, limits, scope, in_loop=in_loop, is_watched=is_watched, checkpoint=checkpoint)
        work = Work(ending, job, tooling, manner)
        return scope, self._worked(work, scope, live, limits, on_retry=on_retry, record=record, in_loop=in_loop)

    def _tooling(
        self,
        live: Mapping[str, Any],
        limits: Mapping[str, Any],
        scope: Scope,
        *,
        in_loop: bool,
        is_watched: bool = False,
        checkpoint: Checkpoint | None = None,
        approvals: Mapping[str, Any] | None = None,
    ) -> Tooling:
        """The tools of one turn, ready to run."""
        from decidable.flow.desk import Desk
        from decidable.flow.tool_calls import Tooling
        from decidable.native import menu_tools

        menu = Menu(live["tools"])
        specs, names = menu_tools(menu)
        injected, _ = injected_for(menu, self, live["context"], in_loop=in_loop, noun="tool")
        if checkpoint is not None and not callable(checkpoint):
            raise UsageError(f"checkpoint= is a function that keeps a snapshot, not {checkpoint!r}")
        if not in_loop and iscoroutinefunction(checkpoint):
            raise UsageError("an async checkpoint= needs the async twin of the call, or give a sync function")
        return Tooling(
            menu,
            specs,
            names,
            injected,
            repair=self.repair,
            **{**limits, "choice": _spelled(limits["choice"], names)},
            desk=Desk(scope.approver, approvals or {}),
            checkpoint=checkpoint,
            lock=None if checkpoint is None else _lock(in_loop=in_loop),
            deadline=scope.deadline,
            is_traced=scope.recorder is not None,
            is_watched=is_watched,
        )

    def _worked(
        self,
        work: Work,
        scope: Scope,
        live: Mapping[str, Any],
        limits: Mapping[str, Any],
        *,
        on_retry: OnRetry | None,
        record: bool,
        in_loop: bool,
        approvals: Mapping[str, Any] = MappingProxyType({}),
    ) -> Flow[Any]:
        """The flow of a turn with tools, whose stop keeps how far it has come."""
        from decidable.flow.decide import decide
        from decidable.flow.desk import Desk
        from decidable.flow.work import kept
        from decidable.snapshots import dumped, settings_of

        job, tooling, menu = work.job, work.tooling, work.ending.menu
        calls, names = self._calls(scope, on_retry), list(tooling.menu.index)
        settings = settings_of(work.manner, menu=menu, record=record, tools=names, limits=limits)
        settings["is_typed"] = work.ending.response_format is not None
        tooling.repair, tooling.options = work.manner.repair, menu.index if menu is not None else ()
        tooling.snapshot = partial(dumped, job, settings)
        if menu is None:
            flow = work.answering(calls, self.fallback_on)
        else:
            injected, is_guarded = injected_for(menu, self, live["context"], in_loop=in_loop)
            desk = Desk(tooling.desk.approver, approvals) if is_guarded or approvals else None
            found = work.picking(calls, self.fallback_on)
            whole = record or scope.recorder is not None
            flow = decide(found, injected, desk=desk, job=job, save=tooling.save, record=whole)
            if scope.recorder is not None:
                flow = recorded(flow, menu, work.ending.prompt, bare=not record)
        return kept(flow, job, tooling.snapshot, live)

    def _resumed(
        self, stopped: Any, approvals: Mapping[str, Any] | None, settings: Mapping[str, Any], *, in_loop: bool
    ) -> tuple[Scope, Flow[Any]]:
        """The flow that goes on with a stopped run."""
        from decidable.resuming import Resumed
        from decidable.working import Work

        was = Resumed.of(stopped, approvals, settings, self.toolsets)
        scope = _approving(self._scope(settings.get("timeout_s"), settings.get("budget")), was.live["approver"])
        on_retry = settings.get("on_retry")
        if not was.is_work:
            return scope, self._decided(was, scope, on_retry, in_loop=in_loop)
        limits = {**was.limits, **{n: settings[n] for n in ("max_iterations", "max_repeats") if n in settings}}
        checked_iterations(limits["max_iterations"], was.job.iterations)
        checked_repeats(limits["max_repeats"])
        now, later = (was.approvals, {}) if was.job.round is not None else ({}, was.approvals)
        checkpoint = settings.get("checkpoint")
        tooling = self._tooling(was.live, limits, scope, in_loop=in_loop, checkpoint=checkpoint, approvals=now)
        work = Work(was.ending, was.job, tooling, was.manner)
        flow = self._worked(
            work, scope, was.live, limits, on_retry=on_retry, record=was.record, in_loop=in_loop, approvals=later
        )
        return scope, flow

    def _decided(self, was: Resumed, scope: Scope, on_retry: OnRetry | None, *, in_loop: bool) -> Flow[Any]:
        """A decision without tools, whose pick waited for a person's word."""
        from decidable.asking import asker_of
        from decidable.flow.decide import picked

        menu = cast("Menu", was.ending.menu)
        injected, _ = injected_for(menu, self, was.live["context"], in_loop=in_loop)
        writes = was.job.waiting is None or was.job.waiting.answers is None
        calls = [c for c in self._calls(scope, on_retry) if c.provider.capabilities.chat == writes]
        calls = calls or self._calls(scope, on_retry)
        call = next((c for c in calls if c.provider.name == was.job.provider), calls[0])
        asker = asker_of(menu, was.ending.prompt, was.state, was.manner, call.provider, can_fill=True)
        found = picked(call, asker, was.job.attempts, was.job.waiting)
        return self._guarded(
            scope,
            found,
            injected,
            menu,
            was.ending.prompt,
            was.state,
            was.manner,
            was.live["context"],
            was.record,
            was.approvals,
        )


def _tool_choice(wanted: Any, offered: Sequence[FunctionOption[Any]]) -> ToolChoice:
    """Whether tools must be called, as a request says it."""
    if wanted in ("auto", "none"):
        return "none" if wanted == "none" else "auto"
    names = [made.name for made in offered]
    if wanted == "required":
        if not names:
            raise SettingError("tool_choice='required' needs tools=")
        return "required"
    if wanted not in names:
        hint = did_you_mean(wanted, ("auto", "required", "none", *names))
        raise SettingError(f"tool_choice is 'auto', 'required', 'none' or the name of a tool, not {wanted!r}; {hint}")
    from decidable.tools import NamedTool

    return NamedTool(str(wanted))


def _approving(scope: Scope, approver: Approver | None) -> Scope:
    """`scope`, in which calls within the call ask this person too."""
    return scope if approver is None else replace(scope, approver=checked_approver(approver))


def _spelled(choice: ToolChoice, names: Mapping[str, str]) -> ToolChoice:
    """`choice` with the tool's name as the model sees it, by which `names` tells the tools."""
    if isinstance(choice, str):
        return choice
    return replace(choice, name=next((shown for shown, own in names.items() if own == choice.name), choice.name))


def _lock(*, in_loop: bool) -> Any:
    """Lets one checkpoint at a time through."""
    if in_loop:
        import asyncio

        return asyncio.Lock()
    from threading import Lock

    return Lock()
