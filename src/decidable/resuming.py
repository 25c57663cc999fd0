"""A stopped run, read back: what it was asked for, what has been said since, and what must be given again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from decidable.approval import denial_of
from decidable.asking import Manner
from decidable.errors import ArgumentTypeError, RunStopped, SettingError, UsageError, did_you_mean
from decidable.flow.job import Job
from decidable.menu import PICK, menu_of
from decidable.snapshots import loaded
from decidable.toolkit import selected_tools, tools_of
from decidable.working import Ending

__all__ = ["Resumed"]


@dataclass(frozen=True, slots=True, eq=False)
class Resumed:
    """A stopped run.

    Attributes:
        job: How far it had come.
        ending: What it ends in.
        manner: How the model is asked.
        live: Tools, choices, response format, context and approver.
        limits: The limits of its loop.
        approvals: What a person has said since, by id.
        record: Whether it ends in the whole record.
        is_work: Whether it has tools; else it is a decision whose pick waits.
        state: What the decision is about, or None.
    """

    job: Job
    ending: Ending
    manner: Manner
    live: Mapping[str, Any]
    limits: Mapping[str, Any]
    approvals: Mapping[str, Any]
    record: bool
    is_work: bool
    state: str | None

    @classmethod
    def of(cls, stopped: Any, approvals: Any, given: Mapping[str, Any], toolsets: Mapping[str, Any]) -> Resumed:
        """Read a snapshot, or the error that carries one.

        Args:
            stopped: The `RunStopped`, its snapshot, or that as JSON text.
            approvals: Verdicts by id, or None.
            given: What the caller gives again; what is None is taken from the error, if it is one.
            toolsets: The runtime's named groups of tools.

        Raises:
            UsageError: Something is missing, or is not what the run had; nothing was sent or run.
        """
        live: dict[str, Any] = {}
        if isinstance(stopped, RunStopped):
            if stopped.snapshot is None:
                raise UsageError(f"there is nothing to go on with: this {type(stopped).__name__} kept no run")
            live, stopped = dict(stopped.live or {}), stopped.snapshot
        job, settings = loaded(stopped)
        live |= {name: value for name, value in given.items() if value is not None}
        if "tools" in settings:
            live["tools"] = _tools(live, settings["tools"], toolsets)
        menu = _menu(live.get("choices"), settings["options"])
        response_format = live.get("response_format")
        if settings.get("is_typed") and response_format is None:
            raise UsageError("this run ends in a typed reply: give response_format= again")
        if not settings.get("is_typed") and response_format is not None:
            raise UsageError("this run ends in no typed reply, so it takes no response_format=")
        prompt = settings.get("prompt", "")
        ending = Ending(menu, response_format, prompt if isinstance(prompt, str) else tuple(prompt))
        names = ("tools", "choices", "response_format", "context", "approver")
        return cls(
            job=job,
            ending=ending,
            manner=Manner(**settings["manner"]),
            live={name: live.get(name) for name in names},
            limits=settings.get("limits", {}),
            approvals=_approvals(approvals, job),
            record=settings["record"],
            is_work="tools" in settings,
            state=settings.get("state"),
        )


def _tools(live: Mapping[str, Any], names: list[str], toolsets: Mapping[str, Any]) -> Any:
    chosen = [live.get(name) for name in ("tools", "toolset", "tools_allow", "tools_deny")]
    offered = selected_tools(toolsets, *chosen)
    missing = [name for name in names if name not in {made.name for made in offered}]
    if missing:
        given = {made.name for made in tools_of(live.get("tools") or ())}
        if away := [name for name in missing if name in given]:
            raise UsageError(f"this run has the tool {away[0]!r}, which is not available now, or not allowed")
        raise UsageError(
            f"this run has the tools {', '.join(map(repr, names))}; give them again with tools= or toolset=. "
            f"Missing: {', '.join(map(repr, missing))}"
        )
    return offered


def _menu(choices: Any, names: list[str] | None) -> Any:
    if names is None:
        if choices is not None:
            raise UsageError("this run ends in no pick, so it takes no choices=; begin another one for a decision")
        return None
    if choices is None:
        raise UsageError(f"this run ends in a pick of {', '.join(map(repr, names))}: give choices= again")
    menu = menu_of(choices)
    if list(menu.index) != names:
        raise SettingError(
            f"choices= are {', '.join(map(repr, menu.index))}, but this run was asked to pick from "
            f"{', '.join(map(repr, names))}"
        )
    return menu


def _approvals(approvals: Any, job: Job) -> Mapping[str, Any]:
    """The verdicts, each about a call that waits."""
    if approvals is None:
        return {}
    if not isinstance(approvals, Mapping):
        raise ArgumentTypeError(f"approvals map a call's id to True, False or Denied('why'), not {approvals!r}")
    waiting: list[str] = [PICK] if job.waiting is not None else []
    if job.round is not None:
        calls = zip(job.round.reply.tool_calls, job.round.results, strict=True)
        waiting = [call.id for call, result in calls if result is None]
    for id_, verdict in approvals.items():
        if id_ not in waiting:
            raise UsageError(f"no call with the id {id_!r} waits; {did_you_mean(id_, waiting, 'those that wait')}")
        denial_of(verdict, id_)
    return approvals
