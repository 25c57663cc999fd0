"""The decision flow: ask, read, bind, re-ask; then resolve the choice into the result of the next step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar

from decidable.attempt import Attempt, Failure, FailureKind, Repair
from decidable.binding import Choice, bind
from decidable.content import Content, with_text
from decidable.errors import DecisionError, RefusedError, Unsure
from decidable.flow.ask import Call, RetryInfo, ask
from decidable.flow.effects import Flow, RunOption
from decidable.flow.prompts import DECISION_INSTRUCTION, menu_text, shown_reply, try_again
from decidable.menu import PICK, Menu
from decidable.messages import ChatRequest, Message, Reply, Request, Usage
from decidable.options import FunctionOption
from decidable.reading import read

__all__ = ["ChatAsker", "Decision", "Origin", "decide", "until_valid"]

T_co = TypeVar("T_co", covariant=True)
V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)

Origin: TypeAlias = Literal["model", "logprobs", "votes", "none"]
"""Where probabilities come from: a decision model, token log-probabilities, votes, or nowhere."""


@dataclass(frozen=True, slots=True, eq=False)
class Decision(Generic[T_co]):
    """The whole record of one decision.

    Attributes:
        option: Name of the option picked.
        args: What the model filled in, checked and parsed.
        result: What the option resolved to: the function's return value, the value, or the payload.
        attempts: Replies that did not hold, before the one that did.
        repairs: What was mended to read the reply, in order; empty when nothing was.
        reply: The reply that held.
        provider: Who answered.
        model: The model that answered, if known.
        requests: How many replies it took, re-asks included.
        usage: Tokens of all of them, or None if unknown.
        cost: US dollars of all of them, or None if unknown.
        probabilities: Option name to probability, or None if the model gives none.
        origin: Where the probabilities come from.
        calibrated: Whether the provider claims that they are calibrated; if not, they only rank.
    """

    option: str
    args: Mapping[str, Any]
    result: T_co
    attempts: tuple[Attempt, ...]
    repairs: tuple[str, ...]
    reply: Reply
    provider: str
    model: str | None
    requests: int = 1
    usage: Usage | None = None
    cost: float | None = None
    probabilities: Mapping[str, float] | None = None
    origin: Origin = "none"
    calibrated: bool = False

    @property
    def probability(self) -> float | None:
        """Probability of the option picked, or None."""
        return None if self.probabilities is None else self.probabilities[self.option]

    @property
    def margin(self) -> float | None:
        """Probability of the likeliest option minus that of the second; None without probabilities."""
        if self.probabilities is None:
            return None
        return margin_of(self.probabilities)


class Asker(Protocol[V_co]):
    """One way of putting a question to a model, and of reading what comes back."""

    @property
    def wanted(self) -> str: ...

    @property
    def max_retries(self) -> int: ...

    def request(self, attempts: list[Attempt]) -> Request:
        """The request, given what has failed so far."""

    def read(self, reply: Reply) -> V_co | Failure:
        """What the reply says, or why it cannot be used."""


@dataclass(slots=True, eq=False)
class ChatAsker:
    """A menu put to a model that answers in text.

    Attributes:
        menu: The options.
        prompt: What is to be decided.
        max_retries: Re-asks after a reply that does not hold.
        repair: How much a reply may be mended.
        instruction: What follows the menu.
        system: The standing instruction.
        model: The model to ask.
        effort: How much reasoning is wanted.
    """

    menu: Menu
    prompt: Content
    max_retries: int = 1
    repair: Repair = "syntax"
    instruction: str = DECISION_INSTRUCTION
    system: str | None = None
    model: str | None = None
    effort: str | None = None
    wanted: ClassVar[str] = "valid pick"

    def request(self, attempts: list[Attempt]) -> ChatRequest:
        """The prompt with the menu; then each earlier reply, what was wrong, and the menu again."""
        menu = self.menu.render()
        prompt = with_text(self.prompt, menu_text(menu, self.instruction))
        if not attempts:
            messages: tuple[Message, ...] = (Message("user", prompt),)
        else:  # by now the work is done: a re-ask wants the pick and nothing else
            messages = conversation(prompt, attempts, menu_text(menu, DECISION_INSTRUCTION))
        return ChatRequest(messages, self.system, self.model, None, self.effort)

    def read(self, reply: Reply) -> Choice | Failure:
        """The choice that the reply makes."""
        pick = read(reply.text, self.menu, stop=reply.stop, repair=self.repair)
        return pick if type(pick) is Failure else bind(pick, self.menu, self.repair)  # type: ignore[arg-type]


def conversation(prompt: Content, attempts: list[Attempt], wish: str) -> tuple[Message, ...]:
    """The prompt, every earlier reply, and at the end all problems with the whole `wish` again."""
    messages = [Message("user", prompt)]
    for attempt in attempts[:-1]:
        messages += (Message("assistant", shown_reply(attempt.reply.text)), Message("user", attempt.message))
    messages.append(Message("assistant", shown_reply(attempts[-1].reply.text)))
    messages.append(Message("user", try_again(attempts, wish)))
    return tuple(messages)


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


def decide(call: Call, asker: Asker[Choice], injected: Mapping[str, Any], *, record: bool = True) -> Flow[Any]:
    """One decision: a choice that holds, resolved into the result of the next step.

    Args:
        call: How to ask.
        asker: What to ask.
        injected: Values for the parameters of a function option that no model fills.
        record: Whether the flow ends in the whole `Decision`; else in the bare result, which costs less.

    Raises:
        DecisionError: The model never made a valid pick.
        LLMError: The provider failed.
        Exception: Whatever the picked function raises, untouched.
    """
    choice, reply, attempts = yield from until_valid(call, asker)
    option, arguments = choice.option, choice.arguments
    if type(option) is FunctionOption:
        spec, given = option.spec, arguments
        if spec.injected or spec.hidden:
            extra = {name: injected[name] for name in (*spec.injected, *spec.hidden) if name in injected}
            given = {**arguments, **extra}
        result = yield RunOption(option, given)
    else:
        result = option.resolve(arguments)
    if not record:
        return result
    probabilities = None if reply.answers is None else _probabilities(reply)
    return Decision(
        option=option.name,
        args=arguments,
        result=result,
        attempts=attempts,
        repairs=choice.repairs,
        reply=reply,
        provider=call.provider.name,
        model=reply.model or call.provider.model,
        requests=call.requests,
        usage=call.usage,
        cost=call.cost,
        probabilities=probabilities,
        origin="none" if probabilities is None else "model",
        calibrated=reply.calibrated,
    )


def _probabilities(reply: Reply) -> Mapping[str, float] | None:
    from decidable.typed import ChoiceAnswer  # only where a decision model was asked

    answer = reply.answers.get(PICK) if reply.answers is not None else None
    return answer.probabilities if isinstance(answer, ChoiceAnswer) else None


def margin_of(probabilities: Mapping[str, float]) -> float:
    """The largest probability minus the second largest; 1 when there is only one."""
    ranked = sorted(probabilities.values(), reverse=True)
    return ranked[0] - ranked[1] if len(ranked) > 1 else 1.0


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
