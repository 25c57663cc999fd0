"""A menu put to a decision model: one request asks the pick and every option's finite fields ahead."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from decidable import binding
from decidable.attempt import Attempt, Failure, FailureKind, Pick
from decidable.binding import bind
from decidable.content import Content, MediaPart, TextPart, text_of
from decidable.errors import DecisionProviderError, UnaskableError
from decidable.flow.decide import Picked
from decidable.flow.effects import Flow
from decidable.flow.prompts import state_json
from decidable.flow.record import margin_of
from decidable.menu import NO, PICK, YES, Menu, choice_labels, field_id
from decidable.messages import Reply
from decidable.options import Option
from decidable.providers.checking import check_request
from decidable.providers.protocol import Capabilities, Provider
from decidable.questions.checking import in_words, invalid_answers
from decidable.questions.rules import averaged
from decidable.questions.types import Answer, Choice, ChoiceAnswer, NoulAnswer, Question, QuestionRequest, Refusal
from decidable.schema.field import Field

if TYPE_CHECKING:
    from decidable.flow.record_parts import Votes

__all__ = ["QuestionAsker", "filled"]


class QuestionAsker:
    """A menu as typed questions.

    A decision model given the same question gives the same answer, so nothing is ever re-asked.

    Args:
        menu: The options.
        prompt: What is to be decided; where there is no `state`, it is the state.
        state: What the decision is about, or None.
        provider: Who is asked.
        model: The model to ask.
        can_fill: Whether somebody else can fill what is no question, once the option is picked.
        orders: In how many orders of the options the pick is asked for, all in one request; the mean counts.

    Raises:
        UnaskableError: The provider cannot be asked this menu; nothing was sent.
    """

    max_retries = 0
    wanted = "valid pick"

    def __init__(
        self,
        menu: Menu,
        prompt: Content,
        state: Any,
        provider: Provider,
        model: str | None,
        *,
        can_fill: bool = False,
        orders: int = 1,
    ) -> None:
        capabilities = provider.capabilities
        self.menu = menu
        self.min_margin = capabilities.min_margin
        self._is_checked = capabilities.checks
        limits = capabilities.limits
        sides_required = limits is not None and limits.sides_required
        instructions = text_of(prompt) if state is not None else ""
        self.questions, self.unfilled = menu.questions(
            instructions, capabilities.question_types, sides_required=sides_required
        )
        if self.unfilled and not can_fill:
            problems = "; ".join(f"option {name!r}, {', '.join(why)}" for name, why in self.unfilled.items())
            raise UnaskableError(
                f"{provider.name}: this menu cannot be asked as questions: {problems}. A fallback that writes text can "
                "fill them: Runtime(..., fallback='openai:...')"
            )
        self.picks: tuple[str, ...] = (PICK,)
        if orders > 1:
            self.questions = _in_orders(self.questions, menu, orders)
            self.picks = tuple(name for name in self.questions if name.partition("#")[0] == PICK)
        about, images = _state(prompt, state, provider.name, capabilities)
        self._request = QuestionRequest(about, self.questions, model, images)
        try:
            check_request(provider, self._request)
        except DecisionProviderError as error:
            raise UnaskableError(str(error)) from None

    def request(self, attempts: list[Attempt]) -> QuestionRequest:
        """The same one always."""
        return self._request

    def read(self, reply: Reply) -> binding.Choice | Failure:
        """The choice that the answers make; only the picked option's fields are looked at."""
        invalid = None if self._is_checked else invalid_answers(self.questions, reply.answers, rounded=True)
        if invalid is not None:
            return Failure(FailureKind.INCONSISTENT_ANSWER, in_words(*invalid))
        answers: Mapping[str, Answer] = reply.answers or {}
        given = [answer for name in self.picks if isinstance(answer := answers[name], ChoiceAnswer)]
        if len(given) < len(self.picks):
            return Failure(FailureKind.REFUSAL, "the model declined to pick an option")
        picked, probabilities = given[0].choice, given[0].probabilities
        if len(given) > 1:
            probabilities = averaged([one.probabilities for one in given], tuple(self.menu.index))
            picked = max(probabilities, key=probabilities.__getitem__)
        margin = margin_of(probabilities) if self.min_margin else 0.0
        if margin < self.min_margin:
            close = sorted(probabilities, key=lambda name: -probabilities[name])[:2]
            shown = " and ".join(f"{name!r} ({probabilities[name]:.2f})" for name in close)
            return Failure(
                FailureKind.UNSURE, f"{shown} are {margin:.2f} apart, and at least {self.min_margin:.2f} was asked for"
            )
        choice = self._filled(self.menu.index[picked], answers)
        if isinstance(choice, Failure):
            return choice
        return replace(choice, probabilities=probabilities, origin="model")

    def votes(self, reply: Reply) -> Votes | None:
        """What the model said to each order of the options; None where there was but one."""
        if len(self.picks) == 1:
            return None
        from decidable.flow.record_parts import Vote, Votes  # few ask for several orders

        votes = []
        for name in self.picks:
            answer, question = (reply.answers or {})[name], self.questions[name]
            if isinstance(answer, ChoiceAnswer) and isinstance(question, Choice):
                votes.append(Vote(answer.choice, tuple(question.criteria), answer.probabilities))
        return Votes(tuple(votes), shuffled=True)

    def _filled(self, option: Option[Any], answers: Mapping[str, Answer]) -> binding.Choice | Failure:
        """The option with the arguments that were asked ahead; without any, where somebody else fills them."""
        if option.name in self.unfilled:
            return binding.Choice(option, {})
        arguments = {}
        for field in option.fields:
            answer = answers.get(field_id(option, field))
            if isinstance(answer, Refusal):
                return Failure(FailureKind.REFUSAL, f"the model declined to fill {field.name!r} of {option.name!r}")
            if answer is not None:
                arguments[field.name] = _value(field, answer)
        return bind(Pick(option.name, arguments), self.menu)


