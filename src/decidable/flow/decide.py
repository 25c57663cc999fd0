"""The decision flow: ask, read, bind, re-ask; then resolve the choice into the result of the next step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from decidable.attempt import Attempt, Failure, FailureKind
from decidable.binding import Choice, own, with_injected
from decidable.errors import ApprovalRequired, DecisionError, ModelRetry, RefusedError, Unsure
from decidable.flow.ask import Call, RetryInfo, ask
from decidable.flow.askers import Asker
from decidable.flow.effects import Flow, RunOption
from decidable.flow.record import Decision, margin_of
from decidable.menu import PICK
from decidable.messages import Reply
from decidable.options import FunctionOption

if TYPE_CHECKING:  # few decisions need a person
    from decidable.approval import ApprovalRequest
    from decidable.flow.desk import Desk
    from decidable.flow.job import Job
    from decidable.flow.record_parts import Fallback, Votes
    from decidable.tools import ToolRun

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
        asker: Asks again, if the choice cannot be carried out; None where several samples chose.
        tool_runs: The tools that ran before.
        decider: Who decided, where somebody else filled the arguments.
        filling: The reply that filled them, or None.
        unsure_of: The option that the model picked, where it was not sure enough and another one was taken; or None.
    """

    choice: Choice
    reply: Reply
    attempts: tuple[Attempt, ...]
    calls: tuple[Call, ...]
    votes: Votes | None = None
    fallbacks: tuple[Fallback, ...] = ()
    asker: Asker[Choice] | None = None
    tool_runs: tuple[ToolRun, ...] = ()
    decider: Call | None = None
    filling: Reply | None = None
    unsure_of: str | None = None


_FINAL = frozenset({FailureKind.REFUSAL, FailureKind.UNSURE})


def until_valid(
    call: Call, asker: Asker[V], before: Sequence[Attempt] = (), reply: Reply | None = None
) -> Flow[tuple[V, Reply, tuple[Attempt, ...]]]:
    """Ask until a reply can be used, at most ``max_retries`` times more.

    Args:
        call: Whom.
        asker: What, and how.
        before: Attempts that did not hold already.
        reply: A reply that is there already, so that the first is not asked for.

    Raises:
        Unsure: The provider was told to give up on picks this close.
        RefusedError: The model declined; asking for better JSON would not change that.
        DecisionError: No reply could be used.
        LLMError: The provider failed.
    """
    attempts = list(before)
    while True:
        if reply is None:
            reply = yield from ask(call, asker.request(attempts), "re_ask" if attempts else "model_call")
        outcome = asker.read(reply)
        if not isinstance(outcome, Failure):
            return outcome, reply, tuple(attempts)
        _failed(call, asker, attempts, reply, outcome)
        reply = None


def _failed(call: Call, asker: Asker[Any], attempts: list[Attempt], reply: Reply, failure: Failure) -> None:
    """Add an attempt; raise if it was the last."""
    attempts.append(Attempt(reply, failure.kind, failure.message))
    if failure.kind in _FINAL or len(attempts) > asker.max_retries:
        raise _exhausted(attempts, asker.wanted)
    call.notify(RetryInfo("re_ask", len(attempts), 0.0, None, failure.message))


def picked(
    call: Call, asker: Asker[Choice], before: Sequence[Attempt] = (), reply: Reply | None = None
) -> Flow[Picked]:
    """A choice that holds, by asking one provider for one."""
    choice, reply, attempts = yield from until_valid(call, asker, before, reply)
    return Picked(choice, reply, attempts, (call,), None, (), asker)


def _again(found: Picked, failure: Failure) -> Flow[Picked]:
    """Another choice, since the one that was made could not be carried out; ends when the retries do."""
    call, asker, attempts = found.calls[-1], found.asker, list(found.attempts)
    if asker is None:  # several samples agreed on it; to ask them all again is the caller's to decide
        raise _exhausted([*attempts, Attempt(found.reply, failure.kind, failure.message)], "carried-out pick")
    _failed(call, asker, attempts, found.reply, failure)
    choice, reply, tried = yield from until_valid(call, asker, attempts)
    return replace(found, choice=choice, reply=reply, attempts=tried)


