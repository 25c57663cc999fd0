"""A question put to a person."""

from __future__ import annotations

from typing import Any

from decidable.attempt import Failure, Pick
from decidable.binding import bind
from decidable.content import Content, text_of
from decidable.errors import DecisionError, RefusedError
from decidable.flow.ask import Call
from decidable.flow.decide import Picked
from decidable.flow.effects import Consult, Flow
from decidable.menu import NO, YES, Menu
from decidable.messages import Reply
from decidable.providers.person import PersonQuestion
from decidable.questions.types import (
    Answer,
    Choice,
    Noul,
    Provenance,
    Question,
    QuestionRequest,
    Refusal,
    Score,
    Stated,
)

__all__ = ["decided", "told"]


def decided(menu: Menu, prompt: Content, state: Any, call: Call) -> Flow[Picked]:
    """The choice that a person makes.

    Raises:
        RefusedError: The person will not decide.
        DecisionError: What the function gave is no pick.
    """
    person: Any = call.provider
    question = PersonQuestion(text_of(prompt), state, {option.name: option.description for option in menu.options})
    answer = yield Consult(person.ask, question)
    reply = Reply(answer if isinstance(answer, str) else "")
    call.add(reply)
    if answer is None:
        raise RefusedError(f"refusal: {person.name} did not decide", kind="refusal")
    name, arguments = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, {})
    choice = bind(Pick(str(name), arguments), menu, "lossless")
    if isinstance(choice, Failure):
        raise DecisionError(f"{person.name}: {choice.kind.value}: {choice.message}", kind=choice.kind.value)
    return Picked(choice, reply, (), (call,))


def told(call: Call, request: QuestionRequest) -> Flow[Reply]:
    """A person's answers to typed questions, plain and without probabilities."""
    person: Any = call.provider
    answers: dict[str, Answer] = {}
    for name, question in request.questions.items():
        options = _options(question)
        answer = yield Consult(person.ask, PersonQuestion(question.instructions, request.state, options))
        if answer is None:
            answers[name] = Refusal()
        else:
            answers[name] = _stated(person.name, question, options, answer)
    reply = Reply(answers=answers, provenance=Provenance(origin="none"))
    call.add(reply)
    return reply


def _options(question: Question) -> dict[str, str]:
    if isinstance(question, Choice):
        return {name: about or "" for name, about in question.criteria.items()}
    if isinstance(question, Score):
        return {str(level): about for level, about in enumerate(question.criteria)}
    sides = (question.true, question.false) if isinstance(question, Noul) else (None, None)
    return {YES: sides[0] or "", NO: sides[1] or ""}


def _stated(name: str, question: Question, options: dict[str, str], answer: Any) -> Stated:
    label = (YES if answer else NO) if isinstance(answer, bool) else str(answer)
    if label not in options:
        raise DecisionError(f"{name}: {answer!r} is none of {', '.join(options)}", kind="unknown_call")
    if isinstance(question, Choice):
        return Stated(label)
    return Stated(int(label) if isinstance(question, Score) else label == YES)
