"""Typed questions put to a model that writes: a plain answer, votes of several samples, or the odds of a letter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from decidable.asking import Manner, schema_asker
from decidable.attempt import Origin
from decidable.content import Content, TextPart
from decidable.errors import DecisionError, LLMError, RefusedError, UnaskableError
from decidable.flow.ask import Call
from decidable.flow.decide import until_valid
from decidable.flow.effects import Flow, RunAll
from decidable.flow.labels import LabelAsker
from decidable.flow.prompts import question_text, questions_text
from decidable.flow.votes import AT_ONCE
from decidable.judgments.putting import refuse_unmeasured
from decidable.menu import NO, YES, Menu
from decidable.messages import Reply
from decidable.options import ValueOption
from decidable.questions.decoding import with_confidence
from decidable.questions.types import (
    Answer,
    Choice,
    ChoiceAnswer,
    Noul,
    NoulAnswer,
    Provenance,
    Question,
    QuestionRequest,
    Refusal,
    Score,
    ScoreAnswer,
    Stated,
)
from decidable.settings import checked_effort, sampling_of

if TYPE_CHECKING:
    from decidable.ambient import Scope
    from decidable.runtimes import Runtime

__all__ = ["written"]


def written(  # noqa: PLR0917 - called in one place
    call: Call,
    request: QuestionRequest,
    runtime: Runtime,
    scope: Scope,
    settings: Mapping[str, Any],
    must_measure: str | None,
) -> Flow[Reply]:
    """A reply with an answer to each question, of a model that writes.

    Without ``samples=`` or ``logprobs=`` the answers are plain: nothing is made up about how sure the model is.

    Raises:
        UnaskableError: Probabilities are needed and were not asked for, or cannot be had; nothing was sent.
    """
    refuse_unmeasured(must_measure, settings, call.provider.name)
    sampling = settings.get("sampling")
    manner = Manner(
        1,
        runtime.repair,
        scope.frame.system if scope.frame is not None else None,
        request.model or runtime.model,
        checked_effort(settings.get("effort")),
        runtime.sampling if sampling is None else sampling_of(sampling),
    )
    if settings.get("logprobs"):
        return _by_letters(call, request, manner)
    return _by_samples(call, request, manner, settings.get("samples", 1))


def _by_samples(call: Call, request: QuestionRequest, manner: Manner, samples: int) -> Flow[Reply]:
    keys = {f"q{number}": name for number, name in enumerate(request.questions, 1)}
    schema = {
        "type": "object",
        "properties": {key: _schema(request.questions[name]) for key, name in keys.items()},
        "required": list(keys),
        "additionalProperties": False,
    }
    shown = [
        (key, request.questions[name].instructions, _values(request.questions[name])) for key, name in keys.items()
    ]
    prompt = _with_images(questions_text(request.state, shown), request)
    askers = [schema_asker(schema, prompt, manner.sample(number), call.provider) for number in range(samples)]
    flows = [until_valid(call, asker) for asker in askers]
    try:
        if samples == 1:
            value, reply, _ = yield from flows[0]
            answers: dict[str, Answer] = {name: Stated(value[key]) for key, name in keys.items()}
            return _reply(call, reply, answers, "none")
        outcomes: list[tuple[Any, Any]] = yield RunAll(flows, AT_ONCE)
        good = [found for found, error in outcomes if error is None]
        for _, error in outcomes:
            if error is not None and (not good or not isinstance(error, (DecisionError, LLMError))):
                raise error
    except RefusedError:
        return _reply(call, None, dict.fromkeys(request.questions, Refusal()), "none")
    answers = {
        name: _counted(request.questions[name], [value[key] for value, _, _ in good]) for key, name in keys.items()
    }
    return _reply(call, good[0][1], answers, "votes")


def _by_letters(call: Call, request: QuestionRequest, manner: Manner) -> Flow[Reply]:
    provider = call.provider
    top = provider.capabilities.top_logprobs
    if not top:
        raise UnaskableError(
            f"{provider.name} reports no token log-probabilities; use samples= to have probabilities from votes"
        )
    answers: dict[str, Answer] = {}
    last: Reply | None = None
    origin: Origin = "logprobs"
    for name, question in request.questions.items():
        menu = Menu([ValueOption(label, about or "", label) for label, about in _values(question).items()])
        prompt = _with_images(question_text(request.state, question.instructions), request)
        asker = LabelAsker(menu, prompt, max_retries=manner.max_retries, base=manner.request(), top=top)
        try:
            (label, probabilities), last, _ = yield from until_valid(call, asker)
        except RefusedError:
            answers[name] = Refusal()
            continue
        if probabilities is None:  # the provider gave none, whatever was asked of it
            origin = "none"
            answers[name] = Stated(_plain(question, label))
        else:
            answers[name] = _measured(question, probabilities)
    return _reply(call, last, answers, origin)


def _reply(call: Call, reply: Reply | None, answers: dict[str, Answer], origin: Origin) -> Reply:
    """One reply that says it all, and what all of it cost."""
    made, sources = with_confidence(answers)
    basis = "unknown" if call.cost is None else "reported"
    provenance = Provenance(sources, cost_basis=basis, origin=origin)  # type: ignore[arg-type]  # one of two words
    whole = reply or Reply(model=call.provider.model)
    return replace(whole, text="", answers=made, usage=call.usage, cost=call.cost, provenance=provenance)


def _with_images(text: str, request: QuestionRequest) -> Content:
    if not request.images:
        return text
    return (TextPart(text), *[part for _, part in request.images.items()])


def _schema(question: Question) -> dict[str, Any]:
    if isinstance(question, Choice):
        return {"type": "string", "enum": list(question.criteria)}
    if isinstance(question, Score):
        return {"type": "integer", "enum": list(range(len(question.criteria)))}
    return {"type": "boolean"}


def _values(question: Question) -> dict[str, str | None]:
    """What may be answered, and what it means."""
    if isinstance(question, Choice):
        return dict(question.criteria)
    if isinstance(question, Score):
        return {str(level): about for level, about in enumerate(question.criteria)}
    if isinstance(question, Noul):
        return {YES: question.true, NO: question.false}
    raise TypeError(f"a question is a Noul, a Choice or a Score, not {question!r}")  # pragma: no cover - checked before


def _plain(question: Question, label: str) -> str | bool | int:
    if isinstance(question, Choice):
        return label
    return int(label) if isinstance(question, Score) else label == YES


def _counted(question: Question, values: list[Any]) -> Answer:
    """The shares of several samples."""
    count = len(values)
    if isinstance(question, Noul):
        return _measured(question, {YES: sum(values) / count, NO: 1 - sum(values) / count})
    labels = list(_values(question))
    given = [str(value) if isinstance(question, Score) else value for value in values]
    first = sorted(labels, key=lambda label: given.index(label) if label in given else count)
    return _measured(question, {label: given.count(label) / count for label in first})


def _measured(question: Question, probabilities: Mapping[str, float]) -> Answer:
    if isinstance(question, Noul):
        return NoulAnswer(probabilities[YES])
    labels = list(_values(question))
    if isinstance(question, Score):
        shares = tuple(probabilities[label] for label in labels)
        return ScoreAnswer(sum(level * share for level, share in enumerate(shares)), shares)
    winner = max(probabilities, key=probabilities.__getitem__)
    return ChoiceAnswer(winner, {label: probabilities[label] for label in labels})