def decide(
    picking: Flow[Picked],
    injected: Mapping[str, Any],
    *,
    desk: Desk | None = None,
    job: Job | None = None,
    save: Callable[[], Flow[None]] | None = None,
    record: bool = True,
) -> Flow[Any]:
    """One decision: a choice, resolved into the result of the next step.

    Args:
        picking: How to come to a choice.
        injected: Values for the parameters of a function option that no model fills.
        desk: Whom to ask whether the choice may be carried out; None where no option asks for it. Needs `job`.
        job: Keeps the choice, if a person's word is needed and nobody is there, and that it was carried out.
        save: Lets the caller keep how far the job has come, before a function runs.
        record: Whether the flow ends in the whole `Decision`; else in the bare result, which costs less.

    Raises:
        DecisionError: The model never made a valid pick.
        ApprovalRequired: The pick needs a person's word, and nobody is there to give it.
        LLMError: The provider failed.
        Exception: Whatever the picked function raises, untouched; `ModelRetry` has the model pick again.
    """
    found = yield from picking
    while True:
        choice = found.choice
        option, arguments = choice.option, choice.arguments
        if type(option) is not FunctionOption:
            result = option.resolve(arguments)
            break
        spec, rules = option.signature, option.rules
        given = own(arguments) if record else arguments
        if spec.injected or spec.hidden:
            given = with_injected(option, injected, given)
        try:
            if job is not None:
                refused = yield from _begun(found, job, desk, save)
                desk = desk.unanswered() if desk is not None else None
                if refused is not None:
                    found = yield from _again(found, Failure(FailureKind.DENIED, refused))
                    continue
            result = yield RunOption(option, given) if rules is None else RunOption(option, given, rules.timeout_s)
        except ModelRetry as retry:
            if job is not None:
                job.waiting, job.has_picked = None, False
            found = yield from _again(found, Failure(FailureKind.RETRY, str(retry) or "try again"))
            continue
        break
    return _recorded(found, result) if record else result


def _begun(found: Picked, job: Job, desk: Desk | None, save: Callable[[], Flow[None]] | None) -> Flow[str | None]:
    """Note that a choice is about to be carried out; or say why it may not be.

    Raises:
        ApprovalRequired: A person must say so: the choice needs it, or it had begun when the run stopped, and nobody
            knows whether it took effect.
    """
    from decidable.approval import ApprovalRequest  # few decisions need a person

    choice = found.choice
    word: ApprovalRequest | str | None = None
    if job.has_picked and (desk is None or PICK not in desk.approvals):
        word = ApprovalRequest(PICK, choice.option.name, choice.arguments, choice.option.description)
    elif desk is not None:
        word = yield from desk.word(PICK, choice)
    if isinstance(word, str):
        job.waiting, job.has_picked = None, False
        return word
    job.attempts, job.waiting = found.attempts, found.filling or found.reply
    job.provider = found.calls[-1].provider.name
    job.has_picked = job.has_picked or word is None
    if save is not None:
        yield from save()
    if word is not None:
        raise ApprovalRequired([word])
    return None


def _recorded(found: Picked, result: Any) -> Decision[Any]:
    choice, reply, spent = found.choice, found.reply, _total(found.calls)
    provider = (found.decider or found.calls[-1]).provider
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
        tool_runs=found.tool_runs,
        filled_by=found.calls[-1].provider.name if found.filling is not None else None,
        unsure_of=found.unsure_of,
        calls=found.calls,
    )


def _total(calls: tuple[Call, ...]) -> Call:
    """What several calls spent together; one that was made twice counts once."""
    calls = tuple(dict.fromkeys(calls)) if len(calls) > 1 else calls
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
        error = Unsure(f"unsure: {last.message}", probabilities=probabilities, margin=margin, attempts=attempts)
        error.option, error.value, error.origin = max(probabilities, key=probabilities.__getitem__), margin, "model"
        return error
    text = " ".join(last.reply.text[: _HEAD * 2].split())
    head = text if len(text) <= _HEAD else text[: _HEAD - 3] + "..."
    count = f"{len(attempts)} replies" if len(attempts) > 1 else "1 reply"
    return DecisionError(
        f"no {wanted} in {count}; last problem: {last.kind.value}: {last.message}. The reply began: {head!r}",
        kind=last.kind.value,
        attempts=attempts,
    )


def _probabilities(reply: Reply) -> Mapping[str, float] | None:
    from decidable.questions.types import ChoiceAnswer  # only where a decision model was asked

    answer = reply.answers.get(PICK) if reply.answers is not None else None
    return answer.probabilities if isinstance(answer, ChoiceAnswer) else None
