"""One round of tools: each call checked, allowed, run and answered. What goes wrong in a call is its result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from decidable.approval import ApprovalRequest
from decidable.attempt import Failure, FailureKind, Repair
from decidable.binding import Choice, bind, own, with_injected
from decidable.content import Content
from decidable.errors import ApprovalRequired, ModelRetry, RepeatedCallError
from decidable.flow.desk import Desk
from decidable.flow.effects import Announce, Flow, Now, RunAll, RunOption, Save, in_node
from decidable.flow.job import Job, Repeats, Round
from decidable.flow.prompts import (
    INTERRUPTED,
    NOT_NOW,
    TOO_LONG,
    no_tool_but_an_option,
    raised,
    repeated,
    shown_result,
    unknown_tool,
)
from decidable.menu import Menu
from decidable.messages import Message, ToolChoice
from decidable.options import FunctionOption
from decidable.reading.calls import pick_of
from decidable.rules import MAX_CHARS, Rules
from decidable.tools import ToolCall, ToolResult, ToolRun, ToolSpec

__all__ = ["Tooling", "answered"]

AT_ONCE = 128
"""Calls of one reply that run at the same time."""


@dataclass(slots=True, eq=False)
class Tooling:
    """The tools of a run, and how they are run.

    Attributes:
        menu: The tools.
        specs: As the model sees them.
        names: Their names as the model sees them, to their own.
        injected: Values for parameters that no model fills.
        options: Names of what is to be picked after the work.
        repair: How far arguments may be mended.
        choice: Whether tools must be called, until the first round is done.
        parallel: Whether several calls in one reply are wanted; False runs them one after the other.
        max_iterations: Most replies; what the last of them calls is not run.
        max_repeats: How often the same call may give the same result; None for as often as it likes.
        desk: Whom to ask whether a call may run.
        checkpoint: Given a snapshot before anything runs and after each result, or None.
        snapshot: Makes it.
        lock: Lets one checkpoint at a time through.
        deadline: Instant after which an async tool is given up, or None.
        is_traced: Whether a trace is bound.
        is_watched: Whether somebody sees the events.
    """

    menu: Menu
    specs: tuple[ToolSpec, ...]
    names: Mapping[str, str]
    injected: Mapping[str, Any]
    options: Collection[str] = ()
    repair: Repair = "syntax"
    choice: ToolChoice = "auto"
    parallel: bool | None = None
    max_iterations: int = 20
    max_repeats: int | None = 5
    desk: Desk = field(default_factory=Desk)
    checkpoint: Callable[[Any], Any] | None = None
    snapshot: Callable[[], Any] = dict
    lock: Any = None
    deadline: float | None = None
    is_traced: bool = False
    is_watched: bool = False

    def save(self) -> Flow[None]:
        """Let the caller keep how far the run has come."""
        if self.checkpoint is not None:
            yield Save(self.checkpoint, self.snapshot, self.lock)


def answered(job: Job, tooling: Tooling) -> Flow[bool]:
    """Answer every call of the open round, and add the round to the conversation.

    Returns:
        Whether that is done; False if the time was over before each call had begun.

    Raises:
        ApprovalRequired: Some call waits for a person; the others have been run.
        RepeatedCallError: The model was told that a call leads nowhere, and makes it again.
    """
    current = job.round
    if current is None:
        return True
    ready, pending = yield from _ready(job, tooling, current)
    pending += yield from _all_run(job, tooling, current, ready)
    if pending:
        yield from tooling.save()
        raise ApprovalRequired(pending)
    if None in current.results:
        return False
    _close(job, tooling, current)
    tooling.desk = tooling.desk.unanswered()
    if tooling.is_watched:
        for result in job.messages[-1].tool_results:
            yield Announce(result)
    yield from tooling.save()
    return True


def _ready(job: Job, tooling: Tooling, current: Round) -> Flow[tuple[list[tuple[int, Choice]], list[ApprovalRequest]]]:
    """The calls that may run, and those that wait for a person; what neither may nor waits is answered."""
    ready: list[tuple[int, Choice]] = []
    pending: list[ApprovalRequest] = []
    for number, call in enumerate(current.reply.tool_calls):
        if current.results[number] is not None:
            continue
        found = _planned(job, tooling, current, number)
        word = found if isinstance(found, str) else (yield from _word(tooling, current, number, found))
        if isinstance(word, str):
            current.results[number] = ToolResult(call.id, call.name, word, is_error=True)
        elif word is not None:
            pending.append(word)
        elif not isinstance(found, str):
            ready.append((number, found))
    return ready, pending


def _word(tooling: Tooling, current: Round, number: int, choice: Choice) -> Flow[str | ApprovalRequest | None]:
    call, desk = current.reply.tool_calls[number], tooling.desk
    if current.within[number] and call.id not in desk.approvals:
        return _request(call, choice, within=True)
    try:
        return (yield from desk.word(call.id, choice))
    except ModelRetry as retry:  # of the function that tells whether a person is needed
        return _why(retry)


def _request(call: ToolCall, choice: Choice, *, within: bool) -> ApprovalRequest:
    return ApprovalRequest(call.id, choice.option.name, choice.arguments, choice.option.description, within)


def _planned(job: Job, tooling: Tooling, current: Round, number: int) -> Choice | str:
    """What a call would run, or what the model is told instead."""
    call = current.reply.tool_calls[number]
    if current.reply.stop == "length":  # what the wire gives as an object may be half of one
        return TOO_LONG
    if tooling.choice == "none":
        return NOT_NOW
    if current.started[number] and not current.within[number] and tooling.desk.approvals.get(call.id) is not True:
        return INTERRUPTED
    pick = pick_of(call, tooling.names, tooling.repair)
    choice = bind(pick, tooling.menu, tooling.repair)
    if isinstance(choice, Failure):
        if choice.kind is FailureKind.UNKNOWN_CALL:
            if call.name in tooling.options:
                return no_tool_but_an_option(call.name)
            return unknown_tool(call.name, tuple(tooling.names))
        return f"{choice.kind.value}: {choice.message}"
    if tooling.max_repeats is not None:
        before = job.repeats.get(_fingerprint(call))
        if before is not None and before.times >= tooling.max_repeats:
            if before.told and before.told < job.iterations:
                raise RepeatedCallError(
                    f"the model calls {call.name!r} with the same arguments again and again: {before.times} times with "
                    "the same result, and again after it was told (max_repeats=None lets it go on)"
                )
            before.told = job.iterations
            return repeated(call.name, before.times)
    return _with_open(call, choice)


def _all_run(
    job: Job, tooling: Tooling, current: Round, ready: list[tuple[int, Choice]]
) -> Flow[list[ApprovalRequest]]:
    """Run calls; what comes back are those within which a person is needed."""
    flows = [_run(job, tooling, current, number, choice) for number, choice in ready]
    if len(flows) < 2 or tooling.parallel is False:
        waiting = []
        for flow in flows:
            waiting.append((yield from flow))  # noqa: PERF401 - a comprehension cannot yield
    else:
        outcomes: list[tuple[Any, Exception | None]] = yield RunAll(flows, AT_ONCE, in_threads=True)
        for _, error in outcomes:
            if error is not None:  # not of the tool itself, which would be its result
                raise error
        waiting = [request for request, _ in outcomes]
    return [request for request in waiting if request is not None]


def _run(job: Job, tooling: Tooling, current: Round, number: int, choice: Choice) -> Flow[ApprovalRequest | None]:
    """Run one call; its result stands in the round before anything else can happen."""
    call, option = current.reply.tool_calls[number], cast("FunctionOption[Any]", choice.option)
    rules = option.rules or _NO_RULES
    if tooling.deadline is not None and (yield Now()) >= tooling.deadline:
        return None  # what has no result and has not begun is made when the run goes on
    current.started[number], current.within[number] = True, False
    job.has_run = True
    yield from tooling.save()
    given = with_injected(option, tooling.injected, own(choice.arguments))
    running = _ran(RunOption(option, given, rules.timeout_s, tooling.deadline, as_tool=True))
    if tooling.is_traced:
        running = in_node(running, "tool_call", option.name, choice.arguments)
    content: Content
    try:
        content, is_error = shown_result((yield from running), rules.max_chars), False
    except ApprovalRequired:  # of a call that the tool makes itself, whose run is lost with the tool's own
        current.within[number] = True
        return _request(call, choice, within=True)
    except ModelRetry as retry:
        content, is_error = _why(retry), True
    except Exception as error:
        content, is_error = raised(error), True
    current.results[number] = ToolResult(call.id, call.name, content, is_error)
    yield from tooling.save()
    return None


def _why(retry: ModelRetry) -> str:
    return str(retry) or "try again"


_NO_RULES = Rules(max_chars=MAX_CHARS)


def _ran(effect: RunOption) -> Flow[Any]:
    return (yield effect)


def _with_open(call: ToolCall, choice: Choice) -> Choice:
    """`choice`, with what the schema does not name where it is open: all that the tool will be given."""
    if isinstance(call.arguments, str):
        return choice
    whole = cast("FunctionOption[Any]", choice.option).with_open(call.arguments, choice.arguments)
    return choice if whole is choice.arguments else replace(choice, arguments=whole)


def _close(job: Job, tooling: Tooling, current: Round) -> None:
    """Add a round whose every call is answered to the conversation."""
    reply = current.reply
    results = tuple([result for result in current.results if result is not None])
    job.messages.append(Message("assistant", reply.text, reply.tool_calls, (), reply.echo))
    job.messages.append(Message("user", "", (), results))
    for call, result in zip(reply.tool_calls, results, strict=True):
        job.runs.append(ToolRun(call.id, call.name, call.arguments, result.content, result.is_error))
    if tooling.max_repeats is not None:
        keys = [_fingerprint(call) for call in reply.tool_calls]
        if not all(key in job.repeats for key in keys):  # something new was tried, so others may come out differently
            for seen in job.repeats.values():
                seen.times = seen.told = 0
        for key, result in zip(keys, results, strict=True):
            _count(job, key, result)
    job.round = None


def _count(job: Job, key: str, result: ToolResult) -> None:
    before, outcome = job.repeats.get(key), _digest(result.content)
    if before is None or (before.outcome != outcome and not before.told):
        job.repeats[key] = Repeats(1, outcome)
    elif not before.told:
        before.times += 1


def _fingerprint(call: ToolCall) -> str:
    arguments = call.arguments
    return f"{call.name} {arguments if isinstance(arguments, str) else sorted(arguments.items(), key=_key)}"


def _key(item: tuple[str, Any]) -> str:
    return item[0]


def _digest(content: Content) -> str:
    """Tells one result from another, and takes little room in a snapshot."""
    if isinstance(content, str) and len(content) < _SHORT:
        return content
    from hashlib import sha256  # most results are short

    return sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()


_SHORT = 200
