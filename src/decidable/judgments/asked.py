"""`ask`: one yes/no question that an ``if`` can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

from decidable.flow.effects import Flow
from decidable.flow.judged import Judgement, question_request
from decidable.flow.receipting import Draft
from decidable.judgments.judged import refuse_no_state
from decidable.judgments.putting import JudgmentSettings, Putting, opened, refuse_refusals
from decidable.questions.measures import checked_gate
from decidable.questions.rules import action_of
from decidable.questions.types import Noul, NoulAnswer

__all__ = ["Asked", "ask", "async_ask"]

DEFAULT_GATE = 0.6
"""From this P(yes) on the answer is yes, if the caller does not say; above one half, so that a dry run says no."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The answer to a yes/no question; true in an ``if`` when it holds.

    Attributes:
        holds: Whether it is sure enough that it is so.
        p_yes: P(yes); None where a model that writes gave a plain answer.
        gte: From which P(yes) on it holds.
        judgement: The whole answer.
    """

    holds: bool
    p_yes: float | None
    gte: float
    judgement: Judgement

    def __bool__(self) -> bool:
        """Whether it holds."""
        return self.holds


def ask(
    instructions: str,
    state: Any,
    *,
    true: str | None = None,
    false: str | None = None,
    gte: float | None = None,
    **settings: Unpack[JudgmentSettings],
) -> Asked:
    """Whether something holds of a state, as an ``if`` can hold it.

    Args:
        instructions: The proposition.
        state: What it is about.
        true: What yes means.
        false: What no means.
        gte: It holds from this P(yes) on: above 0.5, at most 1; default 0.6.
        settings: As `decidable.judgments.JudgmentSettings` says.

    Raises:
        SettingError: `gte` is out of range.
        UnaskableError: `gte` is given, and a model that writes is asked for a plain answer.
        RefusedError: The model declined.
        LLMError: The provider failed.
        ReceiptError: The receipt could not be kept.

    Example:
        >>> from decidable import ask, Runtime
        >>> from decidable.testing.systemone import FauxSystemOne
        >>> rt = Runtime(FauxSystemOne().provider())
        >>> answer = ask("Is a refund asked for?", "I was charged twice!", runtime=rt)
        >>> bool(answer) == (answer.p_yes >= 0.6)
        True
    """
    __tracebackhide__ = True
    putting, flow = _asking(instructions, state, true, false, gte, settings)
    return putting.runtime.run(flow, putting.scope)


async def async_ask(
    instructions: str,
    state: Any,
    *,
    true: str | None = None,
    false: str | None = None,
    gte: float | None = None,
    **settings: Unpack[JudgmentSettings],
) -> Asked:
    """`ask` from an event loop."""
    __tracebackhide__ = True
    putting, flow = _asking(instructions, state, true, false, gte, settings)
    return await putting.runtime.run_async(flow, putting.scope)


def _asking(  # noqa: PLR0917 - the arguments of `ask`
    instructions: str, state: Any, true: str | None, false: str | None, gte: float | None, settings: Mapping[str, Any]
) -> tuple[Putting, Flow[Asked]]:
    refuse_no_state(state, "ask")
    gate = DEFAULT_GATE if gte is None else checked_gate(gte, "ask: gte", 0.5, inclusive=False)
    question = Noul(instructions, true, false)
    putting = opened("ask", settings, ("true", "false", "gte"), must_measure=None if gte is None else "ask(gte=...)")
    request = question_request(state, {"holds": question}, settings.get("model"), settings.get("images"))
    return putting, putting.noted(_asked(putting, request, gate), question)


def _asked(putting: Putting, request: Any, gate: float) -> Flow[Asked]:
    rule = {"kind": "ask", "gte": gate}
    judgement = yield from putting.ask(request, Draft("ask", putting.label, rule))
    refuse_refusals(judgement, putting.label)
    action = action_of(rule, judgement.answers, request.questions) or {}
    answer = judgement.answers["holds"]
    return Asked(action["holds"], answer.noul if isinstance(answer, NoulAnswer) else None, gate, judgement)
