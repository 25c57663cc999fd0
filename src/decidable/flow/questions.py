"""A menu put to a decision model: one request asks the pick and every option's finite fields ahead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from decidable.attempt import Attempt, Failure, FailureKind, Pick
from decidable.binding import Choice, bind
from decidable.content import Content
from decidable.errors import UnaskableError
from decidable.flow.record import margin_of
from decidable.menu import NO, PICK, YES, Menu, choice_labels, field_id
from decidable.messages import Reply
from decidable.providers.protocol import Provider
from decidable.reading.answers import check_answers
from decidable.schema.field import Field
from decidable.typed import Answer, ChoiceAnswer, NoulAnswer, QuestionRequest, RefusalAnswer

__all__ = ["QuestionAsker"]


class QuestionAsker:
    """A menu as typed questions.

    A decision model given the same question gives the same answer, so nothing is ever re-asked.

    Raises:
        UnaskableError: The provider cannot be asked this menu; nothing was sent.
    """

    max_retries = 0
    wanted = "valid pick"

    def __init__(
        self, menu: Menu, prompt: Content, state: Content | None, provider: Provider, model: str | None
    ) -> None:
        capabilities = provider.capabilities
        limit = capabilities.max_choices
        if limit is not None and len(menu.options) > limit:
            raise UnaskableError(f"{provider.name} takes at most {limit} options, this menu has {len(menu.options)}")
        for part in (prompt, state):
            if not isinstance(part, str) and part and any(not hasattr(p, "text") for p in part):
                raise UnaskableError(f"{provider.name} reads text only; the content holds media")
        self.menu = menu
        self.min_margin = capabilities.min_margin
        instructions = prompt if state is not None and isinstance(prompt, str) else ""
        try:
            self.questions = menu.questions(instructions, capabilities.question_types)
        except UnaskableError as error:
            raise UnaskableError(f"{provider.name}: {error}") from None
        self._request = QuestionRequest(prompt if state is None else state, self.questions, model)

    def request(self, attempts: list[Attempt]) -> QuestionRequest:
        """The same one always."""
        return self._request

    def read(self, reply: Reply) -> Choice | Failure:
        """The choice that the answers make; only the picked option's fields are looked at."""
        problem = check_answers(self.questions, reply.answers)
        if problem is not None:
            return problem
        answers: Mapping[str, Answer] = reply.answers or {}
        pick = answers[PICK]
        if not isinstance(pick, ChoiceAnswer):
            return Failure(FailureKind.REFUSAL, "the model declined to pick an option")
        margin = margin_of(pick.probabilities)
        if margin < self.min_margin:
            close = sorted(pick.probabilities, key=lambda name: -pick.probabilities[name])[:2]
            shown = " and ".join(f"{name!r} ({pick.probabilities[name]:.2f})" for name in close)
            return Failure(
                FailureKind.UNSURE, f"{shown} are {margin:.2f} apart, and at least {self.min_margin:.2f} was asked for"
            )
        option = self.menu.index[pick.choice]
        arguments = {}
        for field in option.fields:
            answer = answers.get(field_id(option, field))
            if isinstance(answer, RefusalAnswer):
                return Failure(FailureKind.REFUSAL, f"the model declined to fill {field.name!r} of {option.name!r}")
            if answer is not None:
                arguments[field.name] = _value(field, answer)
        choice = bind(Pick(option.name, arguments), self.menu)
        if isinstance(choice, Failure):
            return choice
        return replace(choice, probabilities=pick.probabilities, origin="model")


def _value(field: Field, answer: Answer) -> Any:
    """The JSON value that an answer gives a field."""
    if isinstance(answer, NoulAnswer):
        return answer.noul >= 0.5  # the decoding rule of decision models: yes from one half on
    if not isinstance(answer, ChoiceAnswer):
        raise TypeError(f"no field is asked as a question answered by {type(answer).__name__}")
    if field.type == "bool" and not field.choices:
        return {YES: True, NO: False}[answer.choice]
    return choice_labels(field)[answer.choice]
