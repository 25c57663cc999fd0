"""`pick`: one of several items, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, Unpack

from decidable.errors import OptionError
from decidable.flow.effects import Flow, Now
from decidable.flow.judged import Judgement, question_request
from decidable.flow.prompts import state_json, state_text
from decidable.flow.receipting import Draft
from decidable.judgments.putting import JudgmentSettings, Putting, opened, refuse_refusals
from decidable.questions.rules import NONE_OF_THESE, action_of, item_id
from decidable.questions.types import Choice

__all__ = ["Selection", "async_pick", "pick"]

T = TypeVar("T")

MOST_ITEMS = 240


@dataclass(frozen=True, slots=True)
class Selection(Generic[T]):
    """Which item was picked.

    Attributes:
        index: Its place, or None.
        item: The item itself, or None.
        none: Whether none was.
        option: The description that the model saw, or None.
        judgement: The whole answer; None where there was nothing to ask.
    """

    index: int | None
    item: T | None
    none: bool
    option: str | None
    judgement: Judgement | None


def pick(
    items: Iterable[T],
    instructions: str,
    *,
    state: Any = None,
    describe: Callable[[T], str] | None = None,
    none: bool = False,
    **settings: Unpack[JudgmentSettings],
) -> Selection[T]:
    """The item that fits best.

    Args:
        items: The candidates, at most 240; 239 with `none`. Sift more first.
        instructions: What is looked for.
        state: What else there is to know: an object, whose fields stand beside the candidates, or anything else.
        describe: An item in words; default its text, or its JSON.
        none: Whether the model may say that none fits. With it, an empty list gives none and asks nobody.
        settings: As `decidable.judgments.JudgmentSettings` says.

    Raises:
        OptionError: There is no item, or there are too many.
        RefusedError: The model declined.
        LLMError: The provider failed.
        ReceiptError: The receipt could not be kept.
    """
    __tracebackhide__ = True
    putting, flow = _picking(items, instructions, state, describe, none, settings)
    return putting.runtime.run(flow, putting.scope)


async def async_pick(
    items: Iterable[T],
    instructions: str,
    *,
    state: Any = None,
    describe: Callable[[T], str] | None = None,
    none: bool = False,
    **settings: Unpack[JudgmentSettings],
) -> Selection[T]:
    """`pick` from an event loop."""
    __tracebackhide__ = True
    putting, flow = _picking(items, instructions, state, describe, none, settings)
    return await putting.runtime.run_async(flow, putting.scope)


def _picking(  # noqa: PLR0917 - the arguments of `pick`
    items: Iterable[T],
    instructions: str,
    state: Any,
    describe: Callable[[T], str] | None,
    none: bool,
    settings: Mapping[str, Any],
) -> tuple[Putting, Flow[Selection[T]]]:
    given = list(items)
    putting = opened("pick", settings, ("state", "describe", "none"))
    if not given and none:
        return putting, _nothing()
    if not given:
        raise OptionError(f"{putting.label}: empty_selection: there is no item to pick; none=True allows for that")
    most = MOST_ITEMS - bool(none)
    if len(given) > most:
        raise OptionError(
            f"{putting.label}: pick takes at most {most} items{' with none=True' if none else ''}, not {len(given)}; "
            "sift them first"
        )
    options = {item_id(place): described(item, place, describe) for place, item in enumerate(given)}
    shown: dict[str, str | None] = {**options, **({NONE_OF_THESE: "None of these fits."} if none else {})}
    fields = state if isinstance(state, Mapping) else {} if state is None else {"context": state}
    about = {**fields, "candidates": options}
    question = Choice(instructions, shown)
    request = question_request(state_json(about), {"pick": question}, settings.get("model"), settings.get("images"))
    rule = {"kind": "pick", "options": list(options), "none": NONE_OF_THESE if none else None}
    return putting, putting.noted(_picked(putting, request, rule, given, options), question)


def _picked(
    putting: Putting, request: Any, rule: dict[str, Any], items: list[T], options: dict[str, str]
) -> Flow[Selection[T]]:
    judgement = yield from putting.ask(request, Draft("pick", putting.label, rule))
    refuse_refusals(judgement, putting.label)
    index = (action_of(rule, judgement.answers, request.questions) or {})["index"]
    if index is None:
        return Selection(None, None, True, None, judgement)
    return Selection(index, items[index], False, options[item_id(index)], judgement)


def _nothing() -> Flow[Selection[Any]]:
    yield Now()
    return Selection(None, None, True, None, None)


def described(item: Any, place: int, describe: Callable[[Any], str] | None) -> str:
    """An item in words on one line; ``item 3`` of one without any."""
    text = describe(item) if describe is not None else item if isinstance(item, str) else state_text(item)
    return " ".join(str(text).split()) or f"item {place}"
