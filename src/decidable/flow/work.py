"""The tool loop: the model works until it calls no tool; then its answer, or one decision."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, TypeVar, cast

from decidable.attempt import Attempt
from decidable.binding import Choice
from decidable.errors import DecisionError, MaxIterationsError, RunStopped
from decidable.flow.ask import Call, ask, out_of_time
from decidable.flow.askers import Asker
from decidable.flow.decide import Picked, until_valid
from decidable.flow.effects import Announce, Flow
from decidable.flow.job import Job, Round
from decidable.flow.prompts import shown_reply
from decidable.flow.tool_calls import Tooling, answered
from decidable.messages import ChatRequest, Message, Reply, Request
from decidable.tools import ToolSpec

__all__ = ["AfterWork", "kept", "pick_after_work", "value_after_work", "work"]

_MADE_UP = re.compile(r"call_\d+")
R = TypeVar("R")
V = TypeVar("V")


def work(call: Call, job: Job, tooling: Tooling, base: ChatRequest) -> Flow[Reply]:
    """Ask, run the tools that the reply calls, and ask again, until a reply calls none.

    Args:
        call: Whom.
        job: How far the run has come; kept up to date at every step.
        tooling: The tools.
        base: The request to fill.

    Raises:
        MaxIterationsError: The last reply allowed still calls tools; they have not been run.
        ApprovalRequired: Some call waits for a person's word.
        RepeatedCallError: The model makes the same call over and over.
        BudgetExceeded: The budget is spent.
        LLMError: The provider failed.
    """
    while job.final is None:
        if job.round is not None:
            if job.iterations >= tooling.max_iterations:
                raise MaxIterationsError(
                    f"the model still wants tools after {job.iterations} replies (max_iterations="
                    f"{tooling.max_iterations}); the last calls were not run"
                )
            if not (yield from answered(job, tooling)):
                raise (yield from out_of_time(call, "before each tool that was called had begun"))
        choice = "auto" if job.has_run and tooling.choice != "none" else tooling.choice
        request = ChatRequest(
            tuple(job.messages),
            base.system,
            base.model,
            None,
            base.effort,
            tooling.specs,
            choice,
            tooling.parallel,
            base.sampling,
        )
        reply = _with_own_ids(job, (yield from ask(call, request)))
        job.iterations += 1
        job.said = reply.text or job.said
        if not reply.tool_calls or reply.stop in ("refusal", "content_filter"):
            job.final = reply
            break
        job.round = Round.of(reply)
        if tooling.is_watched:
            for wanted in reply.tool_calls:
                yield Announce(wanted)
        yield from tooling.save()
    return job.final


def _with_own_ids(job: Job, reply: Reply) -> Reply:
    """`reply`, its calls told from earlier ones: an id that was made up may stand in another reply already."""
    if not any(_MADE_UP.fullmatch(made.id) for made in reply.tool_calls):
        return reply
    taken = {made.id for message in job.messages for made in message.tool_calls}
    if taken.isdisjoint([made.id for made in reply.tool_calls]):
        return reply
    taken.update(made.id for made in reply.tool_calls)
    free = (made for n in count(len(taken)) if (made := f"call_{n}") not in taken)
    calls = [replace(made, id=next(free)) if _MADE_UP.fullmatch(made.id) else made for made in reply.tool_calls]
    return replace(reply, tool_calls=tuple(calls))


class AfterWork:
    """A question that stands at the end of a conversation with tools, none of which can be called any more.

    Args:
        inner: The question, as it would be put alone.
        job: The run whose conversation comes before it.
        tools: The tools of that conversation: some wires want to be told of them again.
        wish: What ends the conversation when the question is put; None if it stands in the prompt, and the reply that
            ended the work is the first answer to it.
    """

    def __init__(self, inner: Asker[Any], job: Job, tools: tuple[ToolSpec, ...], wish: str | None) -> None:
        self.inner = inner
        self.job = job
        self.tools = tools
        self.wish = wish
        self.wanted = inner.wanted
        self.max_retries = inner.max_retries

    def request(self, attempts: list[Attempt]) -> Request:
        """The conversation, then the question with what has failed so far."""
        own = cast("ChatRequest", self.inner.request(attempts))
        opening: tuple[Message, ...] = ()
        if self.wish is not None:
            said = self.job.final.text if self.job.final is not None else ""
            opening = (Message("assistant", said or shown_reply("")), Message("user", self.wish))
        tried = own.messages[1:]
        if tried and attempts and attempts[-1].reply is self.job.final:  # what was found, and not only a bad answer
            tried = (replace(tried[0], content=attempts[-1].reply.text or shown_reply("")), *tried[1:])
        messages = (*self.job.messages, *opening, *tried)
        if own.tools:
            return replace(own, messages=messages)
        return replace(own, messages=messages, tools=self.tools, tool_choice="none" if self.tools else "auto")

    def read(self, reply: Reply) -> Any:
        """What the reply says to the question."""
        return self.inner.read(reply)


def pick_after_work(call: Call, job: Job, working: Flow[Reply], put: Callable[[bool], Asker[Choice]]) -> Flow[Picked]:
    """Work, then one decision.

    Args:
        call: Whom.
        job: How far the run has come.
        working: The loop.
        put: Makes the question; told whether the reply that ended the work answers it already.
    """
    choice, reply, attempts, asker = yield from _ended(call, job, working, put)
    return Picked(choice, reply, attempts, (call,), asker=asker, tool_runs=tuple(job.runs))


def value_after_work(call: Call, job: Job, working: Flow[Reply], put: Callable[[bool], Asker[Any]]) -> Flow[Any]:
    """Work, then a reply held to a type; otherwise as `pick_after_work`."""
    return (yield from _ended(call, job, working, put))[0]


def _ended(
    call: Call, job: Job, working: Flow[Reply], put: Callable[[bool], Asker[V]]
) -> Flow[tuple[V, Reply, tuple[Attempt, ...], Asker[V]]]:
    is_answer = job.final is None or job.waiting is not None  # else the final reply is another provider's, and failed
    yield from working
    asker = put(is_answer)
    reply = job.waiting or (job.final if getattr(asker, "wish", None) is None else None)
    before, job.attempts, job.waiting = job.attempts, (), None
    try:
        found, reply, attempts = yield from until_valid(call, asker, before, reply)
    except DecisionError as error:
        error.tool_runs = tuple(job.runs)
        raise
    return found, reply, attempts, asker


def kept(flow: Flow[R], job: Job, snapshot: Callable[[], Any], live: Mapping[str, Any]) -> Flow[R]:
    """`flow`; when it is stopped, the error keeps how far it has come.

    Args:
        flow: The run.
        job: How far it has come.
        snapshot: Makes the JSON of it.
        live: What no JSON can hold, so that the same process need not give it again.
    """
    try:
        return (yield from flow)
    except RunStopped as stop:
        if stop.snapshot is None:
            stop.snapshot, stop.tool_runs, stop.text = snapshot(), tuple(job.runs), job.said
            stop.live = live
        raise