def _in_orders(questions: Mapping[str, Question], menu: Menu, orders: int) -> dict[str, Question]:
    """The questions, the pick asked for in so many orders of the options."""
    from decidable.flow.votes import orders as orders_of  # as above

    pick = questions[PICK]
    made: dict[str, Question] = {}
    for number, shown in enumerate(orders_of(menu, orders, 0)):
        name = f"{PICK}#{number}" if number else PICK
        made[name] = Choice(pick.instructions, {option.name: option.description or None for option in shown.options})
    return {**made, **{name: question for name, question in questions.items() if name != PICK}}


def filled(
    picking: Flow[Picked], unfilled: Mapping[str, Any], fill: Callable[[Option[Any]], Flow[Picked]]
) -> Flow[Picked]:
    """A decision model's choice, its arguments filled by a model that writes, where no question could.

    Args:
        picking: Comes to the choice.
        unfilled: Options whose arguments are missing.
        fill: Has one option filled.
    """
    found = yield from picking
    option = found.choice.option
    if option.name not in unfilled:
        return found
    own = yield from fill(option)
    choice = replace(own.choice, probabilities=found.choice.probabilities, origin=found.choice.origin)
    return replace(
        own,
        choice=choice,
        reply=found.reply,
        attempts=(*found.attempts, *own.attempts),
        calls=(*found.calls, *own.calls),
        decider=found.calls[-1],
        filling=own.reply,
    )


def _state(prompt: Content, state: Any, name: str, capabilities: Capabilities) -> tuple[Any, Mapping[str, MediaPart]]:
    """What the questions are about, and the images in it by token."""
    about = text_of(prompt) if state is None else state_json(state)
    media = [] if isinstance(prompt, str) else [part for part in prompt if isinstance(part, MediaPart)]
    if not media:
        return about, {}
    if not (capabilities.images or "image" in capabilities.experimental_inputs):
        raise UnaskableError(f"{name} reads text only; the content holds media")
    images = {f"<image:{hashlib.sha256(part.data).hexdigest()[:32]}>": part for part in media}
    if state is not None:
        return [*(about if isinstance(about, list) else [about]), *images], images
    tokens = {id(part): token for token, part in images.items()}
    parts = [part.text if isinstance(part, TextPart) else tokens.get(id(part), "") for part in prompt]
    return [part for part in parts if part], images


def _value(field: Field, answer: Answer) -> Any:
    """The JSON value that an answer gives a field."""
    if isinstance(answer, NoulAnswer):
        return answer.noul >= 0.5  # the decoding rule of decision models: yes from one half on
    if not isinstance(answer, ChoiceAnswer):
        raise TypeError(f"no field is asked as a question answered by {type(answer).__name__}")
    if field.type == "bool" and not field.choices:
        return {YES: True, NO: False}[answer.choice]
    return choice_labels(field)[answer.choice]
