"""How a turn with tools is put to a provider: the loop, and what it ends in."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from decidable.asking import Manner, asker_of, manner_for, schema_asker
from decidable.content import Content, with_text
from decidable.errors import UnaskableError, UsageError
from decidable.flow.ask import Call
from decidable.flow.decide import Picked
from decidable.flow.effects import Flow
from decidable.flow.fallback import Leg, first_to_answer, first_to_decide
from decidable.flow.job import Job
from decidable.flow.prompts import DECISION_INSTRUCTION, WORK_INSTRUCTION, menu_text
from decidable.flow.record_parts import Fallback
from decidable.flow.tool_asker import ToolAsker
from decidable.flow.tool_calls import Tooling
from decidable.flow.work import AfterWork, pick_after_work, value_after_work, work
from decidable.menu import Menu
from decidable.messages import Message
from decidable.providers.protocol import Provider

__all__ = ["Ending", "Work", "opened"]


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """What a turn with tools ends in: a pick of `menu`, a value of `response_format`, or text where both are None.

    Attributes:
        menu: The options.
        response_format: A type or JSON Schema.
        prompt: What was asked.
    """

    menu: Menu | None = None
    response_format: Any = None
    prompt: Content = ""


def opened(ending: Ending, manner: Manner, provider: Provider) -> Job:
    """A run that begins: its first message says what is to be done, and what it ends in."""
    prompt = ending.prompt
    if ending.menu is not None:
        if manner.samples > 1 or manner.seed is not None or manner.logprobs:
            raise UsageError(
                "samples=, shuffle= and logprobs= are for a decision of its own; with tools=, let the work end in "
                "text, and hand that to decision.make(..., state=text, samples=...)"
            )
        later = manner.via != "menu"
        prompt = with_text(prompt, menu_text(ending.menu.render(), WORK_INSTRUCTION if later else manner.instruction))
    elif ending.response_format is not None:
        prompt = with_text(prompt, schema_asker(ending.response_format, prompt, manner, provider).wish)
    return Job([Message("user", prompt)])


@dataclass(slots=True, eq=False)
class Work:
    """A turn with tools: what it ends in, how far it has come, its tools, and how the model is asked."""

    ending: Ending
    job: Job
    tooling: Tooling
    manner: Manner

    def picking(self, calls: Sequence[Call], on: Collection[str]) -> Flow[Picked]:
        """The flow that works and comes to a choice; the next provider goes on where one gives up.

        Raises:
            UnaskableError: None of them can be asked in this manner; nothing was sent.
        """
        legs, skipped = self._legs(calls)
        return legs[0].flow if len(calls) == 1 else first_to_decide(legs, on, skipped)

    def answering(self, calls: Sequence[Call], on: Collection[str]) -> Flow[Any]:
        """The flow that works and ends in text, or in a value; raises as `picking`."""
        legs, _ = self._legs(calls)
        return legs[0].flow if len(calls) == 1 else first_to_answer(legs, on)

    def _legs(self, calls: Sequence[Call]) -> tuple[list[Leg], list[Fallback]]:
        legs, skipped = [], []
        for call in calls:
            try:
                legs.append(Leg(call, self._leg(manner_for(call, self.manner, calls), call)))
            except UnaskableError as error:
                if len(calls) == 1:
                    raise
                skipped.append(Fallback(call.provider.name, "unaskable", error))
        if not legs:
            raise UnaskableError("; ".join(f"{skip.provider}: {skip.error}" for skip in skipped))
        return legs, skipped

    def _leg(self, manner: Manner, call: Call) -> Flow[Any]:
        provider, ending = call.provider, self.ending
        if not provider.capabilities.tools:
            raise UnaskableError(
                f"{provider.name} takes no tools; leave tools= out and offer what may be done as choices=, or ask a "
                "model that calls tools"
            )
        working = work(call, self.job, self.tooling, manner.request())
        if ending.menu is None and ending.response_format is None:
            return _said(working)
        put = partial(self._put, manner, provider)
        put(True)  # what cannot be asked is refused now
        flow = pick_after_work if ending.menu is not None else value_after_work
        return flow(call, self.job, working, put)

    def _put(self, manner: Manner, provider: Provider, is_answer: bool) -> AfterWork:
        """The question that ends the work; `is_answer` if the last reply may answer one in the prompt."""
        ending = self.ending
        if ending.menu is None:
            inner: Any = schema_asker(ending.response_format, ending.prompt, manner, provider)
            wish = None if is_answer else inner.wish
        else:
            inner = asker_of(
                ending.menu, ending.prompt, None, replace(manner, instruction=DECISION_INSTRUCTION), provider
            )
            if isinstance(inner, ToolAsker):
                wish = inner.wish
            elif is_answer and manner.via == "menu":
                wish = None
            else:
                wish = menu_text(ending.menu.render(), DECISION_INSTRUCTION)
        return AfterWork(inner, self.job, self.tooling.specs, wish)


def _said(working: Flow[Any]) -> Flow[str]:
    reply = yield from working
    return str(reply.text)
