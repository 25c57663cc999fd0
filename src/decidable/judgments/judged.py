"""`judge`: typed questions about one state, answered in one request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from decidable.errors import QuestionError, did_you_mean
from decidable.flow.effects import Flow
from decidable.flow.judged import Judgement, question_request, refuse_no_questions
from decidable.flow.receipting import Draft
from decidable.judgments.putting import JudgmentSettings, Putting, opened, refuse_refusals
from decidable.questions.compiling import questions_of
from decidable.questions.types import Question

__all__ = ["async_judge", "judge"]


def judge(state: Any, questions: Any, **settings: Unpack[JudgmentSettings]) -> Judgement:
    """The answers to typed questions about a state, in one request.

    Args:
        state: What they are about: text, or a JSON object or list, sent as it is; a model or dataclass by its fields.
        questions: Question id to `Noul`, `Choice` or `Score`; or a pydantic model, a dataclass, a TypedDict or a JSON
            Schema, one question for each property.
        settings: As `decidable.judgments.JudgmentSettings` says.

    Returns:
        The judgement: `values` are plain (yes from one half on), `answers` have the probabilities. No threshold is
        applied here; apply yours to what it says.

    Raises:
        QuestionError: There is nothing to ask, or nothing to ask about.
        RefusedError: The model declined a question.
        LLMError: The provider failed. A `DecisionProviderError` of code ``outcome_unknown`` means that nobody knows.
        ReceiptError: The receipt could not be kept.

    Example:
        >>> from decidable import judge, Runtime
        >>> from decidable.questions import Noul
        >>> from decidable.testing.systemone import FauxSystemOne
        >>> rt = Runtime(FauxSystemOne().provider())
        >>> found = judge("Charged twice!", {"refund": Noul("Is a refund asked for?")}, runtime=rt)
        >>> 0 <= found.answers["refund"].noul <= 1
        True
    """
    __tracebackhide__ = True
    putting, flow = _judging(state, questions, settings)
    return putting.runtime.run(flow, putting.scope)


async def async_judge(state: Any, questions: Any, **settings: Unpack[JudgmentSettings]) -> Judgement:
    """`judge` from an event loop."""
    __tracebackhide__ = True
    putting, flow = _judging(state, questions, settings)
    return await putting.runtime.run_async(flow, putting.scope)


def _judging(state: Any, questions: Any, settings: Mapping[str, Any]) -> tuple[Putting, Flow[Judgement]]:
    refuse_no_state(state, "judge")
    asked = questions_from(questions)
    putting = opened("judge", settings)
    request = question_request(state, asked, settings.get("model"), settings.get("images"))
    flow = _judged(putting.ask(request, Draft("judge", putting.label, {"kind": "judge"})), putting.label)
    return putting, putting.noted(flow, asked)


def _judged(asking: Flow[Judgement], label: str) -> Flow[Judgement]:
    judgement = yield from asking
    refuse_refusals(judgement, label)
    return judgement


def refuse_no_state(state: Any, verb: str) -> None:
    """Raise if there is nothing that a question could be about."""
    if state is None or (isinstance(state, (str, list, tuple, Mapping)) and not state):
        raise QuestionError(f"{verb}: the state is empty, so there is nothing to ask about")


def questions_from(source: Any) -> dict[str, Question]:
    """Questions by id, of any form that the verbs take."""
    if isinstance(source, Mapping) and source and all(isinstance(one, Question) for one in source.values()):
        refuse_no_questions(source)
        return dict(source)
    if isinstance(source, Mapping) and any(isinstance(one, Question) for one in source.values()):
        refuse_no_questions(source)  # raises, naming the one that is none
    if isinstance(source, Mapping) and "properties" not in source and "$ref" not in source:
        refuse_no_questions(source)
    return questions_of(source)


def question_named(name: Any, questions: Mapping[str, Question]) -> Question:
    """The question of an id.

    Raises:
        QuestionError: There is none; close ids are named.
    """
    if name not in questions:
        raise QuestionError(f"no question has the id {name!r}; {did_you_mean(name, tuple(questions))}")
    return questions[name]
