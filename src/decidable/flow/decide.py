"""The decision flow: ask, read, bind, re-ask; then resolve the choice into the result of the next step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from decidable.attempt import Attempt, Failure, FailureKind
from decidable.binding import Choice
from decidable.errors import DecisionError, RefusedError, Unsure
from decidable.flow.ask import Call, RetryInfo, ask
from decidable.flow.askers import Asker
from decidable.flow.effects import Flow, RunOption
from decidable.flow.record import Decision, Fallback, Votes, margin_of
from decidable.menu import PICK
from decidable.messages import Reply
from decidable.options import FunctionOption

__all__ = ["Picked", "decide", "picked", "until_valid"]

V = TypeVar("V")


@dataclass(slots=True, eq=False)  # made for each decision, so not frozen: cheaper
class Picked:
    """A choice, and how it came about.

    Attributes:
        choice: The choice.
        reply: The reply that made it.
        attempts: Replies that did not hold.
        calls: What was spent, one for each provider that was asked; the last one decided.
        votes: The samples, if there were several.
        fallbacks: Providers that did not decide.
    """

    choice: Choice
    reply: Reply
    attempts: tuple[Attempt, ...]
    calls: tuple[Call, ...]
    votes: Votes | None = None
    fallbacks: tuple[Fallback, ...] = ()


_FINAL = frozenset({FailureKind.REFUSAL, FailureKind.UNSURE})


def until_valid(call: Call, asker: Asker[V]) -> Flow[tuple[V, Reply, tuple[Attempt, ...]]]:
    """Ask until a reply can be used, at most ``max_retries`` times more.

    Raises:
        Unsure: The provider was told to give up on picks this close.
        RefusedError: The model declined; asking for better JSON would not change that.
        DecisionError: No reply could be used.
        LLMError: The provider failed.
    """
    attempts: list[Attempt] = []
    while True:
        reply = yield from ask(call, asker.request(attempts), "re_ask" if attempts else "model_call")
        outcome = asker.read(reply)
        if not isinstance(outcome, Failure):
            return outcome, reply, tuple(attempts)
        attempts.append(Attempt(reply, outcome.kind, outcome.message))
        if outcome.kind in _FINAL or len(attempts) > asker.max_retries:
            raise _exhausted(attempts, asker.wanted)
        call.notify(RetryInfo("re_ask", len(attempts), 0.0, None, outcome.message))


def picked(call: Call, asker: Asker[Choice]) -> Flow[Picked]:
    """A choice that holds, by asking one provider for one."""
    choice, reply, attempts = yield from until_valid(call, asker)
    return Picked(choice, reply, attempts, (call,))


def decide(picking: Flow[Picked], injected: Mapping[str, Any], *, record: bool = True) -> Flow[Any]:
    """One decision: a choice, resolved into the result of the next step.

    Args:
        picking: How to come to a choice.
        injected: Values for the parameters of a function option that no model fills.
        record: Whether the flow ends in the whole `Decision`; else in the bare result, which costs less.

    Raises:
        DecisionError: The model never made a valid pick.
        LLMError: The provider failed.
        Exception: Whatever the picked function raises, untouched.
    """
    found = yield from picking
    choice = found.choice
    option, arguments = choice.option, choice.arguments
    if type(option) is FunctionOption:
        spec, given = option.spec, arguments
        if spec.injected or spec.hidden:
            extra = {name: injected[name] for name in (*spec.injected, *spec.hidden) if name in injected}
            given = {**arguments, **extra}
        result = yield RunOption(option, given)
    else:
        result = option.resolve(arguments)
    return _recorded(found, result) if record else result


def _recorded(found: Picked, result: Any) -> Decision[Any]:
    choice, reply, spent = found.choice, found.reply, _total(found.calls)
    provider = found.calls[-1].provider
    return Decision(
        option=choice.option.name,
        args=choice.arguments,
        result=result,
        attempts=found.attempts,
        repairs=choice.repairs,
        reply=reply,
        provider=provider.name,
        model=reply.model or provider.model,
        requests=spent.requests,
        usage=spent.usage,
        cost=spent.cost,
        probabilities=choice.probabilities,
        origin=choice.origin,
        calibrated=reply.calibrated,
        votes=found.votes,
        fallbacks=found.fallbacks,
    )


def _total(calls: tuple[Call, ...]) -> Call:
    """What several calls spent together."""
    if len(calls) == 1:
        return calls[0]
    total = replace(calls[-1])
    for call in calls[:-1]:
        total.requests += call.requests
        if call.usage is not None:
            total.usage = call.usage if total.usage is None else total.usage + call.usage
        if call.cost is not None:
            total.cost = call.cost if total.cost is None else total.cost + call.cost
    return total


_HEAD = 200


def _exhausted(attempts: list[Attempt], wanted: str) -> DecisionError:
    last = attempts[-1]
    if last.kind is FailureKind.REFUSAL:
        return RefusedError(f"refusal: {last.message}", kind=last.kind.value, attempts=attempts)
    probabilities = _probabilities(last.reply)
    if last.kind is FailureKind.UNSURE and probabilities is not None:
        margin = margin_of(probabilities)
        return Unsure(f"unsure: {last.message}", probabilities=probabilities, margin=margin, attempts=attempts)
    text = " ".join(last.reply.text[: _HEAD * 2].split())
    head = text if len(text) <= _HEAD else text[: _HEAD - 3] + "..."
    count = f"{len(attempts)} replies" if len(attempts) > 1 else "1 reply"
    return DecisionError(
        f"no {wanted} in {count}; last problem: {last.kind.value}: {last.message}. The reply began: {head!r}",
        kind=last.kind.value,
        attempts=attempts,
    )


def _probabilities(reply: Reply) -> Mapping[str, float] | None:
    from decidable.typed import ChoiceAnswer  # only where a decision model was asked

    answer = reply.answers.get(PICK) if reply.answers is not None else None
    return answer.probabilities if isinstance(answer, ChoiceAnswer) else None
